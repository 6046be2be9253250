//! The answer of a search as it is sent: the items' JSON is copied through, and the account of each source stands beside
//! it (decisions 5.4, 5.5).

use std::time::Duration;

use axum::{
    http::{HeaderValue, StatusCode, header::RETRY_AFTER},
    response::Response,
};
use serde::Serialize;

use crate::{
    api::envelope::{FailureEnvelope, json},
    error::{Error, Result},
    search::{Answer, Highlight, SourceCounts, SourceReport},
    store::now_millis,
};

/// The answer of a search: the envelope, with an account of each source (decisions 5.4, 5.5).
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "only described; `write_page` writes it")]
pub(super) struct SearchEnvelope {
    /// 200.
    code: u16,
    /// null.
    message: Option<String>,
    /// The items, as each source gave them.
    data: Vec<ContentItemSchema>,
    #[schema(inline)]
    #[serde(flatten)]
    account: PageAccount,
}

/// What the envelope of a search says besides its items.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct PageAccount {
    /// Every match: exact for built-in sources, plus what external sources state. Duplicates count as often as sources
    /// have them, also where the module shows them once.
    pub(super) total: u64,
    /// Items in `data`.
    pub(super) count: usize,
    /// What to send back for the next page; null at the end.
    pub(super) cursor: Option<String>,
    /// Whether something is missing that was asked for.
    pub(super) partial: bool,
    /// What was looked for instead of the keyword, of which nothing was found: a word of it is another one now. Absent when the
    /// keyword was looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) corrected: Option<String>,
    /// One report for each source.
    pub(super) sources: Vec<SourceReport>,
}

/// The answer when no source answered: 502, or 504 when all timed out.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct NoSourceEnvelope {
    #[serde(flatten)]
    failure: FailureEnvelope,
    /// One report for each source.
    sources: Vec<SourceReport>,
}

/// A search content item.
#[derive(utoipa::ToSchema)]
#[schema(as = ContentItem)]
#[expect(dead_code, reason = "only described")]
pub(super) struct ContentItemSchema {
    /// Content id.
    id: String,
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
    /// Where the module shows duplicates once: the ids of further sources that have the item, as far as they were known
    /// when the page was made; absent when there are none.
    #[schema(rename = "alsoIn")]
    also_in: Option<Vec<String>>,
    /// With `highlight=true`: what of the item matches.
    highlight: Option<Highlight>,
}

/// The envelope of a page, behind `head`, which opens the object.
pub(super) fn write_page(head: &str, answer: Answer) -> Result<String> {
    let Answer { items, total, cursor, partial, corrected, sources } = answer;
    let account = PageAccount { total, count: items.len(), cursor, partial, corrected, sources };
    write_envelope(head, items, |item| &item.json, &account)
}

/// An envelope of success, behind `head`, which opens the object. The elements of `data` are JSON already: each is copied
/// as it is, and dropped then.
pub(super) fn write_envelope<T>(
    head: &str,
    data: Vec<T>,
    json: impl Fn(&T) -> &str,
    account: &impl Serialize,
) -> Result<String> {
    const START: &str = r#""code":200,"message":null,"data":["#;
    let account = serde_json::to_string(account).map_err(Error::internal)?;
    let length: usize = data.iter().map(|element| json(element).len() + 1).sum();
    let mut text = String::with_capacity(head.len() + START.len() + length + account.len() + 2);
    text.push_str(head);
    text.push_str(START);
    for (place, element) in data.into_iter().enumerate() {
        if place > 0 {
            text.push(',');
        }
        text.push_str(json(&element));
    }
    text.push_str("],");
    text.push_str(account.trim_start_matches('{'));
    Ok(text)
}

/// The status and the message where no source of `whom` answered (decisions 5.5).
pub(super) fn say_no_source(whom: &str, all_timed_out: bool) -> (StatusCode, String) {
    if all_timed_out {
        (StatusCode::GATEWAY_TIMEOUT, format!("no source of {whom} answered in time"))
    } else {
        (StatusCode::BAD_GATEWAY, format!("no source of {whom} answered; `sources` says why"))
    }
}

/// The answer where no source of `whom` answered, and after which time one may.
pub(super) fn no_source(
    whom: &str,
    all_timed_out: bool,
    retry_after: Option<Duration>,
    sources: Vec<SourceReport>,
) -> Response {
    let (status, message) = say_no_source(whom, all_timed_out);
    let failure = FailureEnvelope { code: status.as_u16().into(), message, data: (), date: now_millis() };
    let counts = SourceCounts::of(&sources);
    let mut response = json(status, &NoSourceEnvelope { failure, sources });
    response.extensions_mut().insert(counts);
    if let Some(wait) = retry_after {
        // Rounded up: who comes back then must not come early.
        let seconds = wait.as_millis().div_ceil(1_000).max(1);
        let seconds = HeaderValue::try_from(seconds.to_string()).ok();
        response.headers_mut().extend(seconds.map(|seconds| (RETRY_AFTER, seconds)));
    }
    response
}
