//! Pages.

use std::sync::Arc;

use crate::relevance::{MatchScore, QueryStatistics, RankKey, RankedBy};

/// Found document.
#[derive(Debug, Clone)]
pub struct Hit {
    /// Unique within its scope.
    pub id: String,
    /// Epoch milliseconds.
    pub display_time: i64,
    /// JSON, as put.
    pub item: String,
    /// See [`Document::title_is_name`](crate::Document::title_is_name).
    pub title_is_name: bool,
    /// Number of its scope, in relevance order.
    ///
    /// It is 0 for [`Request::scope`](crate::Request::scope), 1 for the first of `beside`.
    pub scope: usize,
    /// Score in relevance order, if a word is searched.
    ///
    /// Scopes that are ranked together have comparable ones.
    pub score: Option<MatchScore>,
    /// Its place in relevance order, by which a later page goes on; `None` if its engine counts hits.
    pub rank: Option<RankKey>,
}

/// Page of hits.
#[derive(Debug, Clone, Default)]
pub struct HitPage {
    /// Hits in requested order.
    pub hits: Vec<Hit>,
    /// All visible matches of the request's scope within `from`, `to` and `author`.
    pub total: u64,
    /// Those of the scopes that are ranked beside it.
    pub totals_beside: Vec<u64>,
    /// Whether hits follow.
    pub more: bool,
    /// Whether hits of each scope follow, in relevance order.
    pub more_by_scope: Vec<bool>,
    /// Whether further hits share the last `display_time` beyond `whole_ties`.
    pub cut: bool,
    /// Statistics in relevance order, if a word is searched.
    pub statistics: Option<Arc<QueryStatistics>>,
    /// What later pages are ranked by, too.
    pub ranked_by: Option<Arc<RankedBy>>,
}
