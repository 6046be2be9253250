//! `/admin/v1/tenants` (book: how-to/operate.md).

use axum::extract::State;
use trawl_macros::operation;

use crate::{
    auth::extract::Identified,
    error::Result,
    http::{
        envelope::Refusals,
        extract::{JsonObject, PathParameter, QueryParameters},
        paging::{Page, PageQuery},
        precondition::{IfMatch, Tagged},
    },
    platform::tenants::{
        TenantsState,
        settings::{self, ListedTenant, SettingsForm, TenantSettings},
    },
};

/// Lists tenants, oldest first.
#[operation(admin, 200 = "The tenants", Refusals)]
pub async fn list_tenants(
    State(state): State<TenantsState>,
    QueryParameters(query): QueryParameters<PageQuery>,
) -> Result<Page<ListedTenant>> {
    let limit = query.limit()?;
    let rows = settings::list(&state, query.cursor().unwrap_or_default(), limit + 1).await?;
    Ok(Page::of(rows, limit, |tenant| tenant.id))
}

/// Returns any tenant's profile and settings.
#[operation(admin, e_code = "The tenant code", 200 = "The tenant", 404 = "There is no such tenant", Refusals)]
pub async fn find_tenant(
    State(state): State<TenantsState>,
    PathParameter(e_code): PathParameter,
) -> Result<Tagged<TenantSettings>> {
    Tagged::of(settings::find(&state, &e_code).await?)
}

/// Changes a tenant's settings; absent or null fields stay.
#[operation(admin, e_code = "The tenant code", 200 = "The tenant", 404 = "There is no such tenant")]
pub async fn change_tenant(
    State(state): State<TenantsState>,
    Identified(caller): Identified,
    PathParameter(e_code): PathParameter,
    if_match: IfMatch,
    JsonObject(form): JsonObject<SettingsForm>,
) -> Result<Tagged<TenantSettings>> {
    Tagged::of(settings::change(&state, caller, e_code, form, if_match).await?)
}
