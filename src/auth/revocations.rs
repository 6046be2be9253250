//! Access tokens that were taken back before their end: kept by their id until they would have expired by themselves.
//!
//! A token is asked about when its caller is looked up, and remembered callers are not looked up again: whoever revokes a
//! token has its tenant's callers forgotten (`Authenticator::forget_callers`) once the row is durable.

use sea_orm::{ConnectionTrait, DbErr};

use super::tokens::epoch_seconds;
use crate::store::{Transaction, sql};

/// Takes back the token with this id (`jti`), which would expire at `expires_at` (epoch seconds). What has expired by itself
/// is no longer kept.
pub async fn revoke(transaction: &Transaction, jti: &str, expires_at: u64) -> Result<(), DbErr> {
    let seconds = |seconds: u64| i64::try_from(seconds).unwrap_or(i64::MAX);
    let expired = sql("DELETE FROM revoked_tokens WHERE expires_at < ?", [seconds(epoch_seconds()).into()]);
    transaction.execute_raw(expired).await?;
    transaction
        .execute_raw(sql(
            "INSERT INTO revoked_tokens (id, expires_at) VALUES (?, ?) \
             ON CONFLICT (id) DO UPDATE SET expires_at = MAX(expires_at, excluded.expires_at)",
            [jti.into(), seconds(expires_at).into()],
        ))
        .await?;
    Ok(())
}

/// Whether the token with this id was taken back.
pub async fn is_revoked<C: ConnectionTrait>(connection: &C, jti: &str) -> Result<bool, DbErr> {
    let statement = sql("SELECT 1 FROM revoked_tokens WHERE id = ?", [jti.into()]);
    Ok(connection.query_one_raw(statement).await?.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    async fn revoke_in(store: &Store, jti: &'static str, expires_at: u64) {
        let job = store.write(move |transaction| {
            Box::pin(async move { Ok(revoke(transaction, jti, expires_at).await?) })
        });
        job.await.unwrap();
    }

    #[tokio::test]
    async fn a_revocation_is_kept_until_the_token_expires_by_itself() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), 1).await.unwrap();
        let now = epoch_seconds();
        assert!(!is_revoked(store.reader(), "one").await.unwrap());
        revoke_in(&store, "one", now + 1_000).await;
        revoke_in(&store, "one", now - 1_000).await;
        assert!(is_revoked(store.reader(), "one").await.unwrap(), "the later of two ends counts");
        revoke_in(&store, "two", now - 1_000).await;
        revoke_in(&store, "three", u64::MAX).await;
        let left = [
            is_revoked(store.reader(), "two").await.unwrap(),
            is_revoked(store.reader(), "three").await.unwrap(),
        ];
        assert_eq!(left, [false, true]);
        store.close().await.unwrap();
    }
}
