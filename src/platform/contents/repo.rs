//! Rows of built-in content.

use super::forms::{Content, Visibility};
use crate::{
    error::{Error, Result},
    store::{
        self, Connection, FromRow, ROWS_PER_STATEMENT, Transaction, Value, execute_in, find_in, now_millis,
        sql,
    },
};

/// A stored item.
#[derive(Clone, Debug, FromRow)]
pub(super) struct ContentRow {
    pub(super) tenant_id: i64,
    pub(super) module: String,
    pub(super) id: String,
    pub(super) display_time: Option<i64>,
    pub(super) created_at: i64,
    pub(super) visibility: Option<String>,
    pub(super) item: String,
}

const COLUMNS: &str = "tenant_id, module, id, display_time, created_at, visibility, item";

/// Inserts or replaces; the creation time stays.
pub(super) async fn upsert(
    transaction: &Transaction,
    tenant_id: i64,
    module: &str,
    items: &[Content],
) -> Result<()> {
    let created_at = now_millis();
    for chunk in items.chunks(ROWS_PER_STATEMENT) {
        let text = format!(
            "INSERT INTO contents ({COLUMNS}) VALUES {} \
             ON CONFLICT (tenant_id, module, id) DO UPDATE SET \
             display_time = excluded.display_time, visibility = excluded.visibility, item = excluded.item",
            vec!["(?, ?, ?, ?, ?, ?, ?)"; chunk.len()].join(", ")
        );
        let mut values: Vec<Value> = Vec::with_capacity(chunk.len() * 7);
        for item in chunk {
            let visibility = item.visibility.as_ref().map(serde_json::to_string).transpose();
            values.extend([
                tenant_id.into(),
                module.into(),
                item.id.as_str().into(),
                item.display_time.into(),
                created_at.into(),
                visibility.map_err(Error::internal)?.into(),
                serde_json::to_string(item).map_err(Error::internal)?.into(),
            ]);
        }
        sql(text, values).execute(transaction).await?;
        for item in chunk {
            transaction.record_change(tenant_id, module, &item.id);
        }
    }
    Ok(())
}

/// Removes items; unknown ids are ignored. Returns whether any existed.
pub(super) async fn delete(
    transaction: &Transaction,
    tenant_id: i64,
    module: &str,
    ids: &[String],
) -> Result<bool> {
    let text = "DELETE FROM contents WHERE tenant_id = ? AND module = ? AND id";
    let has_deleted = execute_in(transaction, text, &[tenant_id.into(), module.into()], ids).await? > 0;
    if has_deleted {
        for id in ids {
            transaction.record_change(tenant_id, module, id);
        }
    }
    Ok(has_deleted)
}

/// Gives these items other viewers; unknown ids are ignored.
pub(super) async fn set_visibility(
    transaction: &Transaction,
    tenant_id: i64,
    module: &str,
    ids: &[String],
    visibility: Option<&Visibility>,
) -> Result<()> {
    let visibility = visibility.map(Value::json).transpose()?.unwrap_or(Value::Null);
    let text = "UPDATE contents SET visibility = ? WHERE tenant_id = ? AND module = ? AND id";
    execute_in(transaction, text, &[visibility, tenant_id.into(), module.into()], ids).await?;
    for id in ids {
        transaction.record_change(tenant_id, module, id);
    }
    Ok(())
}

/// The existing items with these ids.
pub(super) async fn find(
    reader: &Connection,
    tenant_id: i64,
    module: &str,
    ids: &[String],
) -> store::Result<Vec<ContentRow>> {
    let text = format!("SELECT {COLUMNS} FROM contents WHERE tenant_id = ? AND module = ? AND id");
    find_in(reader, &text, &[tenant_id.into(), module.into()], ids).await
}

/// Up to `limit` items of a module after `id`, by id.
pub(super) async fn list(
    reader: &Connection,
    tenant_id: i64,
    module: &str,
    after: &str,
    limit: u64,
) -> store::Result<Vec<ContentRow>> {
    let text = format!(
        "SELECT {COLUMNS} FROM contents WHERE tenant_id = ? AND module = ? AND id > ? ORDER BY id LIMIT ?"
    );
    let values = [tenant_id.into(), module.into(), after.into(), limit.into()];
    sql(text, values).fetch_all::<ContentRow>(reader).await
}
