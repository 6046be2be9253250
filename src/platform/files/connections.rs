//! People and files around a file.

use super::FILE;
use crate::{
    error::Result,
    platform::shared::connections::{ConnectedPerson, Connections, PersonRole, RelatedKey, Relation},
    store::{Connection, FromRow, sql},
};

const MAX_NEIGHBOURS: u64 = 5;

/// The creator, and the newest files of the same folder.
pub async fn find(reader: &Connection, tenant_id: i64, id: &str) -> Result<Connections> {
    let statement = sql(
        "SELECT directory_id, created_by, created_by_name FROM files WHERE +tenant_id = ? AND id = ?",
        [tenant_id.into(), id.into()],
    );
    let Some(file) = statement.fetch_optional::<CreatedFile>(reader).await? else {
        return Ok(Connections::default());
    };
    let statement = sql(
        "SELECT id FROM files WHERE directory_id = ? AND id <> ? ORDER BY updated_at DESC, id LIMIT ?",
        [file.directory_id.into(), id.into(), MAX_NEIGHBOURS.into()],
    );
    let neighbours: Vec<String> = statement.fetch_values(reader).await?;
    let related = |id| RelatedKey { relation: Relation::SameFolder, module: FILE, id };
    let (name, user_id) = (Some(file.created_by_name), Some(file.created_by));
    Ok(Connections {
        people: vec![ConnectedPerson { role: PersonRole::Creator, name, user_id }],
        related: neighbours.into_iter().map(related).collect(),
    })
}

#[derive(FromRow)]
struct CreatedFile {
    directory_id: String,
    created_by: String,
    created_by_name: String,
}
