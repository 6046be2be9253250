//! Files as documents of the full-text index: found by their names, the folders that they lie in, and what they say, by those who
//! may read them (decisions 4.5).
//!
//! A document names the owner of its root and every folder above it, so that a right that is given or taken changes none, and a
//! folder that is removed takes all below it along by one entry of the change log ([`removed`]).

mod rows;
mod words;

use std::collections::HashMap;

use sea_orm::ConnectionTrait;
use serde::Serialize;
use trawl_connectors::ContentItem;
use trawl_index::{Audience, Change, Document, Scope};

use self::rows::{Chain, Row};
use super::FILE;
use crate::{
    auth::directory::{directory_principal, owner_principal},
    error::{Error, Result},
};

/// Documents that are made at a time: each may hold a text of `limits.file_text_bytes`.
pub const AT_A_TIME: usize = 32;

/// Characters of the text that a hit shows.
const BRIEF_CHARACTERS: usize = 200;

/// The documents of the files with these ids in the tenant, of those that lie in a tree.
pub async fn find<C: ConnectionTrait>(reader: &C, tenant_id: i64, ids: &[String]) -> Result<Vec<Document>> {
    let rows = rows::find(reader, tenant_id, ids).await?;
    into_documents(reader, rows).await
}

/// The documents among up to `limit` files of all tenants after `sequence`, and the last one's number.
pub async fn scan<C: ConnectionTrait>(
    reader: &C,
    sequence: i64,
    limit: u64,
) -> Result<Option<(Vec<Document>, i64)>> {
    let Some((rows, last)) = rows::scan(reader, sequence, limit).await? else { return Ok(None) };
    Ok(Some((into_documents(reader, rows).await?, last)))
}

/// How many files a scan from the beginning looks at.
pub async fn count<C: ConnectionTrait>(reader: &C) -> Result<i64> {
    Ok(rows::count(reader).await?)
}

/// What the index loses with those of these folders that are removed: everything below each. A module of an operator's own may have
/// the code by which the change log names folders; its items are none, and nothing is below them.
pub async fn removed<C: ConnectionTrait>(reader: &C, tenant_id: i64, ids: &[String]) -> Result<Vec<Change>> {
    let there = rows::live_directories(reader, tenant_id, ids).await?;
    let gone = ids.iter().filter(|id| !there.contains(*id));
    let removal = |id: &String| Change::RemoveSeenBy {
        scope: Scope::new(tenant_id, FILE),
        principal: directory_principal(id),
    };
    Ok(gone.map(removal).collect())
}

async fn into_documents<C: ConnectionTrait>(reader: &C, rows: Vec<Row>) -> Result<Vec<Document>> {
    let directories = rows.iter().map(|row| row.directory_id.as_str()).collect();
    let chains: HashMap<String, Chain> = rows::chains(reader, directories).await?;
    rows.into_iter()
        .filter_map(|row| {
            // What was removed is in no tree, and neither is what is below it.
            let chain = chains.get(&row.directory_id)?;
            Some(into_document(row, chain))
        })
        .collect()
}

/// What a hit says of its file besides (`attachInfo`).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Attached<'a> {
    extension: &'a str,
    size: i64,
    version: i64,
    directory_id: &'a str,
}

fn into_document(row: Row, chain: &Chain) -> Result<Document> {
    let text = row.text.unwrap_or_default();
    let attached = Attached {
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
    let parts = words::parts(&item.title);
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
        // What is shown of the text is its beginning.
        brief: String::new(),
        text: Some(if parts.is_empty() { text.into() } else { format!("{parts}\n{text}").into() }),
        author: item.author.unwrap_or_default(),
        audience: Audience::Principals(audience),
    })
}
