//! Who comes into a group, and who goes (decisions 9.4).

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::{
    fields::named,
    model::{MOST_GROUPS, MOST_MEMBERS, MOST_OUTER_GROUPS, Operation, Role, SeenGroup, may},
    people::{self, Person, by_code},
    repo::{
        self, joining,
        members::{self, By, Member},
    },
};
use crate::{
    app::App,
    auth::{
        caller::{Caller, User},
        tenants,
    },
    error::{Error, Result},
    platform::{blacklist, robots},
    store::Transaction,
};

/// How people are named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// By ids of the group's tenant.
    Users(Vec<String>),
    /// By logins, `login@eCode` those of other tenants.
    Logins(Vec<String>),
}

impl Named {
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

    /// # Errors
    /// 409 for logins where the group takes no outer members.
    fn check_kind(&self, group: &SeenGroup) -> Result<()> {
        if matches!(self, Self::Logins(_)) && group.kind == 1 {
            return Err(Error::conflict(
                "groupId: only groups of type 2 (external) and 3 (project) have outer members",
            ));
        }
        Ok(())
    }
}

/// Adds people to a group, all of them or none. Those who are in it stay as they are.
///
/// # Errors
/// 403, 404 and 409, as the group's rules say.
pub(super) async fn add(app: &Arc<App>, caller: Arc<Caller>, group_id: String, whom: Named) -> Result<()> {
    let app = Arc::clone(app);
    let store = app.store.clone();
    let job = store.write(move |transaction| {
        Box::pin(async move {
            let group = SeenGroup::find(&**transaction, &caller, &group_id).await?;
            group.permit(Operation::AddMembers)?;
            whom.check_kind(&group)?;
            // Whoever may add is of the group's tenant: outer members are ordinary ones.
            let people = match &whom {
                Named::Users(ids) => people::by_ids(transaction, group.tenant_id, ids).await?,
                Named::Logins(logins) => people::by_logins(transaction, &caller.tenant, logins).await?,
            };
            let by = caller.require_user()?;
            let added = new_among(transaction, &group_id, people).await?;
            check_blacklists(transaction, whom.field(), group.tenant_id, by, &added).await?;
            admit(&app, transaction, (&group_id, group.tenant_id), &added, by).await
        })
    });
    job.await
}

/// Those of these people who are not in the group yet.
pub(super) async fn new_among(
    transaction: &Transaction,
    group_id: &str,
    mut people: Vec<Person>,
) -> Result<Vec<Person>> {
    people.sort_unstable_by(|left, right| left.key().cmp(&right.key()));
    people.dedup_by(|left, right| left.key() == right.key());
    let there = members::among(transaction, group_id, &people).await?;
    people.retain(|person| !there.contains(&(person.tenant_id, person.user_id.clone())));
    Ok(people)
}

/// # Errors
/// 403 that names those who have the one who adds them on their blacklist.
pub(super) async fn check_blacklists(
    transaction: &Transaction,
    field: &str,
    tenant_id: i64,
    by: &User,
    added: &[Person],
) -> Result<()> {
    let colleagues: Vec<&str> = added
        .iter()
        .filter(|person| person.tenant_id == tenant_id)
        .map(|person| person.user_id.as_str())
        .collect();
    let by = &by.person.user_id;
    let refusing = blacklist::model::who_listed(&**transaction, tenant_id, by, &colleagues).await?;
    if refusing.is_empty() {
        return Ok(());
    }
    let refusing: HashSet<(i64, &str)> =
        refusing.iter().map(|user_id| (tenant_id, user_id.as_str())).collect();
    let refusing: Vec<&str> = added
        .iter()
        .filter(|person| refusing.contains(&person.key()))
        .map(|person| person.given.as_str())
        .collect();
    let message = format!("{field}: these do not want to be added by you: {}", named(&refusing));
    Err(Error::forbidden(message))
}

/// # Errors
/// 409 that names those who are in as many groups as one may be, for a group of this tenant.
pub(super) async fn check_room(transaction: &Transaction, tenant_id: i64, people: &[Person]) -> Result<()> {
    let full = members::full(transaction, tenant_id, people).await?;
    if full.is_empty() {
        return Ok(());
    }
    let full: HashSet<(i64, &str)> = full.iter().map(|(home, user_id)| (*home, user_id.as_str())).collect();
    let full: Vec<&str> = people
        .iter()
        .filter(|person| full.contains(&person.key()))
        .map(|person| person.given.as_str())
        .collect();
    Err(Error::conflict(format!(
        "a person is in at most {MOST_GROUPS} groups of his tenant, and in {MOST_OUTER_GROUPS} of others: {}",
        named(&full)
    )))
}

/// Lets people into a group (its id and its tenant) who are not in it, as ordinary members. What they had applied for is theirs
/// then, by `decided_by`.
///
/// # Errors
/// 409 where the group or one of them has as many as may be.
pub(super) async fn admit(
    app: &Arc<App>,
    transaction: &Transaction,
    (group_id, tenant_id): (&str, i64),
    people: &[Person],
    decided_by: &User,
) -> Result<()> {
    if people.is_empty() {
        return Ok(());
    }
    let there = members::count(transaction, group_id).await?;
    if there + people.len() > MOST_MEMBERS {
        return Err(Error::conflict(format!(
            "groupId: a group has at most {MOST_MEMBERS} members; this one has {there}"
        )));
    }
    check_room(transaction, tenant_id, people).await?;
    members::insert(transaction, (group_id, tenant_id), people, Role::Member).await?;
    let by = &decided_by.person.user_id;
    let of_tenant: Vec<&str> = people
        .iter()
        .filter(|person| person.tenant_id == tenant_id)
        .map(|person| person.user_id.as_str())
        .collect();
    joining::accept_all(transaction, group_id, &of_tenant, by).await?;
    repo::touch(transaction, group_id).await?;
    let mut homes: Vec<i64> = people.iter().map(|person| person.tenant_id).collect();
    homes.sort_unstable();
    homes.dedup();
    let mut new = Vec::new();
    for home in &homes {
        if repo::open_to_tenant(transaction, group_id, *home).await? {
            transaction.record_change(*home, super::documents::GROUP, group_id);
            new.push(*home);
        }
    }
    if robots::following::begin(transaction, group_id, &new).await? {
        let app = Arc::clone(app);
        transaction.after_commit(move || app.upkeep.wake());
    }
    forget_callers(app, transaction, homes);
    Ok(())
}

/// Has what people of these tenants see found anew from their next call on.
pub(super) fn forget_callers(app: &Arc<App>, transaction: &Transaction, tenants: Vec<i64>) {
    let app = Arc::clone(app);
    transaction.after_commit(move || {
        for tenant_id in tenants {
            app.authenticator.forget_callers(tenant_id);
        }
    });
}

/// Takes people out of a group, all that are found or none. Answers each as he was named, with his name. Those who are not in it
/// are passed over.
///
/// # Errors
/// 403 for those whom the caller may not remove, 409 for the owner who leaves.
pub(super) async fn remove(
    app: &Arc<App>,
    caller: Arc<Caller>,
    group_id: String,
    whom: Named,
) -> Result<Vec<(String, String)>> {
    let app = Arc::clone(app);
    let store = app.store.clone();
    let job = store.write(move |transaction| {
        Box::pin(async move {
            let group = SeenGroup::find(&**transaction, &caller, &group_id).await?;
            whom.check_kind(&group)?;
            let Some(role) = group.role() else { return group.permit(Operation::Leave).map(|()| Vec::new()) };
            let user = caller.require_user()?;
            let is_alone = whom.names().iter().all(|name| is_name_of(&whom, name, user, &caller));
            if !is_alone {
                group.permit(Operation::RemoveMember)?;
            }
            let found = find(transaction, &caller, user, &group, &whom).await?;
            for (_, member) in &found {
                check_removal(whom.field(), role, member, is_himself(&caller, user, member))?;
            }
            if found.iter().any(|(_, member)| member.role() == Role::Administrator) && role == Role::Owner {
                settle_owner(transaction, &group, user).await?;
            }
            let mut homes: Vec<i64> = found.iter().map(|(_, member)| member.tenant_id).collect();
            homes.sort_unstable();
            homes.dedup();
            for (_, member) in &found {
                members::remove(transaction, &group_id, member).await?;
            }
            if !found.is_empty() {
                repo::touch(transaction, &group_id).await?;
                forget_callers(&app, transaction, homes);
            }
            Ok(found.into_iter().map(|(name, member)| (name, member.name)).collect())
        })
    });
    job.await
}

/// Makes him the owner who, in the place of one who is gone, does what only an owner may. Else each administrator whom he names
/// could be before him.
pub(super) async fn settle_owner(transaction: &Transaction, group: &SeenGroup, owner: &User) -> Result<()> {
    Ok(members::hand_over(transaction, &group.id, group.tenant_id, &owner.person.user_id).await?)
}

fn is_himself(caller: &Caller, user: &User, member: &Member) -> bool {
    member.tenant_id == caller.tenant.id && member.user_id == user.person.user_id
}

/// Whether a caller means himself.
fn is_name_of(whom: &Named, name: &str, user: &User, caller: &Caller) -> bool {
    let login = &user.person.login_id;
    match whom {
        Named::Users(_) => name == user.person.user_id,
        Named::Logins(_) => {
            name == login || name.strip_prefix(login) == Some(&format!("@{}", caller.tenant.code))
        }
    }
}

fn check_removal(field: &str, role: Role, member: &Member, is_himself: bool) -> Result<()> {
    let operation = match (is_himself, member.role()) {
        (true, _) => Operation::Leave,
        (false, Role::Member) => Operation::RemoveMember,
        (false, Role::Administrator) => Operation::RemoveAdministrator,
        (false, Role::Owner) => Operation::RemoveOwner,
    };
    if may(Some(role), operation) {
        return Ok(());
    }
    if is_himself {
        return Err(Error::conflict(format!(
            "{field}: the owner has to hand the group over before he leaves"
        )));
    }
    let login = &member.login_id;
    Err(Error::forbidden(match operation {
        Operation::RemoveOwner => format!("{field}: nobody can remove the owner of the group, {login:?}"),
        _ => format!("{field}: only the owner of the group removes an administrator, {login:?}"),
    }))
}

/// The members that are meant, each once, by the names that they were given.
async fn find(
    transaction: &Transaction,
    caller: &Caller,
    user: &User,
    group: &SeenGroup,
    whom: &Named,
) -> Result<Vec<(String, Member)>> {
    let viewer = (caller.tenant.id, user.person.user_id.as_str());
    // An outer member has nobody to name but himself.
    if caller.tenant.id != group.tenant_id {
        let own = [&user.person.user_id];
        let found = members::find(transaction, &group.id, viewer, viewer.0, By::UserId, &own).await?;
        return Ok(whom.names().iter().cloned().zip(found).collect());
    }
    let of_tenant = |tenant_id, by, names: Vec<String>| async move {
        members::find(transaction, &group.id, viewer, tenant_id, by, &names).await
    };
    let logins = match whom {
        Named::Users(ids) => {
            let found = of_tenant(group.tenant_id, By::UserId, ids.clone()).await?;
            return Ok(found.into_iter().map(|member| (member.user_id.clone(), member)).collect());
        }
        Named::Logins(logins) => logins,
    };
    let own = of_tenant(group.tenant_id, By::LoginId, logins.clone()).await?;
    let mut found: HashMap<String, Member> =
        own.into_iter().map(|member| (member.login_id.clone(), member)).collect();
    let elsewhere: Vec<&String> = logins.iter().filter(|login| !found.contains_key(*login)).collect();
    for (code, of_code) in by_code(&elsewhere) {
        // Whether it still allows outer members or not; the group's own tenant has a code, too.
        let Some(tenant) = tenants::find_by_code(&**transaction, code).await? else { continue };
        let names = of_code.iter().map(|(_, login)| (*login).to_owned()).collect();
        for member in of_tenant(tenant.id, By::LoginId, names).await? {
            found.insert(format!("{}@{code}", member.login_id), member);
        }
    }
    let mut found: Vec<(String, Member)> = found.into_iter().collect();
    found.sort_by(|(left, _), (right, _)| left.cmp(right));
    let mut seen = HashSet::new();
    found.retain(|(_, member)| seen.insert((member.tenant_id, member.user_id.clone())));
    Ok(found)
}
