//! `/v1/organizations/sync`.

use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;
use serde_json::value::RawValue;
use trawl_macros::operation;

use super::{
    forms::{OrganizationRead, OrganizationWrite},
    repo, service,
};
use crate::{
    audit::Actor,
    auth::extract::Identified,
    error::{Error, Result},
    http::{
        envelope::Envelope,
        extract::{JsonList, QueryParameters},
    },
    platform::{
        departments::DepartmentsState,
        shared::{
            patch::{ChangesAfter, SyncFailure},
            sync::{page, read_rows, write},
        },
    },
};

/// Synchronises departments, parents first, each row on its own; unchanged rows keep `lastUpdatedDate`.
#[operation(
    directory,
    params(("indicated-e-code" = Option<String>, Header, description = "The tenant, for domain and admin applications")),
    request_body = Vec<OrganizationWrite>,
    200 = "Failed rows with reasons",
)]
pub async fn sync_organizations(
    State(state): State<DepartmentsState>,
    Identified(caller): Identified,
    JsonList(rows): JsonList<Box<RawValue>>,
) -> Result<Envelope<Vec<SyncFailure>>> {
    let rows = read_rows(rows, "orgId", |row: &OrganizationWrite| &row.org_id).await?;
    let (actor, tenant) = (Actor::caller(&caller), Arc::clone(&caller.tenant));
    write(&state.sync, &caller, rows, |transaction, changes: Vec<OrganizationWrite>| {
        Box::pin(async move { service::synchronise(transaction, &actor, &tenant, &changes).await })
    })
    .await
}

/// Page of changed departments.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct OrganizationsQuery {
    /// Last `lastUpdatedDate` seen; default: the beginning.
    cursor: Option<i64>,
    /// Page size, 1 to 1,000; default 100.
    limit: Option<i64>,
}

/// Lists departments changed after a cursor, oldest change first, deleted ones included.
///
/// The last row's `lastUpdatedDate` is the next cursor.
#[operation(
    directory,
    params(("indicated-e-code" = Option<String>, Header, description = "The tenant, for domain and admin applications")),
    200 = "A page of departments",
)]
pub async fn list_organizations(
    State(state): State<DepartmentsState>,
    Identified(caller): Identified,
    QueryParameters(query): QueryParameters<OrganizationsQuery>,
) -> Result<Envelope<Vec<OrganizationRead>>> {
    let changes = ChangesAfter::new(query.cursor, query.limit).map_err(Error::bad_request)?;
    let rows = repo::changed_organizations(state.store.reader(), caller.tenant.id, changes).await?;
    Ok(page(rows))
}
