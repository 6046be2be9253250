//! Stored audit records: listing, newest first, and removal by age.

use serde::Serialize;

use crate::{
    error::Result,
    store::{Connection, FromRow, Json, Store, Value, now_millis, sql},
};

const PORTION: u64 = 1_000;

const DAY: i64 = 24 * 3_600 * 1_000;

/// A filter of records; `None` matches all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Tenant acted on.
    pub tenant_id: Option<i64>,
    /// Action.
    pub action: Option<String>,
    /// Kind of object.
    pub object_kind: Option<String>,
    /// Object id.
    pub object_id: Option<String>,
    /// Acting application.
    pub client_id: Option<String>,
    /// Acting person.
    pub user_id: Option<String>,
    /// The earliest time, epoch milliseconds.
    pub from: Option<i64>,
    /// The end of the time, exclusive, epoch milliseconds.
    pub to: Option<i64>,
    /// Only records before this position.
    pub before: Option<i64>,
}

/// A stored audit record.
#[derive(Clone, Debug, PartialEq, Serialize, FromRow, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeptDeed {
    /// Position; later records have larger ones.
    #[sqlx(rename = "position")]
    pub id: i64,
    /// Time, epoch milliseconds.
    pub at: i64,
    /// The code of the tenant acted on, at that time.
    #[sqlx(rename = "tenant_code")]
    pub tenant: Option<String>,
    /// The acting application; null for the command line.
    pub client_id: Option<String>,
    /// The person acted for, or the operator signed in with a browser.
    pub user_id: Option<String>,
    /// The action: `create`, `change`, `delete`, `freeze`, `rotate` …
    pub action: String,
    /// The kind of object: `tenant`, `application`, `secret`, `signing-key`, `token`, `user` …
    pub object_kind: String,
    /// Object id.
    pub object_id: String,
    /// Details; never a secret.
    #[schema(value_type = Object)]
    pub details: Json<serde_json::Value>,
}

impl Filter {
    /// The condition of a statement, with its values.
    fn condition(self) -> (String, Vec<Value>) {
        let equal = [
            ("tenant_id = ?", self.tenant_id.map(Value::from)),
            ("action = ?", self.action.map(Value::from)),
            ("object_kind = ?", self.object_kind.map(Value::from)),
            ("object_id = ?", self.object_id.map(Value::from)),
            ("client_id = ?", self.client_id.map(Value::from)),
            ("user_id = ?", self.user_id.map(Value::from)),
            ("position < ?", self.before.map(Value::from)),
        ];
        let (mut text, mut values) = ("TRUE".to_owned(), Vec::new());
        for (condition, value) in equal {
            if let Some(value) = value {
                text.push_str(" AND ");
                text.push_str(condition);
                values.push(value);
            }
        }
        if self.from.is_some() || self.to.is_some() {
            // Positions rise with time but for differences of clocks, so the range is found by its ends.
            let range = "FROM audit WHERE at >= ? AND at < ?";
            text = format!(
                "{text} AND at >= ? AND at < ? \
                 AND position BETWEEN (SELECT MIN(position) {range}) AND (SELECT MAX(position) {range})"
            );
            let ends = [self.from.unwrap_or(i64::MIN), self.to.unwrap_or(i64::MAX)].map(Value::from);
            values.extend([ends.clone(), ends.clone(), ends].concat());
        }
        (text, values)
    }
}

/// Up to `limit` records, newest first.
pub async fn list(connection: &Connection, filter: Filter, limit: u64) -> Result<Vec<KeptDeed>> {
    let (condition, mut values) = filter.condition();
    let text = format!(
        "SELECT position, at, tenant_code, client_id, user_id, action, object_kind, object_id, details \
         FROM audit WHERE {condition} ORDER BY position DESC LIMIT ?"
    );
    values.push(limit.into());
    Ok(sql(text, values).fetch_all(connection).await?)
}

/// The number of records, or `most` if there are more.
pub async fn count(connection: &Connection, filter: Filter, most: u64) -> Result<u64> {
    let (condition, mut values) = filter.condition();
    let text = format!(
        "SELECT COUNT(*) AS rows FROM (SELECT position FROM audit WHERE {condition} LIMIT ?) AS found"
    );
    values.push(most.into());
    Ok(sql(text, values).count(connection).await?)
}

/// Removes some records older than `keep_days`; 0 keeps all. Returns whether none is left.
pub async fn remove_old(store: &Store, keep_days: u32) -> Result<bool> {
    if keep_days == 0 {
        return Ok(true);
    }
    let last = now_millis() - i64::from(keep_days) * DAY;
    // The order by position needs no index by time.
    let text = "SELECT position FROM (SELECT position, at FROM audit ORDER BY position LIMIT ?) AS oldest WHERE at < ?";
    let old = sql(text, [PORTION.into(), last.into()]);
    store.delete_batch("audit", "position", old, PORTION).await
}
