//! Rows of an area, and their documents in the index.

use trawl_connectors::ContentItem;
use trawl_engine::{Audience, Document, Scope};

use crate::{
    error::{Error, Result},
    store::{self, Connection, Record, find_in, sql},
};

/// The items whose documents are read.
#[derive(Clone, Copy, Debug)]
pub enum Selection<'a> {
    /// Items of a tenant.
    Items {
        /// Tenant id.
        tenant_id: i64,
        /// Module that they are found in.
        module: &'a str,
        /// Ids; unknown ones are left out.
        ids: &'a [String],
    },
    /// Sequences after the first, up to the second.
    Sequences(i64, i64),
}

/// The rows of which an area's documents are made.
#[derive(Clone, Copy, Debug)]
pub struct DocumentRows {
    /// The table that counts sequences.
    pub table: &'static str,
    /// Columns of a row.
    pub columns: &'static str,
    /// Tables and conditions, which end before the last condition.
    pub from: &'static str,
    /// Column of the tenant; a unary plus makes SQLite look up each id.
    pub tenant: &'static str,
    /// Column of the id.
    pub id: &'static str,
    /// Column of the sequence.
    pub sequence: &'static str,
}

impl DocumentRows {
    /// The text of [`find_in`].
    pub(in crate::platform) fn select_items(&self) -> String {
        let Self { columns, from, tenant, id, .. } = self;
        format!("SELECT {columns} FROM {from} {tenant} = ? AND {id}")
    }

    /// Selected rows.
    pub async fn read<R: Record>(
        &self,
        reader: &Connection,
        selection: Selection<'_>,
    ) -> store::Result<Vec<R>> {
        match selection {
            Selection::Items { tenant_id, ids, .. } => {
                find_in(reader, &self.select_items(), &[tenant_id.into()], ids).await
            }
            Selection::Sequences(after, last) => {
                let Self { columns, from, sequence, .. } = self;
                let text = format!("SELECT {columns} FROM {from} {sequence} > ? AND {sequence} <= ?");
                sql(text, [after.into(), last.into()]).fetch_all(reader).await
            }
        }
    }

    /// Rows in a full scan.
    pub async fn count(&self, reader: &Connection) -> store::Result<u64> {
        sql(format!("SELECT COUNT(*) AS found FROM {} TRUE", self.from), []).count(reader).await
    }

    /// The last sequence of the next `limit` rows; `None` without rows.
    pub async fn batch_end(
        &self,
        reader: &Connection,
        sequence: i64,
        limit: u64,
    ) -> store::Result<Option<i64>> {
        let text = format!(
            "SELECT MAX(sequence) AS last FROM (SELECT sequence FROM {} WHERE sequence > ? ORDER BY sequence LIMIT ?) AS next",
            self.table
        );
        sql(text, [sequence.into(), limit.into()]).fetch_value(reader).await
    }
}

/// Makes the document of an item, safe to show.
pub fn document(scope: Scope, item: ContentItem, audience: Audience) -> Result<Document> {
    let item = item.made_safe();
    Ok(Document {
        scope,
        item: serde_json::to_string(&item).map_err(Error::internal)?,
        id: item.id,
        display_time: item.display_time,
        title: item.title,
        title_is_name: false,
        other_names: Vec::new(),
        sub_title: item.sub_title.unwrap_or_default(),
        brief: item.brief.unwrap_or_default(),
        text: None,
        author: item.author.unwrap_or_default(),
        audience,
    })
}
