//! Session rows.

use super::{SessionId, SessionOrigin, SignedIn};
use crate::{
    error::Result,
    store::{self, Connection, FromRow, Store, Transaction, find_in, sql},
};

const PORTION: u64 = 1_000;

#[derive(Debug, FromRow)]
pub(crate) struct SessionRow {
    pub(crate) tenant_id: i64,
    pub(crate) user_id: String,
    pub(crate) user_epoch: i64,
    pub(crate) login_id: String,
    pub(crate) client_id: String,
    pub(crate) client_epoch: i64,
    pub(crate) issuer: Option<String>,
    pub(crate) created_at: i64,
    /// The last use that was written; later ones may be in memory.
    pub(crate) used_at: i64,
    pub(crate) address: Option<String>,
    pub(crate) user_agent: Option<String>,
}

pub(crate) async fn find(connection: &Connection, id: SessionId) -> store::Result<Option<SessionRow>> {
    let text = "SELECT tenant_id, user_id, user_epoch, login_id, client_id, client_epoch, issuer, created_at, used_at, \
                address, user_agent FROM sessions WHERE id = ?";
    sql(text, [id.bytes().into()]).fetch_optional::<SessionRow>(connection).await
}

#[derive(FromRow)]
struct IdentifiedRow {
    id: Vec<u8>,
    #[sqlx(flatten)]
    row: SessionRow,
}

/// Sessions of these people, expired ones too.
///
/// Those whose application has changed since are left out.
pub(super) async fn find_of_people(
    connection: &Connection,
    tenant_id: i64,
    user_ids: &[&str],
) -> store::Result<Vec<(SessionId, SessionRow)>> {
    let rows: Vec<IdentifiedRow> = find_in(connection, OF_PEOPLE, &[tenant_id.into()], user_ids).await?;
    Ok(rows.into_iter().filter_map(|found| Some((SessionId(found.id.try_into().ok()?), found.row))).collect())
}

const OF_PEOPLE: &str = "SELECT sessions.id, sessions.tenant_id, sessions.user_id, sessions.user_epoch, sessions.login_id, \
      sessions.client_id, sessions.client_epoch, sessions.issuer, sessions.created_at, sessions.used_at, sessions.address, \
      sessions.user_agent FROM sessions JOIN applications \
    ON applications.client_id = sessions.client_id AND applications.epoch = sessions.client_epoch \
      AND NOT applications.is_disabled \
    WHERE sessions.tenant_id = ? AND sessions.user_id";

pub(crate) async fn insert(
    transaction: &Transaction,
    id: SessionId,
    signed_in: &SignedIn,
    origin: &SessionOrigin,
    now: i64,
) -> store::Result<()> {
    let statement = sql(
        "INSERT INTO sessions (id, tenant_id, user_id, user_epoch, login_id, client_id, client_epoch, issuer, \
         created_at, used_at, address, user_agent) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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
            origin.address.to_string().into(),
            origin.user_agent.clone().into(),
        ],
    );
    statement.execute(transaction).await.map(drop)
}

pub(crate) async fn remove(transaction: &Transaction, id: SessionId) -> store::Result<()> {
    let statement = sql("DELETE FROM sessions WHERE id = ?", [id.bytes().into()]);
    statement.execute(transaction).await.map(drop)
}

/// Ends all sessions of a person but `kept`; returns their number.
pub(crate) async fn end_all_but(
    transaction: &Transaction,
    tenant_id: i64,
    user_id: &str,
    kept: Option<SessionId>,
) -> store::Result<u64> {
    let text = "DELETE FROM sessions WHERE tenant_id = ? AND user_id = ? AND id <> ?";
    let kept = kept.map(|kept| kept.bytes().to_vec()).unwrap_or_default();
    sql(text, [tenant_id.into(), user_id.into(), kept.into()]).execute(transaction).await
}

/// Lets a session go on under a new epoch of its person.
pub(crate) async fn renew(transaction: &Transaction, id: SessionId, user_epoch: i64) -> store::Result<()> {
    let text = "UPDATE sessions SET user_epoch = ? WHERE id = ?";
    sql(text, [user_epoch.into(), id.bytes().into()]).execute(transaction).await.map(drop)
}

/// Ends one session of a person; tells whether they have it.
pub async fn end_one(
    transaction: &Transaction,
    tenant_id: i64,
    user_id: &str,
    id: SessionId,
) -> store::Result<bool> {
    let text = "DELETE FROM sessions WHERE id = ? AND tenant_id = ? AND user_id = ?";
    let statement = sql(text, [id.bytes().into(), tenant_id.into(), user_id.into()]);
    Ok(statement.execute(transaction).await? > 0)
}

pub(crate) async fn remove_above(
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
        let of_people = format!("{OF_PEOPLE} IN (?)");
        for (text, values, uses) in [
            ("SELECT 1 FROM sessions WHERE id = ?", 1, vec!["PRIMARY KEY (id=?)"]),
            (
                "SELECT id FROM sessions WHERE created_at < ? OR used_at < ? LIMIT ?",
                3,
                vec!["sessions_by_age", "sessions_by_use"],
            ),
            (
                "DELETE FROM sessions WHERE tenant_id = ? AND user_id = ? AND id <> ?",
                3,
                vec!["sessions_by_person (tenant_id=? AND user_id=?)"],
            ),
            (&*of_people, 2, vec!["sessions_by_person (tenant_id=? AND user_id=?)"]),
            (
                "SELECT id FROM sessions WHERE tenant_id = ? AND user_id = ? ORDER BY used_at DESC, id LIMIT ? OFFSET ?",
                4,
                vec!["sessions_by_person (tenant_id=? AND user_id=?)"],
            ),
        ] {
            let plan =
                query_plan(store.reader(), sql(text.to_owned(), vec![1.into(); values])).await.join("; ");
            for used in uses {
                assert!(plan.contains(used) && !plan.contains("SCAN"), "{text}: {plan}");
            }
        }
        store.close().await.unwrap();
    }
}
