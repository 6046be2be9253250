//! Revoked tokens, by id until expiry (RFC 7009).
//!
//! Cached callers skip this check, so revocations call [`Authenticator::forget_callers`] after commit.

use crate::{
    audit::{self, Actor, Deed},
    auth::{applications::Application, caller::Authenticator, tenants, tokens::epoch_seconds},
    error::{Error, Result},
    store::{self, Connection, Store, Transaction, sql},
};

const PORTION: u64 = 1_000;

/// The result of a revocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revocation {
    /// The token is invalid now.
    Done,
    /// It belongs to another application.
    Foreign,
}

impl Authenticator {
    /// Revokes a token of this application. Invalid tokens succeed (RFC 7009 §2.2).
    pub async fn revoke(&self, application: &Application, token: &str) -> Result<Revocation> {
        let Ok(claims) = self.tokens().verify(token) else { return Ok(Revocation::Done) };
        if claims.client_id != application.client_id {
            return Ok(Revocation::Foreign);
        }
        let tenant_id = application.tenant_id;
        // All of the tenant's: an ES256 token has two encodings.
        let forget = self.forgetting_callers(tenant_id);
        let job = self.store.write(move |transaction| {
            Box::pin(async move {
                if !revoke(transaction, &claims.jti, claims.exp).await? {
                    return Ok(());
                }
                if let Some(tenant) = tenants::find_by_id(transaction, tenant_id).await? {
                    let mut deed = Deed::new("revoke", "token", claims.jti);
                    if claims.user.is_some() {
                        deed = deed.with("userId", claims.sub);
                    }
                    let actor = Actor::application(&claims.client_id);
                    audit::record(transaction, &actor, &tenant, vec![deed]).await?;
                }
                transaction.after_commit(forget);
                Ok(())
            })
        });
        job.await?;
        Ok(Revocation::Done)
    }
}

/// Revokes `jti` until `expires_at`, epoch seconds. Returns whether it was valid.
pub async fn revoke(transaction: &Transaction, jti: &str, expires_at: u64) -> store::Result<bool> {
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
            Box::pin(async move { Ok(revoke(transaction, jti, expires_at).await?) })
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
