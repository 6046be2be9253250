//! Rows of groups.

pub(super) mod joining;
pub(super) mod members;
pub(super) mod views;

use sea_orm::{ConnectionTrait, DbErr, FromQueryResult};

use super::fields::{GroupChange, NewGroup};
pub(super) use crate::auth::directory::GROUP_ROLE as ROLE;
use crate::store::{ROWS_PER_STATEMENT, Transaction, end_of_portion, find_in, now_millis, placeholders, sql};

/// Groups that are there, each with a person's own row of its members (`?1` his tenant, `?2` his id).
pub(super) const GROUPS: &str = "FROM groups \
    JOIN tenants ON tenants.id = groups.tenant_id AND tenants.removed_at IS NULL AND tenants.is_frozen = 0 \
    LEFT JOIN group_members ON group_members.group_id = groups.id \
      AND group_members.tenant_id = ?1 AND group_members.user_id = ?2 WHERE groups.removed_at IS NULL";

/// Those of [`GROUPS`] that he sees.
pub(super) const IS_SEEN: &str =
    "(group_members.role IS NOT NULL OR is_public = 1 AND groups.tenant_id = ?1)";

/// A group in one of the tenants in which it is found.
#[derive(Clone, Debug, FromQueryResult)]
pub(super) struct Row {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) icon: Option<String>,
    pub(super) is_public: bool,
    pub(super) created_at: i64,
    /// Its own tenant.
    pub(super) tenant_id: i64,
    /// The tenant in which it is found.
    pub(super) found_in: i64,
}

/// Groups that are there, once for each tenant in which they are found.
const FOUND: &str = "SELECT groups.id, groups.name, groups.icon, groups.is_public, groups.created_at, \
    groups.tenant_id, group_tenants.tenant_id AS found_in \
    FROM groups JOIN group_tenants ON group_tenants.group_id = groups.id \
    JOIN tenants ON tenants.id = groups.tenant_id AND tenants.removed_at IS NULL WHERE groups.removed_at IS NULL";

/// The groups with these ids that are found in the tenant.
pub(super) async fn find<C: ConnectionTrait>(
    reader: &C,
    tenant_id: i64,
    ids: &[String],
) -> Result<Vec<Row>, DbErr> {
    let text = format!("{FOUND} AND group_tenants.tenant_id = ? AND groups.id");
    find_in(reader, &text, &[tenant_id.into()], ids).await
}

/// Those among up to `limit` groups of all tenants after `sequence`, and the last one's number.
pub(super) async fn scan<C: ConnectionTrait>(
    reader: &C,
    sequence: i64,
    limit: u64,
) -> Result<Option<(Vec<Row>, i64)>, DbErr> {
    let Some(last) = end_of_portion(reader, "groups", sequence, limit).await? else { return Ok(None) };
    let text = format!("{FOUND} AND groups.sequence > ? AND groups.sequence <= ?");
    let rows = Row::find_by_statement(sql(text, [sequence.into(), last.into()])).all(reader).await?;
    Ok(Some((rows, last)))
}

/// How many rows a scan from the beginning gives.
pub(super) async fn count<C: ConnectionTrait>(reader: &C) -> Result<i64, DbErr> {
    let row = reader.query_one_raw(sql(format!("SELECT COUNT(*) AS groups FROM ({FOUND})"), [])).await?;
    row.map_or(Ok(0), |row| row.try_get("", "groups"))
}

/// The tenants in which a group is found.
pub(super) async fn tenants_of<C: ConnectionTrait>(
    connection: &C,
    group_id: &str,
) -> Result<Vec<i64>, DbErr> {
    let statement =
        sql("SELECT tenant_id FROM group_tenants WHERE group_id = ? ORDER BY tenant_id", [group_id.into()]);
    connection.query_all_raw(statement).await?.iter().map(|row| row.try_get("", "tenant_id")).collect()
}

/// The other tenants in which groups of this one are found.
pub(super) async fn tenants_in_groups_of<C: ConnectionTrait>(
    connection: &C,
    tenant_id: i64,
) -> Result<Vec<i64>, DbErr> {
    let statement = sql(
        "SELECT DISTINCT group_tenants.tenant_id FROM groups \
         JOIN group_tenants ON group_tenants.group_id = groups.id \
         WHERE groups.tenant_id = ?1 AND group_tenants.tenant_id <> ?1",
        [tenant_id.into()],
    );
    connection.query_all_raw(statement).await?.iter().map(|row| row.try_get("", "tenant_id")).collect()
}

/// Makes a group without members.
pub(super) async fn insert(
    transaction: &Transaction,
    id: &str,
    tenant_id: i64,
    created_by: &str,
    new: &NewGroup,
) -> Result<(), DbErr> {
    let now = now_millis();
    let statement = sql(
        "INSERT INTO groups (id, tenant_id, name, type, is_public, is_third, created_by, created_at, updated_at) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            id.into(),
            tenant_id.into(),
            new.name.as_str().into(),
            new.kind.into(),
            new.is_public.into(),
            new.is_third.into(),
            created_by.into(),
            now.into(),
            now.into(),
        ],
    );
    transaction.execute_raw(statement).await.map(drop)
}

/// Has the group found in a tenant. Answers whether it was not so before.
pub(super) async fn open_to_tenant(
    transaction: &Transaction,
    group_id: &str,
    tenant_id: i64,
) -> Result<bool, DbErr> {
    let statement = sql(
        "INSERT INTO group_tenants (group_id, tenant_id) VALUES (?, ?) ON CONFLICT DO NOTHING",
        [group_id.into(), tenant_id.into()],
    );
    Ok(transaction.execute_raw(statement).await?.rows_affected() == 1)
}

/// Writes what a change leaves of a group. Answers whether that is another than before.
pub(super) async fn change(
    transaction: &Transaction,
    group_id: &str,
    change: &GroupChange,
) -> Result<bool, DbErr> {
    let statement = sql(
        "UPDATE groups SET name = COALESCE(?2, name), icon = CASE WHEN ?3 IS NULL THEN icon ELSE NULLIF(?3, '') END, \
         is_public = COALESCE(?4, is_public) WHERE id = ?1 \
         AND (name, COALESCE(icon, ''), is_public) IS NOT \
           (COALESCE(?2, name), COALESCE(?3, icon, ''), COALESCE(?4, is_public))",
        [
            group_id.into(),
            change.name.as_deref().into(),
            change.icon.as_deref().into(),
            change.is_public.into(),
        ],
    );
    Ok(transaction.execute_raw(statement).await?.rows_affected() == 1)
}

/// Notes that something of the group, its members or their roles changed just now.
pub(super) async fn touch(transaction: &Transaction, group_id: &str) -> Result<(), DbErr> {
    let statement = sql(
        "UPDATE groups SET updated_at = MAX(updated_at, ?) WHERE id = ?",
        [now_millis().into(), group_id.into()],
    );
    transaction.execute_raw(statement).await.map(drop)
}

/// Notes that something of the groups in which these people of a tenant are changed just now.
pub(super) async fn touch_groups_of(
    transaction: &Transaction,
    tenant_id: i64,
    user_ids: &[&str],
) -> Result<(), DbErr> {
    for portion in user_ids.chunks(ROWS_PER_STATEMENT) {
        let text = format!(
            "UPDATE groups SET updated_at = MAX(updated_at, ?) WHERE id IN (SELECT group_id FROM group_members \
             INDEXED BY groups_by_member WHERE tenant_id = ? AND user_id IN ({}))",
            placeholders(portion.len())
        );
        let values = [now_millis().into(), tenant_id.into()];
        let values = values.into_iter().chain(portion.iter().map(|id| (*id).into()));
        transaction.execute_raw(sql(text, values)).await?;
    }
    Ok(())
}

/// Notes that the members changed of the groups of other tenants that are found in this one.
pub(super) async fn touch_groups_found_in(transaction: &Transaction, tenant_id: i64) -> Result<(), DbErr> {
    let statement = sql(
        "UPDATE groups SET updated_at = MAX(updated_at, ?1) WHERE tenant_id <> ?2 \
         AND id IN (SELECT group_id FROM group_tenants WHERE tenant_id = ?2)",
        [now_millis().into(), tenant_id.into()],
    );
    transaction.execute_raw(statement).await.map(drop)
}

/// Ends a group: nobody sees it any more, and its join code opens nothing.
pub(super) async fn end(transaction: &Transaction, group_id: &str) -> Result<(), DbErr> {
    let statement =
        sql("UPDATE groups SET removed_at = ? WHERE id = ?", [now_millis().into(), group_id.into()]);
    transaction.execute_raw(statement).await?;
    let statement = sql("DELETE FROM group_join_codes WHERE group_id = ?", [group_id.into()]);
    transaction.execute_raw(statement).await.map(drop)
}
