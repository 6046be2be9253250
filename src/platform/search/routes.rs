//! `POST /modules` and `/contents/search`.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::StatusCode,
    response::Response,
};
use trawl_macros::operation;
use trawl_search::{
    Module, ModuleSearch, SearchFailure, SourceCounts, Suggestion, Viewer, slow::SearchOutcome,
};

use crate::{
    auth::{caller::Caller, extract::Identified},
    error::Result,
    http::{
        envelope::{BodyRefusals, Envelope, json_text},
        extract::QueryInBody,
    },
    platform::search::{
        SearchState,
        page::{NoSourceEnvelope, SearchEnvelope, no_source, write_page},
        parameters::{PlaceParameters, RawParameters, SuggestionParameters, TermParameters},
    },
};

/// Lists the modules that the caller may search, by `orderNo`.
#[operation(search, 200 = "The modules")]
pub async fn list_modules(
    State(state): State<SearchState>,
    Identified(caller): Identified,
) -> Result<Envelope<Vec<Module>>> {
    let modules = state.coordinator.modules(caller.tenant.id).await?;
    Ok(Envelope::list(modules.iter().map(|module| Module::clone(module)).collect()))
}

/// Searches all sources of one module.
#[operation(
    search, params(TermParameters, PlaceParameters),
    request_body(content = QueryInBody, description = "The same names as the query parameters, which prevail"),
    200 = "A page of items": SearchEnvelope,
    404 = "There is no such module",
    502 = "No source answered": NoSourceEnvelope,
    504 = "Every source timed out": NoSourceEnvelope,
    BodyRefusals,
)]
pub async fn post_search(
    State(state): State<SearchState>,
    Identified(caller): Identified,
    request: Request,
) -> Result<Response> {
    search(&state, &caller, viewer(&caller), &RawParameters::read(request).await?).await
}

/// Searches one module, by GET.
#[operation(
    search, params(TermParameters, PlaceParameters), 200 = "A page of items": SearchEnvelope,
    404 = "There is no such module",
    502 = "No source answered": NoSourceEnvelope,
    504 = "Every source timed out": NoSourceEnvelope,
)]
pub async fn get_search(
    State(state): State<SearchState>,
    Identified(caller): Identified,
    request: Request,
) -> Result<Response> {
    search(&state, &caller, viewer(&caller), &RawParameters::in_query(&request)).await
}

/// Completes the beginning of a title or name, by what the caller may see.
#[operation(
    search, params(SuggestionParameters),
    200 = "Titles, names and authors of built-in content, and modules: first those that begin with \
        `prefix`, then those with a word that does. Each text once; people and departments also by pinyin. Recent \
        keywords are not among them.",
    404 = "There is no such module",
)]
pub async fn list_suggestions(
    State(state): State<SearchState>,
    Identified(caller): Identified,
    request: Request,
) -> Result<Envelope<Vec<Suggestion>>> {
    let suggestions = RawParameters::in_query(&request).suggestions(&state)?;
    Ok(Envelope::list(state.coordinator.suggest(&viewer(&caller), &suggestions).await?))
}

pub(super) async fn search(
    state: &SearchState,
    caller: &Caller,
    viewer: Viewer,
    given: &RawParameters,
) -> Result<Response> {
    let parameters = given.parameters(state, caller).await?;
    let (module, page) = given.place()?.check(parameters.order)?;
    let timer = state.slow_searches.start(caller.tenant.id, &parameters, &page);
    let search = ModuleSearch { module: module.clone(), page, parameters };
    let result = state.coordinator.search(viewer, search).await;
    timer.end(|| state.coordinator.code_of(caller.tenant.id, &module), || SearchOutcome::of(&result)).await;
    match result {
        Ok(answer) => {
            let counts = SourceCounts::of(&answer.sources);
            let mut response = json_text(StatusCode::OK, write_page("{", answer)?);
            response.extensions_mut().insert(counts);
            Ok(response)
        }
        Err(SearchFailure::Refused(error)) => Err(error.into()),
        Err(SearchFailure::NoSource { all_timed_out, retry_after, sources }) => {
            Ok(no_source("the module", all_timed_out, retry_after, sources))
        }
    }
}

pub(in crate::platform) fn viewer(caller: &Caller) -> Viewer {
    Viewer {
        tenant_id: caller.tenant.id,
        user_id: caller.user.as_ref().map(|user| user.person.user_id.clone()),
        client_id: Arc::clone(&caller.client_id),
        principals: caller.principals(),
    }
}
