//! `/v1/groups/{groupId}/members…`.

use axum::extract::State;
use serde::Deserialize;
use trawl_macros::operation;

use crate::{
    auth::extract::Identified,
    error::Result,
    http::{
        envelope::{Empty, Envelope},
        extract::{JsonObject, PathParameter, QueryParameters},
    },
    platform::{
        groups::{
            GroupsState,
            forms::{GroupMember, RemovedLogin, RemovedUser, RoleForm, separated_ids},
            membership::{self, MemberSelection},
            repo::views,
            roles,
            service::SeenGroup,
        },
        users::picture::public_address,
    },
};

/// Members by user id.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct UserIds {
    /// User ids on the synchronising party's side, separated by commas. Required.
    user_ids: Option<String>,
}

impl UserIds {
    fn checked(&self, state: &GroupsState) -> Result<MemberSelection> {
        let most = state.limits.batch_items;
        separated_ids("userIds", self.user_ids.as_deref(), most).map(MemberSelection::Users)
    }
}

/// Members by login.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct LoginIds {
    /// Login accounts separated by commas: of the tenant, or `login@eCode` of another. Required.
    login_ids: Option<String>,
}

impl LoginIds {
    fn checked(&self, state: &GroupsState) -> Result<MemberSelection> {
        let most = state.limits.batch_items;
        separated_ids("loginIds", self.login_ids.as_deref(), most).map(MemberSelection::Logins)
    }
}

/// Lists members: owner, administrators, others. Hidden and deleted people are left out.
#[operation(groups, 200 = "The members", 404 = "There is no such group")]
pub async fn list_members(
    State(state): State<GroupsState>,
    Identified(caller): Identified,
    PathParameter(group_id): PathParameter,
) -> Result<Envelope<Vec<GroupMember>>> {
    let reader = state.store.reader();
    let group = SeenGroup::find(reader, &caller, &group_id).await?;
    let mut members = views::members(reader, &group.id).await?;
    let public_url = state.public_url;
    for member in &mut members {
        member.picture = member.picture.take().map(|picture| public_address(&public_url, &picture));
    }
    Ok(Envelope::list(members))
}

/// Adds people of the tenant, all or none; for the group's owner and administrators. Fails with 403 if a person has blacklisted
/// the caller.
#[operation(
    groups, 200 = "The members were added",
    404 = "There is no such group, or no such user",
    409 = "The group or a person has reached the maximum",
)]
pub async fn add_members(
    State(state): State<GroupsState>,
    Identified(caller): Identified,
    PathParameter(group_id): PathParameter,
    QueryParameters(selection): QueryParameters<UserIds>,
) -> Result<Envelope<Empty>> {
    let selection = selection.checked(&state)?;
    membership::add(&state, caller, group_id, selection).await?;
    Ok(Envelope::empty())
}

/// Removes members, all found or none, and returns them. Owners remove anyone, administrators ordinary members, and
/// members themselves.
#[operation(
    groups, 200 = "The removed members",
    404 = "There is no such group",
    409 = "The owner must first transfer the group",
)]
pub async fn remove_members(
    State(state): State<GroupsState>,
    Identified(caller): Identified,
    PathParameter(group_id): PathParameter,
    QueryParameters(selection): QueryParameters<UserIds>,
) -> Result<Envelope<Vec<RemovedUser>>> {
    let selection = selection.checked(&state)?;
    let removed = membership::remove(&state, caller, group_id, selection).await?;
    Ok(Envelope::list(removed.into_iter().map(|(user_id, name)| RemovedUser { user_id, name }).collect()))
}

/// Adds people by login, including `login@eCode` of allowing tenants. Outer members need a group of type 2 or 3, and
/// see only its members and messages.
#[operation(
    groups, 200 = "The members were added",
    404 = "There is no such group, or no such account",
    409 = "The group allows no outer members, or is full",
)]
pub async fn add_outer_members(
    State(state): State<GroupsState>,
    Identified(caller): Identified,
    PathParameter(group_id): PathParameter,
    QueryParameters(selection): QueryParameters<LoginIds>,
) -> Result<Envelope<Empty>> {
    let selection = selection.checked(&state)?;
    membership::add(&state, caller, group_id, selection).await?;
    Ok(Envelope::empty())
}

/// Removes members by login, in the form used to add them.
#[operation(
    groups, 200 = "The removed members",
    404 = "There is no such group",
    409 = "The group allows no outer members, or the owner must first transfer it",
)]
pub async fn remove_outer_members(
    State(state): State<GroupsState>,
    Identified(caller): Identified,
    PathParameter(group_id): PathParameter,
    QueryParameters(selection): QueryParameters<LoginIds>,
) -> Result<Envelope<Vec<RemovedLogin>>> {
    let selection = selection.checked(&state)?;
    let removed = membership::remove(&state, caller, group_id, selection).await?;
    Ok(Envelope::list(removed.into_iter().map(|(login_id, name)| RemovedLogin { login_id, name }).collect()))
}

/// Changes a member's role, or transfers ownership, leaving the previous owner an administrator.
///
/// While the owner is deleted or disabled, the longest-serving administrator acts as owner, else member. Changing a
/// role (also their own to 2) or removing an administrator makes them the owner. Otherwise the owner regains the role
/// on return; the group cannot be ended until then.
#[operation(
    groups, user_id = "User id on the synchronising party's side", 200 = "The role was changed",
    404 = "There is no such group, or no such member",
    409 = "An outer member, a disabled one, or the owner's own role",
)]
pub async fn change_role(
    State(state): State<GroupsState>,
    Identified(caller): Identified,
    PathParameter((group_id, user_id)): PathParameter<(String, String)>,
    JsonObject(form): JsonObject<RoleForm>,
) -> Result<Envelope<Empty>> {
    let role = form.checked()?;
    roles::change(&state, caller, group_id, user_id, role).await?;
    Ok(Envelope::empty())
}
