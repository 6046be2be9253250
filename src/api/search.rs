//! `POST /modules`, `/contents/search` and `/contents/search/all` (decisions 5).

pub mod accept;
pub mod all;
mod events;
mod page;
mod parameters;

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::StatusCode,
    response::Response,
};

use self::{
    page::{NoSourceEnvelope, SearchEnvelope, no_source, write_page},
    parameters::{Given, PlaceParameters, TermParameters},
};
use super::{
    envelope::{BodyRefusals, Envelope, FailureEnvelope, Refusals, json_text},
    extract::Identified,
};
use crate::{
    app::App,
    auth::caller::Caller,
    error::Result,
    search::{Failure, SourceCounts, registry::Module, request::Viewer, slow::Outcome},
};

/// The modules that the caller may search, by `orderNo`.
#[utoipa::path(post, path = "/modules", tag = "search", responses(
    (status = 200, description = "The modules", body = Envelope<Vec<Module>>),
    Refusals,
))]
pub async fn list_modules(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
) -> Result<Envelope<Vec<Module>>> {
    let modules = app.coordinator.modules(caller.tenant.id).await?;
    Ok(Envelope::list(modules.iter().map(|module| Module::clone(module)).collect()))
}

/// Searches one module: all of its sources at once, as one list.
#[utoipa::path(
    post, path = "/contents/search", tag = "search", params(TermParameters, PlaceParameters),
    request_body(content = Option<Object>, description = "The same names as the query parameters"),
    responses(
        (status = 200, description = "One page", body = SearchEnvelope),
        Refusals, BodyRefusals,
        (status = 404, description = "There is no such module", body = FailureEnvelope),
        (status = 502, description = "No source answered", body = NoSourceEnvelope),
        (status = 504, description = "Every source timed out", body = NoSourceEnvelope),
    )
)]
pub async fn post_search(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    request: Request,
) -> Result<Response> {
    search(&app, &caller, &Given::read(request).await?).await
}

/// Searches one module, by GET.
#[utoipa::path(
    get, path = "/contents/search", tag = "search", params(TermParameters, PlaceParameters),
    responses(
        (status = 200, description = "One page", body = SearchEnvelope),
        Refusals,
        (status = 404, description = "There is no such module", body = FailureEnvelope),
        (status = 502, description = "No source answered", body = NoSourceEnvelope),
        (status = 504, description = "Every source timed out", body = NoSourceEnvelope),
    )
)]
pub async fn get_search(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    request: Request,
) -> Result<Response> {
    search(&app, &caller, &Given::in_query(&request)).await
}

async fn search(app: &App, caller: &Caller, given: &Given) -> Result<Response> {
    let request = given.request(app)?;
    let request = given.place()?.check(request)?;
    let begun = app.slow_searches.begin(caller.tenant.id, &request);
    let module = request.module.clone();
    let result = app.coordinator.search(viewer(caller), request).await;
    begun.end(|| app.coordinator.code_of(caller.tenant.id, &module), || Outcome::of(&result)).await;
    match result {
        Ok(answer) => {
            let counts = SourceCounts::of(&answer.sources);
            let mut response = json_text(StatusCode::OK, write_page("{", answer)?);
            response.extensions_mut().insert(counts);
            Ok(response)
        }
        Err(Failure::Refused(error)) => Err(error),
        Err(Failure::NoSource { all_timed_out, retry_after, sources }) => {
            Ok(no_source("the module", all_timed_out, retry_after, sources))
        }
    }
}

/// Who asks, as far as search needs to know.
fn viewer(caller: &Caller) -> Viewer {
    Viewer {
        tenant_id: caller.tenant.id,
        user_id: caller.user.as_ref().map(|user| user.person.user_id.clone()),
        principals: caller.principals(),
    }
}
