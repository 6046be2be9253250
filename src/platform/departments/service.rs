//! Synchronisation of departments, and lookups for other areas.

pub use super::repo::{existing, headed_by, shown, users_without_chat, with_ancestors};
use super::{
    documents::{self, DEPARTMENT},
    forms::OrganizationWrite,
    repo,
    rules::Organization,
};
use crate::{
    audit::Actor,
    auth::tenants::Tenant,
    error::Result,
    platform::{
        shared::{
            directory_rows::{self, SynchronisationBatch, ids_where},
            patch::SyncFailure,
        },
        tenants,
        users::documents::record_members,
    },
    store::Transaction,
};

/// Applies changes in order, each alone. Returns failures and whether any row changed.
pub(super) async fn synchronise(
    transaction: &Transaction,
    actor: &Actor,
    tenant: &Tenant,
    changes: &[OrganizationWrite],
) -> Result<(Vec<SyncFailure>, bool)> {
    let mut tree = repo::load_tree(transaction, tenant.id).await?;
    let mut batch = SynchronisationBatch::new(repo::load(transaction, tenant.id, changes).await?);
    let mut failures = Vec::new();
    for change in changes {
        let known = batch.find(&change.org_id);
        match change.check().and_then(|()| change.apply(known, &tree)) {
            Ok(row) => {
                tree.put(row.place());
                batch.put(row);
            }
            Err(message) => failures.push(SyncFailure { id: change.org_id.clone(), message }),
        }
    }
    let mut changes = batch.changes();
    if changes.is_empty() {
        return Ok((failures, false));
    }
    // Readers find parents before children.
    changes.sort_by_cached_key(|change| tree.depth(&change.row.org_id));
    let first_time = tenants::service::give_change_times(transaction, tenant.id, changes.len()).await?;
    directory_rows::store(transaction, actor, tenant, &changes, first_time).await?;
    for change in &changes {
        transaction.record_change(tenant.id, DEPARTMENT, &change.row.org_id);
    }
    record_members(transaction, tenant.id, &ids_where(&changes, Organization::shows_otherwise)).await?;
    // Descendants' paths contain it.
    let leads_otherwise =
        ids_where(&changes, |row, before| row.shows_otherwise(before) || row.parent_id != before.parent_id);
    documents::record_below(transaction, tenant.id, &leads_otherwise).await?;
    Ok((failures, true))
}
