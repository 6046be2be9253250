//! Context that the runs of all engines share.

use std::{path::PathBuf, sync::Arc};

use trawl_opensearch::OpenSearch;
use trawl_search::sources::builtin::ServedIndex;

use super::{lock::DataLock, log_cutter::Followed, progress::Announcer, reader::Rows};
use crate::{config::Index, replicas::Leases};

/// The parts that each engine needs.
pub(super) struct Context {
    pub(super) rows: Rows,
    pub(super) data: PathBuf,
    pub(super) settings: Index,
    pub(super) leases: Leases,
    /// The cluster, if configured.
    pub(super) cluster: Option<OpenSearch>,
    /// Codes of tenants with indexes of their own.
    pub(super) own_indexes: Vec<String>,
    pub(super) followed: Followed,
    pub(super) _lock: DataLock,
}

/// The places where an engine is served and its progress is announced.
#[derive(Clone)]
pub(super) struct Outputs {
    pub(super) served: Arc<ServedIndex>,
    pub(super) announcer: Announcer,
}
