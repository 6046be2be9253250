use std::sync::Arc;

use crate::relevance::Recency;
use crate::{Query, Scope};

/// Search request: all that a page depends on besides the index.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Request {
    /// Module to search.
    pub scope: Arc<Scope>,
    /// Parsed keyword.
    pub query: Arc<Query>,
    /// Principals of the viewer.
    ///
    /// An empty list sees [`Audience::Tenant`](crate::Audience::Tenant) only.
    pub principals: Arc<[String]>,
    /// Epoch milliseconds, inclusive.
    pub from: Option<i64>,
    /// Epoch milliseconds, exclusive.
    pub to: Option<i64>,
    /// Words required in the author's name.
    pub author: Option<String>,
    /// Order and start.
    pub start: Start,
    /// 0 for the total only.
    pub limit: usize,
}

impl Request {
    /// Counts the matches of a query without filters.
    pub fn total_of(scope: &Arc<Scope>, principals: &Arc<[String]>, query: Arc<Query>) -> Self {
        Self {
            scope: Arc::clone(scope),
            query,
            principals: Arc::clone(principals),
            from: None,
            to: None,
            author: None,
            start: Start::Time { after: None, whole_ties: None },
            limit: 0,
        }
    }
}

/// Order and start of a page.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Start {
    /// `display_time` descending, then id ascending.
    Time {
        /// The page starts after this, or at the newest.
        after: Option<TimePosition>,
        /// More hits that share the last `display_time`, up to this many.
        whole_ties: Option<usize>,
    },
    /// Score descending, then `display_time` descending, then id ascending.
    ///
    /// Matches have any content word and every required phrase.
    Relevance {
        /// Hits of the scope to skip.
        skip: usize,
        /// Further modules, ranked with the first as if all were one.
        beside: Vec<RankedScope>,
        /// Epoch milliseconds.
        now: i64,
        /// Gain of new documents.
        recency: Recency,
    },
}

impl Start {
    /// Relevance order of one module, with the usual gain of new documents.
    pub const fn relevance(skip: usize, now: i64) -> Self {
        Self::Relevance { skip, beside: Vec::new(), now, recency: Recency::DEFAULT }
    }
}

/// A further module of a request in relevance order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RankedScope {
    /// The module; of the same tenant.
    pub scope: Arc<Scope>,
    /// Hits of it to skip.
    pub skip: usize,
}

/// Position in time order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TimePosition {
    /// Epoch milliseconds.
    pub display_time: i64,
    /// Last document; `None` skips the whole millisecond.
    pub id: Option<String>,
}
