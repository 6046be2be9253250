//! Groups and their members as people see them.

use sea_orm::{ConnectionTrait, DbErr, FromQueryResult};

use super::{GROUPS, IS_SEEN, ROLE};
use crate::{
    platform::groups::fields::{Group, GroupMember},
    store::sql,
};

/// Members who are shown: those whom nobody sees any more are not, and they do not count.
const SHOWN: &str = "FROM group_members \
    JOIN tenants AS homes ON homes.id = group_members.tenant_id AND homes.removed_at IS NULL \
    JOIN users ON users.tenant_id = group_members.tenant_id AND users.user_id = group_members.user_id \
      AND users.is_deleted = 0 AND users.is_hidden = 0";

/// How many these are of the group that follows. Those who are not shown are few, and have an index of their own.
const COUNT: &str = "COUNT(*) FROM group_members \
    WHERE group_members.tenant_id NOT IN (SELECT id FROM tenants WHERE removed_at IS NOT NULL) \
      AND NOT EXISTS (SELECT 1 FROM users INDEXED BY users_not_shown WHERE (is_deleted OR is_hidden) \
        AND users.tenant_id = group_members.tenant_id AND users.user_id = group_members.user_id) \
      AND group_members.group_id =";

/// [`Group`] of each of [`GROUPS`].
fn groups() -> String {
    format!(
        "SELECT groups.id, groups.name, groups.icon, tenants.code AS e_code, \
         COALESCE({ROLE}, -1) AS member_role, CAST((SELECT {COUNT} groups.id) AS TEXT) AS member_count {GROUPS}"
    )
}

/// The groups that a person sees and that changed at or after `since`, in the order in which they were made.
pub(in crate::platform::groups) async fn list<C: ConnectionTrait>(
    reader: &C,
    tenant_id: i64,
    user_id: &str,
    since: i64,
) -> Result<Vec<Group>, DbErr> {
    // Which groups these may be is found by two indexes; without them every group of every tenant would be looked at.
    let text = format!(
        "{} AND {IS_SEEN} AND groups.updated_at >= ?3 AND groups.id IN ( \
           SELECT group_id FROM group_members WHERE tenant_id = ?1 AND user_id = ?2 \
           UNION SELECT id FROM groups WHERE tenant_id = ?1 AND is_public = 1 AND updated_at >= ?3) \
         ORDER BY groups.sequence",
        groups()
    );
    Group::find_by_statement(sql(text, [tenant_id.into(), user_id.into(), since.into()])).all(reader).await
}

/// The group with this id as a person sees it.
pub(in crate::platform::groups) async fn find<C: ConnectionTrait>(
    reader: &C,
    tenant_id: i64,
    user_id: &str,
    group_id: &str,
) -> Result<Option<Group>, DbErr> {
    let text = format!("{} AND {IS_SEEN} AND groups.id = ?3", groups());
    Group::find_by_statement(sql(text, [tenant_id.into(), user_id.into(), group_id.into()])).one(reader).await
}

/// The group that a join code of the tenant opens, as somebody who has the code sees it.
pub(in crate::platform::groups) async fn find_by_code<C: ConnectionTrait>(
    reader: &C,
    tenant_id: i64,
    user_id: &str,
    code: &str,
    now: i64,
) -> Result<Option<Group>, DbErr> {
    // Public or not.
    let text = format!(
        "{} AND groups.id = \
         (SELECT group_id FROM group_join_codes WHERE code = ?3 AND tenant_id = ?1 AND expires_at > ?4)",
        groups()
    );
    let values = [tenant_id.into(), user_id.into(), code.into(), now.into()];
    Group::find_by_statement(sql(text, values)).one(reader).await
}

/// How many members of a group are shown.
pub(in crate::platform::groups) async fn count_members<C: ConnectionTrait>(
    reader: &C,
    group_id: &str,
) -> Result<usize, DbErr> {
    let statement = sql(format!("SELECT (SELECT {COUNT} ?) AS members"), [group_id.into()]);
    let row = reader.query_one_raw(statement).await?;
    let count: i64 = row.map_or(Ok(0), |row| row.try_get("", "members"))?;
    Ok(usize::try_from(count).unwrap_or_default())
}

/// The members of a group who are shown: its owner first, then administrators, then the others, those who are in it longest first.
pub(in crate::platform::groups) async fn members<C: ConnectionTrait>(
    reader: &C,
    group_id: &str,
) -> Result<Vec<GroupMember>, DbErr> {
    let text = format!(
        "SELECT users.user_id, users.name, users.type, users.picture, organizations.org_id, \
         organizations.name AS org_name, homes.code AS e_code, homes.name AS enterprise {SHOWN} \
         LEFT JOIN organizations ON organizations.tenant_id = users.tenant_id AND organizations.org_id = users.org_id \
           AND organizations.is_deleted = 0 AND organizations.is_hidden = 0 WHERE group_members.group_id = ? \
         ORDER BY group_members.role DESC, group_members.joined_at, group_members.user_id, group_members.tenant_id"
    );
    GroupMember::find_by_statement(sql(text, [group_id.into()])).all(reader).await
}
