//! The change log: one entry for each changed item, written in the transaction of its rows.
//!
//! An entry says *that* an item changed, never how: a follower reads the item's present state. Applying an entry twice
//! does no harm, and several entries of one item are one piece of work.

use super::{Connection, FromRow, ROWS_PER_STATEMENT, Result, Transaction, Value, sql};

/// The module of an entry that removes a whole tenant. No module has this code.
pub const WHOLE_TENANT: &str = "";

/// The tenant of entries for failovers.
const NO_TENANT: i64 = 0;

/// A searchable item: a module's code and the item's id in it.
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
pub struct LogEntry {
    /// Strictly increasing over all tenants; never reused, even after entries were removed.
    pub position: i64,
    /// The tenant's number.
    pub tenant_id: i64,
    /// The built-in module's code.
    pub module: String,
    /// The item's id.
    pub item_id: String,
    /// Whether it ends its request, whose changes become visible together.
    pub is_last: bool,
}

impl LogEntry {
    /// The last position that a failover kept; `None` for other entries.
    ///
    /// Changes at later positions before this entry are lost. Indexes that have applied them are wrong.
    pub fn last_before_failover(&self) -> Option<i64> {
        (self.tenant_id == NO_TENANT).then(|| self.item_id.parse().ok()).flatten()
    }

    /// The item that changed.
    pub fn into_key(self) -> ItemKey {
        ItemKey { tenant_id: self.tenant_id, module: self.module, item_id: self.item_id }
    }
}

/// Changed items with whether each is its request's last.
pub(super) type Changes = Vec<(ItemKey, bool)>;

/// Gives the changes of a transaction their positions; returns the last one.
///
/// A rolled-back request has taken none by then, so positions have no gaps.
pub(super) async fn append(transaction: &Transaction, changes: &Changes) -> Result<Option<i64>> {
    if changes.is_empty() {
        return Ok(None);
    }
    let text = "UPDATE change_log_end SET position = position + ? RETURNING position";
    let last: i64 = sql(text, [(changes.len() as u64).into()]).fetch_value(transaction).await?;
    let mut position = last.saturating_sub_unsigned(changes.len() as u64);
    for batch in changes.chunks(ROWS_PER_STATEMENT) {
        let text = format!(
            "INSERT INTO change_log (position, tenant_id, module, item_id, is_last) VALUES {}",
            vec!["(?, ?, ?, ?, ?)"; batch.len()].join(", ")
        );
        let values = batch.iter().flat_map(|(item, is_last)| {
            position += 1;
            [
                Value::from(position),
                item.tenant_id.into(),
                item.module.as_str().into(),
                item.item_id.as_str().into(),
                (*is_last).into(),
            ]
        });
        sql(text, values).execute(transaction).await?;
    }
    Ok(Some(last))
}

/// Adds the entry of a failover, for which followers have nothing to apply.
pub(super) async fn append_failover(connection: &Connection, position: i64, last_before: i64) -> Result<()> {
    let text =
        "INSERT INTO change_log (position, tenant_id, module, item_id, is_last) VALUES (?, ?, ?, ?, ?)";
    let (module, item_id) = (WHOLE_TENANT.into(), last_before.to_string().into());
    let values = [position.into(), NO_TENANT.into(), module, item_id, true.into()];
    sql(text, values).execute(connection).await.map(drop)
}

/// Up to `limit` entries after `position`, oldest first.
pub async fn entries_after(connection: &Connection, position: i64, limit: u64) -> Result<Vec<LogEntry>> {
    let text = "SELECT position, tenant_id, module, item_id, is_last FROM change_log WHERE position > ? ORDER BY position LIMIT ?";
    sql(text, [position.into(), limit.into()]).fetch_all(connection).await
}

/// The last position that was ever given; 0 before the first.
pub async fn last_position(connection: &Connection) -> Result<i64> {
    sql("SELECT position FROM change_log_end", []).fetch_value(connection).await
}

/// The oldest position in the log.
pub async fn first_position(connection: &Connection) -> Result<Option<i64>> {
    sql("SELECT MIN(position) AS first FROM change_log", []).fetch_value(connection).await
}

/// Removes up to `limit` entries to `position`, which all followers have applied.
pub async fn remove_up_to(transaction: &Transaction, position: i64, limit: u64) -> Result<u64> {
    let text = "DELETE FROM change_log WHERE position IN (SELECT position FROM change_log WHERE position <= ? ORDER BY position LIMIT ?)";
    sql(text, [position.into(), limit.into()]).execute(transaction).await
}
