//! `/contents/search/all` (book: reference/search.md).

use std::{collections::HashSet, time::Instant};

use axum::{
    extract::{Request, State},
    http::{HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use serde_json::value::RawValue;
use trawl_macros::operation;
use trawl_search::{Module, ModuleAnswer, PageRequest, SearchFailure, SourceReport, slow::TimedModules};

use super::{
    accept::wants_events,
    entry::AnswerEntry,
    events,
    page::{ContentItemSchema, FacetCounts, NoSourceEnvelope, PageAccount, no_source, write_envelope},
    parameters::{RawParameters, TermParameters, TopParameter},
    routes::viewer,
};
use crate::{
    auth::{caller::Caller, extract::Identified},
    error::{Error, Result},
    http::{
        envelope::{BodyRefusals, json_text},
        extract::QueryInBody,
    },
    platform::search::SearchState,
};

/// The answer of a search of every module.
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "only described; `answer_whole` writes it")]
struct AllEnvelope {
    /// 200.
    code: u16,
    /// null.
    message: Option<String>,
    /// The modules by `orderNo`, with their results.
    data: Vec<ModulePage>,
    #[schema(inline)]
    #[serde(flatten)]
    account: AllAccount,
}

/// The envelope's fields beside `data`.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct AllAccount {
    /// The number of modules.
    total: usize,
    /// The number of modules.
    count: usize,
    /// Whether any module is incomplete.
    partial: bool,
    /// The best matches of all modules, with `top`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TopResults>)]
    top: Option<Box<RawValue>>,
    /// Counts of the matches of all modules, with `facets`.
    #[serde(flatten)]
    #[schema(inline)]
    counts: FacetCounts,
}

/// The best matches of all modules, each once, with its module's code.
///
/// They wait for external sources for an eighth of the time; then they are `partial`.
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "only described; `Entry` writes it")]
struct TopResults {
    /// 200, or a failure as of a module.
    code: u16,
    /// null, or the failure.
    message: Option<String>,
    /// The items, best first.
    data: Vec<ContentItemSchema>,
    #[schema(inline)]
    #[serde(flatten)]
    account: PageAccount,
}

/// A module with its result; `/contents/search` continues its `cursor`.
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "only described; `Entry` writes it")]
struct ModulePage {
    /// The module.
    module: Module,
    /// 200, or the failure of `/contents/search`, such as 502, 504 or 413. A failed module is `partial` and
    /// has no items.
    code: u16,
    /// null, or the failure.
    message: Option<String>,
    /// The items as their sources gave them.
    data: Vec<ContentItemSchema>,
    #[schema(inline)]
    #[serde(flatten)]
    account: PageAccount,
}

/// Searches all modules of the caller; `Accept: text/event-stream` sends each module when ready.
#[operation(
    search, params(TermParameters, TopParameter),
    request_body(content = QueryInBody, description = "The same names as the query parameters, which prevail"),
    (status = 200, description = "At least one module answered, or there is none. As a stream: an event `module` for \
        each module as it gets ready, its data one element of the envelope's `data` in one line; with `top` one event `top` \
        among them, its data as in the envelope; then an event `done` \
        with `{count, tookMs, partial}`, `count` being the number of modules, and the counts of `facets`. A stream without `done` broke off.",
        content((AllEnvelope = "application/json"), (String = "text/event-stream"))),
    502 = "No source of any module answered": NoSourceEnvelope,
    504 = "Every source of every module timed out": NoSourceEnvelope,
    BodyRefusals,
)]
pub async fn post_search_all(
    State(state): State<SearchState>,
    Identified(caller): Identified,
    request: Request,
) -> Result<Response> {
    let as_events = wants_events(request.headers());
    search_all(&state, &caller, &RawParameters::read(request).await?, as_events).await
}

/// Searches all modules of the caller, by GET.
#[operation(
    search, params(TermParameters, TopParameter),
    (status = 200, description = "The same as by POST",
        content((AllEnvelope = "application/json"), (String = "text/event-stream"))),
    405 = "HEAD is not supported",
    502 = "No source of any module answered": NoSourceEnvelope,
    504 = "Every source of every module timed out": NoSourceEnvelope,
)]
pub async fn get_search_all(
    State(state): State<SearchState>,
    Identified(caller): Identified,
    request: Request,
) -> Result<Response> {
    // A search for HEAD would be wasted.
    if request.method() == Method::HEAD {
        let refusal = Error::method_not_allowed("/contents/search/all does not support HEAD");
        let allowed = [(header::ALLOW, HeaderValue::from_static("GET,POST"))];
        return Ok((allowed, refusal).into_response());
    }
    search_all(&state, &caller, &RawParameters::in_query(&request), wants_events(request.headers())).await
}

async fn search_all(
    state: &SearchState,
    caller: &Caller,
    given: &RawParameters,
    as_events: bool,
) -> Result<Response> {
    let started = Instant::now();
    let parameters = given.parameters(state, caller).await?;
    let top = given.top(parameters.order)?;
    let timer = state.slow_searches.start(caller.tenant.id, &parameters, &PageRequest::default());
    let search = state.coordinator.search_all(viewer(caller), parameters, top).await?;
    let mut search = TimedModules::new(search, timer);
    // The status is open until a module has answered.
    let mut first = Vec::new();
    let mut has_answer = search.count() == 0;
    while !has_answer && let Some(answer) = search.next().await {
        has_answer = answer.result.is_ok();
        first.push(answer);
    }
    if !has_answer {
        return none_answered(first);
    }
    let first = first.into_iter().map(AnswerEntry::write).collect::<Result<Vec<_>>>()?;
    if as_events { Ok(events::answer(first, search, started)) } else { answer_whole(first, search).await }
}

async fn answer_whole(mut entries: Vec<AnswerEntry>, mut search: TimedModules) -> Result<Response> {
    while let Some(answer) = search.next().await {
        entries.push(AnswerEntry::write(answer)?);
    }
    let top = entries.iter().position(|entry| entry.place.is_none()).map(|place| entries.swap_remove(place));
    let top = top.map(|entry| RawValue::from_string(entry.text)).transpose().map_err(Error::internal)?;
    entries.sort_unstable_by_key(|entry| entry.place);
    let count = entries.len();
    let counts = FacetCounts::from(search.facets().await);
    let account =
        AllAccount { total: count, count, partial: entries.iter().any(|entry| entry.partial), top, counts };
    let body = write_envelope("{", entries, |entry| [&*entry.text], &account)?;
    Ok(json_text(StatusCode::OK, body))
}

/// Answers a search in which every module failed.
///
/// Fails with the first refusal if no module asked its sources.
fn none_answered(failures: Vec<ModuleAnswer>) -> Result<Response> {
    let all_timed_out = failures
        .iter()
        .all(|answer| matches!(answer.result, Err(SearchFailure::NoSource { all_timed_out: true, .. })));
    let mut reports: Vec<SourceReport> = Vec::new();
    let mut seen = HashSet::new();
    let mut refusal = None;
    let mut has_asked = false;
    let mut waits = Vec::new();
    for answer in failures {
        match answer.result {
            Err(SearchFailure::NoSource { sources, retry_after: wait, .. }) => {
                has_asked = true;
                waits.push(wait);
                reports.extend(sources.into_iter().filter(|report| seen.insert(report.id.clone())));
            }
            Err(SearchFailure::Refused(error)) => refusal = refusal.or(Some(error)),
            Ok(_) => {}
        }
    }
    // Sources without a suspension can be retried at once.
    let retry_after = waits.into_iter().min().flatten();
    match refusal {
        Some(error) if !has_asked => Err(error.into()),
        _ => Ok(no_source("any module", all_timed_out, retry_after, reports)),
    }
}
