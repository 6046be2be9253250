//! Indexing of a group's messages when tenants gain or lose the group.

use super::documents::MESSAGE;
use crate::{
    error::Result,
    store::{Connection, FromRow, Store, Transaction, sql},
};

/// Messages per transaction.
pub const PORTION: usize = 500;

/// Records the newest messages. Returns whether some remain.
pub async fn begin(transaction: &Transaction, group_id: &str, tenants: &[i64]) -> Result<bool> {
    let mut is_more = false;
    for tenant_id in tenants {
        let portion = (PORTION / tenants.len()).max(1);
        let next =
            PendingTenant { group_id: group_id.to_owned(), tenant_id: *tenant_id, copied_to: i64::MAX };
        is_more |= next.record(transaction, portion).await?;
    }
    Ok(is_more)
}

/// Records another batch. Returns whether all are recorded. 503 if the store cannot accept writes.
pub async fn follow_portion(store: &Store) -> Result<bool> {
    if PendingTenant::find(store.reader()).await?.is_none() {
        return Ok(true);
    }
    let job = store.write(|transaction| {
        Box::pin(async move {
            let Some(next) = PendingTenant::find(transaction).await? else { return Ok(true) };
            next.record(transaction, PORTION).await?;
            Ok(false)
        })
    });
    job.await
}

#[derive(Clone, Debug, FromRow)]
struct PendingTenant {
    group_id: String,
    tenant_id: i64,
    copied_to: i64,
}

impl PendingTenant {
    /// Newest gap first, so that no long history delays others.
    async fn find(connection: &Connection) -> Result<Option<Self>> {
        let statement = sql(
            "SELECT group_id, group_tenants.tenant_id, copied_to FROM group_tenants \
             JOIN groups ON groups.id = group_tenants.group_id AND groups.removed_at IS NULL \
             JOIN tenants ON tenants.id = groups.tenant_id AND tenants.removed_at IS NULL \
             JOIN tenants AS homes ON homes.id = group_tenants.tenant_id AND homes.removed_at IS NULL \
             WHERE copied_to > 0 ORDER BY copied_to DESC LIMIT 1",
            [],
        );
        Ok(statement.fetch_optional::<Self>(connection).await?)
    }

    async fn record(&self, transaction: &Transaction, portion: usize) -> Result<bool> {
        let limit = u64::try_from(portion + 1).unwrap_or(u64::MAX);
        let statement = sql(
            "SELECT id, created_at FROM messages WHERE group_id = ? AND created_at < ? ORDER BY created_at DESC LIMIT ?",
            [self.group_id.as_str().into(), self.copied_to.into(), limit.into()],
        );
        let rows: Vec<(String, i64)> = statement.fetch_all(transaction).await?;
        let is_more = rows.len() > portion;
        let mut copied_to = 0;
        for (id, created_at) in rows.iter().take(portion) {
            transaction.record_change(self.tenant_id, MESSAGE, id);
            copied_to = *created_at;
        }
        let statement = sql(
            "UPDATE group_tenants SET copied_to = ? WHERE group_id = ? AND tenant_id = ?",
            [
                if is_more { copied_to } else { 0 }.into(),
                self.group_id.as_str().into(),
                self.tenant_id.into(),
            ],
        );
        statement.execute(transaction).await?;
        Ok(is_more)
    }
}

/// Removes messages of a group, also from these tenants' indexes.
///
/// Returns their number.
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
    let removed: Vec<String> = statement.fetch_values(transaction).await?;
    for id in &removed {
        for tenant_id in tenants {
            transaction.record_change(*tenant_id, MESSAGE, id);
        }
    }
    Ok(removed.len())
}
