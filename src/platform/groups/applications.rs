//! Who asks to be let into an open group, and what its administrators answer (decisions 9.4).

use std::sync::Arc;

use uuid::Uuid;

use super::{
    fields::GroupApplication,
    membership::{admit, new_among},
    model::{Operation, SeenGroup},
    people::Person,
    repo::joining,
};
use crate::{
    app::App,
    auth::caller::Caller,
    error::{Error, Result},
};

/// What is answered to an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// He is a member then.
    Accept,
    /// He may apply again.
    Refuse,
}

/// Asks to be let in; answers the application's id.
///
/// # Errors
/// 404 for a group that is not open to him, 409 for a member, for who has asked already, and where nobody could decide it.
pub(super) async fn apply(app: &Arc<App>, caller: Arc<Caller>, group_id: String) -> Result<String> {
    let job = app.store.write(move |transaction| {
        Box::pin(async move {
            let group = SeenGroup::find(&**transaction, &caller, &group_id).await?;
            if group.role().is_some() {
                return Err(Error::conflict("groupId: the caller is a member of this group already"));
            }
            group.permit(Operation::Apply)?;
            if !joining::somebody_decides(transaction, &group_id, group.tenant_id).await? {
                return Err(Error::conflict(
                    "groupId: nobody of this group is there at present who could decide it",
                ));
            }
            let (id, user_id) = (Uuid::now_v7().to_string(), &caller.require_user()?.person.user_id);
            if joining::apply(transaction, &id, &group_id, group.tenant_id, user_id).await? {
                Ok(id)
            } else {
                Err(Error::conflict("groupId: the caller has applied already; it is not decided yet"))
            }
        })
    });
    job.await
}

/// The open applications of a group, oldest first.
///
/// # Errors
/// 403 for ordinary members.
pub(super) async fn list(app: &App, caller: &Caller, group_id: &str) -> Result<Vec<GroupApplication>> {
    let group = SeenGroup::find(app.store.reader(), caller, group_id).await?;
    group.permit(Operation::DecideApplications)?;
    Ok(joining::open_applications(app.store.reader(), group_id).await?)
}

/// Answers an application.
///
/// # Errors
/// 403 for ordinary members, 404 where there is none, 409 where it is answered already or the group is full.
pub(super) async fn decide(
    app: &Arc<App>,
    caller: Arc<Caller>,
    group_id: String,
    id: String,
    answer: Answer,
) -> Result<()> {
    let deciding = Arc::clone(app);
    let job = app.store.write(move |transaction| {
        Box::pin(async move {
            let group = SeenGroup::find(&**transaction, &caller, &group_id).await?;
            group.permit(Operation::DecideApplications)?;
            let application = joining::find_application(transaction, &group_id, &id).await?;
            let application =
                application.ok_or_else(|| Error::not_found("applicationId: there is no such application"))?;
            if application.state != "applied" {
                let state = application.state;
                return Err(Error::conflict(format!("applicationId: this application is {state} already")));
            }
            let user = caller.require_user()?;
            if answer == Answer::Refuse {
                return Ok(joining::refuse(transaction, &id, &user.person.user_id).await?);
            }
            let applicant = Person::known(group.tenant_id, &application.user_id);
            let added = new_among(transaction, &group_id, vec![applicant]).await?;
            admit(&deciding, transaction, (&group_id, group.tenant_id), &added, user).await
        })
    });
    job.await
}
