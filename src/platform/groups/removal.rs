//! The end of a group: it is seen by nobody at once, its rows go in portions afterwards (`upkeep`), messages first. What other
//! tenants have of it in their indexes goes along with its rows.
//!
//! The groups of a tenant that is removed go the same way, before its other rows do.

use sea_orm::{ConnectionTrait, DbErr};

use super::{documents::GROUP, repo};
use crate::{
    error::Result,
    platform::robots,
    store::{Store, Transaction, sql},
};

/// Rows that are removed in one transaction.
const PORTION: usize = 500;

/// Removes some rows of groups that have ended. Answers whether that is done.
///
/// # Errors
/// 503 where the store cannot take it now.
pub async fn remove_portion(store: &Store) -> Result<bool> {
    let any = sql("SELECT 1 FROM groups WHERE removed_at IS NOT NULL LIMIT 1", []);
    if store.reader().query_one_raw(any).await?.is_none() {
        return Ok(true);
    }
    let job = store.write(|transaction| {
        Box::pin(async move {
            let next =
                sql("SELECT id FROM groups WHERE removed_at IS NOT NULL ORDER BY removed_at LIMIT 1", []);
            let mut left = PORTION;
            while left > 0 {
                let Some(id) = first_id(transaction, next.clone()).await? else { return Ok(true) };
                left = left.saturating_sub(remove_some(transaction, &id, None, left).await?);
            }
            Ok(false)
        })
    });
    job.await
}

/// Removes some rows of the groups of a tenant. Answers how many: less than `most` only where none is left.
pub async fn remove_portion_of_tenant(
    transaction: &Transaction,
    tenant_id: i64,
    most: usize,
) -> Result<usize> {
    let next = sql("SELECT id FROM groups WHERE tenant_id = ? LIMIT 1", [tenant_id.into()]);
    let mut removed = 0;
    while removed < most {
        let Some(id) = first_id(transaction, next.clone()).await? else { break };
        removed += remove_some(transaction, &id, Some(tenant_id), most - removed).await?;
    }
    Ok(removed)
}

async fn first_id(transaction: &Transaction, statement: sea_orm::Statement) -> Result<Option<String>, DbErr> {
    transaction.query_one_raw(statement).await?.map(|row| row.try_get("", "id")).transpose()
}

/// Removes up to `most` rows of a group, its own at last. Answers how many. What `removed_tenant` had in the index
/// is gone already.
async fn remove_some(
    transaction: &Transaction,
    group_id: &str,
    removed_tenant: Option<i64>,
    most: usize,
) -> Result<usize> {
    let mut tenants = repo::tenants_of(&**transaction, group_id).await?;
    tenants.retain(|tenant_id| Some(*tenant_id) != removed_tenant);
    let limit = u64::try_from(most).unwrap_or_default();
    let mut removed = robots::following::remove_some(transaction, group_id, &tenants, limit).await?;
    // Few rows of the others belong to one group, these two may be as many as a tenant has people.
    for table in ["group_members", "group_applications"] {
        let limit = u64::try_from(most.saturating_sub(removed)).unwrap_or_default();
        let key = if table == "group_members" { "group_id, tenant_id, user_id" } else { "id" };
        let text = format!(
            "DELETE FROM {table} WHERE ({key}) IN (SELECT {key} FROM {table} WHERE group_id = ? LIMIT ?)"
        );
        let gone = transaction.execute_raw(sql(text, [group_id.into(), limit.into()])).await?;
        removed += usize::try_from(gone.rows_affected()).unwrap_or_default();
    }
    if removed >= most {
        return Ok(removed);
    }
    for tenant_id in tenants {
        transaction.record_change(tenant_id, GROUP, group_id);
    }
    transaction.execute_raw(sql("DELETE FROM groups WHERE id = ?", [group_id.into()])).await?;
    Ok(removed + 1)
}
