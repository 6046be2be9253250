//! `/admin/v1/tenants` (book: how-to/operate.md).

use axum::extract::State;
use trawl_macros::operation;

use crate::{
    auth::extract::Identified,
    error::Result,
    http::{
        envelope::{BodyRefusals, Envelope, FailureEnvelope, Refusals},
        extract::{JsonObject, PathParameter, QueryParameters},
        paging::{Page, PageQuery},
        precondition::{IfMatch, PreconditionRefusal, Tagged},
    },
    platform::tenants::{
        TenantsState,
        settings::{self, ListedTenant, SettingsForm, TenantSettings},
    },
};

/// Lists tenants, oldest first.
#[operation(
    tag = "admin", params(PageQuery),
    responses((status = 200, description = "The tenants", body = Page<ListedTenant>), Refusals)
)]
pub async fn list_tenants(
    State(state): State<TenantsState>,
    QueryParameters(query): QueryParameters<PageQuery>,
) -> Result<Page<ListedTenant>> {
    let limit = query.limit()?;
    let rows = settings::list(&state, query.cursor().unwrap_or_default(), limit + 1).await?;
    Ok(Page::of(rows, limit, |tenant| tenant.id))
}

/// Returns any tenant's profile and settings.
#[operation(
    tag = "admin",
    params(("eCode" = String, Path, description = "The tenant code")),
    responses(
        (status = 200, description = "The tenant", body = Envelope<TenantSettings>, headers(("ETag"))),
        Refusals,
        (status = 404, description = "There is no such tenant", body = FailureEnvelope),
    )
)]
pub async fn find_tenant(
    State(state): State<TenantsState>,
    PathParameter(code): PathParameter,
) -> Result<Tagged<TenantSettings>> {
    Tagged::of(settings::find(&state, &code).await?)
}

/// Changes a tenant's settings; absent or null fields stay.
#[operation(
    tag = "admin", request_body = SettingsForm,
    params(("eCode" = String, Path, description = "The tenant code"), IfMatch),
    responses(
        (status = 200, description = "The tenant", body = Envelope<TenantSettings>, headers(("ETag"))),
        Refusals, BodyRefusals, PreconditionRefusal,
        (status = 404, description = "There is no such tenant", body = FailureEnvelope),
    )
)]
pub async fn change_tenant(
    State(state): State<TenantsState>,
    Identified(caller): Identified,
    PathParameter(code): PathParameter,
    if_match: IfMatch,
    JsonObject(form): JsonObject<SettingsForm>,
) -> Result<Tagged<TenantSettings>> {
    Tagged::of(settings::change(&state, caller, code, form, if_match).await?)
}
