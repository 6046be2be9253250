//! Favorites as documents of the full-text index: each is its owner's alone (decisions 4.5).

use sea_orm::ConnectionTrait;
use trawl_connectors::ContentItem;
use trawl_index::{Audience, Document, Scope};

use super::repo::{self, Row};
use crate::{
    auth::directory::user_principal,
    error::{Error, Result},
};

/// The module that favorites are found in.
pub const FAVORITE: &str = "favorite";

/// The documents of the tenant's favorites with these ids of the index.
pub async fn find<C: ConnectionTrait>(reader: &C, tenant_id: i64, ids: &[String]) -> Result<Vec<Document>> {
    repo::find(reader, tenant_id, ids).await?.into_iter().map(into_document).collect()
}

/// The documents of up to `limit` favorites after `sequence`, and the last one's number.
pub async fn scan<C: ConnectionTrait>(
    reader: &C,
    sequence: i64,
    limit: u64,
) -> Result<Option<(Vec<Document>, i64)>> {
    let rows = repo::scan(reader, sequence, limit).await?;
    let Some(last) = rows.last().map(|row| row.sequence) else { return Ok(None) };
    let documents = rows.into_iter().map(into_document).collect::<Result<_>>()?;
    Ok(Some((documents, last)))
}

/// How many favorites a scan from the beginning gives.
pub async fn count<C: ConnectionTrait>(reader: &C) -> Result<i64> {
    Ok(repo::count(reader).await?)
}

fn into_document(row: Row) -> Result<Document> {
    let item = ContentItem {
        // What its owner knows it by; he has each item once.
        id: row.item_id,
        title: row.content.unwrap_or_default(),
        sub_title: row.source_display_name.or(row.source_name),
        brief: row.keyword,
        image: None,
        author: None,
        display_time: row.created_at,
        action: None,
        attach_info: None,
        attach_description: None,
    };
    Ok(Document {
        scope: Scope::new(row.tenant_id, FAVORITE),
        id: row.id,
        display_time: row.created_at,
        item: serde_json::to_string(&item).map_err(Error::internal)?,
        title: item.title,
        title_is_name: false,
        other_names: Vec::new(),
        sub_title: item.sub_title.unwrap_or_default(),
        brief: item.brief.unwrap_or_default(),
        author: String::new(),
        audience: Audience::Principals(vec![user_principal(&row.user_id)]),
    })
}
