//! Ids of revoked tokens, each until its token expires.

use super::tokens::epoch_seconds;
use crate::{
    error::{Error, Result},
    store::{self, Connection, Store, Transaction, sql},
};

const PORTION: u64 = 1_000;

/// Revokes `jti` until `expires_at`, epoch seconds. Returns whether it was valid.
pub async fn insert(transaction: &Transaction, jti: &str, expires_at: u64) -> store::Result<bool> {
    let statement = sql(
        "INSERT INTO revoked_tokens (id, expires_at) VALUES (?, ?) ON CONFLICT (id) DO NOTHING",
        [jti.into(), i64::try_from(expires_at).unwrap_or(i64::MAX).into()],
    );
    Ok(statement.execute(transaction).await? == 1)
}

/// Whether the token with this id is revoked.
pub async fn is_revoked(connection: &Connection, token_id: &str) -> store::Result<bool> {
    let statement = sql("SELECT 1 FROM revoked_tokens WHERE id = ?", [token_id.into()]);
    statement.exists(connection).await
}

/// Removes some expired rows. Returns whether none is left.
pub async fn remove_expired(store: &Store) -> Result<bool> {
    let now = i64::try_from(epoch_seconds()).map_err(Error::internal)?;
    let text = "SELECT id FROM revoked_tokens WHERE expires_at < ? LIMIT ?";
    let expired = sql(text, [now.into(), PORTION.into()]);
    store.delete_batch("revoked_tokens", "id", expired, PORTION).await
}
