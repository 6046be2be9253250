//! `PUT /v1/organizations/sync`.

use std::sync::Arc;

use axum::extract::State;
use serde_json::value::RawValue;

use super::{model::OrganizationWrite, repo};
use crate::{
    api::{
        envelope::{BodyRefusals, Envelope, Refusals},
        extract::{Identified, JsonBody},
        sync::synchronise,
    },
    app::App,
    error::Result,
    platform::common::SyncFailure,
};

/// Synchronises organizations, each on its own: one that fails leaves the others alone.
#[utoipa::path(
    put, path = "/v1/organizations/sync", tag = "directory", request_body = Vec<OrganizationWrite>,
    params(("indicated-e-code" = Option<String>, Header, description = "The tenant, for domain and admin applications")),
    responses(
        (status = 200, description = "The rows that failed, and why", body = Envelope<Vec<SyncFailure>>),
        Refusals, BodyRefusals,
    )
)]
pub async fn sync_organizations(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    JsonBody(rows): JsonBody<Vec<Box<RawValue>>>,
) -> Result<Envelope<Vec<SyncFailure>>> {
    synchronise(&app, &caller, &rows, "orgId", |transaction, tenant_id, changes: Vec<OrganizationWrite>| {
        Box::pin(async move { repo::synchronise(transaction, tenant_id, &changes).await })
    })
    .await
}
