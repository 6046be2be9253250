//! The checked parameters of a search.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;
use trawl_connectors::TraceContext;
use trawl_index::Query;

/// Items of one time that a page keeps together (decisions 5.3).
pub(crate) const LARGEST_TIE: usize = 10_000;

/// The parameters of a search.
#[derive(Clone, Debug)]
pub struct SearchParameters {
    /// The text to look for.
    pub keyword: String,
    /// The order.
    pub order: Order,
    /// The filters.
    pub filters: Filters,
    /// Items of a page, 1 to 1,000.
    pub limit: usize,
    /// Whether matches are marked (decisions 5.7).
    pub highlight: bool,
    /// The time until the deadline.
    pub timeout: Duration,
    /// The caller's trace.
    pub trace: Option<TraceContext>,
}

/// A search of one module.
#[derive(Clone, Debug)]
pub struct ModuleSearch {
    /// The id or code.
    pub module: String,
    /// The page.
    pub page: PageRequest,
    /// The parameters.
    pub parameters: SearchParameters,
}

/// One page of a module, by default the first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageRequest {
    /// The only source, by id or name (decisions 5.8).
    pub source: Option<String>,
    /// The position.
    pub start: PageStart,
    /// `paging=cursor`: groups of equal times are split (decisions 5.1).
    pub is_exact: bool,
}

/// The position of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PageStart {
    /// The first match.
    #[default]
    Beginning,
    /// Below this time (decisions 5.3).
    Before(i64),
    /// The cursor of an earlier answer (decisions 5.4).
    Cursor(String),
}

/// An order (decisions 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// `displayTime` descending.
    Time,
    /// Best first.
    Relevance,
}

/// Filters (decisions 5.8).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filters {
    /// The earliest time, inclusive.
    pub from: Option<i64>,
    /// The latest time, exclusive.
    pub to: Option<i64>,
    /// The author.
    pub author: Option<String>,
}

/// The person or application that searches.
#[derive(Clone, Debug)]
pub struct Viewer {
    /// The tenant.
    pub tenant_id: i64,
    /// The person's id; none for an application.
    pub user_id: Option<String>,
    /// Principals that make restricted items visible.
    pub principals: Arc<[String]>,
}

/// One search, shared by its pages and sources.
#[derive(Clone, Debug)]
pub(crate) struct SearchContext {
    pub(crate) viewer: Viewer,
    pub(crate) parameters: SearchParameters,
    pub(crate) query: Arc<Query>,
    pub(crate) deadline: Instant,
}

impl SearchContext {
    pub(crate) fn new(viewer: Viewer, parameters: SearchParameters, deadline: Instant) -> Self {
        let query = Arc::new(Query::parse(&parameters.keyword));
        Self { viewer, parameters, query, deadline }
    }

    pub(crate) fn corrected(&self, keyword: &str) -> Self {
        let parameters = SearchParameters { keyword: keyword.to_owned(), ..self.parameters.clone() };
        Self::new(self.viewer.clone(), parameters, self.deadline)
    }
}
