//! Index documents of departments.
//!
//! Paths use current names; `fullPathName` may name renamed, hidden or deleted ancestors.

mod rows;

use std::collections::HashMap;

use trawl_connectors::ContentItem;
use trawl_engine::{Audience, Document, Scope};

use self::rows::{Above, DepartmentRow};
pub use self::rows::{ROWS, record_below, shown_names};
use crate::{
    error::Result,
    platform::shared::{
        contact_text::{joined, number_words, tells},
        documents::{Selection, document},
    },
    store::Connection,
};

/// Module code.
pub const DEPARTMENT: &str = "department";

const MAX_LEVELS: usize = 64;

/// Documents of the selected departments that are visible.
pub async fn read(reader: &Connection, selection: Selection<'_>) -> Result<Vec<Document>> {
    let mut rows: Vec<DepartmentRow> = ROWS.read(reader, selection).await?;
    rows.sort_by_key(|row| row.tenant_id);
    let mut documents = Vec::with_capacity(rows.len());
    for of_tenant in rows.chunk_by(|left, right| left.tenant_id == right.tenant_id) {
        let [first, ..] = of_tenant else { continue };
        let parents: Vec<&str> = of_tenant.iter().filter_map(|row| row.parent_id.as_deref()).collect();
        let above = rows::above(reader, first.tenant_id, &parents).await?;
        for row in of_tenant {
            documents.push(into_document(row, &above)?);
        }
    }
    Ok(documents)
}

/// Visible names from the top. Ends at deleted ancestors, like members' visibility.
fn path(row: &DepartmentRow, above: &HashMap<String, Above>) -> String {
    let mut names = vec![row.name.as_str()];
    let mut next = row.parent_id.as_ref();
    for _ in 1..MAX_LEVELS {
        let Some(parent) = next.and_then(|id| above.get(id)) else { break };
        if !parent.is_hidden {
            names.push(&parent.name);
        }
        next = parent.parent_id.as_ref();
    }
    names.reverse();
    if names.len() > 1 { names.join(" / ") } else { String::new() }
}

fn into_document(row: &DepartmentRow, above: &HashMap<String, Above>) -> Result<Document> {
    let details = row.details();
    let contact = [details.telephone.as_deref(), details.email.as_deref()];
    let is_public = row.secret_level == 0;
    let [telephone, email] = contact.map(|detail| detail.filter(|_| is_public));
    let brief = joined([details.description.as_deref(), telephone, email]);
    let is_kept = |name: &str| !is_public && contact.into_iter().flatten().any(|detail| tells(name, detail));
    let names = [&details.org_num, &details.full_name].into_iter().flatten();
    let mut other_names: Vec<String> =
        names.filter(|name| **name != row.name && !is_kept(name)).cloned().collect();
    other_names.extend(telephone.map(number_words).unwrap_or_default());
    let item = ContentItem {
        id: row.org_id.clone(),
        title: row.name.clone(),
        sub_title: Some(path(row, above)).filter(|text| !text.is_empty()),
        brief: Some(brief).filter(|text| !text.is_empty()),
        display_time: row.created_at,
        ..ContentItem::default()
    };
    let document = document(Scope::new(row.tenant_id, DEPARTMENT), item, Audience::Tenant)?;
    Ok(Document { title_is_name: true, other_names, ..document })
}

#[cfg(test)]
mod tests;
