use serde::Serialize;

use crate::{
    platform::{groups::service::SeenGroup, robots::token::TokenDigest},
    store::{self, Connection, FromRow, Transaction, now_millis, sql},
};

/// A robot of a group.
#[derive(Clone, Debug, FromRow, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Robot {
    /// Robot id.
    #[serde(rename = "robotId")]
    pub id: String,
    /// Name.
    pub name: String,
    /// Creation time, epoch milliseconds.
    pub created_date: i64,
}

#[derive(Clone, Debug, FromRow)]
pub(crate) struct Sender {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) group_id: String,
    pub(crate) group_name: String,
    pub(crate) tenant_id: i64,
    pub(crate) is_frozen: bool,
}

pub(crate) struct NewRobot {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) digest: TokenDigest,
    pub(crate) created_by: String,
}

pub(crate) async fn list(reader: &Connection, group_id: &str) -> store::Result<Vec<Robot>> {
    let statement = sql(
        "SELECT id, name, created_at AS created_date FROM robots WHERE group_id = ? \
         ORDER BY created_at, id",
        [group_id.into()],
    );
    statement.fetch_all::<Robot>(reader).await
}

pub(crate) async fn count(transaction: &Transaction, group_id: &str) -> store::Result<i64> {
    let statement = sql("SELECT COUNT(*) AS robots FROM robots WHERE group_id = ?", [group_id.into()]);
    statement.fetch_value(transaction).await
}

pub(crate) async fn insert(
    transaction: &Transaction,
    group: &SeenGroup,
    new: &NewRobot,
) -> store::Result<()> {
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
    statement.execute(transaction).await.map(drop)
}

pub(crate) async fn rotate(
    transaction: &Transaction,
    group_id: &str,
    id: &str,
    digest: &TokenDigest,
) -> store::Result<bool> {
    let statement = sql(
        "UPDATE robots SET token_digest = ? WHERE group_id = ? AND id = ?",
        [digest.into(), group_id.into(), id.into()],
    );
    Ok(statement.execute(transaction).await? > 0)
}

/// Messages stay. Returns whether the robot existed.
pub(crate) async fn remove(transaction: &Transaction, group_id: &str, id: &str) -> store::Result<bool> {
    let statement = sql("DELETE FROM robots WHERE group_id = ? AND id = ?", [group_id.into(), id.into()]);
    Ok(statement.execute(transaction).await? > 0)
}

pub(crate) async fn find_sender(
    connection: &Connection,
    digest: &TokenDigest,
) -> store::Result<Option<Sender>> {
    let statement = sql(
        "SELECT robots.id, robots.name, robots.group_id, groups.name AS group_name, groups.tenant_id, \
           tenants.is_frozen \
         FROM robots JOIN groups ON groups.id = robots.group_id AND groups.removed_at IS NULL \
         JOIN tenants ON tenants.id = groups.tenant_id AND tenants.removed_at IS NULL \
         WHERE robots.token_digest = ?",
        [digest.into()],
    );
    statement.fetch_optional::<Sender>(connection).await
}
