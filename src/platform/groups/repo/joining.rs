use crate::{
    platform::groups::forms::{GroupApplication, JoinCode},
    store::{self, Connection, FromRow, Transaction, execute_in, now_millis, sql},
};

pub(crate) async fn find_code(
    transaction: &Transaction,
    group_id: &str,
    now: i64,
) -> store::Result<Option<JoinCode>> {
    let statement = sql(
        "SELECT code, expires_at FROM group_join_codes WHERE group_id = ? AND expires_at > ?",
        [group_id.into(), now.into()],
    );
    let found: Option<(String, i64)> = statement.fetch_optional(transaction).await?;
    Ok(found.map(|(code, expires_at)| JoinCode { code, expire_date: expires_at.to_string() }))
}

pub(crate) async fn find_group(
    connection: &Connection,
    tenant_id: i64,
    code: &str,
    now: i64,
) -> store::Result<Option<String>> {
    let statement = sql(
        "SELECT group_id FROM group_join_codes JOIN groups ON groups.id = group_id AND removed_at IS NULL \
         WHERE code = ? AND group_join_codes.tenant_id = ? AND expires_at > ?",
        [code.into(), tenant_id.into(), now.into()],
    );
    statement.fetch_optional_value(connection).await
}

pub(crate) async fn is_taken(transaction: &Transaction, code: &str) -> store::Result<bool> {
    let statement = sql("SELECT 1 FROM group_join_codes WHERE code = ?", [code.into()]);
    statement.exists(transaction).await
}

pub(crate) async fn put_code(
    transaction: &Transaction,
    group_id: &str,
    tenant_id: i64,
    code: &str,
    expires_at: i64,
) -> store::Result<()> {
    let statement = sql(
        "INSERT INTO group_join_codes (group_id, tenant_id, code, expires_at) VALUES (?, ?, ?, ?) \
         ON CONFLICT (group_id) DO UPDATE SET code = excluded.code, expires_at = excluded.expires_at",
        [group_id.into(), tenant_id.into(), code.into(), expires_at.into()],
    );
    statement.execute(transaction).await.map(drop)
}

/// The unary plus avoids a scan of the tenant's applications.
const FORGET: &str =
    "DELETE FROM group_applications WHERE group_id = ? AND +tenant_id = ? AND state <> 'applied' AND user_id";

/// Replaces decided applications. Returns whether it is new.
pub(crate) async fn apply(
    transaction: &Transaction,
    id: &str,
    group_id: &str,
    tenant_id: i64,
    user_id: &str,
) -> store::Result<bool> {
    let decided = sql(format!("{FORGET} = ?"), [group_id.into(), tenant_id.into(), user_id.into()]);
    decided.execute(transaction).await?;
    let statement = sql(
        "INSERT INTO group_applications (id, group_id, tenant_id, user_id, state, created_at) \
         VALUES (?, ?, ?, ?, 'applied', ?) ON CONFLICT DO NOTHING",
        [id.into(), group_id.into(), tenant_id.into(), user_id.into(), now_millis().into()],
    );
    Ok(statement.execute(transaction).await? == 1)
}

/// An owner, or a member who may act as one.
pub(crate) async fn somebody_decides(
    transaction: &Transaction,
    group_id: &str,
    tenant_id: i64,
) -> store::Result<bool> {
    let statement = sql(
        "SELECT 1 FROM group_members CROSS JOIN users ON users.tenant_id = group_members.tenant_id \
           AND users.user_id = group_members.user_id \
         WHERE group_members.group_id = ? AND group_members.tenant_id = ? \
           AND NOT users.is_deleted AND users.status = 1 LIMIT 1",
        [group_id.into(), tenant_id.into()],
    );
    statement.exists(transaction).await
}

const APPLICATIONS: &str = "SELECT group_applications.id, users.user_id, users.name, users.picture, \
    CAST(group_applications.created_at AS TEXT) AS created_date FROM group_applications \
    JOIN users ON users.tenant_id = group_applications.tenant_id AND users.user_id = group_applications.user_id \
      AND NOT users.is_deleted AND NOT users.is_hidden WHERE group_applications.group_id = ?";

pub(crate) async fn open_applications(
    reader: &Connection,
    group_id: &str,
) -> store::Result<Vec<GroupApplication>> {
    let text = format!(
        "{APPLICATIONS} AND state = 'applied' ORDER BY group_applications.created_at, group_applications.id"
    );
    sql(text, [group_id.into()]).fetch_all::<GroupApplication>(reader).await
}

/// `applied`, `accepted` or `refused`.
#[derive(Clone, Debug, FromRow)]
pub(crate) struct StoredApplication {
    pub(crate) user_id: String,
    pub(crate) state: String,
}

pub(crate) async fn find_application(
    transaction: &Transaction,
    group_id: &str,
    id: &str,
) -> store::Result<Option<StoredApplication>> {
    let statement = sql(
        "SELECT users.user_id, state FROM group_applications \
         JOIN users ON users.tenant_id = group_applications.tenant_id AND users.user_id = group_applications.user_id \
           AND NOT users.is_deleted AND NOT users.is_hidden \
         WHERE group_applications.id = ? AND group_applications.group_id = ?",
        [id.into(), group_id.into()],
    );
    statement.fetch_optional::<StoredApplication>(transaction).await
}

pub(crate) async fn refuse(transaction: &Transaction, id: &str, by: &str) -> store::Result<()> {
    let statement = sql(
        "UPDATE group_applications SET state = 'refused', decided_at = ?, decided_by = ? WHERE id = ?",
        [now_millis().into(), by.into(), id.into()],
    );
    statement.execute(transaction).await.map(drop)
}

pub(crate) async fn accept_all(
    transaction: &Transaction,
    group_id: &str,
    user_ids: &[&str],
    by: &str,
) -> store::Result<()> {
    let text = "UPDATE group_applications SET state = 'accepted', decided_at = ?, decided_by = ? \
        WHERE group_id = ? AND state = 'applied' AND user_id";
    let first = [now_millis().into(), by.into(), group_id.into()];
    execute_in(transaction, text, &first, user_ids).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::plan_of_find;

    #[tokio::test]
    async fn decided_application_lookup_uses_user_index() {
        let plan = plan_of_find(FORGET, &["group".into(), 1.into()], 1).await;
        let first = plan.first().unwrap();
        assert!(first.ends_with("USING INDEX applications_by_person (group_id=? AND user_id=?)"), "{plan:?}");
    }
}
