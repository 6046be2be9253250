//! Who is in which group.

use std::collections::HashSet;

use sea_orm::{ConnectionTrait, DbErr, FromQueryResult, Value};

use super::ROLE;
use crate::{
    platform::groups::{
        model::{MOST_GROUPS, MOST_OUTER_GROUPS, Role},
        people::Person,
    },
    store::{ROWS_PER_STATEMENT, Transaction, find_in, now_millis, sql},
};

/// A member as those who change a group need him.
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult)]
pub(in crate::platform::groups) struct Member {
    pub(in crate::platform::groups) tenant_id: i64,
    pub(in crate::platform::groups) user_id: String,
    pub(in crate::platform::groups) login_id: String,
    pub(in crate::platform::groups) name: String,
    role: i64,
    /// Whether the directory lets him sign in.
    pub(in crate::platform::groups) is_enabled: bool,
    is_hidden: bool,
}

impl Member {
    /// His role, as [`ROLE`] says.
    pub(in crate::platform::groups) fn role(&self) -> Role {
        Role::from_number(self.role).unwrap_or(Role::Member)
    }

    fn is(&self, tenant_id: i64, user_id: &str) -> bool {
        self.tenant_id == tenant_id && self.user_id == user_id
    }
}

/// How members are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::platform::groups) enum By {
    UserId,
    LoginId,
}

/// The members of a group with these names in a tenant, as far as somebody (his tenant and id) sees them: those who are hidden or
/// deleted are seen by nobody but themselves.
pub(in crate::platform::groups) async fn find(
    transaction: &Transaction,
    group_id: &str,
    viewer: (i64, &str),
    tenant_id: i64,
    by: By,
    names: &[impl AsRef<str>],
) -> Result<Vec<Member>, DbErr> {
    let column = match by {
        By::UserId => "user_id",
        By::LoginId => "login_id",
    };
    let text = format!(
        "SELECT group_members.tenant_id, group_members.user_id, users.login_id, users.name, {ROLE} AS role, \
         users.status = 1 AS is_enabled, users.is_hidden FROM group_members \
         JOIN groups ON groups.id = group_members.group_id \
         JOIN users ON users.tenant_id = group_members.tenant_id AND users.user_id = group_members.user_id \
         WHERE users.is_deleted = 0 AND group_members.group_id = ? AND group_members.tenant_id = ? AND users.{column}"
    );
    let mut found: Vec<Member> =
        find_in(&**transaction, &text, &[group_id.into(), tenant_id.into()], names).await?;
    found.retain(|member| !member.is_hidden || member.is(viewer.0, viewer.1));
    Ok(found)
}

/// Whether someone of another tenant is in the group by this id.
pub(in crate::platform::groups) async fn has_outer(
    transaction: &Transaction,
    group_id: &str,
    tenant_id: i64,
    user_id: &str,
) -> Result<bool, DbErr> {
    let statement = sql(
        "SELECT 1 FROM group_members \
         JOIN users ON users.tenant_id = group_members.tenant_id AND users.user_id = group_members.user_id \
         JOIN tenants ON tenants.id = group_members.tenant_id AND tenants.removed_at IS NULL \
         WHERE group_members.group_id = ? AND group_members.tenant_id <> ? AND group_members.user_id = ? \
           AND users.is_deleted = 0 AND users.is_hidden = 0",
        [group_id.into(), tenant_id.into(), user_id.into()],
    );
    Ok(transaction.query_one_raw(statement).await?.is_some())
}

/// Those of these people who are in the group, whether they are shown or not, by tenant and id.
pub(in crate::platform::groups) async fn among(
    transaction: &Transaction,
    group_id: &str,
    people: &[Person],
) -> Result<HashSet<(i64, String)>, DbErr> {
    #[derive(FromQueryResult)]
    struct Row {
        user_id: String,
    }
    let mut found = HashSet::new();
    for (tenant_id, ids) in by_tenant(people) {
        let text = "SELECT user_id FROM group_members WHERE group_id = ? AND tenant_id = ? AND user_id";
        let rows: Vec<Row> =
            find_in(&**transaction, text, &[group_id.into(), tenant_id.into()], &ids).await?;
        found.extend(rows.into_iter().map(|row| (tenant_id, row.user_id)));
    }
    Ok(found)
}

/// How many members a group has, whether they are shown or not.
pub(in crate::platform::groups) async fn count(
    transaction: &Transaction,
    group_id: &str,
) -> Result<usize, DbErr> {
    let statement =
        sql("SELECT COUNT(*) AS members FROM group_members WHERE group_id = ?", [group_id.into()]);
    let row = transaction.query_one_raw(statement).await?;
    let count: i64 = row.map_or(Ok(0), |row| row.try_get("", "members"))?;
    Ok(usize::try_from(count).unwrap_or_default())
}

/// Those of these people, by tenant and id, who are in as many groups as one may be: of their own tenant, where the group is one
/// of these, else of others.
pub(in crate::platform::groups) async fn full(
    transaction: &Transaction,
    group_tenant: i64,
    people: &[Person],
) -> Result<Vec<(i64, String)>, DbErr> {
    #[derive(FromQueryResult)]
    struct Row {
        value: String,
    }
    let mut full = Vec::new();
    for (tenant_id, ids) in by_tenant(people) {
        let is_outer = tenant_id != group_tenant;
        let most = i64::try_from(if is_outer { MOST_OUTER_GROUPS } else { MOST_GROUPS }).unwrap_or(i64::MAX);
        // No more rows of each are counted than it takes.
        let text = "SELECT value FROM json_each(?2) WHERE ?4 <= (SELECT COUNT(*) FROM ( \
            SELECT 1 FROM group_members WHERE tenant_id = ?1 AND user_id = value AND is_outer = ?3 LIMIT ?4))";
        let ids = Value::from(serde_json::to_string(&ids).map_err(|error| DbErr::Json(error.to_string()))?);
        let statement = sql(text, [tenant_id.into(), ids, is_outer.into(), most.into()]);
        let rows = Row::find_by_statement(statement).all(&**transaction).await?;
        full.extend(rows.into_iter().map(|row| (tenant_id, row.value)));
    }
    Ok(full)
}

fn by_tenant(people: &[Person]) -> Vec<(i64, Vec<&str>)> {
    let mut tenants: Vec<i64> = people.iter().map(|person| person.tenant_id).collect();
    tenants.sort_unstable();
    tenants.dedup();
    let of = |tenant_id| people.iter().filter(move |person: &&Person| person.tenant_id == tenant_id);
    tenants
        .into_iter()
        .map(|tenant_id| (tenant_id, of(tenant_id).map(|person| person.user_id.as_str()).collect()))
        .collect()
}

/// Puts people into a group (its id and its tenant) who are not in it, all in one role.
pub(in crate::platform::groups) async fn insert(
    transaction: &Transaction,
    (group_id, group_tenant): (&str, i64),
    people: &[Person],
    role: Role,
) -> Result<(), DbErr> {
    let now = now_millis();
    for portion in people.chunks(ROWS_PER_STATEMENT) {
        let text = format!(
            "INSERT INTO group_members (group_id, tenant_id, user_id, role, joined_at, is_outer) VALUES {}",
            vec!["(?, ?, ?, ?, ?, ?)"; portion.len()].join(", ")
        );
        let values = portion.iter().flat_map(|person| {
            [
                Value::from(group_id),
                person.tenant_id.into(),
                person.user_id.as_str().into(),
                role.number().into(),
                now.into(),
                (person.tenant_id != group_tenant).into(),
            ]
        });
        transaction.execute_raw(sql(text, values)).await?;
    }
    Ok(())
}

/// Takes a member out.
pub(in crate::platform::groups) async fn remove(
    transaction: &Transaction,
    group_id: &str,
    member: &Member,
) -> Result<(), DbErr> {
    let statement = sql(
        "DELETE FROM group_members WHERE group_id = ? AND tenant_id = ? AND user_id = ?",
        [group_id.into(), member.tenant_id.into(), member.user_id.as_str().into()],
    );
    transaction.execute_raw(statement).await.map(drop)
}

/// Makes a member ordinary, or an administrator.
pub(in crate::platform::groups) async fn set_role(
    transaction: &Transaction,
    group_id: &str,
    member: &Member,
    role: Role,
) -> Result<(), DbErr> {
    let statement = sql(
        "UPDATE group_members SET role = ? WHERE group_id = ? AND tenant_id = ? AND user_id = ?",
        [role.number().into(), group_id.into(), member.tenant_id.into(), member.user_id.as_str().into()],
    );
    transaction.execute_raw(statement).await.map(drop)
}

/// Makes a member the owner; whoever was it is an administrator from then on.
pub(in crate::platform::groups) async fn hand_over(
    transaction: &Transaction,
    group_id: &str,
    tenant_id: i64,
    user_id: &str,
) -> Result<(), DbErr> {
    let whom = || [group_id.into(), tenant_id.into(), user_id.into()];
    // There is one at any time, which an index sees to.
    let statement = sql(
        "UPDATE group_members SET role = 1 WHERE group_id = ? AND role = 2 AND (tenant_id, user_id) IS NOT (?, ?)",
        whom(),
    );
    transaction.execute_raw(statement).await?;
    let statement =
        sql("UPDATE group_members SET role = 2 WHERE group_id = ? AND tenant_id = ? AND user_id = ?", whom());
    transaction.execute_raw(statement).await.map(drop)
}
