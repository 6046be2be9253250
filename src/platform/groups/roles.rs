//! Who is what in a group, and its end (decisions 9.4).

use std::sync::Arc;

use super::{
    membership::{forget_callers, settle_owner},
    model::{self, Operation, Role, SeenGroup},
    repo::{
        self,
        members::{self, By},
    },
};
use crate::{
    app::App,
    auth::{caller::Caller, directory::group_principal},
    error::{Error, Result},
    platform::directories::removal,
    store::Transaction,
};

/// Gives a member a role. The role of the owner hands the group over: who was it is an administrator then.
///
/// # Errors
/// 403 for who is not the owner, 404 for who is no member, 409 for outer members, for the owner's own role, and for handing over
/// to somebody who may not sign in.
pub(super) async fn change(
    app: &Arc<App>,
    caller: Arc<Caller>,
    group_id: String,
    user_id: String,
    role: Role,
) -> Result<()> {
    let job = app.store.write(move |transaction| {
        Box::pin(async move {
            let group = SeenGroup::find(&**transaction, &caller, &group_id).await?;
            group.permit(Operation::ChangeRoles)?;
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
    role: Role,
) -> Result<()> {
    let owner = caller.require_user()?;
    let (id, tenant_id) = (group.id.as_str(), group.tenant_id);
    let viewer = (tenant_id, owner.person.user_id.as_str());
    let found = members::find(transaction, id, viewer, tenant_id, By::UserId, &[user_id]).await?;
    let Some(member) = found.into_iter().next() else {
        if members::has_outer(transaction, id, tenant_id, user_id).await? {
            return Err(Error::conflict("userId: outer members are always ordinary ones"));
        }
        return Err(Error::not_found("userId: there is no such member"));
    };
    if member.user_id == owner.person.user_id {
        if role == Role::Owner {
            if group.is_owner {
                return Ok(());
            }
            // For good: until now he stood in for one who is gone.
            settle_owner(transaction, group, owner).await?;
            return Ok(repo::touch(transaction, id).await?);
        }
        return Err(Error::conflict("role: the owner hands the group over to another member, with role 2"));
    }
    if role == member.role() {
        return Ok(());
    }
    settle_owner(transaction, group, owner).await?;
    if role == Role::Owner {
        if !member.is_enabled {
            return Err(Error::conflict("userId: a member who is disabled cannot own a group"));
        }
        members::hand_over(transaction, id, tenant_id, user_id).await?;
    } else {
        members::set_role(transaction, id, &member, role).await?;
    }
    Ok(repo::touch(transaction, id).await?)
}

/// Ends a group: nobody sees it, its folders, or anything in it, from the answer on. Its rows are removed in the background.
///
/// # Errors
/// 403 for who is not the owner, or only stands in for him.
pub(super) async fn end(app: &Arc<App>, caller: Arc<Caller>, group_id: String) -> Result<()> {
    let app = Arc::clone(app);
    let store = app.store.clone();
    let job = store.write(move |transaction| {
        Box::pin(async move {
            let group = SeenGroup::find(&**transaction, &caller, &group_id).await?;
            group.permit(Operation::End)?;
            repo::end(transaction, &group_id).await?;
            removal::remove_all_of(transaction, group.tenant_id, &group_principal(&group_id)).await?;
            model::record_change(transaction, &group_id).await?;
            forget_callers(&app, transaction, model::tenants_of(&**transaction, &group_id).await?);
            transaction.after_commit(move || app.upkeep.wake());
            Ok(())
        })
    });
    job.await
}
