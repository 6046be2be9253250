//! Join codes and applications.

use sea_orm::{ConnectionTrait, DbErr, FromQueryResult, Value};

use crate::{
    platform::groups::fields::{GroupApplication, JoinCode},
    store::{Transaction, now_millis, placeholders, sql},
};

/// The group's join code, if it has one that is valid.
pub(in crate::platform::groups) async fn find_code(
    transaction: &Transaction,
    group_id: &str,
    now: i64,
) -> Result<Option<JoinCode>, DbErr> {
    let statement = sql(
        "SELECT code, expires_at FROM group_join_codes WHERE group_id = ? AND expires_at > ?",
        [group_id.into(), now.into()],
    );
    let Some(row) = transaction.query_one_raw(statement).await? else { return Ok(None) };
    let expires_at: i64 = row.try_get("", "expires_at")?;
    Ok(Some(JoinCode { code: row.try_get("", "code")?, expire_date: expires_at.to_string() }))
}

/// The id of the group that a join code of the tenant opens.
pub(in crate::platform::groups) async fn find_group<C: ConnectionTrait>(
    connection: &C,
    tenant_id: i64,
    code: &str,
    now: i64,
) -> Result<Option<String>, DbErr> {
    let statement = sql(
        "SELECT group_id FROM group_join_codes JOIN groups ON groups.id = group_id AND removed_at IS NULL \
         WHERE code = ? AND group_join_codes.tenant_id = ? AND expires_at > ?",
        [code.into(), tenant_id.into(), now.into()],
    );
    connection.query_one_raw(statement).await?.map(|row| row.try_get("", "group_id")).transpose()
}

/// Whether some group has this code, or had it until lately.
pub(in crate::platform::groups) async fn is_taken(
    transaction: &Transaction,
    code: &str,
) -> Result<bool, DbErr> {
    let statement = sql("SELECT 1 FROM group_join_codes WHERE code = ?", [code.into()]);
    Ok(transaction.query_one_raw(statement).await?.is_some())
}

/// Gives the group a code; the one that it had opens nothing any more.
pub(in crate::platform::groups) async fn put_code(
    transaction: &Transaction,
    group_id: &str,
    tenant_id: i64,
    code: &str,
    expires_at: i64,
) -> Result<(), DbErr> {
    let statement = sql(
        "INSERT INTO group_join_codes (group_id, tenant_id, code, expires_at) VALUES (?, ?, ?, ?) \
         ON CONFLICT (group_id) DO UPDATE SET code = excluded.code, expires_at = excluded.expires_at",
        [group_id.into(), tenant_id.into(), code.into(), expires_at.into()],
    );
    transaction.execute_raw(statement).await.map(drop)
}

/// Removes what was decided of some people of a group's tenant. Unary plus: else all applications of a tenant are looked at.
const FORGET: &str =
    "DELETE FROM group_applications WHERE group_id = ? AND +tenant_id = ? AND state <> 'applied' AND user_id";

/// Keeps that somebody asks to be let in; what was decided of him before is forgotten. Answers whether he did not ask already.
pub(in crate::platform::groups) async fn apply(
    transaction: &Transaction,
    id: &str,
    group_id: &str,
    tenant_id: i64,
    user_id: &str,
) -> Result<bool, DbErr> {
    let decided = sql(format!("{FORGET} = ?"), [group_id.into(), tenant_id.into(), user_id.into()]);
    transaction.execute_raw(decided).await?;
    let statement = sql(
        "INSERT INTO group_applications (id, group_id, tenant_id, user_id, state, created_at) \
         VALUES (?, ?, ?, ?, 'applied', ?) ON CONFLICT DO NOTHING",
        [id.into(), group_id.into(), tenant_id.into(), user_id.into(), now_millis().into()],
    );
    Ok(transaction.execute_raw(statement).await?.rows_affected() == 1)
}

/// Whether somebody is there who can decide applications to the group: its owner, or whoever
/// stands in for him, which each member of its tenant may come to do.
pub(in crate::platform::groups) async fn somebody_decides(
    transaction: &Transaction,
    group_id: &str,
    tenant_id: i64,
) -> Result<bool, DbErr> {
    let statement = sql(
        "SELECT 1 FROM group_members CROSS JOIN users ON users.tenant_id = group_members.tenant_id \
           AND users.user_id = group_members.user_id \
         WHERE group_members.group_id = ? AND group_members.tenant_id = ? \
           AND users.is_deleted = 0 AND users.status = 1 LIMIT 1",
        [group_id.into(), tenant_id.into()],
    );
    Ok(transaction.query_one_raw(statement).await?.is_some())
}

/// Applications of people who are shown.
const APPLICATIONS: &str = "SELECT group_applications.id, users.user_id, users.name, users.picture, \
    CAST(group_applications.created_at AS TEXT) AS created_date FROM group_applications \
    JOIN users ON users.tenant_id = group_applications.tenant_id AND users.user_id = group_applications.user_id \
      AND users.is_deleted = 0 AND users.is_hidden = 0 WHERE group_applications.group_id = ?";

/// The open applications of a group, oldest first.
pub(in crate::platform::groups) async fn open_applications<C: ConnectionTrait>(
    reader: &C,
    group_id: &str,
) -> Result<Vec<GroupApplication>, DbErr> {
    let text = format!(
        "{APPLICATIONS} AND state = 'applied' ORDER BY group_applications.created_at, group_applications.id"
    );
    GroupApplication::find_by_statement(sql(text, [group_id.into()])).all(reader).await
}

/// An application, and how it stands: `applied`, `accepted` or `refused`.
#[derive(Clone, Debug, FromQueryResult)]
pub(in crate::platform::groups) struct Standing {
    pub(in crate::platform::groups) user_id: String,
    pub(in crate::platform::groups) state: String,
}

/// The application of a group with this id, of somebody who is shown.
pub(in crate::platform::groups) async fn find_application(
    transaction: &Transaction,
    group_id: &str,
    id: &str,
) -> Result<Option<Standing>, DbErr> {
    let statement = sql(
        "SELECT users.user_id, state FROM group_applications \
         JOIN users ON users.tenant_id = group_applications.tenant_id AND users.user_id = group_applications.user_id \
           AND users.is_deleted = 0 AND users.is_hidden = 0 \
         WHERE group_applications.id = ? AND group_applications.group_id = ?",
        [id.into(), group_id.into()],
    );
    Standing::find_by_statement(statement).one(&**transaction).await
}

/// Refuses an open application.
pub(in crate::platform::groups) async fn refuse(
    transaction: &Transaction,
    id: &str,
    by: &str,
) -> Result<(), DbErr> {
    let statement = sql(
        "UPDATE group_applications SET state = 'refused', decided_at = ?, decided_by = ? WHERE id = ?",
        [now_millis().into(), by.into(), id.into()],
    );
    transaction.execute_raw(statement).await.map(drop)
}

/// Accepts what these people of the group's tenant have applied for.
pub(in crate::platform::groups) async fn accept_all(
    transaction: &Transaction,
    group_id: &str,
    user_ids: &[&str],
    by: &str,
) -> Result<(), DbErr> {
    for portion in user_ids.chunks(crate::store::ROWS_PER_STATEMENT) {
        let text = format!(
            "UPDATE group_applications SET state = 'accepted', decided_at = ?, decided_by = ? \
             WHERE group_id = ? AND state = 'applied' AND user_id IN ({})",
            placeholders(portion.len())
        );
        let first = [Value::from(now_millis()), by.into(), group_id.into()];
        let values = first.into_iter().chain(portion.iter().map(|id| Value::from(*id)));
        transaction.execute_raw(sql(text, values)).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::plan_of_find;

    #[tokio::test]
    async fn what_was_decided_of_somebody_is_found_by_his_id() {
        let plan = plan_of_find(FORGET, &["group".into(), 1.into()], 1).await;
        let first = plan.first().unwrap();
        assert!(first.ends_with("USING INDEX applications_by_person (group_id=? AND user_id=?)"), "{plan:?}");
    }
}
