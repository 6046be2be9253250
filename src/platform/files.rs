//! Files (book: reference/files.md).
//!
//! Bytes never pass through here: clients use signed URLs and then report the result.

mod cancel;
pub mod commit;
mod commit_transaction;
pub mod connections;
pub mod documents;
pub mod download;
pub mod expired_uploads;
pub mod forms;
mod fresh_caller;
pub mod info;
mod parts;
pub mod quotas;
pub mod reindexing;
mod removal;
mod repo;
pub mod routes;
pub mod signed_urls;
mod signing;

/// Change log type of files.
pub const FILE: &str = "file";

use std::sync::Arc;

use crate::{
    blobs::{BlobStore, extraction::worker::ExtractionService, scanning::Scanner},
    config::Limits,
    platform::files::commit::FileCommits,
    store::Store,
};

/// Route state.
#[derive(Clone)]
pub struct FilesState {
    pub(crate) store: Store,
    pub(crate) limits: Arc<Limits>,
    pub(crate) blobs: Arc<dyn BlobStore>,
    pub(crate) commits: Arc<FileCommits>,
    pub(crate) scanner: Option<Arc<dyn Scanner>>,
    pub(crate) texts: Arc<ExtractionService>,
    pub(crate) address_seconds: u32,
}
