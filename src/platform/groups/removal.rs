//! Background removal of groups, in batches (`maintenance`).
//!
//! Messages go first, along with other tenants' index entries.

use super::{documents::GROUP, repo};
use crate::{
    error::Result,
    platform::robots,
    store::{Store, Transaction, sql},
};

const PORTION: usize = 500;

/// Removes rows of ended groups; returns whether all are gone.
///
/// 503 if the store cannot accept writes.
pub async fn remove_portion(store: &Store) -> Result<bool> {
    let any = sql("SELECT 1 FROM groups WHERE removed_at IS NOT NULL LIMIT 1", []);
    if !any.exists(store.reader()).await? {
        return Ok(true);
    }
    let job = store.write(|transaction| {
        Box::pin(async move {
            let next =
                sql("SELECT id FROM groups WHERE removed_at IS NOT NULL ORDER BY removed_at LIMIT 1", []);
            let mut left = PORTION;
            while left > 0 {
                let Some(id) = next.clone().fetch_optional_value::<String>(transaction).await? else {
                    return Ok(true);
                };
                left = left.saturating_sub(remove_some(transaction, &id, None, left).await?);
            }
            Ok(false)
        })
    });
    job.await
}

/// Fewer than `most` rows means none is left.
pub async fn remove_portion_of_tenant(
    transaction: &Transaction,
    tenant_id: i64,
    most: usize,
) -> Result<usize> {
    let next = sql("SELECT id FROM groups WHERE tenant_id = ? LIMIT 1", [tenant_id.into()]);
    let mut removed = 0;
    while removed < most {
        let Some(id) = next.clone().fetch_optional_value::<String>(transaction).await? else { break };
        removed += remove_some(transaction, &id, Some(tenant_id), most - removed).await?;
    }
    Ok(removed)
}

/// The group's own row last. The index of `removed_tenant` is already gone.
async fn remove_some(
    transaction: &Transaction,
    group_id: &str,
    removed_tenant: Option<i64>,
    most: usize,
) -> Result<usize> {
    let mut tenants = repo::tenants_of(transaction, group_id).await?;
    tenants.retain(|tenant_id| Some(*tenant_id) != removed_tenant);
    let limit = u64::try_from(most).unwrap_or_default();
    let mut removed = robots::backfill::remove_some(transaction, group_id, &tenants, limit).await?;
    // These alone grow with the tenant's people.
    for table in ["group_members", "group_applications"] {
        let limit = u64::try_from(most.saturating_sub(removed)).unwrap_or_default();
        let key = if table == "group_members" { "group_id, tenant_id, user_id" } else { "id" };
        let text = format!(
            "DELETE FROM {table} WHERE ({key}) IN (SELECT {key} FROM {table} WHERE group_id = ? LIMIT ?)"
        );
        let gone = sql(text, [group_id.into(), limit.into()]).execute(transaction).await?;
        removed += usize::try_from(gone).unwrap_or_default();
    }
    if removed >= most {
        return Ok(removed);
    }
    for tenant_id in tenants {
        transaction.record_change(tenant_id, GROUP, group_id);
    }
    sql("DELETE FROM groups WHERE id = ?", [group_id.into()]).execute(transaction).await?;
    Ok(removed + 1)
}
