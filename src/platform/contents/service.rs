//! Rules of the module, and single items for operators.

use serde::Serialize;
use trawl_search::ModuleDirectory as _;

use super::{
    ContentsState,
    forms::{self, Content, Visibility},
    repo,
};
use crate::{
    audit::{self, Actor, AuditEvent},
    auth::caller::Caller,
    error::{Error, Result},
    rows::row::truncate,
    store::Transaction,
};

/// An item as it was written.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoredContent {
    /// Content id.
    id: String,
    /// Display time as given, epoch milliseconds; null if absent.
    display_time: Option<i64>,
    /// First write, epoch milliseconds.
    created_at: i64,
    /// Viewers; null for the whole tenant.
    visibility: Option<Visibility>,
    /// Other fields.
    #[serde(flatten)]
    fields: Content,
}

/// An item in a list.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedContent {
    /// Content id.
    pub id: String,
    /// Title.
    title: Option<String>,
    /// The first 300 bytes of the summary.
    brief: Option<String>,
    /// Author.
    author: Option<String>,
    /// Epoch milliseconds; the first write if absent.
    display_time: i64,
    /// Whether only some people see it.
    is_restricted: bool,
}

const LISTED_BRIEF_BYTES: usize = 300;

/// Refuses modules whose contents are written elsewhere.
///
/// # Errors
/// 404 if no module shows the code, 400 if it has its own endpoint.
pub(in crate::platform) async fn check_module(
    state: &ContentsState,
    tenant_id: i64,
    module: &str,
) -> Result<()> {
    if !state.registry.modules_of(tenant_id).await?.has_builtin(module) {
        return Err(Error::not_found(
            "moduleCode: no module of the tenant shows built-in content of this code",
        ));
    }
    match forms::owning_endpoint(module) {
        Some(endpoint) => Err(Error::bad_request(format!(
            "moduleCode: must be another module; content of {module} is sent by {endpoint}"
        ))),
        None => Ok(()),
    }
}

/// Inserts or replaces checked items; the creation time stays.
pub(in crate::platform) async fn put_items(
    transaction: &Transaction,
    tenant_id: i64,
    module: &str,
    items: &[Content],
) -> Result<()> {
    repo::upsert(transaction, tenant_id, module, items).await
}

/// Removes items; unknown ids are ignored.
pub(in crate::platform) async fn remove_items(
    transaction: &Transaction,
    tenant_id: i64,
    module: &str,
    ids: &[String],
) -> Result<()> {
    repo::delete(transaction, tenant_id, module, ids).await.map(drop)
}

/// Gives items other viewers; unknown ids are ignored.
pub(in crate::platform) async fn set_visibility(
    transaction: &Transaction,
    tenant_id: i64,
    module: &str,
    ids: &[String],
    visibility: Option<&Visibility>,
) -> Result<()> {
    repo::set_visibility(transaction, tenant_id, module, ids, visibility).await
}

/// Up to `limit` items of a module after `id`, by id.
///
/// # Errors
/// 400 and 404 for the module.
pub async fn list_contents(
    state: &ContentsState,
    tenant_id: i64,
    module: &str,
    after: &str,
    limit: u64,
) -> Result<Vec<ListedContent>> {
    check_module(state, tenant_id, module).await?;
    let rows = repo::list(state.store.reader(), tenant_id, module, after, limit).await?;
    let listed = rows.into_iter().map(|row| {
        let fields: Content = serde_json::from_str(&row.item).map_err(Error::internal)?;
        let mut brief = fields.brief;
        if let Some(brief) = &mut brief {
            truncate(brief, LISTED_BRIEF_BYTES);
        }
        Ok(ListedContent {
            id: row.id,
            title: fields.title,
            brief,
            author: fields.author,
            display_time: row.display_time.unwrap_or(row.created_at),
            is_restricted: row.visibility.is_some(),
        })
    });
    listed.collect()
}

/// The item with this id.
///
/// # Errors
/// 404; 400 and 404 for the module.
pub async fn find_content(
    state: &ContentsState,
    tenant_id: i64,
    module: &str,
    id: String,
) -> Result<StoredContent> {
    check_module(state, tenant_id, module).await?;
    let rows = repo::find(state.store.reader(), tenant_id, module, &[id]).await?;
    let row = rows.into_iter().next().ok_or_else(no_content)?;
    let visibility = row.visibility.as_deref().map(serde_json::from_str).transpose();
    Ok(StoredContent {
        id: row.id,
        display_time: row.display_time,
        created_at: row.created_at,
        visibility: visibility.map_err(Error::internal)?,
        fields: serde_json::from_str(&row.item).map_err(Error::internal)?,
    })
}

/// Removes the item with this id.
///
/// # Errors
/// 404; 400 and 404 for the module.
pub async fn remove_content(
    state: &ContentsState,
    caller: &Caller,
    module: String,
    id: String,
) -> Result<()> {
    let (actor, tenant) = (Actor::caller(caller), caller.tenant.clone());
    check_module(state, tenant.id, &module).await?;
    let job = state.store.write_for(tenant.id, move |transaction| {
        Box::pin(async move {
            let ids = [id];
            if !repo::delete(transaction, tenant.id, &module, &ids).await? {
                return Err(no_content());
            }
            let [id] = ids;
            let event = AuditEvent::new("delete", "content", id).with("module", module);
            Ok(audit::record(transaction, &actor, &tenant, vec![event]).await?)
        })
    });
    job.await
}

fn no_content() -> Error {
    Error::not_found("id: the module has no such item")
}
