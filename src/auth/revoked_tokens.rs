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

#[cfg(test)]
mod tests {
    use super::*;

    async fn revoke_in(store: &Store, jti: &'static str, expires_at: u64) -> bool {
        let job = store.write(move |transaction| {
            Box::pin(async move { Ok(insert(transaction, jti, expires_at).await?) })
        });
        job.await.unwrap()
    }

    #[tokio::test]
    async fn a_revocation_is_kept_until_the_token_expires_by_itself() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), 1).await.unwrap();
        let now = epoch_seconds();
        assert!(!is_revoked(store.reader(), "one").await.unwrap());
        assert!(revoke_in(&store, "one", now + 1_000).await);
        assert!(!revoke_in(&store, "one", now + 1_000).await, "it was taken back before");
        revoke_in(&store, "two", now - 1_000).await;
        revoke_in(&store, "three", u64::MAX).await;
        while !remove_expired(&store).await.unwrap() {}
        let mut left = Vec::new();
        for jti in ["one", "two", "three"] {
            left.push(is_revoked(store.reader(), jti).await.unwrap());
        }
        assert_eq!(left, [true, false, true]);
        store.close().await.unwrap();
    }
}
