//! Rows of favorites.

use sea_orm::{ConnectionTrait, DbErr, FromQueryResult};

use crate::store::{find_in, sql};

/// The columns that are read; `FromQueryResult` finds them by name.
const COLUMNS: &str = "sequence, id, tenant_id, user_id, item_id, source_id, source_type, source_name, source_display_name, \
    content_type, content, keyword, created_at";

/// One kept favorite.
#[derive(Clone, Debug, FromQueryResult)]
pub(super) struct Row {
    pub(super) sequence: i64,
    pub(super) id: String,
    pub(super) tenant_id: i64,
    pub(super) user_id: String,
    pub(super) item_id: String,
    pub(super) source_name: Option<String>,
    pub(super) source_display_name: Option<String>,
    pub(super) content: Option<String>,
    pub(super) keyword: Option<String>,
    pub(super) created_at: i64,
}

/// The tenant's favorites with these ids of the index, as far as they are there.
pub(super) async fn find<C: ConnectionTrait>(
    reader: &C,
    tenant_id: i64,
    ids: &[String],
) -> Result<Vec<Row>, DbErr> {
    let text = format!("SELECT {COLUMNS} FROM favorites WHERE tenant_id = ? AND id");
    find_in(reader, &text, &[tenant_id.into()], ids).await
}

/// Up to `limit` favorites of all tenants after `sequence`, in the order of that.
pub(super) async fn scan<C: ConnectionTrait>(
    reader: &C,
    sequence: i64,
    limit: u64,
) -> Result<Vec<Row>, DbErr> {
    Row::find_by_statement(sql(
        format!("SELECT {COLUMNS} FROM favorites WHERE sequence > ? ORDER BY sequence LIMIT ?"),
        [sequence.into(), limit.into()],
    ))
    .all(reader)
    .await
}

/// How many favorites there are.
pub(super) async fn count<C: ConnectionTrait>(reader: &C) -> Result<i64, DbErr> {
    let row = reader.query_one_raw(sql("SELECT COUNT(*) AS favorites FROM favorites", [])).await?;
    row.map_or(Ok(0), |row| row.try_get("", "favorites"))
}
