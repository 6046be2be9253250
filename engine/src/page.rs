//! Pages.

/// Found document.
#[derive(Debug, Clone)]
pub struct Hit {
    /// Unique within the scope.
    pub id: String,
    /// Epoch milliseconds.
    pub display_time: i64,
    /// JSON, as put.
    pub item: String,
    /// See [`Document::title_is_name`](crate::Document::title_is_name).
    pub title_is_name: bool,
}

/// Page of hits.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// In requested order.
    pub hits: Vec<Hit>,
    /// All visible matches within `from`, `to` and `author`.
    pub total: u64,
    /// Whether hits follow.
    pub more: bool,
    /// Whether further hits share the last `display_time` beyond `whole_ties`.
    pub cut: bool,
}
