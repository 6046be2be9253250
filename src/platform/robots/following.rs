//! What becomes of a group's messages when the group is found in another tenant too, and when it ends.

use sea_orm::ConnectionTrait;

use super::documents::MESSAGE;
use crate::{
    error::Result,
    store::{Transaction, sql},
};

/// Has every message of the group found in a tenant from now on.
pub async fn record_all(transaction: &Transaction, group_id: &str, tenant_id: i64) -> Result<()> {
    let statement = sql("SELECT id FROM messages WHERE group_id = ?", [group_id.into()]);
    for row in transaction.query_all_raw(statement).await? {
        transaction.record_change(tenant_id, MESSAGE, &row.try_get::<String>("", "id")?);
    }
    Ok(())
}

/// Removes up to `most` messages of a group, and has these tenants' indexes lose them. Answers how many there were.
pub async fn remove_some(
    transaction: &Transaction,
    group_id: &str,
    tenants: &[i64],
    most: u64,
) -> Result<usize> {
    let statement = sql(
        "DELETE FROM messages WHERE sequence IN (SELECT sequence FROM messages WHERE group_id = ? LIMIT ?) \
         RETURNING id",
        [group_id.into(), most.into()],
    );
    let removed = transaction.query_all_raw(statement).await?;
    for row in &removed {
        let id: String = row.try_get("", "id")?;
        for tenant_id in tenants {
            transaction.record_change(*tenant_id, MESSAGE, &id);
        }
    }
    Ok(removed.len())
}
