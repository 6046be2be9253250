//! Operator routes (book: how-to/operate.md).

pub mod applications;
pub mod audit;
pub mod contents;
pub mod figures;
pub mod index;
pub mod insights;
pub mod keys;
pub mod modules;
pub mod people;
pub mod replicas;
pub mod searches;
pub mod settings;
pub mod sources;
pub mod subscriptions;
pub mod tenants;
pub mod vocabulary;

use std::sync::Arc;

use trawl_search::{clock::Clock, slow::SlowSearches};

use crate::{config::Config, indexer::IndexControl, registry::Registry, replicas::Replicas, store::Store};

/// State of the operator routes.
#[derive(Clone)]
pub struct AdminState {
    pub(crate) config: Arc<Config>,
    pub(crate) store: Store,
    pub(crate) registry: Arc<Registry>,
    pub(crate) replicas: Arc<Replicas>,
    pub(crate) index: Arc<IndexControl>,
    pub(crate) slow_searches: Arc<SlowSearches>,
    pub(crate) clock: Arc<dyn Clock>,
}
