//! Rows of built-in content.

use sea_orm::{ConnectionTrait, DbErr, FromQueryResult, Value};

use super::model::Content;
use crate::{
    error::{Error, Result},
    store::{ROWS_PER_STATEMENT, Transaction, find_in, now_millis, placeholders, sql},
};

/// One kept item.
#[derive(Clone, Debug, FromQueryResult)]
pub(super) struct Row {
    pub(super) sequence: i64,
    pub(super) tenant_id: i64,
    pub(super) module: String,
    pub(super) id: String,
    pub(super) display_time: Option<i64>,
    pub(super) created_at: i64,
    pub(super) visibility: Option<String>,
    pub(super) item: String,
}

/// Keeps items, each in the place of the one with its id. An item's creation is that of its first write.
pub(super) async fn upsert(
    transaction: &Transaction,
    tenant_id: i64,
    module: &str,
    items: &[Content],
) -> Result<()> {
    let created_at = now_millis();
    for chunk in items.chunks(ROWS_PER_STATEMENT) {
        let mut text = String::from(
            "INSERT INTO contents (tenant_id, module, id, display_time, created_at, visibility, item) \
             VALUES (?, ?, ?, ?, ?, ?, ?)",
        );
        text.extend(std::iter::repeat_n(", (?, ?, ?, ?, ?, ?, ?)", chunk.len() - 1));
        text.push_str(
            " ON CONFLICT (tenant_id, module, id) DO UPDATE SET \
             display_time = excluded.display_time, visibility = excluded.visibility, item = excluded.item",
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
        transaction.execute_raw(sql(text, values)).await?;
        for item in chunk {
            transaction.record_change(tenant_id, module, &item.id);
        }
    }
    Ok(())
}

/// Removes items; ids that are not there are passed over.
pub(super) async fn delete(
    transaction: &Transaction,
    tenant_id: i64,
    module: &str,
    ids: &[String],
) -> Result<()> {
    for chunk in ids.chunks(ROWS_PER_STATEMENT) {
        let text = format!(
            "DELETE FROM contents WHERE tenant_id = ? AND module = ? AND id IN ({})",
            placeholders(chunk.len())
        );
        let values = [Value::from(tenant_id), module.into()].into_iter();
        let values = values.chain(chunk.iter().map(|id| id.as_str().into()));
        let deleted = transaction.execute_raw(sql(text, values)).await?;
        if deleted.rows_affected() > 0 {
            for id in chunk {
                transaction.record_change(tenant_id, module, id);
            }
        }
    }
    Ok(())
}

/// The items with these ids, as far as they are there.
pub(super) async fn find<C: ConnectionTrait>(
    reader: &C,
    tenant_id: i64,
    module: &str,
    ids: &[String],
) -> Result<Vec<Row>, DbErr> {
    let text = "SELECT * FROM contents WHERE tenant_id = ? AND module = ? AND id";
    find_in(reader, text, &[tenant_id.into(), module.into()], ids).await
}

/// Up to `limit` items of all tenants after `sequence`, in the order of that.
pub(super) async fn scan<C: ConnectionTrait>(
    reader: &C,
    sequence: i64,
    limit: u64,
) -> Result<Vec<Row>, DbErr> {
    Row::find_by_statement(sql(
        "SELECT * FROM contents WHERE sequence > ? ORDER BY sequence LIMIT ?",
        [sequence.into(), limit.into()],
    ))
    .all(reader)
    .await
}

/// How many items there are.
pub(super) async fn count<C: ConnectionTrait>(reader: &C) -> Result<i64, DbErr> {
    let row = reader.query_one_raw(sql("SELECT COUNT(*) AS items FROM contents", [])).await?;
    row.map_or(Ok(0), |row| row.try_get("", "items"))
}
