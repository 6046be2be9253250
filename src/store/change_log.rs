//! The change log: one entry for each changed row, written in the row's own transaction.
//!
//! An entry says *that* an item changed, never how: whoever follows the log reads the item's present state, so an
//! entry may be applied twice, and a batch of entries for one item is one piece of work.

use sea_orm::{ConnectionTrait, DbErr, FromQueryResult, Value};

use super::{ROWS_PER_STATEMENT, Transaction, sql};

/// What stands for the module in the entry of a whole tenant that is gone. No module has it for its code.
pub const WHOLE_TENANT: &str = "";

/// Names one searchable item: a module's code and the item's id in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ItemKey {
    /// The tenant's number.
    pub tenant_id: i64,
    /// The built-in module's code, such as `todo`.
    pub module: String,
    /// The item's id, unique in the tenant's module.
    pub item_id: String,
}

/// One entry of the log.
#[derive(Clone, Debug, FromQueryResult)]
pub struct Entry {
    /// Strictly increasing over all tenants; never used twice, not even after entries were removed.
    pub position: i64,
    /// The tenant's number.
    pub tenant_id: i64,
    /// The built-in module's code.
    pub module: String,
    /// The item's id.
    pub item_id: String,
    /// Whether it is the last entry of its request; what one request changed becomes visible together (decisions 2.4).
    pub is_last: bool,
}

impl Entry {
    /// The item that changed.
    pub fn into_key(self) -> ItemKey {
        ItemKey { tenant_id: self.tenant_id, module: self.module, item_id: self.item_id }
    }
}

/// Appends entries in the transaction of the rows they speak of; answers the last position.
pub(super) async fn append(transaction: &Transaction, items: &[ItemKey]) -> Result<Option<i64>, DbErr> {
    let mut position = None;
    let mut left = items.len();
    for chunk in items.chunks(ROWS_PER_STATEMENT) {
        let mut text =
            String::from("INSERT INTO change_log (tenant_id, module, item_id, is_last) VALUES (?, ?, ?, ?)");
        text.extend(std::iter::repeat_n(", (?, ?, ?, ?)", chunk.len() - 1));
        let values = chunk.iter().flat_map(|item| {
            left -= 1;
            [
                Value::from(item.tenant_id),
                Value::from(item.module.as_str()),
                Value::from(item.item_id.as_str()),
                Value::from(left == 0),
            ]
        });
        let statement = sql(text, values);
        position = i64::try_from(transaction.execute_raw(statement).await?.last_insert_id()).ok();
    }
    Ok(position)
}

/// Up to `limit` entries after `position`, oldest first.
pub async fn entries_after<C: ConnectionTrait>(
    reader: &C,
    position: i64,
    limit: u64,
) -> Result<Vec<Entry>, DbErr> {
    Entry::find_by_statement(sql("SELECT position, tenant_id, module, item_id, is_last FROM change_log WHERE position > ? ORDER BY position LIMIT ?",
        [position.into(), limit.into()],
    ))
    .all(reader)
    .await
}

/// The last position that was ever given; 0 before the first.
pub async fn last_position<C: ConnectionTrait>(reader: &C) -> Result<i64, DbErr> {
    let row =
        reader.query_one_raw(sql("SELECT seq FROM sqlite_sequence WHERE name = 'change_log'", [])).await?;
    row.map_or(Ok(0), |row| row.try_get("", "seq"))
}

/// The oldest position that is still kept.
pub async fn first_position<C: ConnectionTrait>(reader: &C) -> Result<Option<i64>, DbErr> {
    let row = reader.query_one_raw(sql("SELECT MIN(position) AS first FROM change_log", [])).await?;
    row.map_or(Ok(None), |row| row.try_get("", "first"))
}

/// Removes entries up to `position`, at most `limit` of them, which every follower has behind it.
pub async fn remove_up_to(transaction: &Transaction, position: i64, limit: u64) -> Result<u64, DbErr> {
    let statement = sql(
        "DELETE FROM change_log WHERE position IN (SELECT position FROM change_log WHERE position <= ? ORDER BY position LIMIT ?)",
        [position.into(), limit.into()],
    );
    Ok(transaction.execute_raw(statement).await?.rows_affected())
}
