//! Rows of messages.

use sea_orm::{ConnectionTrait, DbErr, FromQueryResult};
use serde::Serialize;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::robots::Sender;
use crate::{
    error::{Error, Result},
    platform::robots::model::Message,
    store::{Transaction, now_millis, sql},
};

/// A message that was sent (decisions 9.5).
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SentMessage {
    /// Its id.
    pub id: String,
    /// The robot that wrote it; it may be gone.
    pub robot_id: String,
    /// The robot's name when it wrote it.
    pub robot_name: String,
    /// `text`, `links`, `rich` or `card_template`.
    pub msg_type: String,
    /// What that type holds.
    #[schema(value_type = Object)]
    pub content: Box<RawValue>,
    /// When, epoch milliseconds: strictly increasing over a group's messages.
    pub created_date: i64,
}

#[derive(FromQueryResult)]
struct Row {
    id: String,
    robot_id: String,
    robot_name: String,
    msg_type: String,
    content: String,
    created_at: i64,
}

impl TryFrom<Row> for SentMessage {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self> {
        Ok(Self {
            id: row.id,
            robot_id: row.robot_id,
            robot_name: row.robot_name,
            msg_type: row.msg_type,
            content: RawValue::from_string(row.content).map_err(Error::internal)?,
            created_date: row.created_at,
        })
    }
}

/// The columns of a [`Row`].
const SHOWN: &str = "id, robot_id, robot_name, msg_type, content, created_at";

/// Keeps a message of the robot, at a time of its own after every other one of the group.
pub(in crate::platform::robots) async fn insert(
    transaction: &Transaction,
    sender: &Sender,
    message: &Message,
) -> Result<SentMessage> {
    let text = format!(
        "INSERT INTO messages (id, tenant_id, group_id, robot_id, robot_name, group_name, msg_type, content, created_at) \
         SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, MAX(?9, COALESCE(MAX(created_at) + 1, 0)) \
         FROM messages WHERE group_id = ?3 RETURNING {SHOWN}"
    );
    let statement = sql(
        text,
        [
            Uuid::now_v7().to_string().into(),
            sender.tenant_id.into(),
            sender.group_id.as_str().into(),
            sender.id.as_str().into(),
            sender.name.as_str().into(),
            sender.group_name.as_str().into(),
            message.msg_type().into(),
            message.content().map_err(Error::internal)?.into(),
            now_millis().into(),
        ],
    );
    let row = Row::find_by_statement(statement).one(&**transaction).await?;
    row.ok_or_else(|| DbErr::RecordNotFound("the message that was kept".to_owned()))?.try_into()
}

/// Up to `limit` messages of the group of before a time, the newest first.
pub(in crate::platform::robots) async fn list<C: ConnectionTrait>(
    reader: &C,
    group_id: &str,
    before: i64,
    limit: i64,
) -> Result<Vec<SentMessage>> {
    let text = format!(
        "SELECT {SHOWN} FROM messages WHERE group_id = ? AND created_at < ? ORDER BY created_at DESC LIMIT ?"
    );
    let rows =
        Row::find_by_statement(sql(text, [group_id.into(), before.into(), limit.into()])).all(reader).await?;
    rows.into_iter().map(SentMessage::try_from).collect()
}
