//! Rows of users.

use std::collections::HashMap;

use sea_orm::{ConnectionTrait, Value};

use super::{
    documents,
    model::{User, UserWrite},
};
use crate::{
    error::Result,
    platform::{common::SyncFailure, organizations, tasks, tenants},
    store::{ROWS_PER_STATEMENT, Transaction, find_in, now_millis, placeholders, sql},
};

/// Applies the changes in their order, each on its own: one that fails leaves the others alone.
pub(super) async fn synchronise(
    transaction: &Transaction,
    tenant_id: i64,
    changes: &[UserWrite],
) -> Result<Vec<SyncFailure>> {
    let departments = organizations::model::ids(transaction, tenant_id).await?;
    let mut people = People::load(transaction, tenant_id, changes).await?;
    let mut failures = Vec::new();
    for change in changes {
        let known = people.by_id.get(&change.user_id);
        let known_department = known.and_then(|known| known.org_id.clone());
        let outcome = change.apply(known).and_then(|user| {
            // Who stayed in a department that was deleted can still be changed, and be removed.
            let joins = user.org_id != known_department;
            match &user.org_id {
                Some(org_id) if joins && !departments.contains(org_id) => {
                    Err(format!("orgId: there is no department {org_id:?}"))
                }
                _ => people.put(user),
            }
        });
        if let Err(message) = outcome {
            failures.push(SyncFailure { id: change.user_id.clone(), message });
        }
    }
    people.store(transaction, tenant_id).await?;
    Ok(failures)
}

/// The rows that a synchronisation may touch or collide with, as they stand after the changes so far.
struct People {
    by_id: HashMap<String, User>,
    id_by_login: HashMap<String, String>,
    id_by_platform_id: HashMap<String, String>,
    changed: Vec<String>,
}

impl People {
    async fn load(transaction: &Transaction, tenant_id: i64, changes: &[UserWrite]) -> Result<Self> {
        let mut people = Self {
            by_id: HashMap::new(),
            id_by_login: HashMap::new(),
            id_by_platform_id: HashMap::new(),
            changed: Vec::new(),
        };
        let ids: Vec<&str> = changes.iter().map(|change| change.user_id.as_str()).collect();
        people.read(transaction, tenant_id, "user_id", &ids).await?;
        let platform_ids: Vec<&str> =
            changes.iter().filter_map(|change| change.platform_user_id.as_deref()).collect();
        people.read(transaction, tenant_id, "platform_user_id", &platform_ids).await?;
        // Someone who comes back, or falls back on his number, takes a login that his change does not name.
        let known = changes.iter().filter_map(|change| people.by_id.get(&change.user_id));
        let kept = known.flat_map(|user| [Some(&user.login_id), user.mobile.as_ref()]);
        let given = changes.iter().flat_map(|change| [change.login_id.as_ref(), change.mobile.as_ref()]);
        let logins: Vec<String> = kept.chain(given).flatten().cloned().collect();
        people.read(transaction, tenant_id, "is_deleted = 0 AND login_id", &logins).await?;
        Ok(people)
    }

    /// Takes in the rows that hold one of `values` in the column that `condition` ends with.
    async fn read(
        &mut self,
        transaction: &Transaction,
        tenant_id: i64,
        condition: &str,
        values: &[impl AsRef<str>],
    ) -> Result<()> {
        let text = format!(
            "SELECT user_id, platform_user_id, login_id, name, sex, mobile, org_id, status, is_hidden, \
             is_deleted FROM users WHERE tenant_id = ? AND {condition}"
        );
        for user in find_in(&**transaction, &text, &[tenant_id.into()], values).await? {
            self.remember(user);
        }
        Ok(())
    }

    fn remember(&mut self, user: User) {
        if !user.is_deleted {
            self.id_by_login.insert(user.login_id.clone(), user.user_id.clone());
        }
        self.id_by_platform_id.insert(user.platform_user_id.clone(), user.user_id.clone());
        self.by_id.insert(user.user_id.clone(), user);
    }

    /// Takes a changed row in, unless its login or platform id is another one's.
    fn put(&mut self, user: User) -> Result<(), String> {
        let others = |owner: Option<&String>| owner.is_some_and(|owner| *owner != user.user_id);
        if !user.is_deleted && others(self.id_by_login.get(&user.login_id)) {
            return Err(format!("loginId: {:?} is another user's already", user.login_id));
        }
        if others(self.id_by_platform_id.get(&user.platform_user_id)) {
            return Err(format!("platformUserId: {:?} is another user's already", user.platform_user_id));
        }
        if let Some(before) = self.by_id.get(&user.user_id) {
            self.id_by_platform_id.remove(&before.platform_user_id);
            if !before.is_deleted {
                self.id_by_login.remove(&before.login_id);
            }
        }
        self.changed.push(user.user_id.clone());
        self.remember(user);
        Ok(())
    }

    async fn store(self, transaction: &Transaction, tenant_id: i64) -> Result<()> {
        let mut ids = self.changed;
        ids.sort_unstable();
        ids.dedup();
        let rows: Vec<&User> = ids.iter().filter_map(|id| self.by_id.get(id)).collect();
        // A login or platform id may move from one row to another within the call, so every row lets go of its own first.
        for chunk in rows.chunks(ROWS_PER_STATEMENT) {
            let text = format!(
                "UPDATE users SET login_id = char(0) || user_id, platform_user_id = char(0) || user_id \
                 WHERE tenant_id = ? AND user_id IN ({})",
                placeholders(chunk.len())
            );
            let values = std::iter::once(Value::from(tenant_id))
                .chain(chunk.iter().map(|user| user.user_id.as_str().into()));
            transaction.execute_raw(sql(text, values)).await?;
        }
        let (created_at, first) =
            (now_millis(), tenants::model::give_change_times(transaction, tenant_id, rows.len()).await?);
        let mut times = first..;
        for chunk in rows.chunks(ROWS_PER_STATEMENT) {
            let row = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
            let text = format!(
                "INSERT INTO users (tenant_id, user_id, platform_user_id, login_id, name, sex, mobile, org_id, \
                 status, is_hidden, is_deleted, created_at, updated_at) VALUES {} ON CONFLICT (tenant_id, user_id) DO UPDATE SET \
                 platform_user_id = excluded.platform_user_id, login_id = excluded.login_id, name = excluded.name, \
                 sex = excluded.sex, mobile = excluded.mobile, org_id = excluded.org_id, \
                 status = excluded.status, is_hidden = excluded.is_hidden, is_deleted = excluded.is_deleted, \
                 updated_at = excluded.updated_at",
                vec![row; chunk.len()].join(", ")
            );
            let values = chunk.iter().flat_map(|user| {
                [
                    Value::from(tenant_id),
                    user.user_id.as_str().into(),
                    user.platform_user_id.as_str().into(),
                    user.login_id.as_str().into(),
                    user.name.as_str().into(),
                    user.sex.into(),
                    user.mobile.as_deref().into(),
                    user.org_id.as_deref().into(),
                    user.status.into(),
                    user.is_hidden.into(),
                    user.is_deleted.into(),
                    created_at.into(),
                    times.next().into(),
                ]
            });
            transaction.execute_raw(sql(text, values)).await?;
        }
        for user in &rows {
            transaction.record_change(tenant_id, documents::PEOPLE, &user.user_id);
        }
        let logins: Vec<String> =
            rows.iter().filter(|user| !user.is_deleted).map(|user| user.login_id.clone()).collect();
        tasks::model::claim(transaction, tenant_id, &logins).await
    }
}
