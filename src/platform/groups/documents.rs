//! Index documents of groups, for members, or the tenant if public.
//!
//! Documents hold no members, so membership changes rewrite none.

use trawl_connectors::ContentItem;
use trawl_engine::{Audience, Document, Scope};

use super::repo::{self, FoundGroup};
use crate::{
    error::{Error, Result},
    identity::principals::group_principal,
    store::Connection,
};

/// Module code.
pub const GROUP: &str = "group";

/// Documents of these ids, including groups with outer members of the tenant.
pub async fn find(reader: &Connection, tenant_id: i64, ids: &[String]) -> Result<Vec<Document>> {
    repo::find(reader, tenant_id, ids).await?.into_iter().map(into_document).collect()
}

/// Up to `limit` documents after `sequence`, and the last sequence.
pub async fn scan(reader: &Connection, sequence: i64, limit: u64) -> Result<Option<(Vec<Document>, i64)>> {
    let Some((rows, last)) = repo::scan(reader, sequence, limit).await? else { return Ok(None) };
    let documents = rows.into_iter().map(into_document).collect::<Result<_>>()?;
    Ok(Some((documents, last)))
}

/// Documents in a full scan.
pub async fn count(reader: &Connection) -> Result<i64> {
    Ok(repo::count(reader).await?)
}

fn into_document(row: FoundGroup) -> Result<Document> {
    let item = ContentItem {
        id: row.id.clone(),
        title: row.name,
        sub_title: None,
        brief: None,
        image: row.icon,
        author: None,
        display_time: row.created_at,
        action: None,
        attach_info: None,
        attach_description: None,
    };
    let is_everybodys = row.is_public && row.found_in == row.tenant_id;
    Ok(Document {
        scope: Scope::new(row.found_in, GROUP),
        display_time: row.created_at,
        item: serde_json::to_string(&item).map_err(Error::internal)?,
        title: item.title,
        title_is_name: false,
        other_names: Vec::new(),
        text: None,
        sub_title: String::new(),
        brief: String::new(),
        author: String::new(),
        audience: if is_everybodys {
            Audience::Tenant
        } else {
            Audience::Principals(vec![group_principal(&row.id)])
        },
        id: row.id,
    })
}
