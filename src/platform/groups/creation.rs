use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
};

use uuid::Uuid;

use super::{
    documents::GROUP,
    forms::{GroupChange, NewGroup, named},
    membership::{admit, check_blacklists, check_room, new_among},
    people::NamedPerson,
    repo::{self, members},
    rules::{GroupOperation, GroupRole},
    service::{self, SeenGroup},
};
use crate::{
    auth::caller::{Caller, User},
    error::{Error, Result},
    platform::{
        departments,
        groups::GroupsState,
        users::lookups::{NamedBy, ShownPerson, find_shown},
    },
    store::{Cached, Transaction},
};

/// Creates a group.
///
/// Fails with 400 for unknown accounts. Fails with 403 for people who block the caller, and for a department without chat.
pub(super) async fn create(state: &GroupsState, caller: Arc<Caller>, new: NewGroup) -> Result<String> {
    let job = state.store.write(move |transaction| {
        Box::pin(async move {
            let user = caller.require_user()?;
            let (tenant_id, own_id) = (caller.tenant.id, user.person.user_id.as_str());
            let colleagues = find_colleagues(transaction, tenant_id, &new.users).await?;
            check_chat(transaction, tenant_id, user, &colleagues).await?;
            let id = Uuid::now_v7().to_string();
            repo::insert(transaction, &id, tenant_id, own_id, &new).await?;
            let owner = [NamedPerson::known(tenant_id, own_id)];
            check_room(transaction, tenant_id, &owner).await?;
            members::insert(transaction, (&id, tenant_id), &owner, GroupRole::Owner).await?;
            repo::open_to_tenant(transaction, &id, tenant_id).await?;
            transaction.record_change(tenant_id, GROUP, &id);
            transaction.invalidate(Cached::Identities(tenant_id));
            let people = colleagues
                .into_iter()
                .map(|person| NamedPerson { tenant_id, user_id: person.user_id, given: person.login_id })
                .collect();
            let added = new_among(transaction, &id, people).await?;
            check_blacklists(transaction, "users", tenant_id, user, &added).await?;
            admit(transaction, (&id, tenant_id), &added, user).await?;
            Ok(id)
        })
    });
    job.await
}

async fn find_colleagues(
    transaction: &Transaction,
    tenant_id: i64,
    logins: &[String],
) -> Result<Vec<ShownPerson>> {
    let found = find_shown(transaction, tenant_id, NamedBy::LoginId, logins).await?;
    let known: HashSet<&str> = found.iter().map(|person| person.login_id.as_str()).collect();
    let unknown: Vec<&String> = logins.iter().filter(|login| !known.contains(login.as_str())).collect();
    if unknown.is_empty() {
        return Ok(found);
    }
    Err(Error::bad_request(format!("users: there are no such accounts: {}", named(&unknown))))
}

/// 403 if all members' main departments lie in one with `enableChat` 0.
async fn check_chat(
    transaction: &Transaction,
    tenant_id: i64,
    owner: &User,
    colleagues: &[ShownPerson],
) -> Result<()> {
    let departments: Option<BTreeSet<&str>> = std::iter::once(owner.person.org_id.as_deref())
        .chain(colleagues.iter().map(|person| person.org_id.as_deref()))
        .collect();
    let Some(departments) = departments else { return Ok(()) };
    if departments::service::users_without_chat(transaction, tenant_id, &departments).await? {
        return Err(Error::forbidden(
            "users: chat is disabled in this department, so its people alone cannot form a group",
        ));
    }
    Ok(())
}

/// 403 for ordinary members.
pub(super) async fn change(
    state: &GroupsState,
    caller: Arc<Caller>,
    group_id: String,
    change: GroupChange,
) -> Result<()> {
    let job = state.store.write(move |transaction| {
        Box::pin(async move {
            let group = SeenGroup::find(transaction, &caller, &group_id).await?;
            group.permit(GroupOperation::Change)?;
            if repo::change(transaction, &group_id, &change).await? {
                repo::touch(transaction, &group_id).await?;
                service::record_change(transaction, &group_id).await?;
            }
            Ok(())
        })
    });
    job.await
}
