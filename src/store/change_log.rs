//! The change log: one entry for each changed item, written in the transaction of its rows.
//!
//! An entry says *that* an item changed, never how: a follower reads the item's present state. Applying an entry twice
//! does no harm, and several entries of one item are one piece of work.

use super::{Connection, FromRow, ROWS_PER_STATEMENT, Result, Transaction, Value, sql};

/// The module of an entry that removes a whole tenant. No module has this code.
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
#[derive(Clone, Debug, FromRow)]
pub struct Entry {
    /// Strictly increasing over all tenants; never reused, even after entries were removed.
    pub position: i64,
    /// The tenant's number.
    pub tenant_id: i64,
    /// The built-in module's code.
    pub module: String,
    /// The item's id.
    pub item_id: String,
    /// Whether it ends its request, whose changes become visible together (decisions 2.4).
    pub is_last: bool,
}

impl Entry {
    /// The item that changed.
    pub fn into_key(self) -> ItemKey {
        ItemKey { tenant_id: self.tenant_id, module: self.module, item_id: self.item_id }
    }
}

pub(super) async fn append(transaction: &Transaction, items: &[ItemKey]) -> Result<Option<i64>> {
    let mut position = None;
    let mut left = items.len();
    for batch in items.chunks(ROWS_PER_STATEMENT) {
        let mut text =
            String::from("INSERT INTO change_log (tenant_id, module, item_id, is_last) VALUES (?, ?, ?, ?)");
        text.extend(std::iter::repeat_n(", (?, ?, ?, ?)", batch.len() - 1));
        text.push_str(" RETURNING position");
        let values = batch.iter().flat_map(|item| {
            left -= 1;
            [
                Value::from(item.tenant_id),
                Value::from(item.module.as_str()),
                Value::from(item.item_id.as_str()),
                Value::from(left == 0),
            ]
        });
        let positions: Vec<i64> = sql(text, values).fetch_values(transaction).await?;
        position = positions.into_iter().max();
    }
    Ok(position)
}

/// Up to `limit` entries after `position`, oldest first.
pub async fn entries_after(connection: &Connection, position: i64, limit: u64) -> Result<Vec<Entry>> {
    let text = "SELECT position, tenant_id, module, item_id, is_last FROM change_log WHERE position > ? ORDER BY position LIMIT ?";
    sql(text, [position.into(), limit.into()]).fetch_all(connection).await
}

/// The last position that was ever given; 0 before the first.
pub async fn last_position(connection: &Connection) -> Result<i64> {
    let statement = sql("SELECT seq FROM sqlite_sequence WHERE name = 'change_log'", []);
    Ok(statement.fetch_optional_value(connection).await?.unwrap_or(0))
}

/// The oldest position in the log.
pub async fn first_position(connection: &Connection) -> Result<Option<i64>> {
    sql("SELECT MIN(position) AS first FROM change_log", []).fetch_value(connection).await
}

/// Removes up to `limit` entries up to `position`, which every follower must have applied.
pub async fn remove_up_to(transaction: &Transaction, position: i64, limit: u64) -> Result<u64> {
    let text = "DELETE FROM change_log WHERE position IN (SELECT position FROM change_log WHERE position <= ? ORDER BY position LIMIT ?)";
    sql(text, [position.into(), limit.into()]).execute(transaction).await
}
