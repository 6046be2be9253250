//! Taking tokens back before they expire (RFC 7009): a token is kept by its id until it would have expired by itself.
//!
//! A token is asked about when its caller is looked up, and remembered callers are not looked up again: whoever revokes a
//! token has the callers of its tenant forgotten ([`Authenticator::forget_callers`]) once the row is durable.

use sea_orm::{ConnectionTrait, DbErr};

use super::{applications::Application, caller::Authenticator, tenants, tokens::epoch_seconds};
use crate::{
    audit::{self, Actor, Deed},
    error::{Error, Result},
    store::{Store, Transaction, sql},
};

/// Rows that are removed in one transaction.
const PORTION: u64 = 1_000;

/// What became of a token that was to be revoked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revocation {
    /// It is worthless now, or was before.
    Done,
    /// It is another application's.
    Foreign,
}

impl Authenticator {
    /// Makes a token of this application worthless, at once. One that is not valid has nothing to lose (RFC 7009 §2.2).
    pub async fn revoke(&self, application: &Application, token: &str) -> Result<Revocation> {
        let Ok(claims) = self.tokens().verify(token) else { return Ok(Revocation::Done) };
        if claims.client_id != application.client_id {
            return Ok(Revocation::Foreign);
        }
        let tenant_id = application.tenant_id;
        // All of the tenant's, as the same token can be written in another way (ES256 signatures come in pairs).
        let forget = self.forgetting_callers(tenant_id);
        let job = self.store.write(move |transaction| {
            Box::pin(async move {
                if !revoke(transaction, &claims.jti, claims.exp).await? {
                    return Ok(());
                }
                if let Some(tenant) = tenants::find_by_id(&**transaction, tenant_id).await? {
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

/// Takes back the token with this id (`jti`), which would expire at `expires_at` (epoch seconds). Answers whether it was not
/// taken back before.
pub async fn revoke(transaction: &Transaction, jti: &str, expires_at: u64) -> Result<bool, DbErr> {
    let statement = sql(
        "INSERT INTO revoked_tokens (id, expires_at) VALUES (?, ?) ON CONFLICT (id) DO NOTHING",
        [jti.into(), i64::try_from(expires_at).unwrap_or(i64::MAX).into()],
    );
    Ok(transaction.execute_raw(statement).await?.rows_affected() == 1)
}

/// Whether the token with this id was taken back.
pub(super) async fn is_revoked<C: ConnectionTrait>(connection: &C, token_id: &str) -> Result<bool, DbErr> {
    let statement = sql("SELECT 1 FROM revoked_tokens WHERE id = ?", [token_id.into()]);
    Ok(connection.query_one_raw(statement).await?.is_some())
}

/// Forgets revoked tokens that have expired, some at a time. Answers whether that is done.
pub async fn remove_expired(store: &Store) -> Result<bool> {
    let now = i64::try_from(epoch_seconds()).map_err(Error::internal)?;
    let expired = "SELECT id FROM revoked_tokens WHERE expires_at < ? LIMIT ?";
    let find = sql(expired, [now.into(), PORTION.into()]);
    if store.reader().query_one_raw(find).await?.is_none() {
        return Ok(true);
    }
    let job = store.write(move |transaction| {
        Box::pin(async move {
            let text = format!("DELETE FROM revoked_tokens WHERE id IN ({expired})");
            Ok(transaction.execute_raw(sql(text, [now.into(), PORTION.into()])).await?.rows_affected())
        })
    });
    Ok(job.await? < PORTION)
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
