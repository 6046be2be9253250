//! `/admin/v1/tenants` (decisions 9.8).

use std::sync::Arc;

use axum::extract::State;

use super::paging::{Page, PageQuery};
use crate::{
    api::{
        envelope::{BodyRefusals, Envelope, FailureEnvelope, Refusals},
        extract::{Identified, JsonObject, PathParameter, QueryParameters},
    },
    app::App,
    error::Result,
    platform::tenants::settings::{self, ListedTenant, SettingsForm, TenantSettings},
};

/// Every tenant, the oldest first, page by page.
#[utoipa::path(
    get, path = "/admin/v1/tenants", tag = "admin", params(PageQuery),
    responses((status = 200, description = "The tenants", body = Page<ListedTenant>), Refusals)
)]
pub async fn list_tenants(
    State(app): State<Arc<App>>,
    QueryParameters(query): QueryParameters<PageQuery>,
) -> Result<Page<ListedTenant>> {
    let limit = query.limit()?;
    let rows = settings::list(&app, query.cursor().unwrap_or_default(), limit + 1).await?;
    Ok(Page::of(rows, limit, |tenant| tenant.id))
}

/// What a tenant is and what is settled for it, whichever tenant the call acts on.
#[utoipa::path(
    get, path = "/admin/v1/tenants/{eCode}", tag = "admin",
    params(("eCode" = String, Path, description = "The tenant code")),
    responses(
        (status = 200, description = "The tenant", body = Envelope<TenantSettings>),
        Refusals,
        (status = 404, description = "There is no such tenant", body = FailureEnvelope),
    )
)]
pub async fn find_tenant(
    State(app): State<Arc<App>>,
    PathParameter(code): PathParameter,
) -> Result<Envelope<TenantSettings>> {
    Ok(Envelope::of(settings::find(&app, &code).await?))
}

/// Changes what is settled for a tenant; what the body leaves out, or gives as null, stays.
#[utoipa::path(
    put, path = "/admin/v1/tenants/{eCode}", tag = "admin", request_body = SettingsForm,
    params(("eCode" = String, Path, description = "The tenant code")),
    responses(
        (status = 200, description = "The tenant", body = Envelope<TenantSettings>),
        Refusals, BodyRefusals,
        (status = 404, description = "There is no such tenant", body = FailureEnvelope),
    )
)]
pub async fn change_tenant(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameter(code): PathParameter,
    JsonObject(form): JsonObject<SettingsForm>,
) -> Result<Envelope<TenantSettings>> {
    Ok(Envelope::of(settings::change(&app, caller, code, form).await?))
}
