//! Search responses (book: reference/search.md).

use std::time::Duration;

use axum::{
    http::{HeaderValue, StatusCode, header::RETRY_AFTER},
    response::Response,
};
use serde::Serialize;
use trawl_engine::correction::{CorrectedWord, Correction};
use trawl_search::{
    Explanation, Facets, Highlight, Relaxed, ResultItem, SearchPage, SourceCounts, SourceReport,
};

use crate::{
    error::{Error, Result},
    http::envelope::{FailureEnvelope, json},
    store::now_millis,
};

/// A search response with source reports.
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "only described; `write_page` writes it")]
pub(super) struct SearchEnvelope {
    /// 200.
    code: u16,
    /// null.
    message: Option<String>,
    /// The items as their sources gave them.
    data: Vec<ContentItemSchema>,
    #[schema(inline)]
    #[serde(flatten)]
    account: PageAccount,
}

/// The envelope's fields beside `data`.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct PageAccount {
    /// All matches, as external sources state them. Duplicates count once per source.
    pub(super) total: u64,
    /// Items in `data`.
    pub(super) count: usize,
    /// The cursor of the next page; null at the end.
    pub(super) cursor: Option<String>,
    /// Whether the page is incomplete.
    pub(super) partial: bool,
    /// The corrected keyword that was searched instead; absent without a correction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) corrected: Option<String>,
    /// The corrected words; absent without a correction.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Option<Vec<CorrectedWordSchema>>)]
    pub(super) corrections: Vec<CorrectedWord>,
    /// The words that were left out, as all together find nothing; absent if none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) relaxed: Option<Relaxed>,
    /// Counts of all matches, with `facets`.
    #[serde(flatten)]
    #[schema(inline)]
    pub(super) counts: FacetCounts,
    /// A report per source.
    pub(super) sources: Vec<SourceReport>,
}

/// Counts of all matches, if asked for.
#[derive(Debug, Default, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct FacetCounts {
    /// The values of each facet with their matches, at most 20; absent without the parameter `facets`.
    #[serde(skip_serializing_if = "Option::is_none")]
    facets: Option<Facets>,
    /// Whether the counts lack matches.
    ///
    /// External sources state totals alone; others may not have answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    facets_partial: Option<bool>,
}

impl From<Option<Facets>> for FacetCounts {
    fn from(facets: Option<Facets>) -> Self {
        Self { facets_partial: facets.as_ref().map(|facets| facets.partial), facets }
    }
}

/// A word that no built-in content has, and the one that was searched instead.
#[derive(utoipa::ToSchema)]
#[schema(as = CorrectedWord)]
#[expect(dead_code, reason = "only described")]
pub(super) struct CorrectedWordSchema {
    /// The word as typed.
    from: String,
    /// The word in its place.
    to: String,
}

/// The response without an answering source: 502, or 504 after timeouts only.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct NoSourceEnvelope {
    #[serde(flatten)]
    failure: FailureEnvelope,
    /// A report per source.
    sources: Vec<SourceReport>,
}

/// A search content item.
#[derive(utoipa::ToSchema)]
#[schema(as = ContentItem)]
#[expect(dead_code, reason = "only described")]
pub(in crate::platform) struct ContentItemSchema {
    /// Content id, unique in its source.
    id: String,
    /// Id of its source, as in `sources`.
    source: String,
    /// Title.
    title: String,
    /// Subtitle.
    #[schema(rename = "subTitle")]
    sub_title: Option<String>,
    /// Summary.
    brief: Option<String>,
    /// Icon.
    image: Option<String>,
    /// Author.
    author: Option<String>,
    /// Epoch milliseconds.
    #[schema(rename = "displayTime")]
    display_time: i64,
    /// Click-handling action, a JSON object in a string, keyed by client kind.
    action: Option<String>,
    /// Additional information.
    #[schema(rename = "attachInfo")]
    attach_info: Option<String>,
    /// Description of the additional information.
    #[schema(rename = "attachDescription")]
    attach_description: Option<String>,
    /// Ids of further sources with this item, if the module shows duplicates once.
    #[schema(rename = "alsoIn")]
    also_in: Option<Vec<String>>,
    /// Whether the operator pinned it to the keyword; absent for other items.
    pinned: Option<bool>,
    /// The code of its module, in `top` alone.
    module: Option<String>,
    /// The matching texts, with `highlight=true`.
    highlight: Option<Highlight>,
    /// Why it was found, with `explain=true`.
    explain: Option<Explanation>,
}

pub(super) fn write_page(head: &str, page: SearchPage) -> Result<String> {
    let SearchPage { items, total, cursor, partial, corrected, relaxed, facets, sources, .. } = page;
    let counts = FacetCounts::from(facets);
    let (corrected, corrections) = corrected.map(|Correction { keyword, words }| (keyword, words)).unzip();
    let corrections = corrections.unwrap_or_default();
    let count = items.len();
    let account =
        PageAccount { total, count, cursor, partial, corrected, corrections, relaxed, counts, sources };
    write_envelope(head, items, ResultItem::json_parts, &account)
}

/// Copies the JSON elements of `data`, each in parts. `head` opens the object.
pub(super) fn write_envelope<T, const PARTS: usize>(
    head: &str,
    data: Vec<T>,
    json: impl Fn(&T) -> [&str; PARTS],
    account: &impl Serialize,
) -> Result<String> {
    const START: &str = r#""code":200,"message":null,"data":["#;
    let account = serde_json::to_string(account).map_err(Error::internal)?;
    let length = data.len() + data.iter().flat_map(&json).map(str::len).sum::<usize>();
    let mut text = String::with_capacity(head.len() + START.len() + length + account.len() + 2);
    text.push_str(head);
    text.push_str(START);
    for (place, element) in data.into_iter().enumerate() {
        if place > 0 {
            text.push(',');
        }
        text.extend(json(&element));
    }
    text.push_str("],");
    text.push_str(account.trim_start_matches('{'));
    Ok(text)
}

/// Returns status and message for a `target` of which no source answered.
pub(super) fn say_no_source(target: &str, all_timed_out: bool) -> (StatusCode, String) {
    if all_timed_out {
        (StatusCode::GATEWAY_TIMEOUT, format!("no source of {target} answered in time"))
    } else {
        (StatusCode::BAD_GATEWAY, format!("no source of {target} answered; `sources` says why"))
    }
}

/// Response if no source of `target` answered, with `Retry-After`.
pub(super) fn no_source(
    target: &str,
    all_timed_out: bool,
    retry_after: Option<Duration>,
    sources: Vec<SourceReport>,
) -> Response {
    let (status, message) = say_no_source(target, all_timed_out);
    let failure = FailureEnvelope { code: status.as_u16().into(), message, data: (), date: now_millis() };
    let counts = SourceCounts::of(&sources);
    let mut response = json(status, &NoSourceEnvelope { failure, sources });
    response.extensions_mut().insert(counts);
    if let Some(wait) = retry_after {
        // Rounded up, so that a retry is not early.
        let seconds = wait.as_millis().div_ceil(1_000).max(1);
        let seconds = HeaderValue::try_from(seconds.to_string()).ok();
        response.headers_mut().extend(seconds.map(|seconds| (RETRY_AFTER, seconds)));
    }
    response
}
