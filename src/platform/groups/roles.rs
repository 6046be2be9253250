use std::sync::Arc;

use super::{
    membership::{invalidate, settle_owner},
    repo::{self, members},
    rules::{GroupOperation, GroupRole},
    service::{self, SeenGroup},
};
use crate::{
    auth::caller::Caller,
    error::{Error, Result},
    identity::principals::group_principal,
    platform::{folders::removal, groups::GroupsState, users::lookups::NamedBy},
    store::Transaction,
};

/// Changes a member's role; role 2 transfers the group.
///
/// Fails with 403 unless owner, 404 for a non-member. Fails with 409 for outer members, the owner's own role, and people unable to sign in.
pub(super) async fn change(
    state: &GroupsState,
    caller: Arc<Caller>,
    group_id: String,
    user_id: String,
    role: GroupRole,
) -> Result<()> {
    let job = state.store.write(move |transaction| {
        Box::pin(async move {
            let group = SeenGroup::find(transaction, &caller, &group_id).await?;
            group.permit(GroupOperation::ChangeRoles)?;
            change_role(transaction, &caller, &group, &user_id, role).await
        })
    });
    job.await
}

async fn change_role(
    transaction: &Transaction,
    caller: &Caller,
    group: &SeenGroup,
    user_id: &str,
    role: GroupRole,
) -> Result<()> {
    let owner = caller.require_user()?;
    let (id, tenant_id) = (group.id.as_str(), group.tenant_id);
    let viewer = (tenant_id, owner.person.user_id.as_str());
    let found = members::find(transaction, id, viewer, tenant_id, NamedBy::UserId, &[user_id]).await?;
    let Some(member) = found.into_iter().next() else {
        if members::has_outer(transaction, id, tenant_id, user_id).await? {
            return Err(Error::conflict("userId: an outer member must have role 0"));
        }
        return Err(Error::not_found("userId: there is no such member"));
    };
    if member.user_id == owner.person.user_id {
        if role == GroupRole::Owner {
            if group.is_owner {
                return Ok(());
            }
            settle_owner(transaction, group, owner).await?;
            return Ok(repo::touch(transaction, id).await?);
        }
        return Err(Error::conflict("role: the owner must first give role 2 to another member"));
    }
    if role == member.role() {
        return Ok(());
    }
    settle_owner(transaction, group, owner).await?;
    if role == GroupRole::Owner {
        if !member.is_enabled {
            return Err(Error::conflict("userId: a member who is disabled cannot own a group"));
        }
        members::hand_over(transaction, id, tenant_id, user_id).await?;
    } else {
        members::set_role(transaction, id, &member, role).await?;
    }
    Ok(repo::touch(transaction, id).await?)
}

/// Invisible at once; rows go in the background. 403 even for an acting owner.
pub(super) async fn end(state: &GroupsState, caller: Arc<Caller>, group_id: String) -> Result<()> {
    let job = state.store.write(move |transaction| {
        Box::pin(async move {
            let group = SeenGroup::find(transaction, &caller, &group_id).await?;
            group.permit(GroupOperation::End)?;
            repo::end(transaction, &group_id).await?;
            removal::remove_all_of(transaction, group.tenant_id, &group_principal(&group_id)).await?;
            service::record_change(transaction, &group_id).await?;
            invalidate(transaction, service::tenants_of(transaction, &group_id).await?);
            transaction.request_maintenance();
            Ok(())
        })
    });
    job.await
}
