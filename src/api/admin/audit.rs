//! `/admin/v1/audit`: who did what.

use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;

use super::paging::{Page, PageQuery};
use crate::{
    api::{
        envelope::Refusals,
        extract::{Identified, QueryParameters},
    },
    app::App,
    audit::kept::{self, Filter, KeptDeed},
    error::Result,
};

/// Which deeds, and which page of them.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase")]
pub struct AuditQuery {
    /// What the page before gave as its `cursor`.
    cursor: Option<i64>,
    /// Deeds, 1 to 1,000; 100 where nothing is said.
    limit: Option<i64>,
    /// What was done: `create`, `change`, `delete`, `freeze`, `rotate` …
    action: Option<String>,
    /// To what: `tenant`, `application`, `secret`, `signing-key`, `token`, `user` …
    object_kind: Option<String>,
    /// To which one.
    object_id: Option<String>,
    /// The application that did it.
    client_id: Option<String>,
    /// Whether the deeds on all tenants are asked for, deleted ones too, and not those on the tenant of the call.
    all_tenants: Option<bool>,
}

/// What was done to tenants, applications, secrets, keys and tokens, the newest first: on the tenant that the call acts on, or
/// on all. A deed on the whole server stands with the tenant that its call acted on.
#[utoipa::path(
    get, path = "/admin/v1/audit", tag = "admin", params(AuditQuery),
    responses((status = 200, description = "The deeds", body = Page<KeptDeed>), Refusals)
)]
pub async fn list_deeds(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    QueryParameters(query): QueryParameters<AuditQuery>,
) -> Result<Page<KeptDeed>> {
    let page = PageQuery::new(query.cursor, query.limit);
    let limit = page.limit()?;
    let filter = Filter {
        tenant_id: (query.all_tenants != Some(true)).then_some(caller.tenant.id),
        action: query.action,
        object_kind: query.object_kind,
        object_id: query.object_id,
        client_id: query.client_id,
        before: page.cursor(),
    };
    let deeds = kept::list(app.store.reader(), filter, limit + 1).await?;
    Ok(Page::of(deeds, limit, |deed| deed.id))
}
