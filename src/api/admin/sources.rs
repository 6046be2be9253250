//! `/admin/v1/sources` (decisions 7.1, 7.2).

use std::sync::Arc;

use axum::{
    extract::State,
    http::HeaderMap,
    response::{IntoResponse, Response, sse::Event},
};
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;
use tracing::{Instrument, Span};
use trawl_connectors::check::{CLAUSES, Decided};

use crate::{
    api::{
        envelope::{BodyRefusals, Envelope, FailureEnvelope, Refusals},
        events,
        extract::{Identified, JsonObject, PathParameter, QueryParameters},
        search::accept::wants_events,
    },
    app::App,
    error::{Error, Result},
    search::{
        health::SourceHealth,
        registry::{RegisteredSource, SourceCheck, SourceForm},
    },
};

/// The tenant's external sources, by name, and how each is.
#[utoipa::path(get, path = "/admin/v1/sources", tag = "admin", responses(
    (status = 200, description = "The sources", body = Envelope<Vec<RegisteredSource>>),
    Refusals,
))]
pub async fn list_sources(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
) -> Result<Envelope<Vec<RegisteredSource>>> {
    Ok(Envelope::list(app.registry.list_sources(caller.tenant.id).await?))
}

/// Registers an external source, which modules may then show.
#[utoipa::path(
    post, path = "/admin/v1/sources", tag = "admin", request_body = SourceForm,
    responses(
        (status = 200, description = "The source, without its secret", body = Envelope<RegisteredSource>),
        Refusals, BodyRefusals,
        (status = 409, description = "Its id is taken, or the tenant has as many sources as it may", body = FailureEnvelope),
    )
)]
pub async fn create_source(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<SourceForm>,
) -> Result<Envelope<RegisteredSource>> {
    Ok(Envelope::of(app.registry.create_source(caller.tenant.id, form).await?))
}

/// One external source.
#[utoipa::path(
    get, path = "/admin/v1/sources/{id}", tag = "admin",
    params(("id" = String, Path, description = "The source's id")),
    responses(
        (status = 200, description = "The source, without its secret", body = Envelope<RegisteredSource>),
        Refusals,
        (status = 404, description = "There is no such source", body = FailureEnvelope),
    )
)]
pub async fn find_source(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameter(id): PathParameter,
) -> Result<Envelope<RegisteredSource>> {
    Ok(Envelope::of(app.registry.find_source(caller.tenant.id, &id).await?))
}

/// Registers another source in the place of this one; what the body leaves out gets its default, but the secret stays.
#[utoipa::path(
    put, path = "/admin/v1/sources/{id}", tag = "admin", request_body = SourceForm,
    params(("id" = String, Path, description = "The source's id")),
    responses(
        (status = 200, description = "The source, without its secret", body = Envelope<RegisteredSource>),
        Refusals, BodyRefusals,
        (status = 404, description = "There is no such source", body = FailureEnvelope),
    )
)]
pub async fn replace_source(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameter(id): PathParameter,
    JsonObject(form): JsonObject<SourceForm>,
) -> Result<Envelope<RegisteredSource>> {
    Ok(Envelope::of(app.registry.replace_source(caller.tenant.id, id, form).await?))
}

/// Removes an external source that no module shows.
#[utoipa::path(
    delete, path = "/admin/v1/sources/{id}", tag = "admin",
    params(("id" = String, Path, description = "The source's id")),
    responses(
        (status = 200, description = "It is removed", body = Envelope<Option<String>>),
        Refusals,
        (status = 404, description = "There is no such source", body = FailureEnvelope),
        (status = 409, description = "Modules show it; the message names them", body = FailureEnvelope),
    )
)]
pub async fn remove_source(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameter(id): PathParameter,
) -> Result<Envelope<()>> {
    app.registry.remove_source(caller.tenant.id, id).await?;
    Ok(Envelope::of(()))
}

/// How an external source has been since the server started.
#[utoipa::path(
    get, path = "/admin/v1/sources/{id}/health", tag = "admin",
    params(("id" = String, Path, description = "The source's id")),
    responses(
        (status = 200, description = "From real calls", body = Envelope<SourceHealth>),
        Refusals,
        (status = 404, description = "There is no such source", body = FailureEnvelope),
    )
)]
pub async fn show_health(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameter(id): PathParameter,
) -> Result<Envelope<SourceHealth>> {
    Ok(Envelope::of(app.registry.health_of(caller.tenant.id, &id).await?))
}

/// What a check may be told.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct CheckQuery {
    /// A word with more than ten matches; without it some common ones are tried.
    keyword: Option<String>,
}

/// Checks an external source against the contract, clause by clause, by some thirty real calls with its registered
/// settings. It takes up to a minute, and ends with its caller. With `Accept: text/event-stream` each clause is sent as soon
/// as it is decided.
#[utoipa::path(
    post, path = "/admin/v1/sources/{id}/check", tag = "admin",
    params(("id" = String, Path, description = "The source's id"), CheckQuery),
    responses(
        (status = 200, description = "The report: `{url, method, passed, clauses: [{id, title, verdict, seen, expected, \
            curl}], latencyMs: {p50, p90, p99}}`. As a stream: an event `clause` for each clause, once, when nothing that is \
            still to come can change it, its data the clause with its place in the report, `index`, and the number of \
            clauses, `count`; then an event `done` with the report. A stream without `done` broke off.",
            content((Envelope<serde_json::Value> = "application/json"), (String = "text/event-stream"))),
        Refusals,
        (status = 404, description = "There is no such source", body = FailureEnvelope),
        (status = 503, description = "Other checks are running", body = FailureEnvelope),
    )
)]
pub async fn check_source(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameter(id): PathParameter,
    QueryParameters(query): QueryParameters<CheckQuery>,
    headers: HeaderMap,
) -> Result<Response> {
    let check = app.registry.prepare_check(caller.tenant.id, &id, query.keyword).await?;
    if wants_events(&headers) {
        return Ok(send_check(check));
    }
    Ok(Envelope::of(check.run(&mut |_decided| {}).await).into_response())
}

/// The check as events. It runs in a task of its own, which the body holds.
fn send_check(check: SourceCheck) -> Response {
    // There is room for every event, so a caller that reads slowly does not prolong the check.
    let (sender, receiver) = mpsc::channel(CLAUSES + 1);
    let sending = async move {
        let mut failure = None;
        let mut tell = |clause: Decided| {
            if let Err(error) = send_event(&sender, "clause", &clause) {
                failure = Some(error);
            }
        };
        let report = check.run(&mut tell).await;
        failure.map_or(Ok(()), Err)?;
        send_event(&sender, "done", &report)
    };
    let span = Span::current();
    let task = AbortOnDropHandle::new(tokio::spawn(sending.instrument(span.clone())));
    events::answer(receiver, task, span)
}

fn send_event(sender: &mpsc::Sender<(Event, ())>, name: &str, data: &impl serde::Serialize) -> Result<()> {
    let data = serde_json::to_string(data).map_err(Error::internal)?;
    // Where nobody listens any more, the task ends with the stream.
    drop(sender.try_send((Event::default().event(name).data(data), ())));
    Ok(())
}
