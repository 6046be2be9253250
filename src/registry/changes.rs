//! Operators' changes of modules, sources and vocabularies (book: how-to/operate.md).
//!
//! Each is checked and recorded in the audit log in its own transaction.

mod checks;
mod modules;
mod sources;

use std::sync::Arc;

use super::{RegisteredVocabulary, Registry, repo};
use crate::{
    audit::{self, Actor, AuditEvent},
    auth::{caller::Caller, tenants::Tenant},
    error::{Error, Result},
    http::precondition::{IfMatch, Tagged},
    store::{Cached, Transaction, WriteFuture},
};

pub use self::checks::SourceCheck;

/// The author of a change, and the tenant changed.
#[derive(Clone, Debug)]
pub struct Author {
    actor: Actor,
    tenant: Arc<Tenant>,
}

impl Author {
    /// The caller of a request.
    pub fn caller(caller: &Caller) -> Self {
        Self { actor: Actor::caller(caller), tenant: Arc::clone(&caller.tenant) }
    }

    /// The command line of the data directory.
    pub fn command_line(tenant: Tenant) -> Self {
        Self { actor: Actor::command_line(), tenant: Arc::new(tenant) }
    }
}

impl Registry {
    /// The vocabulary; empty unless one was put.
    pub async fn vocabulary(&self, tenant_id: i64) -> Result<Tagged<RegisteredVocabulary>> {
        Tagged::of(repo::vocabularies::find(self.store.reader(), tenant_id).await?)
    }

    /// Replaces the vocabulary.
    ///
    /// # Errors
    /// 400, 412.
    pub async fn replace_vocabulary(
        self: &Arc<Self>,
        author: Author,
        form: RegisteredVocabulary,
        if_match: IfMatch,
    ) -> Result<Tagged<RegisteredVocabulary>> {
        let vocabulary = form.checked()?;
        let (tenant_id, code) = (author.tenant.id, author.tenant.code.clone());
        self.change(author, move |transaction| {
            Box::pin(async move {
                let stored = repo::vocabularies::find(transaction, tenant_id).await?;
                if_match.check(&stored)?;
                repo::vocabularies::put(transaction, tenant_id, &vocabulary).await?;
                let event = AuditEvent::change("vocabulary", code, &stored, &vocabulary)?;
                Ok((Tagged::of(vocabulary)?, event))
            })
        })
        .await
    }
}

impl Registry {
    /// Writes and records the event; later searches see the change.
    async fn change<T, J>(self: &Arc<Self>, author: Author, job: J) -> Result<T>
    where
        T: Send + 'static,
        J: for<'a> FnOnce(&'a Transaction) -> WriteFuture<'a, (T, Option<AuditEvent>)> + Send + 'static,
    {
        self.change_then(author, |_, _| (), job).await
    }

    async fn change_then<T, J, A>(self: &Arc<Self>, author: Author, after: A, job: J) -> Result<T>
    where
        T: Send + 'static,
        J: for<'a> FnOnce(&'a Transaction) -> WriteFuture<'a, (T, Option<AuditEvent>)> + Send + 'static,
        A: FnOnce(&Self, &T) + Send + 'static,
    {
        let registry = Arc::clone(self);
        // A task of its own: a write commits even if its caller leaves.
        let written = tokio::spawn(async move {
            let Author { actor, tenant } = author;
            let tenant_id = tenant.id;
            let written = registry.store.write(move |transaction| {
                Box::pin(async move {
                    transaction.invalidate(Cached::Modules(tenant_id));
                    let (written, event) = job(transaction).await?;
                    audit::record(transaction, &actor, &tenant, event.into_iter().collect()).await?;
                    Ok(written)
                })
            });
            let written = written.await;
            registry.tenants.invalidate(&tenant_id);
            if let Ok(written) = &written {
                after(&registry, written);
            }
            written
        });
        written.await.map_err(Error::internal)?
    }
}
