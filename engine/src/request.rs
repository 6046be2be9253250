use std::sync::Arc;

use crate::relevance::{RankPosition, RankedBy, Recency};
use crate::{Hit, Query, Scope};

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
    Relevance(RankedPage),
}

/// A page of one or several modules in relevance order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RankedPage {
    /// Where it starts in the scope.
    pub start: ScopeStart,
    /// Further modules, ranked with the first as if all were one.
    pub beside: Vec<RankedScope>,
    /// What the first page was ranked by, `now` and `recency` among it; `None` ranks anew.
    pub ranked_by: Option<Arc<RankedBy>>,
    /// Epoch milliseconds.
    pub now: i64,
    /// Gain of new documents.
    pub recency: Recency,
}

impl Start {
    /// Relevance order of one module, with the usual gain of new documents.
    pub const fn relevance(skip: usize, now: i64) -> Self {
        let start = ScopeStart { skip, after: None };
        Self::Relevance(RankedPage {
            start,
            beside: Vec::new(),
            ranked_by: None,
            now,
            recency: Recency::DEFAULT,
        })
    }
}

/// A further module of a request in relevance order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RankedScope {
    /// The module; of the same tenant.
    pub scope: Arc<Scope>,
    /// Where the page starts in it.
    pub start: ScopeStart,
}

/// Where a page starts in the hits of one scope, in relevance order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ScopeStart {
    /// Hits of earlier pages.
    pub skip: usize,
    /// The last of them, if the engine tells places; `skip` then only counts.
    pub after: Option<RankPosition>,
}

impl ScopeStart {
    /// Start of a page behind the next hit of the scope.
    #[must_use]
    pub fn behind(&self, hit: &Hit) -> Self {
        let Hit { display_time, id, .. } = hit;
        let after = hit.rank.map(|key| RankPosition { key, display_time: *display_time, id: id.clone() });
        Self { skip: self.skip + 1, after }
    }
}

/// Position in time order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TimePosition {
    /// Epoch milliseconds.
    pub display_time: i64,
    /// Last document; `None` skips the whole millisecond.
    pub id: Option<String>,
}
