//! Index documents of files, for permitted readers.
//!
//! Documents hold the root's owner and all folders above. A changed right changes no document. One change log entry removes a
//! folder ([`removed`]).

mod rows;
mod words;

use std::collections::HashMap;

use serde::Serialize;
use trawl_connectors::ContentItem;
use trawl_engine::{Audience, Change, Document, Scope};

use self::rows::{Chain, FileRow};
use super::FILE;
use crate::{
    error::{Error, Result},
    identity::principals::{directory_principal, owner_principal},
    store::Connection,
};

/// Each document may hold a text of `limits.file_text_bytes`.
pub const AT_A_TIME: usize = 32;

const BRIEF_CHARACTERS: usize = 200;

/// Documents of the files that lie in a tree.
pub async fn find(reader: &Connection, tenant_id: i64, ids: &[String]) -> Result<Vec<Document>> {
    let rows = rows::find(reader, tenant_id, ids).await?;
    into_documents(reader, rows).await
}

/// Documents of up to `limit` files after `sequence`, and the last sequence.
pub async fn scan(reader: &Connection, sequence: i64, limit: u64) -> Result<Option<(Vec<Document>, i64)>> {
    let Some((rows, last)) = rows::scan(reader, sequence, limit).await? else { return Ok(None) };
    Ok(Some((into_documents(reader, rows).await?, last)))
}

/// Files in a full scan.
pub async fn count(reader: &Connection) -> Result<i64> {
    Ok(rows::count(reader).await?)
}

/// Index deletions below removed folders. An operator's module may share the folders' code; its items have nothing below them.
pub async fn removed(reader: &Connection, tenant_id: i64, ids: &[String]) -> Result<Vec<Change>> {
    let there = rows::live_directories(reader, tenant_id, ids).await?;
    let gone = ids.iter().filter(|id| !there.contains(*id));
    let removal = |id: &String| Change::RemoveSeenBy {
        scope: Scope::new(tenant_id, FILE),
        principal: directory_principal(id),
    };
    Ok(gone.map(removal).collect())
}

async fn into_documents(reader: &Connection, rows: Vec<FileRow>) -> Result<Vec<Document>> {
    let directories = rows.iter().map(|row| row.directory_id.as_str()).collect();
    let chains: HashMap<String, Chain> = rows::chains(reader, directories).await?;
    rows.into_iter()
        .filter_map(|row| {
            // A removed folder and everything below it are in no tree.
            let chain = chains.get(&row.directory_id)?;
            Some(into_document(row, chain))
        })
        .collect()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FileAttributes<'a> {
    extension: &'a str,
    size: i64,
    version: i64,
    directory_id: &'a str,
}

fn into_document(row: FileRow, chain: &Chain) -> Result<Document> {
    let text = row.text.unwrap_or_default();
    let attached = FileAttributes {
        extension: &row.extension,
        size: row.size,
        version: row.version,
        directory_id: &row.directory_id,
    };
    let item = ContentItem {
        id: row.id.clone(),
        title: row.name,
        sub_title: Some(chain.path.clone()),
        brief: words::beginning(&text, BRIEF_CHARACTERS),
        image: None,
        author: Some(row.created_by_name),
        display_time: row.updated_at,
        action: None,
        attach_info: Some(serde_json::to_string(&attached).map_err(Error::internal)?),
        attach_description: None,
    };
    let principals = chain.directories.iter().map(|id| directory_principal(id));
    let audience = principals.chain([owner_principal(&chain.subject)]).collect();
    Ok(Document {
        scope: Scope::new(row.tenant_id, FILE),
        id: row.id,
        display_time: row.updated_at,
        item: serde_json::to_string(&item).map_err(Error::internal)?,
        title: item.title,
        title_is_name: false,
        other_names: Vec::new(),
        sub_title: chain.path.clone(),
        brief: String::new(),
        text: Some(text.into()),
        author: item.author.unwrap_or_default(),
        audience: Audience::Principals(audience),
    })
}
