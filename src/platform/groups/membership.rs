use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use super::{
    forms::named,
    people::{self, NamedPerson, by_code},
    repo::{
        self, joining,
        members::{self, Member},
    },
    rules::{GroupOperation, GroupRole, MAX_GROUPS, MAX_MEMBERS, MAX_OUTER_GROUPS, may},
    service::SeenGroup,
};
use crate::{
    auth::{
        caller::{Caller, User},
        tenants,
    },
    error::{Error, Result},
    platform::{blacklist, groups::GroupsState, robots, users::lookups::NamedBy},
    store::{Cached, Transaction},
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MemberSelection {
    Users(Vec<String>),
    Logins(Vec<String>),
}

impl MemberSelection {
    fn names(&self) -> &[String] {
        match self {
            Self::Users(names) | Self::Logins(names) => names,
        }
    }

    fn field(&self) -> &'static str {
        match self {
            Self::Users(_) => "userIds",
            Self::Logins(_) => "loginIds",
        }
    }

    /// 409 if the group takes no outer members.
    fn check_kind(&self, group: &SeenGroup) -> Result<()> {
        if matches!(self, Self::Logins(_)) && group.kind == 1 {
            return Err(Error::conflict(
                "groupId: must be of type 2 (external) or 3 (project) for outer members",
            ));
        }
        Ok(())
    }
}

/// All or none; members keep their role.
pub(super) async fn add(
    state: &GroupsState,
    caller: Arc<Caller>,
    group_id: String,
    selection: MemberSelection,
) -> Result<()> {
    let job = state.store.write(move |transaction| {
        Box::pin(async move {
            let group = SeenGroup::find(transaction, &caller, &group_id).await?;
            group.permit(GroupOperation::AddMembers)?;
            selection.check_kind(&group)?;
            // Outer members cannot add people, so the caller is of the group's tenant.
            let people = match &selection {
                MemberSelection::Users(ids) => people::by_ids(transaction, group.tenant_id, ids).await?,
                MemberSelection::Logins(logins) => {
                    people::by_logins(transaction, &caller.tenant, logins).await?
                }
            };
            let by = caller.require_user()?;
            let added = new_among(transaction, &group_id, people).await?;
            check_blacklists(transaction, selection.field(), group.tenant_id, by, &added).await?;
            admit(transaction, (&group_id, group.tenant_id), &added, by).await
        })
    });
    job.await
}

pub(super) async fn new_among(
    transaction: &Transaction,
    group_id: &str,
    mut people: Vec<NamedPerson>,
) -> Result<Vec<NamedPerson>> {
    people.sort_unstable_by(|left, right| left.key().cmp(&right.key()));
    people.dedup_by(|left, right| left.key() == right.key());
    let there = members::among(transaction, group_id, &people).await?;
    people.retain(|person| !there.contains(&(person.tenant_id, person.user_id.clone())));
    Ok(people)
}

/// 403 naming people who blacklisted the caller.
pub(super) async fn check_blacklists(
    transaction: &Transaction,
    field: &str,
    tenant_id: i64,
    by: &User,
    added: &[NamedPerson],
) -> Result<()> {
    let (by, colleagues) = (&by.person.user_id, ids_in_tenant(added, tenant_id));
    let refusing = blacklist::listers_among(transaction, tenant_id, by, &colleagues).await?;
    if refusing.is_empty() {
        return Ok(());
    }
    let refusing = refusing.iter().map(|user_id| (tenant_id, user_id.as_str()));
    let refusing = names_of(added, refusing);
    Err(Error::forbidden(format!("{field}: these people have blacklisted the caller: {refusing}")))
}

/// 409 naming people at their limit.
pub(super) async fn check_room(
    transaction: &Transaction,
    tenant_id: i64,
    people: &[NamedPerson],
) -> Result<()> {
    let full = members::full(transaction, tenant_id, people).await?;
    if full.is_empty() {
        return Ok(());
    }
    let full = names_of(people, full.iter().map(|(home, user_id)| (*home, user_id.as_str())));
    Err(Error::conflict(format!(
        "a person may be in at most {MAX_GROUPS} groups of the own tenant and {MAX_OUTER_GROUPS} of others: {full}"
    )))
}

/// The names by which these people were given.
fn names_of<'a>(people: &[NamedPerson], keys: impl Iterator<Item = (i64, &'a str)>) -> String {
    let keys: HashSet<(i64, &str)> = keys.collect();
    let found = people.iter().filter(|person| keys.contains(&person.key()));
    named(&found.map(|person| &person.given).collect::<Vec<_>>())
}

/// User ids of those who belong to this tenant.
fn ids_in_tenant(people: &[NamedPerson], tenant_id: i64) -> Vec<&str> {
    let colleagues = people.iter().filter(|person| person.tenant_id == tenant_id);
    colleagues.map(|person| person.user_id.as_str()).collect()
}

/// Adds members, and accepts their applications. 409 at a limit.
pub(super) async fn admit(
    transaction: &Transaction,
    (group_id, tenant_id): (&str, i64),
    people: &[NamedPerson],
    decided_by: &User,
) -> Result<()> {
    if people.is_empty() {
        return Ok(());
    }
    let there = members::count(transaction, group_id).await?;
    if there + people.len() > MAX_MEMBERS {
        return Err(Error::conflict(format!(
            "groupId: a group may have at most {MAX_MEMBERS} members; this one has {there}"
        )));
    }
    check_room(transaction, tenant_id, people).await?;
    members::insert(transaction, (group_id, tenant_id), people, GroupRole::Member).await?;
    let by = &decided_by.person.user_id;
    joining::accept_all(transaction, group_id, &ids_in_tenant(people, tenant_id), by).await?;
    repo::touch(transaction, group_id).await?;
    let homes: BTreeSet<i64> = people.iter().map(|person| person.tenant_id).collect();
    let mut new = Vec::new();
    for home in &homes {
        if repo::open_to_tenant(transaction, group_id, *home).await? {
            transaction.record_change(*home, super::documents::GROUP, group_id);
            new.push(*home);
        }
    }
    if robots::backfill::begin(transaction, group_id, &new).await? {
        transaction.request_maintenance();
    }
    invalidate(transaction, homes);
    Ok(())
}

/// People of these tenants may see more or less than before.
pub(super) fn invalidate(transaction: &Transaction, tenants: impl IntoIterator<Item = i64>) {
    for tenant_id in tenants {
        transaction.invalidate(Cached::Identities(tenant_id));
    }
}

/// Removes all found or none, each under the given name.
///
/// Fails with 403 without permission, 409 for the leaving owner.
pub(super) async fn remove(
    state: &GroupsState,
    caller: Arc<Caller>,
    group_id: String,
    selection: MemberSelection,
) -> Result<Vec<(String, String)>> {
    let job = state.store.write(move |transaction| {
        Box::pin(async move {
            let group = SeenGroup::find(transaction, &caller, &group_id).await?;
            selection.check_kind(&group)?;
            let Some(role) = group.role() else {
                return group.permit(GroupOperation::Leave).map(|()| Vec::new());
            };
            let user = caller.require_user()?;
            let is_alone = selection.names().iter().all(|name| is_name_of(&selection, name, user, &caller));
            if !is_alone {
                group.permit(GroupOperation::RemoveMember)?;
            }
            let found = find(transaction, &caller, user, &group, &selection).await?;
            for (_, member) in &found {
                check_removal(selection.field(), role, member, is_caller(&caller, user, member))?;
            }
            if found.iter().any(|(_, member)| member.role() == GroupRole::Administrator)
                && role == GroupRole::Owner
            {
                settle_owner(transaction, &group, user).await?;
            }
            let homes: BTreeSet<i64> = found.iter().map(|(_, member)| member.tenant_id).collect();
            for (_, member) in &found {
                members::remove(transaction, &group_id, member).await?;
            }
            if !found.is_empty() {
                repo::touch(transaction, &group_id).await?;
                invalidate(transaction, homes);
            }
            Ok(found.into_iter().map(|(name, member)| (name, member.name)).collect())
        })
    });
    job.await
}

/// Makes the acting owner permanent before they use an owner's right.
///
/// Otherwise an administrator they appoint could outrank them.
pub(super) async fn settle_owner(transaction: &Transaction, group: &SeenGroup, owner: &User) -> Result<()> {
    Ok(members::hand_over(transaction, &group.id, group.tenant_id, &owner.person.user_id).await?)
}

fn is_caller(caller: &Caller, user: &User, member: &Member) -> bool {
    member.tenant_id == caller.tenant.id && member.user_id == user.person.user_id
}

fn is_name_of(selection: &MemberSelection, name: &str, user: &User, caller: &Caller) -> bool {
    let login = &user.person.login_id;
    match selection {
        MemberSelection::Users(_) => name == user.person.user_id,
        MemberSelection::Logins(_) => {
            name == login || name.strip_prefix(login) == Some(&format!("@{}", caller.tenant.code))
        }
    }
}

fn check_removal(field: &str, role: GroupRole, member: &Member, is_caller: bool) -> Result<()> {
    let operation = match (is_caller, member.role()) {
        (true, _) => GroupOperation::Leave,
        (false, GroupRole::Member) => GroupOperation::RemoveMember,
        (false, GroupRole::Administrator) => GroupOperation::RemoveAdministrator,
        (false, GroupRole::Owner) => GroupOperation::RemoveOwner,
    };
    if may(Some(role), operation) {
        return Ok(());
    }
    if is_caller {
        return Err(Error::conflict(format!("{field}: the owner must transfer the group before leaving")));
    }
    let login = &member.login_id;
    Err(Error::forbidden(match operation {
        GroupOperation::RemoveOwner => {
            format!("{field}: the owner of the group cannot be removed, {login:?}")
        }
        _ => format!("{field}: only the owner of the group may remove an administrator, {login:?}"),
    }))
}

async fn find(
    transaction: &Transaction,
    caller: &Caller,
    user: &User,
    group: &SeenGroup,
    selection: &MemberSelection,
) -> Result<Vec<(String, Member)>> {
    let viewer = (caller.tenant.id, user.person.user_id.as_str());
    if caller.tenant.id != group.tenant_id {
        let own = [&user.person.user_id];
        let found = members::find(transaction, &group.id, viewer, viewer.0, NamedBy::UserId, &own).await?;
        return Ok(selection.names().iter().cloned().zip(found).collect());
    }
    let ids_in_tenant = |tenant_id, by, names: Vec<String>| async move {
        members::find(transaction, &group.id, viewer, tenant_id, by, &names).await
    };
    let logins = match selection {
        MemberSelection::Users(ids) => {
            let found = ids_in_tenant(group.tenant_id, NamedBy::UserId, ids.clone()).await?;
            return Ok(found.into_iter().map(|member| (member.user_id.clone(), member)).collect());
        }
        MemberSelection::Logins(logins) => logins,
    };
    let own = ids_in_tenant(group.tenant_id, NamedBy::LoginId, logins.clone()).await?;
    let mut found: HashMap<String, Member> =
        own.into_iter().map(|member| (member.login_id.clone(), member)).collect();
    let elsewhere: Vec<&String> = logins.iter().filter(|login| !found.contains_key(*login)).collect();
    for (code, of_code) in by_code(&elsewhere) {
        // Even if it no longer allows outer members, or is the group's own tenant.
        let Some(tenant) = tenants::find_by_code(transaction, code).await? else { continue };
        let names = of_code.iter().map(|(_, login)| (*login).to_owned()).collect();
        for member in ids_in_tenant(tenant.id, NamedBy::LoginId, names).await? {
            found.insert(format!("{}@{code}", member.login_id), member);
        }
    }
    let mut found: Vec<(String, Member)> = found.into_iter().collect();
    found.sort_by(|(left, _), (right, _)| left.cmp(right));
    let mut seen = HashSet::new();
    found.retain(|(_, member)| seen.insert((member.tenant_id, member.user_id.clone())));
    Ok(found)
}
