//! `/v1/groups/joincode…`, and applications to open groups.

use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;

use super::{Done, done};
use crate::{
    api::{
        envelope::{Envelope, FailureEnvelope, Refusals},
        extract::{Identified, PathParameter, PathParameters, QueryParameters},
    },
    app::App,
    error::{Error, Result},
    platform::{
        groups::{
            applications::{self, Answer},
            fields::{Group, GroupApplication, JoinCode},
            join_codes,
        },
        users::model::public_address,
    },
};

/// For which group, and whether it gets another code than it has.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct JoinCodeQuery {
    /// Group id. Required.
    group_id: Option<String>,
    /// Whether a new code takes the place of the one that is valid, which then opens nothing any more. Required.
    is_override: Option<bool>,
}

/// Gives a group a code by which people of the tenant join it, for seven days. For its owner and its administrators.
#[utoipa::path(
    post, path = "/v1/groups/joincode", tag = "groups", params(JoinCodeQuery),
    responses(
        (status = 200, description = "The code", body = Envelope<JoinCode>),
        Refusals,
        (status = 404, description = "There is no such group", body = FailureEnvelope),
    )
)]
pub async fn make_join_code(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    QueryParameters(query): QueryParameters<JoinCodeQuery>,
) -> Result<Envelope<JoinCode>> {
    let group_id = query.group_id.filter(|id| !id.is_empty());
    let group_id = group_id.ok_or_else(|| Error::bad_request("groupId: is required"))?;
    let is_override =
        query.is_override.ok_or_else(|| Error::bad_request("isOverride: is required, true or false"))?;
    Ok(Envelope::of(join_codes::make(&app, caller, group_id, is_override).await?))
}

/// The group that a code opens, to anyone of its tenant who has the code. Codes that open nothing are counted by person
/// (`limits.logins_per_minute`).
#[utoipa::path(
    get, path = "/v1/groups/joincode/{joincode}", tag = "groups",
    params(("joincode" = String, Path, description = "The code, in capitals or not")),
    responses(
        (status = 200, description = "The group", body = Envelope<Group>),
        Refusals,
        (status = 404, description = "There is no such code, or it is not valid any more", body = FailureEnvelope),
    )
)]
pub async fn show_group_of_code(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameter(code): PathParameter,
) -> Result<Envelope<Group>> {
    Ok(Envelope::of(join_codes::show(&app, &caller, &code).await?))
}

/// Joins the group that a code opens, closed or open, and answers it. Who is in it stays as he is.
#[utoipa::path(
    post, path = "/v1/groups/joincode/{joincode}/join", tag = "groups",
    params(("joincode" = String, Path, description = "The code, in capitals or not")),
    responses(
        (status = 200, description = "The group", body = Envelope<Group>),
        Refusals,
        (status = 404, description = "There is no such code, or it is not valid any more", body = FailureEnvelope),
        (status = 409, description = "The group or the caller has as many as may be", body = FailureEnvelope),
    )
)]
pub async fn join_by_code(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameter(code): PathParameter,
) -> Result<Envelope<Group>> {
    Ok(Envelope::of(join_codes::join(&app, caller, &code).await?))
}

/// Asks to be let into an open group, and answers the application's id. Who was refused may ask again.
#[utoipa::path(
    post, path = "/v1/groups/{groupId}/apply", tag = "groups",
    params(("groupId" = String, Path, description = "Group id")),
    responses(
        (status = 200, description = "The application's id", body = Envelope<String>),
        Refusals,
        (status = 404, description = "There is no such group", body = FailureEnvelope),
        (status = 409, description = "He is a member, has applied already, or nobody is there to decide it", body = FailureEnvelope),
    )
)]
pub async fn apply(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameter(group_id): PathParameter,
) -> Result<Envelope<String>> {
    Ok(Envelope::of(applications::apply(&app, caller, group_id).await?))
}

/// Lists the applications that are to be decided, oldest first. For the group's owner and its administrators.
#[utoipa::path(
    get, path = "/v1/groups/{groupId}/applications", tag = "groups",
    params(("groupId" = String, Path, description = "Group id")),
    responses(
        (status = 200, description = "The open applications", body = Envelope<Vec<GroupApplication>>),
        Refusals,
        (status = 404, description = "There is no such group", body = FailureEnvelope),
    )
)]
pub async fn list_applications(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameter(group_id): PathParameter,
) -> Result<Envelope<Vec<GroupApplication>>> {
    let mut open = applications::list(&app, &caller, &group_id).await?;
    let public_url = app.config.public_url();
    for application in &mut open {
        application.picture = application.picture.take().map(|picture| public_address(&public_url, &picture));
    }
    Ok(Envelope::list(open))
}

/// Lets the applicant in. For the group's owner and its administrators.
#[utoipa::path(
    post, path = "/v1/groups/{groupId}/applications/{applicationId}/accept", tag = "groups",
    params(
        ("groupId" = String, Path, description = "Group id"),
        ("applicationId" = String, Path, description = "Application id"),
    ),
    responses(
        (status = 200, description = "He is a member", body = Envelope<Object>),
        Refusals,
        (status = 404, description = "There is no such group, or no such application", body = FailureEnvelope),
        (status = 409, description = "It is decided already, or the group is full", body = FailureEnvelope),
    )
)]
pub async fn accept_application(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameters((group_id, id)): PathParameters<(String, String)>,
) -> Result<Done> {
    applications::decide(&app, caller, group_id, id, Answer::Accept).await?;
    Ok(done())
}

/// Does not let the applicant in. For the group's owner and its administrators.
#[utoipa::path(
    post, path = "/v1/groups/{groupId}/applications/{applicationId}/refuse", tag = "groups",
    params(
        ("groupId" = String, Path, description = "Group id"),
        ("applicationId" = String, Path, description = "Application id"),
    ),
    responses(
        (status = 200, description = "He is none", body = Envelope<Object>),
        Refusals,
        (status = 404, description = "There is no such group, or no such application", body = FailureEnvelope),
        (status = 409, description = "It is decided already", body = FailureEnvelope),
    )
)]
pub async fn refuse_application(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameters((group_id, id)): PathParameters<(String, String)>,
) -> Result<Done> {
    applications::decide(&app, caller, group_id, id, Answer::Refuse).await?;
    Ok(done())
}
