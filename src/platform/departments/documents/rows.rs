use std::collections::HashMap;

use serde::Deserialize;

use super::DEPARTMENT;
use crate::{
    error::Result,
    platform::shared::documents::DocumentRows,
    store::{self, Connection, FromRow, ROWS_PER_STATEMENT, Transaction, Value, find_in, placeholders, sql},
};

/// Rows of visible departments.
pub const ROWS: DocumentRows = DocumentRows {
    table: "organizations",
    columns: "sequence, tenant_id, org_id, parent_id, name, secret_level, details, created_at",
    from: "organizations WHERE NOT is_hidden AND NOT is_deleted AND",
    tenant: "tenant_id",
    id: "org_id",
    sequence: "sequence",
};

#[derive(Clone, Debug, FromRow)]
pub(super) struct DepartmentRow {
    pub(super) sequence: i64,
    pub(super) tenant_id: i64,
    pub(super) org_id: String,
    pub(super) parent_id: Option<String>,
    pub(super) name: String,
    pub(super) secret_level: i64,
    pub(super) details: String,
    pub(super) created_at: i64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct DepartmentDetails {
    pub(super) org_num: Option<String>,
    pub(super) full_name: Option<String>,
    pub(super) description: Option<String>,
    pub(super) telephone: Option<String>,
    pub(super) email: Option<String>,
}

#[derive(Clone, Debug, FromRow)]
pub(super) struct Above {
    pub(super) org_id: String,
    pub(super) parent_id: Option<String>,
    pub(super) name: String,
    pub(super) is_hidden: bool,
}

impl DepartmentRow {
    /// One unreadable row must not stop indexing.
    pub(super) fn details(&self) -> DepartmentDetails {
        serde_json::from_str(&self.details).unwrap_or_else(|error| {
            tracing::error!(%error, sequence = self.sequence, "fields of a department cannot be read");
            DepartmentDetails::default()
        })
    }
}

pub(super) async fn above(
    reader: &Connection,
    tenant_id: i64,
    ids: &[&str],
) -> store::Result<HashMap<String, Above>> {
    let mut above = HashMap::new();
    for portion in ids.chunks(ROWS_PER_STATEMENT) {
        // UNION terminates on cycles.
        let text = format!(
            "WITH RECURSIVE above (org_id, parent_id, name, is_hidden) AS ( \
               SELECT org_id, parent_id, name, is_hidden FROM organizations \
                 WHERE tenant_id = ? AND NOT is_deleted AND org_id IN ({}) \
               UNION \
               SELECT next.org_id, next.parent_id, next.name, next.is_hidden FROM organizations AS next \
                 JOIN above ON next.org_id = above.parent_id WHERE next.tenant_id = ? AND NOT next.is_deleted) \
             SELECT org_id, parent_id, name, is_hidden FROM above",
            placeholders(portion.len())
        );
        let found = sql(text, around(tenant_id, portion)).fetch_all::<Above>(reader).await?;
        above.extend(found.into_iter().map(|department| (department.org_id.clone(), department)));
    }
    Ok(above)
}

/// Names of visible departments by id.
pub async fn shown_names(
    reader: &Connection,
    tenant_id: i64,
    ids: &[&str],
) -> Result<HashMap<String, String>> {
    let text = "SELECT org_id, parent_id, name, is_hidden FROM organizations \
                WHERE tenant_id = ? AND NOT is_hidden AND NOT is_deleted AND org_id";
    let shown: Vec<Above> = find_in(reader, text, &[tenant_id.into()], ids).await?;
    Ok(shown.into_iter().map(|department| (department.org_id, department.name)).collect())
}

/// Records descendants whose paths name these departments, up to deleted ones.
///
/// Call it in the transaction that changes name, parent or visibility.
pub async fn record_below(transaction: &Transaction, tenant_id: i64, ids: &[&str]) -> Result<()> {
    for portion in ids.chunks(ROWS_PER_STATEMENT) {
        let text = format!(
            "WITH RECURSIVE below (org_id) AS ( \
               SELECT org_id FROM organizations WHERE tenant_id = ? AND NOT is_deleted AND parent_id IN ({}) \
               UNION \
               SELECT next.org_id FROM organizations AS next \
                 JOIN below ON next.parent_id = below.org_id WHERE next.tenant_id = ? AND NOT next.is_deleted) \
             SELECT org_id FROM below",
            placeholders(portion.len())
        );
        for id in sql(text, around(tenant_id, portion)).fetch_values::<String>(transaction).await? {
            transaction.record_change(tenant_id, DEPARTMENT, &id);
        }
    }
    Ok(())
}

fn around(tenant_id: i64, ids: &[&str]) -> impl Iterator<Item = Value> {
    let ids = ids.iter().map(|id| Value::from(*id));
    std::iter::once(Value::from(tenant_id)).chain(ids).chain(std::iter::once(Value::from(tenant_id)))
}
