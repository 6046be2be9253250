//! `/v1/groups/{groupId}/members…`: who is in a group, and in which role.

use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;

use super::{Done, done};
use crate::{
    api::{
        envelope::{BodyRefusals, Envelope, FailureEnvelope, Refusals},
        extract::{Identified, JsonObject, PathParameter, PathParameters, QueryParameters},
    },
    app::App,
    error::Result,
    platform::{
        groups::{
            fields::{GroupMember, RemovedLogin, RemovedUser, RoleForm, separated_ids},
            membership::{self, Named},
            model::SeenGroup,
            repo::views,
            roles,
        },
        users::model::public_address,
    },
};

/// Whom, by id.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct UserIds {
    /// User ids on the synchronising party's side, separated by commas. Required.
    user_ids: Option<String>,
}

impl UserIds {
    fn checked(&self, app: &App) -> Result<Named> {
        let most = app.config.limits.batch_items;
        separated_ids("userIds", self.user_ids.as_deref(), most).map(Named::Users)
    }
}

/// Whom, by login.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct LoginIds {
    /// Login accounts, separated by commas: of the tenant, or `login@eCode` of another one. Required.
    login_ids: Option<String>,
}

impl LoginIds {
    fn checked(&self, app: &App) -> Result<Named> {
        let most = app.config.limits.batch_items;
        separated_ids("loginIds", self.login_ids.as_deref(), most).map(Named::Logins)
    }
}

/// Lists the members of a group that the caller sees: its owner first, then administrators, then the others. Hidden and deleted
/// people are not shown.
#[utoipa::path(
    get, path = "/v1/groups/{groupId}/members", tag = "groups",
    params(("groupId" = String, Path, description = "Group id")),
    responses(
        (status = 200, description = "The members", body = Envelope<Vec<GroupMember>>),
        Refusals,
        (status = 404, description = "There is no such group", body = FailureEnvelope),
    )
)]
pub async fn list_members(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameter(group_id): PathParameter,
) -> Result<Envelope<Vec<GroupMember>>> {
    let reader = app.store.reader();
    let group = SeenGroup::find(reader, &caller, &group_id).await?;
    let mut members = views::members(reader, &group.id).await?;
    let public_url = app.config.public_url();
    for member in &mut members {
        member.picture = member.picture.take().map(|picture| public_address(&public_url, &picture));
    }
    Ok(Envelope::list(members))
}

/// Adds people of the tenant to a group, all of them or none; those who are in it stay as they are. For its owner and its
/// administrators. 403 where one of them has the caller on his blacklist.
#[utoipa::path(
    post, path = "/v1/groups/{groupId}/members", tag = "groups",
    params(("groupId" = String, Path, description = "Group id"), UserIds),
    responses(
        (status = 200, description = "They are members", body = Envelope<Object>),
        Refusals,
        (status = 404, description = "There is no such group, or no such user", body = FailureEnvelope),
        (status = 409, description = "The group or one of them has as many as may be", body = FailureEnvelope),
    )
)]
pub async fn add_members(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameter(group_id): PathParameter,
    QueryParameters(whom): QueryParameters<UserIds>,
) -> Result<Done> {
    let whom = whom.checked(&app)?;
    membership::add(&app, caller, group_id, whom).await?;
    Ok(done())
}

/// Removes members from a group, all that are found or none, and answers them. Administrators remove ordinary members, the owner
/// removes administrators too, and each member himself.
#[utoipa::path(
    delete, path = "/v1/groups/{groupId}/members", tag = "groups",
    params(("groupId" = String, Path, description = "Group id"), UserIds),
    responses(
        (status = 200, description = "Those who were members, and are none any more", body = Envelope<Vec<RemovedUser>>),
        Refusals,
        (status = 404, description = "There is no such group", body = FailureEnvelope),
        (status = 409, description = "The owner has to hand the group over first", body = FailureEnvelope),
    )
)]
pub async fn remove_members(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameter(group_id): PathParameter,
    QueryParameters(whom): QueryParameters<UserIds>,
) -> Result<Envelope<Vec<RemovedUser>>> {
    let whom = whom.checked(&app)?;
    let removed = membership::remove(&app, caller, group_id, whom).await?;
    Ok(Envelope::list(removed.into_iter().map(|(user_id, name)| RemovedUser { user_id, name }).collect()))
}

/// Adds people by their logins, also those of other tenants that allow it (`login@eCode`), to a group of type 2 or 3. Such a person
/// sees this group, its members and its messages, and nothing else of the tenant. A login of the tenant's own that holds an `@`
/// comes first.
#[utoipa::path(
    post, path = "/v1/groups/{groupId}/members/outer", tag = "groups",
    params(("groupId" = String, Path, description = "Group id"), LoginIds),
    responses(
        (status = 200, description = "They are members", body = Envelope<Object>),
        Refusals,
        (status = 404, description = "There is no such group, or no such account", body = FailureEnvelope),
        (status = 409, description = "The group takes no outer members, or no more", body = FailureEnvelope),
    )
)]
pub async fn add_outer_members(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameter(group_id): PathParameter,
    QueryParameters(whom): QueryParameters<LoginIds>,
) -> Result<Done> {
    let whom = whom.checked(&app)?;
    membership::add(&app, caller, group_id, whom).await?;
    Ok(done())
}

/// Removes members by their logins, in the form in which they are added; the tenant's own may be named with its code, too.
#[utoipa::path(
    delete, path = "/v1/groups/{groupId}/members/outer", tag = "groups",
    params(("groupId" = String, Path, description = "Group id"), LoginIds),
    responses(
        (status = 200, description = "Those who were members, and are none any more", body = Envelope<Vec<RemovedLogin>>),
        Refusals,
        (status = 404, description = "There is no such group", body = FailureEnvelope),
        (status = 409, description = "The group takes no outer members, or its owner has to hand it over first", body = FailureEnvelope),
    )
)]
pub async fn remove_outer_members(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameter(group_id): PathParameter,
    QueryParameters(whom): QueryParameters<LoginIds>,
) -> Result<Envelope<Vec<RemovedLogin>>> {
    let whom = whom.checked(&app)?;
    let removed = membership::remove(&app, caller, group_id, whom).await?;
    Ok(Envelope::list(removed.into_iter().map(|(login_id, name)| RemovedLogin { login_id, name }).collect()))
}

/// Makes a member an administrator or an ordinary member, or hands the group over to him; its owner is an administrator then.
///
/// Where the owner was deleted or disabled in the directory, the administrator who has been in the group for the longest time acts
/// in his place, else the member. He is its owner for good once he changes a role, his own to 2 included, or removes an
/// administrator; until then the owner is so again when he comes back, and the group cannot be ended.
#[utoipa::path(
    put, path = "/v1/groups/{groupId}/members/{userId}/role", tag = "groups", request_body = RoleForm,
    params(
        ("groupId" = String, Path, description = "Group id"),
        ("userId" = String, Path, description = "User id on the synchronising party's side"),
    ),
    responses(
        (status = 200, description = "He has this role", body = Envelope<Object>),
        Refusals, BodyRefusals,
        (status = 404, description = "There is no such group, or no such member", body = FailureEnvelope),
        (status = 409, description = "An outer member, a disabled one, or the owner's own role", body = FailureEnvelope),
    )
)]
pub async fn change_role(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameters((group_id, user_id)): PathParameters<(String, String)>,
    JsonObject(form): JsonObject<RoleForm>,
) -> Result<Done> {
    let role = form.checked()?;
    roles::change(&app, caller, group_id, user_id, role).await?;
    Ok(done())
}
