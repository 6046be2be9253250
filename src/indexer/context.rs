//! What a run over one engine needs, and where it is served.

use std::{fs::File, path::PathBuf, sync::Arc};

use trawl_opensearch::OpenSearch;
use trawl_search::sources::builtin::ServedIndex;

use super::{log_cutter::Followed, progress::Announcer, reader::Rows};
use crate::{config::IndexSettings, index_progress::WaitingSearches, replicas::Leases};

/// The parts that each engine needs.
pub(super) struct EngineContext {
    pub(super) rows: Rows,
    pub(super) data: PathBuf,
    pub(super) settings: IndexSettings,
    pub(super) leases: Leases,
    /// The cluster, if configured.
    pub(super) cluster: Option<OpenSearch>,
    /// Codes of tenants with indexes of their own.
    pub(super) own_indexes: Vec<String>,
    pub(super) followed: Followed,
    pub(super) waiting: WaitingSearches,
    /// Locks the data directory, which one server uses at a time.
    pub(super) _lock: File,
}

/// The places where an engine is served and its progress is announced.
#[derive(Clone)]
pub(super) struct Outputs {
    pub(super) served: Arc<ServedIndex>,
    pub(super) announcer: Announcer,
}
