//! Accounts of people for operators, including disabled and deleted ones.

use crate::{
    platform::users::forms::UserDetails,
    store::{Connection, FromRow, Json, Result, Transaction, sql},
};

/// A person's account.
#[derive(Clone, Debug, FromRow)]
pub struct PersonAccount {
    /// Source user id.
    pub user_id: String,
    /// Login with account suffix.
    pub login_id: String,
    /// Name.
    pub name: String,
    /// Main department's source id.
    pub org_id: Option<String>,
    /// Main department's name.
    pub org_name: Option<String>,
    /// Mobile number.
    pub mobile: Option<String>,
    /// Details without rules.
    pub details: Json<UserDetails>,
    /// 1 enabled, 0 disabled.
    pub status: i64,
    /// Hidden.
    pub is_hidden: bool,
    /// Deleted.
    pub is_deleted: bool,
    /// Whether a password is set.
    pub has_password: bool,
    /// Earlier epochs' tokens and sessions are invalid.
    pub epoch: i64,
    /// Last change, epoch milliseconds; unique in the tenant.
    pub updated_at: i64,
}

const SELECT: &str = "SELECT users.user_id, users.login_id, users.name, users.org_id, organizations.name AS org_name, \
    users.mobile, users.details, users.status, users.is_hidden, users.is_deleted, \
    users.password_hash IS NOT NULL AS has_password, users.epoch, users.updated_at \
    FROM users LEFT JOIN organizations \
      ON organizations.tenant_id = users.tenant_id AND organizations.org_id = users.org_id \
    WHERE users.tenant_id = ?";

/// Lists accounts changed before `before`, latest first; reads one index range.
pub async fn list_accounts(
    connection: &Connection,
    tenant_id: i64,
    before: i64,
    limit: u64,
) -> Result<Vec<PersonAccount>> {
    let text = format!("{SELECT} AND users.updated_at < ? ORDER BY users.updated_at DESC LIMIT ?");
    sql(text, [tenant_id.into(), before.into(), limit.into()]).fetch_all(connection).await
}

/// The account of a person.
pub async fn find_person_account(
    connection: &Connection,
    tenant_id: i64,
    user_id: &str,
) -> Result<Option<PersonAccount>> {
    let text = format!("{SELECT} AND users.user_id = ?");
    sql(text, [tenant_id.into(), user_id.into()]).fetch_optional(connection).await
}

/// Invalidates all tokens and sessions of a person; returns the new epoch, if they exist.
pub async fn raise_epoch(transaction: &Transaction, tenant_id: i64, user_id: &str) -> Result<Option<i64>> {
    let text = "UPDATE users SET epoch = epoch + 1 WHERE tenant_id = ? AND user_id = ? RETURNING epoch";
    sql(text, [tenant_id.into(), user_id.into()]).fetch_optional_value(transaction).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Store, tests::query_plan};

    #[tokio::test]
    async fn accounts_are_listed_by_an_index() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), 1).await.unwrap();
        let text = format!("{SELECT} AND users.updated_at < ? ORDER BY users.updated_at DESC LIMIT ?");
        let plan = query_plan(store.reader(), sql(text, vec![1.into(); 3])).await.join("; ");
        assert!(plan.contains("(tenant_id=? AND updated_at<?)"), "{plan}");
        assert!(!plan.contains("SCAN") && !plan.contains("TEMP B-TREE"), "{plan}");
        store.close().await.unwrap();
    }
}
