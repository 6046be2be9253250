//! `/admin/v1/audit`: the audit log.

mod actors;
mod export;

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use trawl_macros::operation;

use self::{
    actors::{NamedDeed, name_actors},
    export::{Format, export},
};
use crate::{
    admin::AdminState,
    audit::records::{self, Filter},
    auth::extract::Identified,
    error::{Error, Result},
    http::{
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
    /// Acting application; of an operator in a browser, `operator:loginId@eCode`.
    client_id: Option<String>,
    /// The person acted for, or the operator, by synchronised id.
    user_id: Option<String>,
    /// Earliest time, inclusive, epoch milliseconds.
    from: Option<i64>,
    /// Latest time, exclusive, epoch milliseconds.
    to: Option<i64>,
    /// Whether to include all tenants, deleted ones too.
    all_tenants: Option<bool>,
    /// Format of the answer; `json`, a page, by default.
    ///
    /// `csv` and `ndjson` are files of all entries that the filter finds, at most 100,000.
    #[param(inline)]
    format: Option<Format>,
}

/// Lists audit entries of the call's tenant or of all, newest first.
#[operation(
    admin,
    (status = 200, description = "The entries. In CSV, a cell that a spreadsheet would run as a formula begins with an \
        apostrophe.", content(
            (Page<NamedDeed> = "application/json"), (String = "text/csv"), (String = "application/x-ndjson"),
        )),
)]
pub async fn list_deeds(
    State(state): State<AdminState>,
    Identified(caller): Identified,
    QueryParameters(query): QueryParameters<AuditQuery>,
) -> Result<Response> {
    if query.from.zip(query.to).is_some_and(|(from, to)| from > to) {
        return Err(Error::bad_request("to: must not be before from"));
    }
    let page = PageQuery::new(query.cursor, query.limit);
    let filter = Filter {
        tenant_id: (query.all_tenants != Some(true)).then_some(caller.tenant.id),
        action: query.action,
        object_kind: query.object_kind,
        object_id: query.object_id,
        client_id: query.client_id,
        user_id: query.user_id,
        from: query.from,
        to: query.to,
        before: page.cursor(),
    };
    match query.format.unwrap_or_default() {
        Format::Json => {
            let limit = page.limit()?;
            let reader = state.store.reader();
            let events = records::list(reader, filter, limit + 1).await?;
            let named = name_actors(reader, events).await?;
            Ok(Page::of(named, limit, |named| named.event.id).into_response())
        }
        _ if query.limit.is_some() => {
            Err(Error::bad_request("limit: a file holds all entries; leave it out"))
        }
        format => export(state.store, filter, format).await,
    }
}
