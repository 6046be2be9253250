//! `/v1/groups/joincode…` and applications.

use axum::extract::State;
use serde::Deserialize;
use trawl_macros::operation;

use crate::{
    auth::extract::Identified,
    error::{Error, Result},
    http::{
        envelope::{Empty, Envelope},
        extract::{PathParameter, QueryParameters},
    },
    platform::{
        groups::{
            GroupsState,
            applications::{self, ApplicationDecision},
            forms::{Group, GroupApplication, JoinCode},
            join_codes,
        },
        users::picture::public_address,
    },
};

/// Join code parameters.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct JoinCodeQuery {
    /// Group id. Required.
    group_id: Option<String>,
    /// Whether to replace and invalidate the current code. Required.
    is_override: Option<bool>,
}

/// Returns a join code valid for seven days; for the group's owner and administrators.
#[operation(groups, 200 = "The code", 404 = "There is no such group")]
pub async fn make_join_code(
    State(state): State<GroupsState>,
    Identified(caller): Identified,
    QueryParameters(query): QueryParameters<JoinCodeQuery>,
) -> Result<Envelope<JoinCode>> {
    let group_id = query.group_id.filter(|id| !id.is_empty());
    let group_id = group_id.ok_or_else(|| Error::bad_request("groupId: is required"))?;
    let is_override =
        query.is_override.ok_or_else(|| Error::bad_request("isOverride: is required, true or false"))?;
    Ok(Envelope::of(join_codes::make(&state, caller, group_id, is_override).await?))
}

/// Returns the group that a code opens. Unknown codes are throttled per person (`limits.logins_per_minute`).
#[operation(
    groups, joincode = "Join code, case-insensitive", 200 = "The group",
    404 = "Unknown or expired code",
)]
pub async fn show_group_of_code(
    State(state): State<GroupsState>,
    Identified(caller): Identified,
    PathParameter(joincode): PathParameter,
) -> Result<Envelope<Group>> {
    Ok(Envelope::of(join_codes::show(&state, &caller, &joincode).await?))
}

/// Joins the group that a code opens and returns it; members keep their role.
#[operation(
    groups, joincode = "Join code, case-insensitive", 200 = "The group",
    404 = "Unknown or expired code",
    409 = "The group or the caller has reached the maximum",
)]
pub async fn join_by_code(
    State(state): State<GroupsState>,
    Identified(caller): Identified,
    PathParameter(joincode): PathParameter,
) -> Result<Envelope<Group>> {
    Ok(Envelope::of(join_codes::join(&state, caller, &joincode).await?))
}

/// Applies to an open group and returns the application's id. A refused applicant may apply again.
#[operation(
    groups, 200 = "The application's id",
    404 = "There is no such group",
    409 = "Already a member or applicant, or nobody can decide",
)]
pub async fn apply(
    State(state): State<GroupsState>,
    Identified(caller): Identified,
    PathParameter(group_id): PathParameter,
) -> Result<Envelope<String>> {
    Ok(Envelope::of(applications::apply(&state, caller, group_id).await?))
}

/// Lists open applications, oldest first; for the group's owner and administrators.
#[operation(groups, 200 = "The open applications", 404 = "There is no such group")]
pub async fn list_group_applications(
    State(state): State<GroupsState>,
    Identified(caller): Identified,
    PathParameter(group_id): PathParameter,
) -> Result<Envelope<Vec<GroupApplication>>> {
    let mut open = applications::list(&state, &caller, &group_id).await?;
    let public_url = state.public_url;
    for application in &mut open {
        application.picture = application.picture.take().map(|picture| public_address(&public_url, &picture));
    }
    Ok(Envelope::list(open))
}

/// Accepts an application; for the group's owner and administrators.
#[operation(
    groups, 200 = "The applicant is a member",
    404 = "There is no such group, or no such application",
    409 = "Already decided, or the group is full",
)]
pub async fn accept_application(
    State(state): State<GroupsState>,
    Identified(caller): Identified,
    PathParameter((group_id, application_id)): PathParameter<(String, String)>,
) -> Result<Envelope<Empty>> {
    applications::decide(&state, caller, group_id, application_id, ApplicationDecision::Accept).await?;
    Ok(Envelope::empty())
}

/// Refuses an application; for the group's owner and administrators.
#[operation(
    groups, 200 = "The application was refused",
    404 = "There is no such group, or no such application",
    409 = "Already decided",
)]
pub async fn refuse_application(
    State(state): State<GroupsState>,
    Identified(caller): Identified,
    PathParameter((group_id, application_id)): PathParameter<(String, String)>,
) -> Result<Envelope<Empty>> {
    applications::decide(&state, caller, group_id, application_id, ApplicationDecision::Refuse).await?;
    Ok(Envelope::empty())
}
