//! Subscriptions: content that the server fetches from feeds, folders and databases.
//!
//! [`scheduler`] starts the due runs, at one replica. `execution` carries one out: it reads a source, whose `entries`
//! become items. `run` writes them: `batch` writes items and progress in one transaction. [`upkeep`] removes items that are too old.

mod batch;
mod entries;
mod execution;
mod feed;
mod folder;
pub mod forms;
mod hosts;
mod origins;
mod repo;
pub mod report;
mod run;
mod schedule;
pub mod scheduler;
mod secrets;
pub mod service;
mod sql;
pub mod upkeep;

pub use self::sql::serve_sqlite;

use std::{path::PathBuf, sync::Arc};

use tokio::sync::Notify;
use trawl_connectors::AddressRules;
use trawl_search::clock::Clock;

pub(crate) use self::folder::IgnoredNames;
use crate::{auth::keys::Keys, platform::contents::ContentsState};

/// Route state.
#[derive(Clone)]
pub struct SubscriptionsState {
    pub(crate) contents: ContentsState,
    pub(crate) keys: Arc<Keys>,
    pub(crate) addresses: AddressRules,
    /// Folders with the files and databases that may be read.
    pub(crate) folders: Arc<[PathBuf]>,
    /// Names that subscribed folders leave out.
    pub(crate) ignored_names: Arc<IgnoredNames>,
    /// Hosts of databases that may be called.
    pub(crate) databases: Arc<[String]>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Notified of changes and of requested runs.
    pub(crate) wake: Arc<Notify>,
}
