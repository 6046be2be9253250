//! Revokes tokens (RFC 7009).
//!
//! Cached callers skip this check, so revocations call [`Authenticator::forget_callers`] after commit.

use crate::{
    audit::{self, Actor, Deed},
    auth::{applications::Application, caller::Authenticator, revoked_tokens, tenants},
    error::Result,
};

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
                if !revoked_tokens::insert(transaction, &claims.jti, claims.exp).await? {
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
