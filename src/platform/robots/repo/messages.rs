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

/// Bytes of content that a page holds: a group may keep a page of messages of the greatest length.
pub(in crate::platform::robots) const PAGE_BYTES: usize = 2 << 20;

/// Rows that are read at a time, so that no more than these are in memory beyond a page.
const PORTION: usize = 32;

/// Messages of one after another, the newest first.
pub(in crate::platform::robots) struct Page {
    pub(in crate::platform::robots) messages: Vec<SentMessage>,
    /// Whether there are older ones.
    pub(in crate::platform::robots) has_more: bool,
}

/// Up to `limit` messages of the group of before a time, of [`PAGE_BYTES`] or else a single one.
pub(in crate::platform::robots) async fn list<C: ConnectionTrait>(
    reader: &C,
    group_id: &str,
    before: i64,
    limit: usize,
) -> Result<Page> {
    let (mut messages, mut bytes, mut before) = (Vec::<SentMessage>::new(), 0, before);
    loop {
        // One more than is wanted tells whether there are more.
        let most = PORTION.min(limit - messages.len() + 1);
        let portion = read_portion(reader, group_id, before, most).await?;
        let is_last = portion.len() < most;
        for row in portion {
            bytes += row.content.len();
            if messages.len() == limit || (bytes > PAGE_BYTES && !messages.is_empty()) {
                return Ok(Page { messages, has_more: true });
            }
            before = row.created_at;
            messages.push(row.try_into()?);
        }
        if is_last {
            return Ok(Page { messages, has_more: false });
        }
    }
}

/// What comes between two portions is newer than both.
async fn read_portion<C: ConnectionTrait>(
    reader: &C,
    group_id: &str,
    before: i64,
    most: usize,
) -> Result<Vec<Row>, DbErr> {
    let text = format!(
        "SELECT {SHOWN} FROM messages WHERE group_id = ? AND created_at < ? ORDER BY created_at DESC LIMIT ?"
    );
    let most = u64::try_from(most).unwrap_or_default();
    Row::find_by_statement(sql(text, [group_id.into(), before.into(), most.into()])).all(reader).await
}
