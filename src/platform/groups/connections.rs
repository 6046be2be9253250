//! People of a group.

use super::{
    repo::{ROLE, views::SHOWN},
    rules::GroupRole,
};
use crate::{
    error::Result,
    platform::shared::connections::{ConnectedPerson, Connections, PersonRole},
    store::{Connection, FromRow, sql},
};

const MAX_PEOPLE: u64 = 20;

/// The highest members. Those of other tenants have a name alone.
pub async fn find(reader: &Connection, tenant_id: i64, id: &str) -> Result<Connections> {
    let text = format!(
        "SELECT group_members.tenant_id, group_members.user_id, {ROLE} AS role, users.name {SHOWN} \
         JOIN groups ON groups.id = group_members.group_id WHERE group_members.group_id = ? \
         ORDER BY group_members.role DESC, group_members.joined_at, group_members.user_id, group_members.tenant_id LIMIT ?"
    );
    let statement = sql(text, [id.into(), MAX_PEOPLE.into()]);
    let members: Vec<RankedMember> = statement.fetch_all(reader).await?;
    let person = |member: RankedMember| ConnectedPerson {
        role: match GroupRole::from_number(member.role) {
            Some(GroupRole::Owner) => PersonRole::Owner,
            Some(GroupRole::Administrator) => PersonRole::Administrator,
            Some(GroupRole::Member) | None => PersonRole::Member,
        },
        name: Some(member.name),
        user_id: Some(member.user_id).filter(|_| member.tenant_id == tenant_id),
    };
    Ok(Connections { people: members.into_iter().map(person).collect(), related: Vec::new() })
}

#[derive(FromRow)]
struct RankedMember {
    tenant_id: i64,
    user_id: String,
    role: i64,
    name: String,
}
