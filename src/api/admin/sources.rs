//! `/admin/v1/sources` (decisions 7.1, 7.2).

use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;
use trawl_connectors::check::Report;

use crate::{
    api::{
        envelope::{BodyRefusals, Envelope, FailureEnvelope, Refusals},
        extract::{Identified, JsonObject, PathParameter, QueryParameters},
    },
    app::App,
    error::Result,
    search::{
        health::SourceHealth,
        registry::{RegisteredSource, SourceForm},
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
/// settings. It takes up to a minute.
#[utoipa::path(
    post, path = "/admin/v1/sources/{id}/check", tag = "admin",
    params(("id" = String, Path, description = "The source's id"), CheckQuery),
    responses(
        (status = 200, description = "The report: `{url, method, passed, clauses: [{id, title, verdict, seen, expected, \
            curl}], latencyMs: {p50, p90, p99}}`", body = Envelope<serde_json::Value>),
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
) -> Result<Envelope<Report>> {
    Ok(Envelope::of(app.registry.check_source(caller.tenant.id, &id, query.keyword).await?))
}
