//! What the coordinator knows of a source, be it built-in or an external system.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use trawl_connectors::TraceContext;

use super::{
    request::{Filters, Order, Viewer},
    weight::Weight,
};

/// Something that can be searched page by page. There are two kinds: the built-in index and external systems. What stands
/// between a search and a call of its source (suspension, kept answers, shared calls) is the source's own affair.
#[async_trait::async_trait]
pub trait Source: Send + Sync {
    /// The id by which modules, cursors and answers name it.
    fn id(&self) -> &str;

    /// A name for people.
    fn name(&self) -> &str;

    /// The longest that one request to it may take; the request's deadline may be nearer.
    fn timeout(&self) -> Duration;

    /// Whether its operator took it out of use: it is named in answers, and not asked.
    fn is_disabled(&self) -> bool {
        false
    }

    /// How much it counts by relevance.
    fn weight(&self) -> Weight {
        Weight::ONE
    }

    /// The keyword with each word that finds nothing in this source replaced by one that is one edit away and does
    /// (decisions 5.7); none where there is no such word.
    async fn correct(&self, _viewer: &Viewer, _keyword: &str) -> Option<String> {
        None
    }

    /// One page from `position` on. What is asked is shared, for sources that hand it to another thread.
    async fn page(&self, ask: &Arc<Ask>, position: &Position) -> Result<Page, SourceFailure>;
}

/// What one search asks of each of its sources.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Who asks.
    pub viewer: Viewer,
    /// What was typed.
    pub keyword: String,
    /// The same, understood.
    pub query: Arc<trawl_index::Query>,
    /// Which matches count.
    pub filters: Filters,
    /// In which order.
    pub order: Order,
    /// Items that the page still needs.
    pub limit: usize,
    /// The page is to hold all items of its last `displayTime`, up to this many.
    pub whole_ties: Option<usize>,
    /// The time condition of the whole chain of pages: only items below it (decisions 5.3).
    pub before: Option<i64>,
    /// When the answer leaves, with or without the source.
    pub deadline: Instant,
    /// The trace that the caller's request belongs to. It has no part in what is answered.
    pub trace: Option<TraceContext>,
}

impl Ask {
    /// The time below which items must lie: the nearer of `to` and the time condition.
    pub fn upper_bound(&self) -> Option<i64> {
        [self.filters.to, self.before].into_iter().flatten().min()
    }
}

/// Where a source stands in a chain of pages. What it means is the source's affair; the cursor carries it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Position {
    /// Nothing was taken yet.
    #[default]
    Beginning,
    /// Built-in, by time: after this item.
    AfterItem(i64, String),
    /// Built-in, by relevance: after so many items.
    AfterRank(usize),
    /// External: in the page that its cursor leads to (`None`: the first), after so much of it (empty: nothing).
    InPage(Option<String>, Vec<Taken>),
    /// Everything was taken.
    End,
}

/// How much was taken of what an external source sent at once. The last item tells where to go on when the page, asked for
/// again, has changed: a new item at its top shifts the others, and a count alone would repeat one of them.
///
/// A page that is asked for again may also be cut elsewhere, as a source sends as many items as it likes. What stood on one
/// page and was ordered together is judged together wherever it stands now; so there may be several of these, one after
/// the other, and they may reach into the pages behind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// Of so many items, in the source's own order, the taken ones are some. By time these are all that were ordered
    /// together (`usize::MAX`: and all behind them), of which those up to the last item were taken; by relevance all were, and the last item is the last of
    /// them. Items that the filters pass over count.
    pub count: usize,
    /// The last item's `displayTime`, epoch milliseconds.
    pub display_time: i64,
    /// The last item's id.
    pub id: String,
}

/// One item of an answer, as it is sent: its JSON is written once and copied through.
#[derive(Clone, Debug)]
pub struct Item {
    /// The item's id in its source.
    pub id: String,
    /// Epoch milliseconds.
    pub display_time: i64,
    /// The search content item.
    pub json: String,
    /// Whether the title is the name of somebody or of something, which is found, and marked, by its pinyin too.
    pub title_is_name: bool,
}

/// An item that a source sent, with the position after it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The item.
    pub item: Item,
    /// Where the source stands once this item is taken.
    pub after: Position,
}

/// One page of a source, in the order asked for.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The matches, filtered and ordered.
    pub entries: Vec<Entry>,
    /// Where the next page begins; `None` when there is none.
    pub next: Option<Position>,
    /// What later pages may still hold.
    pub later: Later,
    /// Every match, whatever the page, where the source says so.
    pub total: Option<u64>,
    /// A group of equal times was cut (decisions 5.3).
    pub tie_cut: bool,
    /// The contract was broken, yet the entries are usable (decisions 6.4).
    pub broken: Option<String>,
    /// A slip that harms no row.
    pub note: Option<String>,
    /// It was asked for by an earlier search, so that it may tell of another moment than the pages before and after it.
    pub kept: bool,
    /// It is an earlier answer, which stands in for a source that fails; `note` says how (decisions 6.5).
    pub stale: bool,
    /// It holds what there is, and something may be missing, on it or behind it; this says why. Where it has no next page, the
    /// source is not at its end for that.
    pub lacking: Option<String>,
}

/// The bound on what the later pages of a source may hold, in time order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Later {
    /// Items of any time: the source does not order by time.
    #[default]
    AnyTime,
    /// Items with a `displayTime` of at most this.
    AtMost(i64),
}

/// Why a source gave no page; the text is safe to show to callers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFailure {
    /// What kind of failure.
    pub kind: FailureKind,
    /// What happened, for people.
    pub message: String,
    /// How long the source asked to be left alone (`Retry-After`).
    pub retry_after: Option<Duration>,
    /// It says nothing of the source: only the cursor of this call may be wrong.
    pub is_of_the_cursor: bool,
    /// The source was not asked, because it is suspended.
    pub rest: Option<Rest>,
}

/// How long a suspended source is not asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rest {
    /// When it may be asked again, epoch milliseconds.
    pub retry_at: i64,
    /// The same, from now on.
    pub left: Duration,
}

/// The kinds of failure (decisions 5.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum FailureKind {
    /// No answer in time.
    Timeout,
    /// It cannot be reached, or takes no calls now.
    Unavailable,
    /// It refused our credentials, or its token endpoint did.
    Unauthorized,
    /// It broke the contract.
    Invalid,
    /// Anything else.
    Error,
}

impl SourceFailure {
    /// A failure of this kind.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after: None, is_of_the_cursor: false, rest: None }
    }

    /// The operator took the source out of use.
    pub fn disabled() -> Self {
        Self::new(FailureKind::Unavailable, "disabled by the operator")
    }

    /// No answer within the time there was.
    pub fn timed_out(after: Duration) -> Self {
        Self::new(FailureKind::Timeout, format!("no answer within {} ms", after.as_millis()))
    }
}
