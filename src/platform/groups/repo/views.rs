use super::{GROUPS, IS_SEEN, ROLE};
use crate::{
    platform::groups::forms::{Group, GroupMember},
    store::{self, Connection, sql},
};

/// Members that are neither hidden nor deleted, of tenants that are there.
pub(crate) const SHOWN: &str = "FROM group_members \
    JOIN tenants AS homes ON homes.id = group_members.tenant_id AND homes.removed_at IS NULL \
    JOIN users ON users.tenant_id = group_members.tenant_id AND users.user_id = group_members.user_id \
      AND NOT users.is_deleted AND NOT users.is_hidden";

const NOT_SHOWN: &str = "FROM group_tenants CROSS JOIN users INDEXED BY users_not_shown \
    ON users.tenant_id = group_tenants.tenant_id AND (users.is_deleted OR users.is_hidden)";

/// Number of visible members, without a visit to each.
///
/// Subtracts the few invisible members, or probes each member of a small group.
fn count() -> String {
    let rows = "SELECT COUNT(*) FROM group_members WHERE group_members.group_id = groups.id";
    let of_removed = "SELECT COUNT(*) FROM tenants CROSS JOIN group_members ON group_members.group_id = groups.id \
        AND group_members.tenant_id = tenants.id WHERE tenants.removed_at IS NOT NULL";
    let few = format!(
        "(SELECT COUNT(*) FROM (SELECT 1 {NOT_SHOWN} WHERE group_tenants.group_id = groups.id LIMIT 1000) AS not_shown) < \
         (SELECT COUNT(*) FROM (SELECT 1 FROM group_members WHERE group_members.group_id = groups.id LIMIT 4000) AS members) / 4"
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

fn groups() -> String {
    format!(
        "SELECT groups.id, groups.name, groups.icon, tenants.code AS e_code, \
         COALESCE({ROLE}, -1) AS member_role, CAST({} AS TEXT) AS member_count {GROUPS}",
        count()
    )
}

pub(crate) async fn list(
    reader: &Connection,
    tenant_id: i64,
    user_id: &str,
    since: i64,
) -> store::Result<Vec<Group>> {
    // Without two indexes SQLite scans all groups.
    let text = format!(
        "{} AND {IS_SEEN} AND groups.updated_at >= ?3 AND groups.id IN ( \
           SELECT group_id FROM group_members WHERE tenant_id = ?1 AND user_id = ?2 \
           UNION SELECT id FROM groups WHERE tenant_id = ?1 AND is_public AND updated_at >= ?3) \
         ORDER BY groups.sequence",
        groups()
    );
    sql(text, [tenant_id.into(), user_id.into(), since.into()]).fetch_all::<Group>(reader).await
}

pub(crate) async fn find(
    reader: &Connection,
    tenant_id: i64,
    user_id: &str,
    group_id: &str,
) -> store::Result<Option<Group>> {
    let text = format!("{} AND {IS_SEEN} AND groups.id = ?3", groups());
    sql(text, [tenant_id.into(), user_id.into(), group_id.into()]).fetch_optional::<Group>(reader).await
}

/// Finds a group for a holder of its join code.
pub(crate) async fn find_by_id(
    reader: &Connection,
    tenant_id: i64,
    user_id: &str,
    group_id: &str,
) -> store::Result<Option<Group>> {
    let text = format!("{} AND groups.id = ?3", groups());
    sql(text, [tenant_id.into(), user_id.into(), group_id.into()]).fetch_optional::<Group>(reader).await
}

/// Owner, administrators, others, each by time of joining.
pub(crate) async fn members(reader: &Connection, group_id: &str) -> store::Result<Vec<GroupMember>> {
    let text = format!(
        "SELECT users.user_id, users.name, users.type, users.picture, organizations.org_id, \
         organizations.name AS org_name, homes.code AS e_code, homes.name AS enterprise {SHOWN} \
         LEFT JOIN organizations ON organizations.tenant_id = users.tenant_id AND organizations.org_id = users.org_id \
           AND NOT organizations.is_deleted AND NOT organizations.is_hidden WHERE group_members.group_id = ? \
         ORDER BY group_members.role DESC, group_members.joined_at, group_members.user_id, group_members.tenant_id"
    );
    sql(text, [group_id.into()]).fetch_all::<GroupMember>(reader).await
}
