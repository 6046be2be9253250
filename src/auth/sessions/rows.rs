//! Session rows.

use super::{SessionId, SignedIn};
use crate::{
    error::Result,
    store::{self, Connection, FromRow, Store, Transaction, sql},
};

const PORTION: u64 = 1_000;

#[derive(Debug, FromRow)]
pub(in crate::auth) struct SessionRow {
    pub(in crate::auth) tenant_id: i64,
    pub(in crate::auth) user_id: String,
    pub(in crate::auth) user_epoch: i64,
    pub(in crate::auth) login_id: String,
    pub(in crate::auth) client_id: String,
    pub(in crate::auth) client_epoch: i64,
    pub(in crate::auth) issuer: Option<String>,
    pub(in crate::auth) created_at: i64,
    /// As last written.
    pub(in crate::auth) used_at: i64,
}

pub(in crate::auth) async fn find(
    connection: &Connection,
    id: SessionId,
) -> store::Result<Option<SessionRow>> {
    sql(
        "SELECT tenant_id, user_id, user_epoch, login_id, client_id, client_epoch, issuer, created_at, used_at \
         FROM sessions WHERE id = ?",
        [id.bytes().into()],
    ).fetch_optional::<SessionRow>(connection)
    .await
}

pub(in crate::auth) async fn insert(
    transaction: &Transaction,
    id: SessionId,
    signed_in: &SignedIn,
    now: i64,
) -> store::Result<()> {
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
    statement.execute(transaction).await.map(drop)
}

pub(in crate::auth) async fn remove(transaction: &Transaction, id: SessionId) -> store::Result<()> {
    let statement = sql("DELETE FROM sessions WHERE id = ?", [id.bytes().into()]);
    statement.execute(transaction).await.map(drop)
}

pub(in crate::auth) async fn remove_above(
    transaction: &Transaction,
    tenant_id: i64,
    user_id: &str,
    most: u64,
) -> store::Result<bool> {
    let statement = sql(
        "DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE tenant_id = ? AND user_id = ? \
         ORDER BY used_at DESC, id LIMIT ? OFFSET ?)",
        [tenant_id.into(), user_id.into(), u64::MAX.into(), most.into()],
    );
    Ok(statement.execute(transaction).await? > 0)
}

pub(super) async fn remove_expired(store: &Store, began: i64, used: i64) -> Result<bool> {
    let text = "SELECT id FROM sessions WHERE created_at < ? OR used_at < ? LIMIT ?";
    let expired = sql(text, [began.into(), used.into(), PORTION.into()]);
    store.delete_batch("sessions", "id", expired, PORTION).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::query_plan;

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
                "SELECT id FROM sessions WHERE tenant_id = ? AND user_id = ? ORDER BY used_at DESC, id LIMIT ? OFFSET ?",
                4,
                vec!["sessions_by_person (tenant_id=? AND user_id=?)"],
            ),
        ] {
            let plan = query_plan(store.reader(), sql(text, vec![1.into(); values])).await.join("; ");
            for used in uses {
                assert!(plan.contains(used) && !plan.contains("SCAN"), "{text}: {plan}");
            }
        }
        store.close().await.unwrap();
    }
}
