use serde::Serialize;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::robots::Sender;
use crate::{
    error::{Error, Result},
    platform::robots::forms::Message,
    store::{self, Connection, DatabaseError, FromRow, Transaction, sql},
};

/// A sent message.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SentMessage {
    /// Message id.
    pub id: String,
    /// Id of the sending robot, possibly removed since.
    pub robot_id: String,
    /// Name of the robot when sent.
    pub robot_name: String,
    /// `text`, `links`, `rich` or `card_template`.
    pub msg_type: String,
    /// Content by type.
    #[schema(value_type = Object)]
    pub content: Box<RawValue>,
    /// Send time, epoch milliseconds; strictly increasing per group.
    pub created_date: i64,
}

#[derive(FromRow)]
struct StoredMessage {
    id: String,
    robot_id: String,
    robot_name: String,
    msg_type: String,
    content: String,
    created_at: i64,
}

impl TryFrom<StoredMessage> for SentMessage {
    type Error = Error;

    fn try_from(row: StoredMessage) -> Result<Self> {
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

const SHOWN: &str = "id, robot_id, robot_name, msg_type, content, created_at";

/// Times of earlier messages, epoch milliseconds.
#[derive(FromRow)]
pub(crate) struct EarlierMessages {
    pub(crate) of_robot: Option<i64>,
    pub(crate) of_group: Option<i64>,
}

/// The robot's `of_robot`th and its group's `of_group`th latest message since a time.
pub(crate) async fn latest(
    transaction: &Transaction,
    sender: &Sender,
    since: i64,
    of_robot: u32,
    of_group: u32,
) -> store::Result<EarlierMessages> {
    let statement = sql(
        "SELECT (SELECT created_at FROM messages WHERE group_id = ?1 AND created_at > ?2 AND robot_id = ?3 \
             ORDER BY created_at DESC LIMIT 1 OFFSET ?4 - 1) AS of_robot, \
           (SELECT created_at FROM messages WHERE group_id = ?1 AND created_at > ?2 \
             ORDER BY created_at DESC LIMIT 1 OFFSET ?5 - 1) AS of_group",
        [
            sender.group_id.as_str().into(),
            since.into(),
            sender.id.as_str().into(),
            of_robot.into(),
            of_group.into(),
        ],
    );
    statement.fetch_one(transaction).await
}

/// Its time is `now`, or above the group's latest.
pub(crate) async fn insert(
    transaction: &Transaction,
    sender: &Sender,
    message: &Message,
    now: i64,
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
            now.into(),
        ],
    );
    let row = statement.fetch_optional::<StoredMessage>(transaction).await?;
    row.ok_or(DatabaseError::RowNotFound)?.try_into()
}

/// Bounds pages of maximum-length messages.
pub(crate) const PAGE_BYTES: usize = 2 << 20;

const PORTION: usize = 32;

pub(crate) struct MessageRows {
    pub(crate) messages: Vec<SentMessage>,
    pub(crate) has_more: bool,
}

/// [`PAGE_BYTES`] in total, at least one message.
pub(crate) async fn list(
    reader: &Connection,
    group_id: &str,
    before: i64,
    limit: usize,
) -> Result<MessageRows> {
    let (mut messages, mut bytes, mut before) = (Vec::<SentMessage>::new(), 0, before);
    loop {
        let most = PORTION.min(limit - messages.len() + 1);
        let portion = read_portion(reader, group_id, before, most).await?;
        let is_last = portion.len() < most;
        for row in portion {
            bytes += row.content.len();
            if messages.len() == limit || (bytes > PAGE_BYTES && !messages.is_empty()) {
                return Ok(MessageRows { messages, has_more: true });
            }
            before = row.created_at;
            messages.push(row.try_into()?);
        }
        if is_last {
            return Ok(MessageRows { messages, has_more: false });
        }
    }
}

/// A message sent between two reads is newer than both.
async fn read_portion(
    reader: &Connection,
    group_id: &str,
    before: i64,
    most: usize,
) -> store::Result<Vec<StoredMessage>> {
    let text = format!(
        "SELECT {SHOWN} FROM messages WHERE group_id = ? AND created_at < ? ORDER BY created_at DESC LIMIT ?"
    );
    let most = u64::try_from(most).unwrap_or_default();
    sql(text, [group_id.into(), before.into(), most.into()]).fetch_all::<StoredMessage>(reader).await
}
