use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trawl_engine::{
    Hit,
    relevance::{MatchScore, QueryStatistics, RankPosition, RankedBy, Recency},
};

use crate::{
    loop_guard::{Fingerprint, SentRow, fingerprint},
    panics::CaughtPanic,
    request::{SearchContext, Viewer},
    weight::{Relevance, Weight},
};

/// Source that is searched page by page.
///
/// Implementations suspend, cache and limit their own calls.
#[async_trait::async_trait]
pub(crate) trait PagedSource: Send + Sync {
    fn id(&self) -> &str;

    /// The id as the JSON of an item's `source`.
    fn id_as_json(&self) -> Arc<str> {
        Value::from(self.id()).to_string().into()
    }

    fn name(&self) -> &str;

    /// Answers name a disabled source, searches skip it.
    fn is_disabled(&self) -> bool {
        false
    }

    fn weight(&self) -> Weight {
        Weight::ONE
    }

    /// Others are skipped while the keyword is typed.
    fn is_asked_while_typing(&self) -> bool {
        true
    }

    /// Finds an item that the viewer may see, without a call of an external system.
    async fn find_item(&self, _viewer: &Viewer, _id: &str) -> Result<Option<ResultItem>, SourceFailure> {
        Ok(None)
    }

    /// The caller ends the wait at the deadline.
    async fn page(&self, request: &SourceRequest, position: &Position) -> Result<SourcePage, SourceFailure>;
}

#[derive(Clone, Debug)]
pub(crate) struct SourceRequest {
    pub(crate) search: Arc<SearchContext>,
    /// Items of the last time that stay together.
    pub(crate) whole_ties: Option<usize>,
    /// Items below this time only.
    pub(crate) before: Option<i64>,
    /// Gain of new items, in relevance order.
    pub(crate) recency: Recency,
}

impl SourceRequest {
    pub(crate) fn upper_bound(&self) -> Option<i64> {
        [self.search.parameters.filters.to, self.before].into_iter().flatten().min()
    }
}

/// Id of a source in cursors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct SourceFingerprint(Fingerprint);

impl SourceFingerprint {
    pub(crate) fn of(id: &str) -> Self {
        Self(fingerprint(id))
    }

    /// Tells most sources of a module apart.
    pub(crate) fn short(self) -> u8 {
        let Self([first, ..]) = self;
        first
    }
}

/// A source's position, written into cursors: variants and fields keep their order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Position {
    #[default]
    Beginning,
    /// Built-in, by time: after this item.
    AfterItem(i64, String),
    /// Built-in, by relevance: after this many items.
    AfterRank(usize),
    /// External: in the page of this cursor, after these parts.
    InPage(Option<String>, Vec<ConsumedPart>),
    End,
    /// Built-in, by relevance: after this many items, of which this is the last.
    AfterMatch(usize, RankPosition),
}

/// A consumed part of an external page.
///
/// Its last item marks where to continue if the page has shifted. A source may also cut its pages anew at each call, so several parts may
/// follow each other into the pages behind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ConsumedPart {
    /// Items of the part; filtered ones count.
    ///
    /// They are consumed, in relevance order. In time order they are those sorted together (`usize::MAX`: and all
    /// behind), consumed up to the last item.
    pub(crate) count: usize,
    pub(crate) display_time: i64,
    pub(crate) id: String,
}

/// Item; its JSON is copied through.
#[derive(Clone, Debug, Default)]
pub struct ResultItem {
    /// Id.
    pub id: String,
    /// Epoch milliseconds.
    pub display_time: i64,
    /// Content item.
    pub json: String,
    /// Highlights match the title by pinyin, too.
    pub title_is_name: bool,
    /// Score of the index, in relevance order.
    pub(crate) score: Option<MatchScore>,
    /// Place of its source among those of the page.
    pub(crate) lane: Option<usize>,
    /// Id of its source, as JSON; set in a complete page.
    pub(crate) source: Option<Arc<str>>,
    /// Whether it stands above the page, whatever the words.
    pub(crate) is_pinned: bool,
}

impl ResultItem {
    /// The parts of its JSON, with `source` as the last field.
    pub fn json_parts(&self) -> [&str; 4] {
        match (self.json.strip_suffix('}'), &self.source) {
            (Some(fields), Some(source)) => [fields, ",\"source\":", source, "}"],
            _ => [&self.json, "", "", ""],
        }
    }

    /// Adds a field that the item does not have yet; `json` is its value.
    pub(crate) fn add_field(&mut self, name: &str, json: &str) {
        if self.json.ends_with('}') {
            self.json.pop();
            self.json.push_str(",\"");
            self.json.push_str(name);
            self.json.push_str("\":");
            self.json.push_str(json);
            self.json.push('}');
        }
    }
}

impl From<Hit> for ResultItem {
    fn from(Hit { id, display_time, item, title_is_name, score, .. }: Hit) -> Self {
        Self { id, display_time, json: item, title_is_name, score, ..Self::default() }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct PositionedItem {
    pub(crate) item: ResultItem,
    pub(crate) after: Position,
    pub(crate) relevance: Relevance,
}

/// Filtered and ordered.
#[derive(Clone, Debug, Default)]
pub(crate) struct SourcePage {
    pub(crate) items: Vec<PositionedItem>,
    /// Rows of an external page before filters; empty for built-in ones.
    pub(crate) sent: Arc<[SentRow]>,
    pub(crate) next: Option<Position>,
    pub(crate) bound: TimeBound,
    /// Upper bound on the relevance of later items; `None`: the last item's.
    pub(crate) least_relevance: Option<Relevance>,
    /// Statistics by which items of other sources are estimated.
    pub(crate) statistics: Option<Arc<QueryStatistics>>,
    /// What later pages of the index are ranked by, too.
    pub(crate) ranked_by: Option<Arc<RankedBy>>,
    pub(crate) total: Option<u64>,
    /// Whether a group of more than `LARGEST_TIE` equal times was cut.
    pub(crate) tie_cut: bool,
    /// A breach of the contract with usable items.
    pub(crate) broken: Option<String>,
    /// A violation of the contract that harms no item.
    pub(crate) note: Option<String>,
    /// May be older than its neighbours.
    pub(crate) cached: bool,
    /// A stale page in place of a failure.
    pub(crate) stale: bool,
    /// Why items may be missing.
    pub(crate) incomplete: Option<String>,
}

/// Bound on later times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum TimeBound {
    /// No time order.
    #[default]
    AnyTime,
    AtMost(i64),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceFailure {
    pub(crate) kind: FailureKind,
    pub(crate) message: String,
    pub(crate) retry_after: Option<Duration>,
    /// The cursor is at fault, not the source.
    pub(crate) is_cursor_fault: bool,
    /// The source refuses or does not know this person; it may answer others.
    pub(crate) is_person_refused: bool,
    pub(crate) pause: Option<Pause>,
    /// The source is asked and not waited for.
    pub(crate) is_late: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pause {
    /// Epoch milliseconds.
    pub(crate) retry_at: i64,
    pub(crate) remaining: Duration,
}

/// The status of a source in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It answered.
    Ok,
    /// It did not answer in time.
    Timeout,
    /// Its last answers were late: it was asked and not waited for.
    Late,
    /// It is not asked for a keyword that is still typed.
    Skipped,
    /// It cannot be reached, or takes no calls now.
    Unavailable,
    /// It refused our credentials.
    Unauthorized,
    /// It broke the contract.
    Invalid,
    /// Anything else.
    Error,
}

impl From<FailureKind> for Status {
    fn from(kind: FailureKind) -> Self {
        match kind {
            FailureKind::Timeout => Self::Timeout,
            FailureKind::Unavailable => Self::Unavailable,
            FailureKind::Unauthorized => Self::Unauthorized,
            FailureKind::Invalid => Self::Invalid,
            FailureKind::Error => Self::Error,
        }
    }
}

impl Status {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Timeout => "timeout",
            Self::Late => "late",
            Self::Skipped => "skipped",
            Self::Unavailable => "unavailable",
            Self::Unauthorized => "unauthorized",
            Self::Invalid => "invalid",
            Self::Error => "error",
        }
    }
}

/// The kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum FailureKind {
    /// No answer in time.
    Timeout,
    /// It cannot be reached, or takes no calls now.
    Unavailable,
    /// Credentials refused, also by the token endpoint.
    Unauthorized,
    /// It broke the contract.
    Invalid,
    /// Anything else.
    Error,
}

impl SourceFailure {
    pub(crate) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            retry_after: None,
            is_cursor_fault: false,
            is_person_refused: false,
            pause: None,
            is_late: false,
        }
    }

    pub(crate) fn late() -> Self {
        let message =
            "not waited for: its last answers came too late; the next one is kept for later searches";
        Self { is_late: true, ..Self::new(FailureKind::Timeout, message) }
    }

    pub(crate) fn status(&self) -> Status {
        if self.is_late { Status::Late } else { self.kind.into() }
    }

    pub(crate) fn disabled() -> Self {
        Self::new(FailureKind::Unavailable, "disabled by the operator")
    }

    pub(crate) fn timed_out(after: Duration) -> Self {
        Self::new(FailureKind::Timeout, format!("no answer within {} ms", after.as_millis()))
    }

    /// The source answers people, and an application searches.
    pub(crate) fn no_person() -> Self {
        let message = "not asked: it answers people alone, so search with the token of a person";
        Self { is_person_refused: true, ..Self::new(FailureKind::Unauthorized, message) }
    }

    /// Logs the panic; callers learn no more than that there was one.
    pub(crate) fn from_panic(source: &str, panic: &CaughtPanic) -> Self {
        tracing::error!(source, %panic, "a source panicked");
        Self::new(FailureKind::Error, "the source failed inside the server")
    }
}
