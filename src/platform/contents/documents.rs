//! Built-in content as documents of the full-text index.

use trawl_connectors::ContentItem;
use trawl_engine::{Audience, Document, Scope};

use super::{
    forms::{Content, Visibility},
    repo::{self, ContentRow},
};
use crate::{
    error::{Error, Result},
    platform::shared::known_id::known_id,
    store::Connection,
};

/// Documents of the existing items.
pub async fn find(
    reader: &Connection,
    tenant_id: i64,
    module: &str,
    ids: &[String],
) -> Result<Vec<Document>> {
    repo::find(reader, tenant_id, module, ids).await?.into_iter().map(into_document).collect()
}

/// Up to `limit` documents after `sequence`, and the last sequence.
pub async fn scan(reader: &Connection, sequence: i64, limit: u64) -> Result<Option<(Vec<Document>, i64)>> {
    let rows = repo::scan(reader, sequence, limit).await?;
    let Some(last) = rows.last().map(|row| row.sequence) else { return Ok(None) };
    let documents = rows.into_iter().map(into_document).collect::<Result<_>>()?;
    Ok(Some((documents, last)))
}

/// Items in a full scan.
pub async fn count(reader: &Connection) -> Result<i64> {
    Ok(repo::count(reader).await?)
}

fn into_document(row: ContentRow) -> Result<Document> {
    let fields: Content = serde_json::from_str(&row.item).map_err(Error::internal)?;
    let visibility: Option<Visibility> =
        row.visibility.as_deref().map(serde_json::from_str).transpose().map_err(Error::internal)?;
    let display_time = row.display_time.unwrap_or(row.created_at);
    let item = ContentItem {
        id: row.id.clone(),
        title: fields.title.unwrap_or_default(),
        sub_title: fields.sub_title,
        brief: fields.brief,
        image: fields.image,
        author: fields.author,
        display_time,
        action: fields.action,
        attach_info: fields.attach_info,
        attach_description: fields.attach_description,
    };
    Ok(Document {
        scope: Scope::new(row.tenant_id, row.module),
        other_names: known_id(&row.id).map(str::to_owned).into_iter().collect(),
        id: row.id,
        display_time,
        item: serde_json::to_string(&item).map_err(Error::internal)?,
        title: item.title,
        title_is_name: false,
        text: None,
        sub_title: item.sub_title.unwrap_or_default(),
        brief: item.brief.unwrap_or_default(),
        author: item.author.unwrap_or_default(),
        audience: visibility
            .map_or(Audience::Tenant, |visibility| Audience::Principals(visibility.principals())),
    })
}
