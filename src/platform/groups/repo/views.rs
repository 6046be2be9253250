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

/// Whom nobody sees of the tenants in which a group is found.
const NOT_SHOWN: &str = "FROM group_tenants CROSS JOIN users INDEXED BY users_not_shown \
    ON users.tenant_id = group_tenants.tenant_id AND (users.is_deleted OR users.is_hidden)";

/// How many members of `groups.id` are shown ([`SHOWN`]), without a look at each.
///
/// All rows are counted, less those of tenants that are being removed and of people who are not shown. These are few as a rule,
/// and looked for in the group; where a small group stands beside many of them, its members are looked for among them.
fn count() -> String {
    let rows = "SELECT COUNT(*) FROM group_members WHERE group_members.group_id = groups.id";
    let of_removed = "SELECT COUNT(*) FROM tenants CROSS JOIN group_members ON group_members.group_id = groups.id \
        AND group_members.tenant_id = tenants.id WHERE tenants.removed_at IS NOT NULL";
    let few = format!(
        "(SELECT COUNT(*) FROM (SELECT 1 {NOT_SHOWN} WHERE group_tenants.group_id = groups.id LIMIT 1000)) < \
         (SELECT COUNT(*) FROM (SELECT 1 FROM group_members WHERE group_members.group_id = groups.id LIMIT 4000)) / 4"
    );
    let sought_in_group = format!(
        "SELECT COUNT(*) {NOT_SHOWN} CROSS JOIN group_members ON group_members.group_id = groups.id \
           AND group_members.tenant_id = users.tenant_id AND group_members.user_id = users.user_id \
         JOIN tenants ON tenants.id = users.tenant_id AND tenants.removed_at IS NULL \
         WHERE group_tenants.group_id = groups.id"
    );
    let sought_among_them = "SELECT COUNT(*) FROM group_members \
        CROSS JOIN users INDEXED BY users_not_shown ON users.tenant_id = group_members.tenant_id \
          AND users.user_id = group_members.user_id AND (users.is_deleted OR users.is_hidden) \
        JOIN tenants ON tenants.id = users.tenant_id AND tenants.removed_at IS NULL \
        WHERE group_members.group_id = groups.id";
    format!(
        "({rows}) - ({of_removed}) - CASE WHEN {few} THEN ({sought_in_group}) ELSE ({sought_among_them}) END"
    )
}

/// [`Group`] of each of [`GROUPS`].
fn groups() -> String {
    format!(
        "SELECT groups.id, groups.name, groups.icon, tenants.code AS e_code, \
         COALESCE({ROLE}, -1) AS member_role, CAST({} AS TEXT) AS member_count {GROUPS}",
        count()
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

/// The group with this id as somebody sees it to whom it is open, public or not.
pub(in crate::platform::groups) async fn find_by_id<C: ConnectionTrait>(
    reader: &C,
    tenant_id: i64,
    user_id: &str,
    group_id: &str,
) -> Result<Option<Group>, DbErr> {
    let text = format!("{} AND groups.id = ?3", groups());
    Group::find_by_statement(sql(text, [tenant_id.into(), user_id.into(), group_id.into()])).one(reader).await
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
