//! `/v1/groups/{groupId}/robots`.

use axum::extract::State;
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use trawl_macros::operation;
use uuid::Uuid;

use crate::{
    audit::{self, Actor, AuditEvent},
    auth::{caller::Caller, extract::Identified},
    error::{Error, Result},
    http::{
        envelope::Envelope,
        extract::{JsonObject, PathParameter},
    },
    platform::{
        groups::{rules::GroupRole, service::SeenGroup},
        robots::{
            RobotsState,
            forms::{ROBOTS_PER_GROUP, RobotForm},
            repo::robots::{self, NewRobot, Robot},
            token,
        },
    },
    store::Transaction,
};

/// A robot and its token, shown once. No `Debug`: the token is a secret.
#[derive(Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RobotToken {
    /// Robot id.
    robot_id: String,
    /// Webhook address including the token.
    url: String,
    /// Token.
    token: String,
}

impl RobotToken {
    fn new(state: &RobotsState, robot_id: String, token: &SecretString) -> Self {
        let token = token.expose_secret().to_owned();
        let url = format!("{}/notificationapi/hook/send?token={token}", state.public_url);
        Self { robot_id, url, token }
    }
}

/// Creates a robot; for the group's owner and administrators.
#[operation(
    robots, group_id = "The group's id", 200 = "The robot and its token, shown once",
    404 = "There is no such group",
    409 = "The group has the maximum of robots",
)]
pub async fn create_robot(
    State(state): State<RobotsState>,
    Identified(caller): Identified,
    PathParameter(group_id): PathParameter,
    JsonObject(form): JsonObject<RobotForm>,
) -> Result<Envelope<RobotToken>> {
    let created_by = caller.require_user()?.person.user_id.clone();
    let name = form.checked().map_err(Error::bad_request)?;
    let (token, digest) = token::generate()?;
    let new = NewRobot { id: Uuid::now_v7().to_string(), name, digest, created_by };
    let robot_id = new.id.clone();
    let job = state.store.write(move |transaction| {
        Box::pin(async move {
            let group = administered(transaction, &caller, &group_id).await?;
            if robots::count(transaction, &group.id).await? >= ROBOTS_PER_GROUP {
                let full = format!("the group already has {ROBOTS_PER_GROUP} robots, the maximum");
                return Err(Error::conflict(full));
            }
            robots::insert(transaction, &group, &new).await?;
            record(transaction, &caller, "create", &group, &new.id).await
        })
    });
    job.await?;
    Ok(Envelope::of(RobotToken::new(&state, robot_id, &token)))
}

/// Lists a group's robots without tokens, oldest first; for its members.
#[operation(robots, group_id = "The group's id", 200 = "The robots", 404 = "There is no such group")]
pub async fn list_robots(
    State(state): State<RobotsState>,
    Identified(caller): Identified,
    PathParameter(group_id): PathParameter,
) -> Result<Envelope<Vec<Robot>>> {
    let group = SeenGroup::find(state.store.reader(), &caller, &group_id).await?;
    group.require(GroupRole::Member)?;
    Ok(Envelope::list(robots::list(state.store.reader(), &group.id).await?))
}

/// Replaces a robot's token; the previous one is invalid at once.
#[operation(
    robots, group_id = "The group's id", robot_id = "The robot's id",
    200 = "The robot and its new token, shown once",
    404 = "There is no such group or robot",
)]
pub async fn rotate_token(
    State(state): State<RobotsState>,
    Identified(caller): Identified,
    PathParameter((group_id, robot_id)): PathParameter<(String, String)>,
) -> Result<Envelope<RobotToken>> {
    let (token, digest) = token::generate()?;
    let rotated = robot_id.clone();
    let job = state.store.write(move |transaction| {
        Box::pin(async move {
            let group = administered(transaction, &caller, &group_id).await?;
            if !robots::rotate(transaction, &group.id, &rotated, &digest).await? {
                return Err(unknown());
            }
            record(transaction, &caller, "rotate", &group, &rotated).await
        })
    });
    job.await?;
    Ok(Envelope::of(RobotToken::new(&state, robot_id, &token)))
}

/// Removes a robot and invalidates its token at once; messages stay.
#[operation(
    robots, group_id = "The group's id", robot_id = "The robot's id", 200 = "The robot was removed",
    404 = "There is no such group or robot",
)]
pub async fn remove_robot(
    State(state): State<RobotsState>,
    Identified(caller): Identified,
    PathParameter((group_id, robot_id)): PathParameter<(String, String)>,
) -> Result<Envelope<()>> {
    let job = state.store.write(move |transaction| {
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

async fn administered(transaction: &Transaction, caller: &Caller, group_id: &str) -> Result<SeenGroup> {
    let group = SeenGroup::find(transaction, caller, group_id).await?;
    group.require(GroupRole::Administrator)?;
    Ok(group)
}

async fn record(
    transaction: &Transaction,
    caller: &Caller,
    action: &'static str,
    group: &SeenGroup,
    robot_id: &str,
) -> Result<()> {
    let event = AuditEvent::new(action, "robot", robot_id).with("groupId", group.id.as_str());
    Ok(audit::record(transaction, &Actor::caller(caller), &caller.tenant, vec![event]).await?)
}

fn unknown() -> Error {
    Error::not_found("robotId: the group has no such robot")
}
