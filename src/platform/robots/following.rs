//! What becomes of a group's messages when the group is found in another tenant too, and when it ends.

use sea_orm::{ConnectionTrait, FromQueryResult};

use super::documents::MESSAGE;
use crate::{
    error::Result,
    store::{Store, Transaction, sql},
};

/// Messages that are recorded in one transaction.
pub const PORTION: usize = 500;

/// Has the messages of a group found in tenants that came to it just now: the newest at once, the others portion by portion
/// ([`follow_portion`]), newest first. Answers whether there are others.
pub async fn begin(transaction: &Transaction, group_id: &str, tenants: &[i64]) -> Result<bool> {
    let mut is_more = false;
    for tenant_id in tenants {
        let portion = (PORTION / tenants.len()).max(1);
        let next = Next { group_id: group_id.to_owned(), tenant_id: *tenant_id, copied_to: i64::MAX };
        is_more |= next.record(transaction, portion).await?;
    }
    Ok(is_more)
}

/// Has some more messages found in tenants that came to their groups. Answers whether that is done.
///
/// # Errors
/// 503 where the store cannot take it now.
pub async fn follow_portion(store: &Store) -> Result<bool> {
    if Next::find(store.reader()).await?.is_none() {
        return Ok(true);
    }
    let job = store.write(|transaction| {
        Box::pin(async move {
            let Some(next) = Next::find(&**transaction).await? else { return Ok(true) };
            next.record(transaction, PORTION).await?;
            Ok(false)
        })
    });
    job.await
}

/// A tenant that does not have all messages of a group yet.
#[derive(Clone, Debug, FromQueryResult)]
struct Next {
    group_id: String,
    tenant_id: i64,
    /// Those that were said at this time or later are there.
    copied_to: i64,
}

impl Next {
    /// The one that lacks the newest message, so that none waits for the whole history of another.
    async fn find<C: ConnectionTrait>(connection: &C) -> Result<Option<Self>> {
        // What is being removed is found by nobody.
        let statement = sql(
            "SELECT group_id, group_tenants.tenant_id, copied_to FROM group_tenants \
             JOIN groups ON groups.id = group_tenants.group_id AND groups.removed_at IS NULL \
             JOIN tenants ON tenants.id = groups.tenant_id AND tenants.removed_at IS NULL \
             JOIN tenants AS homes ON homes.id = group_tenants.tenant_id AND homes.removed_at IS NULL \
             WHERE copied_to > 0 ORDER BY copied_to DESC LIMIT 1",
            [],
        );
        Ok(Self::find_by_statement(statement).one(connection).await?)
    }

    /// Records the newest messages that are lacking. Answers whether there are more.
    async fn record(&self, transaction: &Transaction, portion: usize) -> Result<bool> {
        // One more, to see whether there is one.
        let limit = u64::try_from(portion + 1).unwrap_or(u64::MAX);
        let statement = sql(
            "SELECT id, created_at FROM messages WHERE group_id = ? AND created_at < ? ORDER BY created_at DESC LIMIT ?",
            [self.group_id.as_str().into(), self.copied_to.into(), limit.into()],
        );
        let rows = transaction.query_all_raw(statement).await?;
        let is_more = rows.len() > portion;
        let mut copied_to = 0;
        for row in rows.iter().take(portion) {
            transaction.record_change(self.tenant_id, MESSAGE, &row.try_get::<String>("", "id")?);
            copied_to = row.try_get("", "created_at")?;
        }
        let statement = sql(
            "UPDATE group_tenants SET copied_to = ? WHERE group_id = ? AND tenant_id = ?",
            [
                if is_more { copied_to } else { 0 }.into(),
                self.group_id.as_str().into(),
                self.tenant_id.into(),
            ],
        );
        transaction.execute_raw(statement).await?;
        Ok(is_more)
    }
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
