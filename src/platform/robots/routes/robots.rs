//! `/v1/groups/{groupId}/robots`: who may write into a group by a webhook.

use std::sync::Arc;

use axum::extract::State;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{
    api::{
        envelope::{BodyRefusals, Envelope, FailureEnvelope, Refusals},
        extract::{Identified, JsonObject, PathParameter, PathParameters},
    },
    app::App,
    audit::{self, Actor, Deed},
    auth::caller::Caller,
    error::{Error, Result},
    platform::{
        groups::model::{Role, SeenGroup},
        robots::{
            model::{ROBOTS_PER_GROUP, RobotForm},
            repo::robots::{self, NewRobot, Robot},
            token,
        },
    },
    store::Transaction,
};

/// A robot and its token, which is shown this once. Without `Debug`: whoever has the token may write.
#[derive(Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RobotToken {
    /// The robot's id.
    robot_id: String,
    /// Where messages are sent to, the token in it.
    url: String,
    /// The token.
    token: String,
}

impl RobotToken {
    fn new(app: &App, robot_id: String, token: &SecretString) -> Self {
        let token = token.expose_secret().to_owned();
        let url = format!("{}/notificationapi/hook/send?token={token}", app.config.public_url());
        Self { robot_id, url, token }
    }
}

/// Which robot of which group.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RobotPath {
    group_id: String,
    robot_id: String,
}

/// Makes a robot, for the group's administrators and its owner.
#[utoipa::path(
    post, path = "/v1/groups/{groupId}/robots", tag = "robots", request_body = RobotForm,
    params(("groupId" = String, Path, description = "The group's id")),
    responses(
        (status = 200, description = "The robot, and its token this once", body = Envelope<RobotToken>),
        Refusals, BodyRefusals,
        (status = 404, description = "There is no such group", body = FailureEnvelope),
        (status = 409, description = "The group has as many robots as it may", body = FailureEnvelope),
    )
)]
pub async fn create_robot(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameter(group_id): PathParameter,
    JsonObject(form): JsonObject<RobotForm>,
) -> Result<Envelope<RobotToken>> {
    let created_by = caller.require_user()?.person.user_id.clone();
    let name = form.checked().map_err(Error::bad_request)?;
    let (token, digest) = token::generate()?;
    let new = NewRobot { id: Uuid::now_v7().to_string(), name, digest, created_by };
    let robot_id = new.id.clone();
    let job = app.store.write(move |transaction| {
        Box::pin(async move {
            let group = administered(transaction, &caller, &group_id).await?;
            if robots::count(transaction, &group.id).await? >= ROBOTS_PER_GROUP {
                let full = format!("a group may have {ROBOTS_PER_GROUP} robots, and has them already");
                return Err(Error::conflict(full));
            }
            robots::insert(transaction, &group, &new).await?;
            record(transaction, &caller, "create", &group, &new.id).await
        })
    });
    job.await?;
    Ok(Envelope::of(RobotToken::new(&app, robot_id, &token)))
}

/// The robots of a group, for its members, the oldest first; never with their tokens.
#[utoipa::path(
    get, path = "/v1/groups/{groupId}/robots", tag = "robots",
    params(("groupId" = String, Path, description = "The group's id")),
    responses(
        (status = 200, description = "The robots", body = Envelope<Vec<Robot>>),
        Refusals,
        (status = 404, description = "There is no such group", body = FailureEnvelope),
    )
)]
pub async fn list_robots(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameter(group_id): PathParameter,
) -> Result<Envelope<Vec<Robot>>> {
    let group = SeenGroup::find(app.store.reader(), &caller, &group_id).await?;
    group.require(Role::Member)?;
    Ok(Envelope::list(robots::list(app.store.reader(), &group.id).await?))
}

/// Gives a robot another token; the one before is dead from the answer on.
#[utoipa::path(
    post, path = "/v1/groups/{groupId}/robots/{robotId}/token", tag = "robots",
    params(
        ("groupId" = String, Path, description = "The group's id"),
        ("robotId" = String, Path, description = "The robot's id"),
    ),
    responses(
        (status = 200, description = "The robot, and its new token this once", body = Envelope<RobotToken>),
        Refusals,
        (status = 404, description = "There is no such group or robot", body = FailureEnvelope),
    )
)]
pub async fn rotate_token(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameters(RobotPath { group_id, robot_id }): PathParameters<RobotPath>,
) -> Result<Envelope<RobotToken>> {
    let (token, digest) = token::generate()?;
    let rotated = robot_id.clone();
    let job = app.store.write(move |transaction| {
        Box::pin(async move {
            let group = administered(transaction, &caller, &group_id).await?;
            if !robots::rotate(transaction, &group.id, &rotated, &digest).await? {
                return Err(unknown());
            }
            record(transaction, &caller, "rotate", &group, &rotated).await
        })
    });
    job.await?;
    Ok(Envelope::of(RobotToken::new(&app, robot_id, &token)))
}

/// Removes a robot: its token is dead from the answer on, its messages stay.
#[utoipa::path(
    delete, path = "/v1/groups/{groupId}/robots/{robotId}", tag = "robots",
    params(
        ("groupId" = String, Path, description = "The group's id"),
        ("robotId" = String, Path, description = "The robot's id"),
    ),
    responses(
        (status = 200, description = "It is removed", body = Envelope<Option<String>>),
        Refusals,
        (status = 404, description = "There is no such group or robot", body = FailureEnvelope),
    )
)]
pub async fn remove_robot(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameters(RobotPath { group_id, robot_id }): PathParameters<RobotPath>,
) -> Result<Envelope<()>> {
    let job = app.store.write(move |transaction| {
        Box::pin(async move {
            let group = administered(transaction, &caller, &group_id).await?;
            if !robots::remove(transaction, &group.id, &robot_id).await? {
                return Err(unknown());
            }
            record(transaction, &caller, "delete", &group, &robot_id).await
        })
    });
    job.await?;
    Ok(Envelope::of(()))
}

/// The group, where the caller is one of its administrators or its owner.
async fn administered(transaction: &Transaction, caller: &Caller, group_id: &str) -> Result<SeenGroup> {
    let group = SeenGroup::find(&**transaction, caller, group_id).await?;
    group.require(Role::Administrator)?;
    Ok(group)
}

async fn record(
    transaction: &Transaction,
    caller: &Caller,
    action: &'static str,
    group: &SeenGroup,
    robot_id: &str,
) -> Result<()> {
    let deed = Deed::new(action, "robot", robot_id).with("groupId", group.id.as_str());
    Ok(audit::record(transaction, &Actor::caller(caller), &caller.tenant, vec![deed]).await?)
}

fn unknown() -> Error {
    Error::not_found("robotId: the group has no such robot")
}
