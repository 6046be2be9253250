//! `PUT /v1/organizations/sync`.

use std::sync::Arc;

use axum::extract::State;
use serde_json::value::RawValue;

use super::{model::OrganizationWrite, repo};
use crate::{
    api::{
        envelope::{Envelope, FailureEnvelope},
        extract::{Identified, JsonBody},
        sync::read_rows,
    },
    app::App,
    error::Result,
    platform::users::model::SyncFailure,
};

/// Synchronises organizations, each on its own: one that fails leaves the others alone.
#[utoipa::path(
    put, path = "/v1/organizations/sync", tag = "directory", request_body = Vec<OrganizationWrite>,
    params(("indicated-e-code" = Option<String>, Header, description = "The tenant, for domain and admin applications")),
    responses(
        (status = 200, description = "The rows that failed, and why", body = Envelope<Vec<SyncFailure>>),
        (status = 400, description = "The body is not an array, or holds too many rows", body = FailureEnvelope),
        (status = 401, description = "No or bad credentials", body = FailureEnvelope),
        (status = 403, description = "A user token, or the scope directory:write is missing", body = FailureEnvelope),
    )
)]
pub async fn sync_organizations(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    JsonBody(rows): JsonBody<Vec<Box<RawValue>>>,
) -> Result<Envelope<Vec<SyncFailure>>> {
    let (changes, mut failures) =
        read_rows::<OrganizationWrite>(&rows, "orgId", app.config.limits.sync_items)?;
    let tenant_id = caller.tenant.id;
    let refused = app
        .store
        .write(move |transaction| {
            Box::pin(async move { repo::synchronise(transaction, tenant_id, &changes).await })
        })
        .await?;
    // What callers may see hangs on people and departments.
    app.authenticator.forget_callers();
    failures.extend(refused);
    Ok(Envelope::list(failures))
}
