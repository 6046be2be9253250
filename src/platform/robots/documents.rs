//! Messages as documents of the full-text index: found by the members of their group alone (decisions 9.5).

use sea_orm::ConnectionTrait;
use trawl_connectors::ContentItem;
use trawl_index::{Audience, Document, Scope};

use super::{
    model::Message,
    repo::{self, Row},
};
use crate::{
    auth::directory::group_principal,
    error::{Error, Result},
};

/// The module that messages are found in.
pub const MESSAGE: &str = "message";

/// The documents of the messages with these ids that are found in the tenant.
pub async fn find<C: ConnectionTrait>(reader: &C, tenant_id: i64, ids: &[String]) -> Result<Vec<Document>> {
    repo::find(reader, tenant_id, ids).await?.into_iter().map(into_document).collect()
}

/// The documents of up to `limit` messages after `sequence`, and the last one's number.
pub async fn scan<C: ConnectionTrait>(
    reader: &C,
    sequence: i64,
    limit: u64,
) -> Result<Option<(Vec<Document>, i64)>> {
    let Some((rows, last)) = repo::scan(reader, sequence, limit).await? else { return Ok(None) };
    let documents = rows.into_iter().map(into_document).collect::<Result<_>>()?;
    Ok(Some((documents, last)))
}

/// How many documents a scan from the beginning gives.
pub async fn count<C: ConnectionTrait>(reader: &C) -> Result<i64> {
    Ok(repo::count(reader).await?)
}

fn into_document(row: Row) -> Result<Document> {
    let message = format!("{{\"msgType\":\"{}\",\"content\":{}}}", row.msg_type, row.content);
    let message: Message = serde_json::from_str(&message).map_err(Error::internal)?;
    let (title, brief, image) = match message {
        Message::Text { text } | Message::Links { text, .. } => (text, None, None),
        Message::Rich { text, title, image, .. } => (title, Some(text), Some(image)),
        Message::CardTemplate { brief, .. } => (brief, None, None),
    };
    let item = ContentItem {
        id: row.id.clone(),
        title,
        // Where it was said.
        sub_title: Some(row.group_name),
        brief,
        image,
        author: Some(row.robot_name),
        display_time: row.created_at,
        action: None,
        attach_info: None,
        attach_description: None,
    };
    Ok(Document {
        scope: Scope::new(row.found_in, MESSAGE),
        id: row.id,
        display_time: row.created_at,
        item: serde_json::to_string(&item).map_err(Error::internal)?,
        title: item.title,
        title_is_name: false,
        other_names: Vec::new(),
        // Else every message of a group would be found by the group's name.
        sub_title: String::new(),
        brief: item.brief.unwrap_or_default(),
        author: item.author.unwrap_or_default(),
        audience: Audience::Principals(vec![group_principal(&row.group_id)]),
    })
}
