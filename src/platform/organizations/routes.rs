//! `PUT` and `GET /v1/organizations/sync`.

use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    fields::{OrganizationRead, OrganizationWrite},
    repo,
};
use crate::{
    api::{
        envelope::{BodyRefusals, Envelope, Refusals},
        extract::{Identified, JsonBody, QueryParameters},
        sync::{page, read_rows, write},
    },
    app::App,
    audit::Actor,
    error::{Error, Result},
    platform::common::{ChangesAfter, SyncFailure},
};

/// Synchronises departments, each on its own: one that fails leaves the others alone.
///
/// A parent comes before its children. A field that is absent or null means no change, an empty text sets it to null. A row that is
/// what it was already is not written and keeps its `lastUpdatedDate`. A department with children or people may be deleted; they
/// stay, and nobody sees anything by it any more.
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
    let rows = read_rows(rows, "orgId", app.config.limits.sync_items).await?;
    let (actor, tenant) = (Actor::caller(&caller), Arc::clone(&caller.tenant));
    write(&app, &caller, rows, |transaction, changes: Vec<OrganizationWrite>| {
        Box::pin(async move { repo::synchronise(transaction, &actor, &tenant, &changes).await })
    })
    .await
}

/// Which departments are read.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct OrganizationsQuery {
    /// The `lastUpdatedDate` after which to go on, epoch milliseconds; without it from the beginning.
    cursor: Option<i64>,
    /// Rows of a page, 1 to 1,000; default 100.
    limit: Option<i64>,
}

/// Lists the departments that changed after a cursor, oldest change first, deleted ones included.
///
/// Following the last row's `lastUpdatedDate` loses nothing and repeats nothing; a page shorter than `limit` is the last. There
/// is no `total`: what is left is not counted.
#[utoipa::path(
    get, path = "/v1/organizations/sync", tag = "directory",
    params(
        OrganizationsQuery,
        ("indicated-e-code" = Option<String>, Header, description = "The tenant, for domain and admin applications"),
    ),
    responses((status = 200, description = "A page of departments", body = Envelope<Vec<OrganizationRead>>), Refusals)
)]
pub async fn list_organizations(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    QueryParameters(query): QueryParameters<OrganizationsQuery>,
) -> Result<Envelope<Vec<OrganizationRead>>> {
    let changes = ChangesAfter::new(query.cursor, query.limit).map_err(Error::bad_request)?;
    let rows = repo::changed_organizations(app.store.reader(), caller.tenant.id, changes).await?;
    Ok(page(rows))
}
