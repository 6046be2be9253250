//! Rows of departments.

use std::collections::HashMap;

use sea_orm::{ConnectionTrait, FromQueryResult, Value};

use super::{
    documents,
    model::{Organization, OrganizationWrite},
};
use crate::{
    error::Result,
    platform::{common::SyncFailure, tenants},
    store::{ROWS_PER_STATEMENT, Transaction, now_millis, placeholders, sql},
};

/// The tenant's departments by id, deleted ones included.
pub(super) async fn load(transaction: &Transaction, tenant_id: i64) -> Result<HashMap<String, Organization>> {
    let rows = Organization::find_by_statement(sql(
        "SELECT org_id, platform_org_id, parent_id, name, status, is_hidden, is_deleted FROM organizations \
         WHERE tenant_id = ?",
        [tenant_id.into()],
    ))
    .all(&**transaction)
    .await?;
    Ok(rows.into_iter().map(|row| (row.org_id.clone(), row)).collect())
}

/// Applies the changes in their order, each on its own: one that fails leaves the others alone.
pub(super) async fn synchronise(
    transaction: &Transaction,
    tenant_id: i64,
    changes: &[OrganizationWrite],
) -> Result<Vec<SyncFailure>> {
    let mut known = load(transaction, tenant_id).await?;
    let mut id_by_platform_id: HashMap<String, String> =
        known.values().map(|row| (row.platform_org_id.clone(), row.org_id.clone())).collect();
    let mut written = Vec::new();
    let mut failures = Vec::new();
    for change in changes {
        let outcome =
            change.apply(&known).and_then(|row| match id_by_platform_id.get(&row.platform_org_id) {
                Some(owner) if *owner != row.org_id => {
                    Err(format!("platformOrgId: {:?} is another department's already", row.platform_org_id))
                }
                _ => Ok(row),
            });
        match outcome {
            Ok(row) => {
                if let Some(before) = known.get(&row.org_id) {
                    id_by_platform_id.remove(&before.platform_org_id);
                }
                id_by_platform_id.insert(row.platform_org_id.clone(), row.org_id.clone());
                written.push(row.org_id.clone());
                known.insert(row.org_id.clone(), row);
            }
            Err(message) => failures.push(SyncFailure { id: change.org_id.clone(), message }),
        }
    }
    written.sort_unstable();
    written.dedup();
    let rows: Vec<&Organization> = written.iter().filter_map(|org_id| known.get(org_id)).collect();
    store(transaction, tenant_id, &rows).await?;
    Ok(failures)
}

async fn store(transaction: &Transaction, tenant_id: i64, rows: &[&Organization]) -> Result<()> {
    // A platform id may move from one row to another within the call, so every row lets go of its own first.
    for chunk in rows.chunks(ROWS_PER_STATEMENT) {
        let text = format!(
            "UPDATE organizations SET platform_org_id = char(0) || org_id WHERE tenant_id = ? AND org_id IN ({})",
            placeholders(chunk.len())
        );
        let values =
            std::iter::once(Value::from(tenant_id)).chain(chunk.iter().map(|row| row.org_id.as_str().into()));
        transaction.execute_raw(sql(text, values)).await?;
    }
    let created_at = now_millis();
    let mut times = tenants::model::give_change_times(transaction, tenant_id, rows.len()).await?..;
    for chunk in rows.chunks(ROWS_PER_STATEMENT) {
        let text = format!(
            "INSERT INTO organizations (tenant_id, org_id, platform_org_id, parent_id, name, status, is_hidden, \
             is_deleted, created_at, updated_at) VALUES {} ON CONFLICT (tenant_id, org_id) DO UPDATE SET \
             platform_org_id = excluded.platform_org_id, parent_id = excluded.parent_id, name = excluded.name, \
             status = excluded.status, is_hidden = excluded.is_hidden, is_deleted = excluded.is_deleted, \
             updated_at = excluded.updated_at",
            vec!["(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"; chunk.len()].join(", ")
        );
        let values = chunk.iter().flat_map(|row| {
            [
                Value::from(tenant_id),
                row.org_id.as_str().into(),
                row.platform_org_id.as_str().into(),
                row.parent_id.as_deref().into(),
                row.name.as_str().into(),
                row.status.into(),
                row.is_hidden.into(),
                row.is_deleted.into(),
                created_at.into(),
                times.next().into(),
            ]
        });
        transaction.execute_raw(sql(text, values)).await?;
    }
    for row in rows {
        transaction.record_change(tenant_id, documents::DEPARTMENT, &row.org_id);
    }
    Ok(())
}
