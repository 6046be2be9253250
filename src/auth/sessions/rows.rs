//! The rows of sessions.

use sea_orm::{ConnectionTrait, DbErr, FromQueryResult};

use super::{SessionId, SignedIn};
use crate::{
    error::Result,
    store::{Store, Transaction, sql},
};

/// Rows that are removed in one transaction.
const PORTION: u64 = 1_000;

/// A session as it is kept.
#[derive(Debug, FromQueryResult)]
pub(in crate::auth) struct Row {
    pub(in crate::auth) tenant_id: i64,
    pub(in crate::auth) user_id: String,
    pub(in crate::auth) user_epoch: i64,
    pub(in crate::auth) login_id: String,
    pub(in crate::auth) client_id: String,
    pub(in crate::auth) client_epoch: i64,
    /// The id of the issuer that he signed in by; none where it was the login page.
    pub(in crate::auth) issuer: Option<String>,
    /// Epoch milliseconds.
    pub(in crate::auth) created_at: i64,
    /// The same, as it was last written down.
    pub(in crate::auth) used_at: i64,
}

/// The session with this id, over or not.
pub(in crate::auth) async fn find<C: ConnectionTrait>(
    connection: &C,
    id: SessionId,
) -> Result<Option<Row>, DbErr> {
    Row::find_by_statement(sql(
        "SELECT tenant_id, user_id, user_epoch, login_id, client_id, client_epoch, issuer, created_at, used_at \
         FROM sessions WHERE id = ?",
        [id.bytes().into()],
    ))
    .one(connection)
    .await
}

pub(super) async fn insert(
    transaction: &Transaction,
    id: SessionId,
    signed_in: &SignedIn,
    now: i64,
) -> Result<(), DbErr> {
    let statement = sql(
        "INSERT INTO sessions (id, tenant_id, user_id, user_epoch, login_id, client_id, client_epoch, issuer, \
         created_at, used_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            id.bytes().into(),
            signed_in.tenant_id.into(),
            signed_in.user_id.as_str().into(),
            signed_in.user_epoch.into(),
            signed_in.login_id.as_str().into(),
            signed_in.client_id.as_str().into(),
            signed_in.client_epoch.into(),
            signed_in.issuer.clone().into(),
            now.into(),
            now.into(),
        ],
    );
    transaction.execute_raw(statement).await.map(drop)
}

pub(super) async fn remove(transaction: &Transaction, id: SessionId) -> Result<(), DbErr> {
    let statement = sql("DELETE FROM sessions WHERE id = ?", [id.bytes().into()]);
    transaction.execute_raw(statement).await.map(drop)
}

/// Removes what a person has above this number, what was used last being kept. Answers whether there was any.
pub(super) async fn remove_above(
    transaction: &Transaction,
    tenant_id: i64,
    user_id: &str,
    most: u64,
) -> Result<bool, DbErr> {
    let statement = sql(
        "DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE tenant_id = ? AND user_id = ? \
         ORDER BY used_at DESC, id LIMIT -1 OFFSET ?)",
        [tenant_id.into(), user_id.into(), most.into()],
    );
    Ok(transaction.execute_raw(statement).await?.rows_affected() > 0)
}

/// Removes some of those that began or were used last before these times, epoch milliseconds. Answers whether none is left.
pub(super) async fn remove_expired(store: &Store, began: i64, used: i64) -> Result<bool> {
    let expired = "SELECT id FROM sessions WHERE created_at < ? OR used_at < ? LIMIT ?";
    let values = [began.into(), used.into(), PORTION.into()];
    if store.reader().query_one_raw(sql(expired, values.clone())).await?.is_none() {
        return Ok(true);
    }
    let job = store.write(move |transaction| {
        Box::pin(async move {
            let text = format!("DELETE FROM sessions WHERE id IN ({expired})");
            Ok(transaction.execute_raw(sql(text, values)).await?.rows_affected())
        })
    });
    Ok(job.await? < PORTION)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is looked up at every call, and what the upkeep asks for each half minute, costs what it finds.
    #[tokio::test]
    async fn sessions_are_found_by_an_index() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), 1).await.unwrap();
        for (text, values, uses) in [
            ("SELECT 1 FROM sessions WHERE id = ?", 1, vec!["PRIMARY KEY (id=?)"]),
            (
                "SELECT id FROM sessions WHERE created_at < ? OR used_at < ? LIMIT ?",
                3,
                vec!["sessions_by_age", "sessions_by_use"],
            ),
            (
                "SELECT id FROM sessions WHERE tenant_id = ? AND user_id = ? ORDER BY used_at DESC, id LIMIT -1 OFFSET 50",
                2,
                vec!["sessions_by_person (tenant_id=? AND user_id=?)"],
            ),
        ] {
            let explained = sql(format!("EXPLAIN QUERY PLAN {text}"), vec![1.into(); values]);
            let rows = store.reader().query_all_raw(explained).await.unwrap();
            let plan: Vec<String> = rows.iter().map(|row| row.try_get("", "detail").unwrap()).collect();
            let plan = plan.join("; ");
            for used in uses {
                assert!(plan.contains(used) && !plan.contains("SCAN"), "{text}: {plan}");
            }
        }
        store.close().await.unwrap();
    }
}
