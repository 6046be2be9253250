//! Revokes tokens (RFC 7009).
//!
//! Cached callers skip this check, so revocations invalidate them.

use crate::{
    audit::{self, Actor, AuditEvent},
    auth::{applications::Application, caller::Authenticator, revoked_tokens, tenants},
    error::{ErrorKind, Result},
    store::Cached,
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
        self.store.refresh().await?;
        let claims = match self.tokens().verify(token).await {
            Err(error) if error.kind == ErrorKind::Unauthorized => return Ok(Revocation::Done),
            claims => claims?,
        };
        if claims.client_id != application.client_id {
            return Ok(Revocation::Foreign);
        }
        let tenant_id = application.tenant_id;
        // All of the tenant's: an ES256 token has two encodings.
        let job = self.store.write(move |transaction| {
            Box::pin(async move {
                if !revoked_tokens::insert(transaction, &claims.jti, claims.exp).await? {
                    return Ok(());
                }
                if let Some(tenant) = tenants::find_by_id(transaction, tenant_id).await? {
                    let mut event = AuditEvent::new("revoke", "token", claims.jti);
                    if claims.user.is_some() {
                        event = event.with("userId", claims.sub);
                    }
                    let actor = Actor::application(&claims.client_id);
                    audit::record(transaction, &actor, &tenant, vec![event]).await?;
                }
                transaction.invalidate(Cached::Identities(tenant_id));
                Ok(())
            })
        });
        job.await?;
        Ok(Revocation::Done)
    }
}
