//! Items around a message, and messages of a group.

use super::documents::MESSAGE;
use crate::{
    error::Result,
    platform::{
        groups::documents::GROUP,
        shared::connections::{Connections, RelatedKey, Relation},
    },
    store::{Connection, FromRow, sql},
};

const MAX_MESSAGES: u64 = 5;

/// The group of a message, and its neighbours there.
pub async fn find(reader: &Connection, id: &str) -> Result<Connections> {
    let statement = sql("SELECT group_id AS id, created_at FROM messages WHERE id = ?", [id.into()]);
    let Some(Placed { id: group_id, created_at }) = statement.fetch_optional(reader).await? else {
        return Ok(Connections::default());
    };
    let mut related = vec![RelatedKey { relation: Relation::Group, module: GROUP, id: group_id.clone() }];
    for (relation, side, order) in [(Relation::Previous, "<", "DESC"), (Relation::Next, ">", "ASC")] {
        let text = format!(
            "SELECT id, created_at FROM messages WHERE group_id = ? AND created_at {side} ? \
             ORDER BY created_at {order} LIMIT 1"
        );
        let statement = sql(text, [group_id.as_str().into(), created_at.into()]);
        let found: Option<Placed> = statement.fetch_optional(reader).await?;
        related.extend(found.map(|message| RelatedKey { relation, module: MESSAGE, id: message.id }));
    }
    Ok(Connections { people: Vec::new(), related })
}

/// The newest messages of a group.
pub async fn of_group(reader: &Connection, group_id: &str) -> Result<Vec<RelatedKey>> {
    let statement = sql(
        "SELECT id, created_at FROM messages WHERE group_id = ? ORDER BY created_at DESC LIMIT ?",
        [group_id.into(), MAX_MESSAGES.into()],
    );
    let found: Vec<Placed> = statement.fetch_all(reader).await?;
    let related =
        |message: Placed| RelatedKey { relation: Relation::Message, module: MESSAGE, id: message.id };
    Ok(found.into_iter().map(related).collect())
}

#[derive(FromRow)]
struct Placed {
    id: String,
    created_at: i64,
}
