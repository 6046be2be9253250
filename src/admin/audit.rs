//! `/admin/v1/audit`: the audit log.

use axum::extract::State;
use serde::Deserialize;
use trawl_macros::operation;

use crate::{
    admin::AdminState,
    audit::records::{self, Filter, KeptDeed},
    auth::extract::Identified,
    error::Result,
    http::{
        envelope::Refusals,
        extract::QueryParameters,
        paging::{Page, PageQuery},
    },
};

/// Filter and page of audit entries.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase")]
pub struct AuditQuery {
    /// Previous page's `cursor`.
    cursor: Option<i64>,
    /// Entries, 1 to 1,000; default 100.
    limit: Option<i64>,
    /// Action: `create`, `change`, `delete`, `freeze`, `rotate` …
    action: Option<String>,
    /// Object kind: `tenant`, `application`, `secret`, `signing-key`, `token`, `user` …
    object_kind: Option<String>,
    /// Object id.
    object_id: Option<String>,
    /// Acting application.
    client_id: Option<String>,
    /// Whether to include all tenants, deleted ones too.
    all_tenants: Option<bool>,
}

/// Lists audit entries of the call's tenant or of all, newest first.
#[operation(
    tag = "admin", params(AuditQuery),
    responses((status = 200, description = "The deeds", body = Page<KeptDeed>), Refusals)
)]
pub async fn list_deeds(
    State(state): State<AdminState>,
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
    let deeds = records::list(state.store.reader(), filter, limit + 1).await?;
    Ok(Page::of(deeds, limit, |deed| deed.id))
}
