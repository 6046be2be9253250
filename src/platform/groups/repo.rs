pub(super) mod joining;
pub(super) mod members;
pub(super) mod views;

use super::forms::{GroupChange, NewGroup};
use crate::store::{self, Connection, ROWS_PER_STATEMENT, Transaction, now_millis, placeholders, sql};

/// SQL of groups with a person's membership (`?1` tenant, `?2` user id).
pub(super) const GROUPS: &str = "FROM groups \
    JOIN tenants ON tenants.id = groups.tenant_id AND tenants.removed_at IS NULL AND NOT tenants.is_frozen \
    LEFT JOIN group_members ON group_members.group_id = groups.id \
      AND group_members.tenant_id = ?1 AND group_members.user_id = ?2 WHERE groups.removed_at IS NULL";

pub(super) const IS_SEEN: &str = "(group_members.role IS NOT NULL OR is_public AND groups.tenant_id = ?1)";

/// SQL of a member's role in their group, or null.
///
/// A deleted or disabled owner is replaced: administrators first, then by seniority.
pub(super) const ROLE: &str = "CASE WHEN group_members.tenant_id = groups.tenant_id AND group_members.user_id = ( \
    SELECT first.user_id FROM group_members AS first INDEXED BY members_by_rank CROSS JOIN users AS present \
    ON present.tenant_id = first.tenant_id AND present.user_id = first.user_id \
    WHERE first.group_id = groups.id AND first.tenant_id = groups.tenant_id \
      AND NOT present.is_deleted AND present.status = 1 \
    ORDER BY first.role DESC, first.joined_at, first.user_id LIMIT 1) \
    THEN 2 ELSE MIN(group_members.role, 1) END";

pub(super) async fn tenants_of(connection: &Connection, group_id: &str) -> store::Result<Vec<i64>> {
    let statement =
        sql("SELECT tenant_id FROM group_tenants WHERE group_id = ? ORDER BY tenant_id", [group_id.into()]);
    statement.fetch_values(connection).await
}

pub(super) async fn tenants_in_groups_of(connection: &Connection, tenant_id: i64) -> store::Result<Vec<i64>> {
    let statement = sql(
        "SELECT DISTINCT group_tenants.tenant_id FROM groups \
         JOIN group_tenants ON group_tenants.group_id = groups.id \
         WHERE groups.tenant_id = ?1 AND group_tenants.tenant_id <> ?1",
        [tenant_id.into()],
    );
    statement.fetch_values(connection).await
}

pub(super) async fn insert(
    transaction: &Transaction,
    id: &str,
    tenant_id: i64,
    created_by: &str,
    new: &NewGroup,
) -> store::Result<()> {
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
    statement.execute(transaction).await.map(drop)
}

pub(super) async fn open_to_tenant(
    transaction: &Transaction,
    group_id: &str,
    tenant_id: i64,
) -> store::Result<bool> {
    let statement = sql(
        "INSERT INTO group_tenants (group_id, tenant_id) VALUES (?, ?) ON CONFLICT DO NOTHING",
        [group_id.into(), tenant_id.into()],
    );
    Ok(statement.execute(transaction).await? == 1)
}

pub(super) async fn change(
    transaction: &Transaction,
    group_id: &str,
    change: &GroupChange,
) -> store::Result<bool> {
    let statement = sql(
        "UPDATE groups SET name = COALESCE(?2, name), icon = CASE WHEN ?3 IS NULL THEN icon ELSE NULLIF(?3, '') END, \
         is_public = COALESCE(?4, is_public) WHERE id = ?1 \
         AND (name, COALESCE(icon, ''), is_public) <> \
           (COALESCE(?2, name), COALESCE(?3, icon, ''), COALESCE(?4, is_public))",
        [
            group_id.into(),
            change.name.as_deref().into(),
            change.icon.as_deref().into(),
            change.is_public.into(),
        ],
    );
    Ok(statement.execute(transaction).await? == 1)
}

pub(super) async fn touch(transaction: &Transaction, group_id: &str) -> store::Result<()> {
    let statement = sql(
        "UPDATE groups SET updated_at = MAX(updated_at, ?) WHERE id = ?",
        [now_millis().into(), group_id.into()],
    );
    statement.execute(transaction).await.map(drop)
}

pub(super) async fn touch_groups_of(
    transaction: &Transaction,
    tenant_id: i64,
    user_ids: &[&str],
) -> store::Result<()> {
    for portion in user_ids.chunks(ROWS_PER_STATEMENT) {
        let text = format!(
            "UPDATE groups SET updated_at = MAX(updated_at, ?) WHERE id IN (SELECT group_id FROM group_members \
             INDEXED BY groups_by_member WHERE tenant_id = ? AND user_id IN ({}))",
            placeholders(portion.len())
        );
        let values = [now_millis().into(), tenant_id.into()];
        let values = values.into_iter().chain(portion.iter().map(|id| (*id).into()));
        sql(text, values).execute(transaction).await?;
    }
    Ok(())
}

pub(super) async fn touch_groups_found_in(transaction: &Transaction, tenant_id: i64) -> store::Result<()> {
    let statement = sql(
        "UPDATE groups SET updated_at = MAX(updated_at, ?1) WHERE tenant_id <> ?2 \
         AND id IN (SELECT group_id FROM group_tenants WHERE tenant_id = ?2)",
        [now_millis().into(), tenant_id.into()],
    );
    statement.execute(transaction).await.map(drop)
}

pub(super) async fn end(transaction: &Transaction, group_id: &str) -> store::Result<()> {
    let statement =
        sql("UPDATE groups SET removed_at = ? WHERE id = ?", [now_millis().into(), group_id.into()]);
    statement.execute(transaction).await?;
    let statement = sql("DELETE FROM group_join_codes WHERE group_id = ?", [group_id.into()]);
    statement.execute(transaction).await.map(drop)
}

/// Ids of a person's active groups, and whether they own each.
pub async fn memberships(
    connection: &Connection,
    tenant_id: i64,
    user_id: &str,
) -> store::Result<Vec<(String, bool)>> {
    let text = format!(
        "SELECT group_id, groups.tenant_id = ?1 AND {ROLE} = 2 AS is_owner \
         FROM group_members JOIN groups ON groups.id = group_members.group_id \
         JOIN tenants ON tenants.id = groups.tenant_id \
         WHERE group_members.tenant_id = ?1 AND user_id = ?2 AND groups.removed_at IS NULL \
           AND tenants.removed_at IS NULL AND NOT tenants.is_frozen"
    );
    sql(text, [tenant_id.into(), user_id.into()]).fetch_all(connection).await
}
