//! What is asked of the coordinator, already checked.

use std::{sync::Arc, time::Duration};

use trawl_connectors::TraceContext;

/// Items that may share one `displayTime` on a page that holds such groups whole (decisions 5.3).
pub const LARGEST_TIE: usize = 10_000;

/// One search of one module, or of each of a tenant's.
#[derive(Clone, Debug)]
pub struct SearchRequest {
    /// What was typed; neither empty nor blank.
    pub keyword: String,
    /// The module's id or code; of no account where every module is searched.
    pub module: String,
    /// Items of a page, 1 to 1,000.
    pub limit: usize,
    /// Where the page begins.
    pub start: Start,
    /// `paging=cursor`: pages hold exactly `limit` from the first on (decisions 5.1).
    pub exact_pages: bool,
    /// In which order.
    pub order: Order,
    /// Which matches count.
    pub filters: Filters,
    /// Whether the items say what of them matches (decisions 5.7).
    pub highlight: bool,
    /// How long the answer may take.
    pub timeout: Duration,
    /// The trace that the caller's request belongs to.
    pub trace: Option<TraceContext>,
}

/// Where a page begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// With the first match.
    Beginning,
    /// The documented time condition: matches with a `displayTime` below this, epoch milliseconds (decisions 5.3).
    Before(i64),
    /// The opaque cursor of an earlier answer (decisions 5.4).
    Cursor(String),
}

/// The order of a list (decisions 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// `displayTime` descending.
    Time,
    /// Relevance.
    Relevance,
}

/// Which matches count (decisions 5.8).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filters {
    /// The earliest `displayTime`, inclusive.
    pub from: Option<i64>,
    /// The latest `displayTime`, exclusive.
    pub to: Option<i64>,
    /// Only this author's.
    pub author: Option<String>,
    /// Only this source's, by id or name.
    pub source: Option<String>,
}

/// Who asks, as far as search needs to know.
#[derive(Clone, Debug)]
pub struct Viewer {
    /// The tenant's number.
    pub tenant_id: i64,
    /// The person's id on the synchronising side; none for an application.
    pub user_id: Option<String>,
    /// What an item must name to be seen, besides what the whole tenant sees; empty for an application.
    pub principals: Arc<[String]>,
}
