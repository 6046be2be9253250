use std::sync::Arc;

use uuid::Uuid;

use super::{
    forms::GroupApplication,
    membership::{admit, new_among},
    people::NamedPerson,
    repo::joining,
    rules::GroupOperation,
    service::SeenGroup,
};
use crate::{
    auth::caller::Caller,
    error::{Error, Result},
    platform::groups::GroupsState,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ApplicationDecision {
    Accept,
    Refuse,
}

/// Applies to join an open group.
///
/// Fails with 404 if the group is not open to the caller. Fails with 409 for a member, a duplicate, or no possible decider.
pub(super) async fn apply(state: &GroupsState, caller: Arc<Caller>, group_id: String) -> Result<String> {
    let job = state.store.write(move |transaction| {
        Box::pin(async move {
            let group = SeenGroup::find(transaction, &caller, &group_id).await?;
            if group.role().is_some() {
                return Err(Error::conflict("groupId: the caller is already a member of this group"));
            }
            group.permit(GroupOperation::Apply)?;
            if !joining::somebody_decides(transaction, &group_id, group.tenant_id).await? {
                return Err(Error::conflict(
                    "groupId: nobody in this group can decide the application at present",
                ));
            }
            let (id, user_id) = (Uuid::now_v7().to_string(), &caller.require_user()?.person.user_id);
            if joining::apply(transaction, &id, &group_id, group.tenant_id, user_id).await? {
                Ok(id)
            } else {
                Err(Error::conflict("groupId: the caller's application is not decided yet"))
            }
        })
    });
    job.await
}

/// Oldest first; 403 for ordinary members.
pub(super) async fn list(
    state: &GroupsState,
    caller: &Caller,
    group_id: &str,
) -> Result<Vec<GroupApplication>> {
    let group = SeenGroup::find(state.store.reader(), caller, group_id).await?;
    group.permit(GroupOperation::DecideApplications)?;
    Ok(joining::open_applications(state.store.reader(), group_id).await?)
}

/// 403 for ordinary members, 404 if unknown, 409 if decided or the group is full.
pub(super) async fn decide(
    state: &GroupsState,
    caller: Arc<Caller>,
    group_id: String,
    id: String,
    answer: ApplicationDecision,
) -> Result<()> {
    let job = state.store.write(move |transaction| {
        Box::pin(async move {
            let group = SeenGroup::find(transaction, &caller, &group_id).await?;
            group.permit(GroupOperation::DecideApplications)?;
            let application = joining::find_application(transaction, &group_id, &id).await?;
            let application =
                application.ok_or_else(|| Error::not_found("applicationId: there is no such application"))?;
            if application.state != "applied" {
                let state = application.state;
                return Err(Error::conflict(format!("applicationId: this application is already {state}")));
            }
            let user = caller.require_user()?;
            if answer == ApplicationDecision::Refuse {
                return Ok(joining::refuse(transaction, &id, &user.person.user_id).await?);
            }
            let applicant = NamedPerson::known(group.tenant_id, &application.user_id);
            let added = new_among(transaction, &group_id, vec![applicant]).await?;
            admit(transaction, (&group_id, group.tenant_id), &added, user).await
        })
    });
    job.await
}
