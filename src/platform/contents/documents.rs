//! Built-in content as documents of the full-text index.

use trawl_connectors::ContentItem;
use trawl_engine::{Audience, Document, Scope};

use super::{
    forms::{Content, Visibility},
    repo::{self, ContentRow},
};
use crate::{
    error::{Error, Result},
    platform::shared::{
        documents::{DocumentRows, Selection, document},
        known_id::known_id,
    },
    store::Connection,
};

/// Rows of items; single ones are found by their module, too.
pub const ROWS: DocumentRows = DocumentRows {
    table: "contents",
    columns: "*",
    from: "contents WHERE",
    tenant: "tenant_id",
    id: "id",
    sequence: "sequence",
};

/// Documents of the selected items.
pub async fn read(reader: &Connection, selection: Selection<'_>) -> Result<Vec<Document>> {
    let rows = match selection {
        Selection::Items { tenant_id, module, ids } => repo::find(reader, tenant_id, module, ids).await?,
        Selection::Sequences(..) => ROWS.read(reader, selection).await?,
    };
    rows.into_iter().map(into_document).collect()
}

fn into_document(row: ContentRow) -> Result<Document> {
    let fields: Content = serde_json::from_str(&row.item).map_err(Error::internal)?;
    let visibility: Option<Visibility> =
        row.visibility.as_deref().map(serde_json::from_str).transpose().map_err(Error::internal)?;
    let other_names = known_id(&row.id).map(str::to_owned).into_iter().collect();
    let item = ContentItem {
        id: row.id,
        title: fields.title.unwrap_or_default(),
        sub_title: fields.sub_title,
        brief: fields.brief,
        image: fields.image,
        author: fields.author,
        display_time: row.display_time.unwrap_or(row.created_at),
        action: fields.action,
        attach_info: fields.attach_info,
        attach_description: fields.attach_description,
    };
    let audience =
        visibility.map_or(Audience::Tenant, |visibility| Audience::Principals(visibility.principals()));
    Ok(Document { other_names, ..document(Scope::new(row.tenant_id, row.module), item, audience)? })
}
