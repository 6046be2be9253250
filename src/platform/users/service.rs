//! Synchronisation of users.

use std::collections::HashSet;

use super::{
    batch::UserBatch,
    documents::PEOPLE,
    repo,
    rules::{StoredUser, UserChange},
};
use crate::{
    audit::Actor,
    auth::tenants::Tenant,
    error::Result,
    identity::logins,
    platform::{
        departments, groups,
        shared::{
            directory_rows::{self, ids_where},
            patch::SyncFailure,
        },
        tasks, tenants,
    },
    store::{Store, Transaction},
};

const LOGINS_AT_ONCE: u64 = 1_000;
const ALIKE_LOGINS_TOLD: u64 = 20;

/// Folds logins of earlier versions, and logs those that are alike.
///
/// # Errors
/// Those of the store.
pub async fn fold_logins(store: &Store) -> Result<()> {
    let mut behind = (i64::MIN, String::new());
    loop {
        let page = repo::unfolded_logins(store.reader(), (behind.0, &behind.1), LOGINS_AT_ONCE).await?;
        let Some((tenant_id, user_id, ..)) = page.last().cloned() else { break };
        behind = (tenant_id, user_id);
        let is_wrong = |(_, _, login, folded): &(_, _, String, Option<String>)| {
            folded.as_ref() != Some(&logins::fold(login))
        };
        let wrong: Vec<_> = page.into_iter().filter(is_wrong).collect();
        if wrong.is_empty() {
            continue;
        }
        store
            .write(move |transaction| {
                Box::pin(async move {
                    for (tenant_id, user_id, login_id, _) in &wrong {
                        repo::fold_login(transaction, *tenant_id, user_id, login_id).await?;
                    }
                    Ok(())
                })
            })
            .await?;
    }
    for (tenant, login, count) in repo::alike_logins(store.reader(), ALIKE_LOGINS_TOLD).await? {
        tracing::warn!(
            tenant,
            login,
            count,
            "logins differ in case or composition alone; each signs in only as it is written"
        );
    }
    Ok(())
}

/// Applies changes in order, each alone. Returns failures and whether any row changed.
pub(super) async fn synchronise(
    transaction: &Transaction,
    actor: &Actor,
    tenant: &Tenant,
    changes: Vec<UserChange>,
) -> Result<(Vec<SyncFailure>, bool)> {
    let suffix = tenants::service::login_suffix(transaction, tenant.id).await?;
    let mut batch = UserBatch::new(suffix);
    repo::load(&mut batch, transaction, tenant.id, &changes).await?;
    let departments = departments_of(transaction, tenant.id, &changes).await?;
    let mut failures = Vec::new();
    for change in changes {
        let id = change.form.user_id.clone();
        if let Err(message) = batch.apply(change, &departments) {
            failures.push(SyncFailure { id, message });
        }
    }
    let is_changed = store(&batch, transaction, actor, tenant).await?;
    Ok((failures, is_changed))
}

async fn departments_of(
    transaction: &Transaction,
    tenant_id: i64,
    changes: &[UserChange],
) -> Result<HashSet<String>> {
    let named: HashSet<&String> =
        changes.iter().flat_map(|change| change.form.org_id.iter().chain(change.deputy_org_ids())).collect();
    let named: Vec<&String> = named.into_iter().collect();
    departments::service::existing(transaction, tenant_id, &named).await
}

/// Writes changed users and tells groups and tasks of them.
async fn store(batch: &UserBatch, transaction: &Transaction, actor: &Actor, tenant: &Tenant) -> Result<bool> {
    let changes = batch.changes();
    if changes.is_empty() {
        return Ok(false);
    }
    let first_time = tenants::service::give_change_times(transaction, tenant.id, changes.len()).await?;
    directory_rows::store(transaction, actor, tenant, &changes, first_time).await?;
    repo::store_pictures(batch, transaction, tenant.id, &changes).await?;
    for change in &changes {
        transaction.record_change(tenant.id, PEOPLE, &change.row.user_id);
    }
    let state = |user: &StoredUser| (user.is_deleted, user.is_hidden, user.status);
    let come_or_gone = ids_where(&changes, |user, before| state(before) != state(user));
    groups::service::record_people(transaction, tenant.id, &come_or_gone).await?;
    let present = changes.iter().map(|change| change.row).filter(|user| !user.is_deleted);
    let logins: Vec<String> = present.map(|user| user.login_id.clone()).collect();
    tasks::service::claim(transaction, tenant.id, &logins).await?;
    Ok(true)
}
