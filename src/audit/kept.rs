//! The deeds that are kept: read page by page, the newest first, and removed when they are old.

use sea_orm::{ConnectionTrait, FromQueryResult, Value};
use serde::Serialize;

use crate::{
    error::{Error, Result},
    store::{Store, now_millis, sql},
};

/// Rows that are removed in one transaction.
const PORTION: u64 = 1_000;

const DAY: i64 = 24 * 3_600 * 1_000;

/// Which deeds are asked for; what is `None` does not matter.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// The tenant that was acted on.
    pub tenant_id: Option<i64>,
    /// What was done.
    pub action: Option<String>,
    /// To what.
    pub object_kind: Option<String>,
    /// To which one.
    pub object_id: Option<String>,
    /// The application that did it.
    pub client_id: Option<String>,
    /// Only those before this position.
    pub before: Option<i64>,
}

/// A deed that was kept.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeptDeed {
    /// Its position: later deeds have larger ones.
    pub id: i64,
    /// When, epoch milliseconds.
    pub at: i64,
    /// The code of the tenant that was acted on, as it was then.
    pub tenant: Option<String>,
    /// The application that did it; null for the command line.
    pub client_id: Option<String>,
    /// The person for whom it acted; where someone operated the server in a browser, himself, of his own tenant.
    pub user_id: Option<String>,
    /// What was done: `create`, `change`, `delete`, `freeze`, `rotate` …
    pub action: String,
    /// To what: `tenant`, `application`, `secret`, `signing-key`, `token`, `user` …
    pub object_kind: String,
    /// To which one.
    pub object_id: String,
    /// What else there is to say: never a secret.
    #[schema(value_type = Object)]
    pub details: serde_json::Value,
}

#[derive(FromQueryResult)]
struct Row {
    position: i64,
    at: i64,
    tenant_code: Option<String>,
    client_id: Option<String>,
    user_id: Option<String>,
    action: String,
    object_kind: String,
    object_id: String,
    details: String,
}

/// Up to `limit` deeds, the newest first.
pub async fn list<C: ConnectionTrait>(connection: &C, filter: Filter, limit: u64) -> Result<Vec<KeptDeed>> {
    let conditions: [(&str, Option<Value>); 6] = [
        ("tenant_id = ?", filter.tenant_id.map(Value::from)),
        ("action = ?", filter.action.map(Value::from)),
        ("object_kind = ?", filter.object_kind.map(Value::from)),
        ("object_id = ?", filter.object_id.map(Value::from)),
        ("client_id = ?", filter.client_id.map(Value::from)),
        ("position < ?", filter.before.map(Value::from)),
    ];
    let mut text =
        "SELECT position, at, tenant_code, client_id, user_id, action, object_kind, object_id, details \
                    FROM audit WHERE TRUE"
            .to_owned();
    let mut values = Vec::new();
    for (condition, value) in conditions {
        if let Some(value) = value {
            text.push_str(" AND ");
            text.push_str(condition);
            values.push(value);
        }
    }
    text.push_str(" ORDER BY position DESC LIMIT ?");
    values.push(limit.into());
    let rows = Row::find_by_statement(sql(text, values)).all(connection).await?;
    rows.into_iter().map(KeptDeed::try_from).collect()
}

impl TryFrom<Row> for KeptDeed {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self> {
        Ok(Self {
            id: row.position,
            at: row.at,
            tenant: row.tenant_code,
            client_id: row.client_id,
            user_id: row.user_id,
            action: row.action,
            object_kind: row.object_kind,
            object_id: row.object_id,
            details: serde_json::from_str(&row.details).map_err(Error::internal)?,
        })
    }
}

/// Removes deeds that are older than so many days, some at a time; 0 keeps them for ever. Answers whether that is done.
pub async fn remove_old(store: &Store, keep_days: u32) -> Result<bool> {
    if keep_days == 0 {
        return Ok(true);
    }
    let last = now_millis() - i64::from(keep_days) * DAY;
    // The oldest are looked at, so that no index by time has to be kept. Where the clock was set back, a deed goes with those
    // before it.
    let old = "SELECT position FROM (SELECT position, at FROM audit ORDER BY position LIMIT ?) WHERE at < ?";
    let values = [PORTION.into(), last.into()];
    if store.reader().query_one_raw(sql(old, values.clone())).await?.is_none() {
        return Ok(true);
    }
    let job = store.write(move |transaction| {
        Box::pin(async move {
            let text = format!("DELETE FROM audit WHERE position IN ({old})");
            Ok(transaction.execute_raw(sql(text, values)).await?.rows_affected())
        })
    });
    Ok(job.await? < PORTION)
}
