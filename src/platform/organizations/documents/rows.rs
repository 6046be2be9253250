//! Rows of departments as documents need them: their own and, for the names that are shown, those of people.

use std::collections::HashMap;

use sea_orm::{ConnectionTrait, DbErr, FromQueryResult, Value};
use serde::Deserialize;

use super::DEPARTMENT;
use crate::{
    error::Result,
    store::{ROWS_PER_STATEMENT, Transaction, find_in, placeholders, sql},
};

/// The columns that are read; `FromQueryResult` finds them by name.
const COLUMNS: &str =
    "sequence, tenant_id, org_id, parent_id, name, secret_level, is_hidden, is_deleted, details, created_at";

/// One department.
#[derive(Clone, Debug, FromQueryResult)]
pub(super) struct Row {
    pub(super) sequence: i64,
    pub(super) tenant_id: i64,
    pub(super) org_id: String,
    pub(super) parent_id: Option<String>,
    pub(super) name: String,
    pub(super) secret_level: i64,
    pub(super) is_hidden: bool,
    pub(super) is_deleted: bool,
    pub(super) details: String,
    pub(super) created_at: i64,
}

/// What documents need of the fields that no rule asks for.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Details {
    pub(super) org_num: Option<String>,
    pub(super) full_name: Option<String>,
    pub(super) description: Option<String>,
    pub(super) telephone: Option<String>,
    pub(super) email: Option<String>,
}

/// A department above others.
#[derive(Clone, Debug, FromQueryResult)]
pub(super) struct Above {
    pub(super) org_id: String,
    pub(super) parent_id: Option<String>,
    pub(super) name: String,
    pub(super) is_hidden: bool,
}

impl Row {
    /// One row that cannot be read is no reason not to index all others.
    pub(super) fn details(&self) -> Details {
        serde_json::from_str(&self.details).unwrap_or_else(|error| {
            tracing::error!(%error, sequence = self.sequence, "fields of a department cannot be read");
            Details::default()
        })
    }
}

/// The tenant's departments with these ids, as far as they are there.
pub(super) async fn find<C: ConnectionTrait>(
    reader: &C,
    tenant_id: i64,
    ids: &[String],
) -> Result<Vec<Row>, DbErr> {
    let text = format!("SELECT {COLUMNS} FROM organizations WHERE tenant_id = ? AND org_id");
    find_in(reader, &text, &[tenant_id.into()], ids).await
}

/// Up to `limit` departments of all tenants after `sequence`, in the order of that.
pub(super) async fn scan<C: ConnectionTrait>(
    reader: &C,
    sequence: i64,
    limit: u64,
) -> Result<Vec<Row>, DbErr> {
    Row::find_by_statement(sql(
        format!("SELECT {COLUMNS} FROM organizations WHERE sequence > ? ORDER BY sequence LIMIT ?"),
        [sequence.into(), limit.into()],
    ))
    .all(reader)
    .await
}

/// How many documents a scan from the beginning gives.
pub async fn count<C: ConnectionTrait>(reader: &C) -> Result<i64> {
    let text = "SELECT COUNT(*) AS departments FROM organizations WHERE is_hidden = 0 AND is_deleted = 0";
    Ok(reader.query_one_raw(sql(text, [])).await?.map_or(Ok(0), |row| row.try_get("", "departments"))?)
}

/// These departments and all above them by id, up to those that are deleted.
pub(super) async fn above<C: ConnectionTrait>(
    reader: &C,
    tenant_id: i64,
    ids: &[&str],
) -> Result<HashMap<String, Above>, DbErr> {
    let mut above = HashMap::new();
    for portion in ids.chunks(ROWS_PER_STATEMENT) {
        // UNION takes each department once, which ends the walk even if a cycle ever got in.
        let text = format!(
            "WITH RECURSIVE above (org_id, parent_id, name, is_hidden) AS ( \
               SELECT org_id, parent_id, name, is_hidden FROM organizations \
                 WHERE tenant_id = ? AND is_deleted = 0 AND org_id IN ({}) \
               UNION \
               SELECT next.org_id, next.parent_id, next.name, next.is_hidden FROM organizations AS next \
                 JOIN above ON next.org_id = above.parent_id WHERE next.tenant_id = ? AND next.is_deleted = 0) \
             SELECT org_id, parent_id, name, is_hidden FROM above",
            placeholders(portion.len())
        );
        let found = Above::find_by_statement(sql(text, around(tenant_id, portion))).all(reader).await?;
        above.extend(found.into_iter().map(|department| (department.org_id.clone(), department)));
    }
    Ok(above)
}

/// The names of these departments of the tenant, by id, of those that may be shown: neither hidden nor deleted.
pub async fn shown_names<C: ConnectionTrait>(
    reader: &C,
    tenant_id: i64,
    ids: &[&str],
) -> Result<HashMap<String, String>> {
    let text = "SELECT org_id, parent_id, name, is_hidden FROM organizations \
                WHERE tenant_id = ? AND is_hidden = 0 AND is_deleted = 0 AND org_id";
    let shown: Vec<Above> = find_in(reader, text, &[tenant_id.into()], ids).await?;
    Ok(shown.into_iter().map(|department| (department.org_id, department.name)).collect())
}

/// Records a change of every department below these, whose paths name them: after a name, a parent, or whether it is hidden
/// or deleted has changed, in the same transaction. What is below a deleted one does not name what is above that.
pub async fn record_below(transaction: &Transaction, tenant_id: i64, ids: &[&str]) -> Result<()> {
    for portion in ids.chunks(ROWS_PER_STATEMENT) {
        let text = format!(
            "WITH RECURSIVE below (org_id) AS ( \
               SELECT org_id FROM organizations WHERE tenant_id = ? AND is_deleted = 0 AND parent_id IN ({}) \
               UNION \
               SELECT next.org_id FROM organizations AS next \
                 JOIN below ON next.parent_id = below.org_id WHERE next.tenant_id = ? AND next.is_deleted = 0) \
             SELECT org_id FROM below",
            placeholders(portion.len())
        );
        for row in transaction.query_all_raw(sql(text, around(tenant_id, portion))).await? {
            transaction.record_change(tenant_id, DEPARTMENT, &row.try_get::<String>("", "org_id")?);
        }
    }
    Ok(())
}

/// The values of both statements: the tenant before the ids and behind them.
fn around(tenant_id: i64, ids: &[&str]) -> impl Iterator<Item = Value> {
    let ids = ids.iter().map(|id| Value::from(*id));
    std::iter::once(Value::from(tenant_id)).chain(ids).chain(std::iter::once(Value::from(tenant_id)))
}
