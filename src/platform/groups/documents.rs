//! Groups as documents of the full-text index: found by their members, and by the whole tenant where they are public
//! (decisions 4.5). A document names the group and not its members, so that who comes and goes changes none.

use sea_orm::ConnectionTrait;
use trawl_connectors::ContentItem;
use trawl_index::{Audience, Document, Scope};

use super::repo::{self, Row};
use crate::{
    auth::directory::group_principal,
    error::{Error, Result},
};

/// The module that groups are found in.
pub const GROUP: &str = "group";

/// The documents of the groups with these ids in the tenant, its own and those that people of it are outer members of.
pub async fn find<C: ConnectionTrait>(reader: &C, tenant_id: i64, ids: &[String]) -> Result<Vec<Document>> {
    repo::find(reader, tenant_id, ids).await?.into_iter().map(into_document).collect()
}

/// The documents of up to `limit` groups after `sequence`, and the last one's number.
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
