//! Index documents of groups, for members, or the tenant if public.
//!
//! Documents hold no members, so membership changes rewrite none.

use trawl_connectors::ContentItem;
use trawl_engine::{Audience, Document, Scope};

use crate::{
    error::Result,
    identity::principals::group_principal,
    platform::shared::documents::{DocumentRows, Selection, document},
    store::{Connection, FromRow},
};

/// Module code.
pub const GROUP: &str = "group";

/// Rows of groups, in each tenant that finds them.
pub const ROWS: DocumentRows = DocumentRows {
    table: "groups",
    columns: "groups.id, groups.name, groups.icon, groups.is_public, groups.created_at, groups.tenant_id, \
        group_tenants.tenant_id AS found_in",
    from: "groups JOIN group_tenants ON group_tenants.group_id = groups.id \
        JOIN tenants ON tenants.id = groups.tenant_id AND tenants.removed_at IS NULL WHERE groups.removed_at IS NULL AND",
    tenant: "group_tenants.tenant_id",
    id: "groups.id",
    sequence: "groups.sequence",
};

#[derive(Clone, Debug, FromRow)]
struct FoundGroup {
    id: String,
    name: String,
    icon: Option<String>,
    is_public: bool,
    created_at: i64,
    tenant_id: i64,
    found_in: i64,
}

/// Documents of the selected groups.
pub async fn read(reader: &Connection, selection: Selection<'_>) -> Result<Vec<Document>> {
    ROWS.read(reader, selection).await?.into_iter().map(into_document).collect()
}

fn into_document(row: FoundGroup) -> Result<Document> {
    let is_everybodys = row.is_public && row.found_in == row.tenant_id;
    let audience =
        if is_everybodys { Audience::Tenant } else { Audience::Principals(vec![group_principal(&row.id)]) };
    let item = ContentItem {
        id: row.id,
        title: row.name,
        image: row.icon,
        display_time: row.created_at,
        ..ContentItem::default()
    };
    document(Scope::new(row.found_in, GROUP), item, audience)
}
