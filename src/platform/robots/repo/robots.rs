//! Rows of robots.

use sea_orm::{ConnectionTrait, DbErr, FromQueryResult};
use serde::Serialize;

use crate::{
    platform::{groups::model::SeenGroup, robots::token::Digest},
    store::{Transaction, now_millis, sql},
};

/// A robot of a group.
#[derive(Clone, Debug, FromQueryResult, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Robot {
    /// Its id.
    #[serde(rename = "robotId")]
    pub id: String,
    /// Its name.
    pub name: String,
    /// Since when, epoch milliseconds.
    pub created_date: i64,
}

/// The robot that a token is of, and where it writes.
#[derive(Clone, Debug, FromQueryResult)]
pub(in crate::platform::robots) struct Sender {
    pub(in crate::platform::robots) id: String,
    pub(in crate::platform::robots) name: String,
    pub(in crate::platform::robots) group_id: String,
    pub(in crate::platform::robots) group_name: String,
    pub(in crate::platform::robots) tenant_id: i64,
    pub(in crate::platform::robots) is_frozen: bool,
}

/// A robot to make.
pub(in crate::platform::robots) struct NewRobot {
    pub(in crate::platform::robots) id: String,
    pub(in crate::platform::robots) name: String,
    pub(in crate::platform::robots) digest: Digest,
    /// The user id of who makes it.
    pub(in crate::platform::robots) created_by: String,
}

/// The robots of a group, the oldest first.
pub(in crate::platform::robots) async fn list<C: ConnectionTrait>(
    reader: &C,
    group_id: &str,
) -> Result<Vec<Robot>, DbErr> {
    let statement = sql(
        "SELECT id, name, created_at AS created_date FROM robots WHERE group_id = ? \
         ORDER BY created_at, id",
        [group_id.into()],
    );
    Robot::find_by_statement(statement).all(reader).await
}

/// How many robots a group has.
pub(in crate::platform::robots) async fn count(
    transaction: &Transaction,
    group_id: &str,
) -> Result<i64, DbErr> {
    let statement = sql("SELECT COUNT(*) AS robots FROM robots WHERE group_id = ?", [group_id.into()]);
    let row = transaction.query_one_raw(statement).await?;
    row.map_or(Ok(0), |row| row.try_get("", "robots"))
}

/// Keeps a robot of the group.
pub(in crate::platform::robots) async fn insert(
    transaction: &Transaction,
    group: &SeenGroup,
    new: &NewRobot,
) -> Result<(), DbErr> {
    let statement = sql(
        "INSERT INTO robots (id, group_id, tenant_id, name, token_digest, created_by, created_at) \
         VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            new.id.as_str().into(),
            group.id.as_str().into(),
            group.tenant_id.into(),
            new.name.as_str().into(),
            (&new.digest).into(),
            new.created_by.as_str().into(),
            now_millis().into(),
        ],
    );
    transaction.execute_raw(statement).await.map(drop)
}

/// Gives a robot of the group another token; the one before is dead. Answers whether there is such a robot.
pub(in crate::platform::robots) async fn rotate(
    transaction: &Transaction,
    group_id: &str,
    id: &str,
    digest: &Digest,
) -> Result<bool, DbErr> {
    let statement = sql(
        "UPDATE robots SET token_digest = ? WHERE group_id = ? AND id = ?",
        [digest.into(), group_id.into(), id.into()],
    );
    Ok(transaction.execute_raw(statement).await?.rows_affected() > 0)
}

/// Removes a robot of the group; its messages stay. Answers whether there was one.
pub(in crate::platform::robots) async fn remove(
    transaction: &Transaction,
    group_id: &str,
    id: &str,
) -> Result<bool, DbErr> {
    let statement = sql("DELETE FROM robots WHERE group_id = ? AND id = ?", [group_id.into(), id.into()]);
    Ok(transaction.execute_raw(statement).await?.rows_affected() > 0)
}

/// The robot with this token, unless its group or its tenant is gone.
pub(in crate::platform::robots) async fn find_sender<C: ConnectionTrait>(
    connection: &C,
    digest: &Digest,
) -> Result<Option<Sender>, DbErr> {
    let statement = sql(
        "SELECT robots.id, robots.name, robots.group_id, groups.name AS group_name, groups.tenant_id, \
           tenants.is_frozen \
         FROM robots JOIN groups ON groups.id = robots.group_id AND groups.removed_at IS NULL \
         JOIN tenants ON tenants.id = groups.tenant_id AND tenants.removed_at IS NULL \
         WHERE robots.token_digest = ?",
        [digest.into()],
    );
    Sender::find_by_statement(statement).one(connection).await
}
