use std::collections::{BTreeMap, HashSet};

use super::ROLE;
use crate::{
    platform::{
        groups::{
            people::NamedPerson,
            rules::{GroupRole, MAX_GROUPS, MAX_OUTER_GROUPS},
        },
        users::lookups::NamedBy,
    },
    store::{
        self, FromRow, ROWS_PER_STATEMENT, Transaction, Value, find_in, find_values_in, now_millis, sql,
    },
};

#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub(crate) struct Member {
    pub(crate) tenant_id: i64,
    pub(crate) user_id: String,
    pub(crate) login_id: String,
    pub(crate) name: String,
    role: i64,
    pub(crate) is_enabled: bool,
    is_hidden: bool,
}

impl Member {
    pub(crate) fn role(&self) -> GroupRole {
        GroupRole::from_number(self.role).unwrap_or(GroupRole::Member)
    }

    fn is(&self, tenant_id: i64, user_id: &str) -> bool {
        self.tenant_id == tenant_id && self.user_id == user_id
    }
}

/// Hidden and deleted members see only themselves.
pub(crate) async fn find(
    transaction: &Transaction,
    group_id: &str,
    viewer: (i64, &str),
    tenant_id: i64,
    by: NamedBy,
    names: &[impl AsRef<str>],
) -> store::Result<Vec<Member>> {
    let column = by.column();
    let text = format!(
        "SELECT group_members.tenant_id, group_members.user_id, users.login_id, users.name, {ROLE} AS role, \
         users.status = 1 AS is_enabled, users.is_hidden FROM group_members \
         JOIN groups ON groups.id = group_members.group_id \
         JOIN users ON users.tenant_id = group_members.tenant_id AND users.user_id = group_members.user_id \
         WHERE NOT users.is_deleted AND group_members.group_id = ? AND group_members.tenant_id = ? AND users.{column}"
    );
    let mut found: Vec<Member> =
        find_in(transaction, &text, &[group_id.into(), tenant_id.into()], names).await?;
    found.retain(|member| !member.is_hidden || member.is(viewer.0, viewer.1));
    Ok(found)
}

pub(crate) async fn has_outer(
    transaction: &Transaction,
    group_id: &str,
    tenant_id: i64,
    user_id: &str,
) -> store::Result<bool> {
    let statement = sql(
        "SELECT 1 FROM group_members \
         JOIN users ON users.tenant_id = group_members.tenant_id AND users.user_id = group_members.user_id \
         JOIN tenants ON tenants.id = group_members.tenant_id AND tenants.removed_at IS NULL \
         WHERE group_members.group_id = ? AND group_members.tenant_id <> ? AND group_members.user_id = ? \
           AND NOT users.is_deleted AND NOT users.is_hidden",
        [group_id.into(), tenant_id.into(), user_id.into()],
    );
    statement.exists(transaction).await
}

/// Members by id, including hidden ones.
pub(crate) async fn among(
    transaction: &Transaction,
    group_id: &str,
    people: &[NamedPerson],
) -> store::Result<HashSet<(i64, String)>> {
    let mut found = HashSet::new();
    for (tenant_id, ids) in by_tenant(people) {
        let text = "SELECT user_id FROM group_members WHERE group_id = ? AND tenant_id = ? AND user_id";
        let there: Vec<String> =
            find_values_in(transaction, text, &[group_id.into(), tenant_id.into()], &ids).await?;
        found.extend(there.into_iter().map(|user_id| (tenant_id, user_id)));
    }
    Ok(found)
}

pub(crate) async fn count(transaction: &Transaction, group_id: &str) -> store::Result<usize> {
    let statement =
        sql("SELECT COUNT(*) AS members FROM group_members WHERE group_id = ?", [group_id.into()]);
    let count: i64 = statement.fetch_value(transaction).await?;
    Ok(usize::try_from(count).unwrap_or_default())
}

/// People at their limit of own or of outer groups.
pub(crate) async fn full(
    transaction: &Transaction,
    group_tenant: i64,
    people: &[NamedPerson],
) -> store::Result<Vec<(i64, String)>> {
    let mut full = Vec::new();
    for (tenant_id, ids) in by_tenant(people) {
        let is_outer = tenant_id != group_tenant;
        let most = i64::try_from(if is_outer { MAX_OUTER_GROUPS } else { MAX_GROUPS }).unwrap_or(i64::MAX);
        let text = "SELECT value FROM json_each(?2) WHERE ?4 <= (SELECT COUNT(*) FROM ( \
            SELECT 1 FROM group_members WHERE tenant_id = ?1 AND user_id = value AND is_outer = ?3 LIMIT ?4) AS counted)";
        let ids = Value::list(ids);
        let statement = sql(text, [tenant_id.into(), ids, is_outer.into(), most.into()]);
        let user_ids: Vec<String> = statement.fetch_values(transaction).await?;
        full.extend(user_ids.into_iter().map(|user_id| (tenant_id, user_id)));
    }
    Ok(full)
}

fn by_tenant(people: &[NamedPerson]) -> BTreeMap<i64, Vec<&str>> {
    let mut tenants: BTreeMap<i64, Vec<&str>> = BTreeMap::new();
    for person in people {
        tenants.entry(person.tenant_id).or_default().push(&person.user_id);
    }
    tenants
}

pub(crate) async fn insert(
    transaction: &Transaction,
    (group_id, group_tenant): (&str, i64),
    people: &[NamedPerson],
    role: GroupRole,
) -> store::Result<()> {
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
        sql(text, values).execute(transaction).await?;
    }
    Ok(())
}

pub(crate) async fn remove(transaction: &Transaction, group_id: &str, member: &Member) -> store::Result<()> {
    let statement = sql(
        "DELETE FROM group_members WHERE group_id = ? AND tenant_id = ? AND user_id = ?",
        [group_id.into(), member.tenant_id.into(), member.user_id.as_str().into()],
    );
    statement.execute(transaction).await.map(drop)
}

pub(crate) async fn set_role(
    transaction: &Transaction,
    group_id: &str,
    member: &Member,
    role: GroupRole,
) -> store::Result<()> {
    let statement = sql(
        "UPDATE group_members SET role = ? WHERE group_id = ? AND tenant_id = ? AND user_id = ?",
        [role.number().into(), group_id.into(), member.tenant_id.into(), member.user_id.as_str().into()],
    );
    statement.execute(transaction).await.map(drop)
}

pub(crate) async fn hand_over(
    transaction: &Transaction,
    group_id: &str,
    tenant_id: i64,
    user_id: &str,
) -> store::Result<()> {
    let selection = || [group_id.into(), tenant_id.into(), user_id.into()];
    // A unique index allows one owner at a time.
    let statement = sql(
        "UPDATE group_members SET role = 1 WHERE group_id = ? AND role = 2 AND (tenant_id, user_id) <> (?, ?)",
        selection(),
    );
    statement.execute(transaction).await?;
    let statement = sql(
        "UPDATE group_members SET role = 2 WHERE group_id = ? AND tenant_id = ? AND user_id = ?",
        selection(),
    );
    statement.execute(transaction).await.map(drop)
}
