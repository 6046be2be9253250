//! `/v1/groups/joincode…` and applications.

use axum::extract::State;
use serde::Deserialize;
use trawl_macros::operation;

use super::{EmptyAnswer, done};
use crate::{
    auth::extract::Identified,
    error::{Error, Result},
    http::{
        envelope::{Envelope, FailureEnvelope, Refusals},
        extract::{PathParameter, PathParameters, QueryParameters},
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
#[operation(
    tag = "groups", params(JoinCodeQuery),
    responses(
        (status = 200, description = "The code", body = Envelope<JoinCode>),
        Refusals,
        (status = 404, description = "There is no such group", body = FailureEnvelope),
    )
)]
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
    tag = "groups",
    params(("joincode" = String, Path, description = "Join code, case-insensitive")),
    responses(
        (status = 200, description = "The group", body = Envelope<Group>),
        Refusals,
        (status = 404, description = "Unknown or expired code", body = FailureEnvelope),
    )
)]
pub async fn show_group_of_code(
    State(state): State<GroupsState>,
    Identified(caller): Identified,
    PathParameter(code): PathParameter,
) -> Result<Envelope<Group>> {
    Ok(Envelope::of(join_codes::show(&state, &caller, &code).await?))
}

/// Joins the group that a code opens and returns it; members keep their role.
#[operation(
    tag = "groups",
    params(("joincode" = String, Path, description = "Join code, case-insensitive")),
    responses(
        (status = 200, description = "The group", body = Envelope<Group>),
        Refusals,
        (status = 404, description = "Unknown or expired code", body = FailureEnvelope),
        (status = 409, description = "The group or the caller has reached the maximum", body = FailureEnvelope),
    )
)]
pub async fn join_by_code(
    State(state): State<GroupsState>,
    Identified(caller): Identified,
    PathParameter(code): PathParameter,
) -> Result<Envelope<Group>> {
    Ok(Envelope::of(join_codes::join(&state, caller, &code).await?))
}

/// Applies to an open group and returns the application's id. A refused applicant may apply again.
#[operation(
    tag = "groups",
    params(("groupId" = String, Path, description = "Group id")),
    responses(
        (status = 200, description = "The application's id", body = Envelope<String>),
        Refusals,
        (status = 404, description = "There is no such group", body = FailureEnvelope),
        (status = 409, description = "Already a member or applicant, or nobody can decide", body = FailureEnvelope),
    )
)]
pub async fn apply(
    State(state): State<GroupsState>,
    Identified(caller): Identified,
    PathParameter(group_id): PathParameter,
) -> Result<Envelope<String>> {
    Ok(Envelope::of(applications::apply(&state, caller, group_id).await?))
}

/// Lists open applications, oldest first; for the group's owner and administrators.
#[operation(
    tag = "groups",
    params(("groupId" = String, Path, description = "Group id")),
    responses(
        (status = 200, description = "The open applications", body = Envelope<Vec<GroupApplication>>),
        Refusals,
        (status = 404, description = "There is no such group", body = FailureEnvelope),
    )
)]
pub async fn list_applications(
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
    tag = "groups",
    params(
        ("groupId" = String, Path, description = "Group id"),
        ("applicationId" = String, Path, description = "Application id"),
    ),
    responses(
        (status = 200, description = "The applicant is a member", body = Envelope<Object>),
        Refusals,
        (status = 404, description = "There is no such group, or no such application", body = FailureEnvelope),
        (status = 409, description = "Already decided, or the group is full", body = FailureEnvelope),
    )
)]
pub async fn accept_application(
    State(state): State<GroupsState>,
    Identified(caller): Identified,
    PathParameters((group_id, id)): PathParameters<(String, String)>,
) -> Result<EmptyAnswer> {
    applications::decide(&state, caller, group_id, id, ApplicationDecision::Accept).await?;
    Ok(done())
}

/// Refuses an application; for the group's owner and administrators.
#[operation(
    tag = "groups",
    params(
        ("groupId" = String, Path, description = "Group id"),
        ("applicationId" = String, Path, description = "Application id"),
    ),
    responses(
        (status = 200, description = "The application was refused", body = Envelope<Object>),
        Refusals,
        (status = 404, description = "There is no such group, or no such application", body = FailureEnvelope),
        (status = 409, description = "Already decided", body = FailureEnvelope),
    )
)]
pub async fn refuse_application(
    State(state): State<GroupsState>,
    Identified(caller): Identified,
    PathParameters((group_id, id)): PathParameters<(String, String)>,
) -> Result<EmptyAnswer> {
    applications::decide(&state, caller, group_id, id, ApplicationDecision::Refuse).await?;
    Ok(done())
}
