//! What operators do with modules and sources: looked at, made, replaced, removed (decisions 7.2).
//!
//! Whatever a change hangs on — what is taken, what is there, what is in use — is checked inside the transaction
//! that writes it, so that of two operators at once the second sees what the first did.

use std::{sync::Arc, time::Duration};

use tokio::sync::OwnedSemaphorePermit;
use trawl_connectors::check as conformance;

use super::{
    ModuleForm, RegisteredModule, RegisteredSource, Registry, SourceForm, SourceKey,
    forms::{check_same_id, new_id},
    modules, repo,
    repo::sources::SourceRow,
    sources, usable,
    usable::Usable,
};
use crate::{
    error::{Error, Result},
    search::health::SourceHealth,
    store::{Transaction, WriteFuture},
};

/// How long one who finds as many checks running as may is asked to wait.
const CHECKS_BUSY_FOR: Duration = Duration::from_secs(5);
/// Modules that a refusal names.
const NAMED_MODULES: usize = 10;

/// A check that may begin; it has its place among those that run.
pub struct SourceCheck {
    check: conformance::Check,
    _permit: OwnedSemaphorePermit,
}

impl SourceCheck {
    /// Carries the check through, and `tell`s of each clause when it is decided. Dropping this ends the check.
    pub async fn run(self, tell: &mut conformance::Tell<'_>) -> conformance::Report {
        self.check.run(tell).await
    }
}

fn no_module() -> Error {
    Error::not_found("id: the tenant has no such module")
}

fn no_source() -> Error {
    Error::not_found("id: the tenant has no such source")
}

/// Modules.
impl Registry {
    /// The tenant's modules as operators see them, by `orderNo`.
    pub async fn list_modules(&self, tenant_id: i64) -> Result<Vec<RegisteredModule>> {
        let modules = repo::modules::list(self.store.reader(), tenant_id).await?;
        Ok(modules.into_iter().map(RegisteredModule::from).collect())
    }

    /// The tenant's module with this id.
    ///
    /// # Errors
    /// 404 when there is none.
    pub async fn find_module(&self, tenant_id: i64, id: &str) -> Result<RegisteredModule> {
        let module = repo::modules::find(self.store.reader(), tenant_id, id).await?;
        module.map(RegisteredModule::from).ok_or_else(no_module)
    }

    /// Registers a module.
    ///
    /// # Errors
    /// 400 that names the field, 409 for an id or a code that is taken and for one module too many.
    pub async fn create_module(
        self: &Arc<Self>,
        tenant_id: i64,
        form: ModuleForm,
    ) -> Result<RegisteredModule> {
        let module = form.clone().checked(new_id(form.id.as_deref())?)?;
        self.change(move |transaction| {
            Box::pin(async move {
                let others = repo::modules::list(&**transaction, tenant_id).await?;
                modules::check_beside(&module, &others)?;
                put_module(transaction, tenant_id, module).await
            })
        })
        .await
    }

    /// Registers another module in the place of the one with this id.
    ///
    /// # Errors
    /// 400 that names the field, 404 when there is no such module, 409 for a code that is taken.
    pub async fn replace_module(
        self: &Arc<Self>,
        tenant_id: i64,
        id: String,
        form: ModuleForm,
    ) -> Result<RegisteredModule> {
        check_same_id(&id, form.id.as_deref())?;
        let module = form.checked(id)?;
        self.change(move |transaction| {
            Box::pin(async move {
                let mut others = repo::modules::list(&**transaction, tenant_id).await?;
                let place = others.iter().position(|other| other.id == module.id).ok_or_else(no_module)?;
                others.swap_remove(place);
                modules::check_beside(&module, &others)?;
                put_module(transaction, tenant_id, module).await
            })
        })
        .await
    }

    /// Removes a module; its content stays.
    ///
    /// # Errors
    /// 404 when there is no such module.
    pub async fn remove_module(self: &Arc<Self>, tenant_id: i64, id: String) -> Result<()> {
        self.change(move |transaction| {
            Box::pin(async move {
                let removed = repo::modules::remove(transaction, tenant_id, &id).await?;
                if removed { Ok(()) } else { Err(no_module()) }
            })
        })
        .await
    }
}

async fn put_module(
    transaction: &Transaction,
    tenant_id: i64,
    module: modules::Module,
) -> Result<RegisteredModule> {
    let registered = repo::sources::ids(&**transaction, tenant_id).await?;
    modules::check_sources_exist(&module, &registered)?;
    repo::modules::put(transaction, tenant_id, &module).await?;
    Ok(module.into())
}

/// Sources.
impl Registry {
    /// The tenant's external sources as operators see them, by name.
    pub async fn list_sources(&self, tenant_id: i64) -> Result<Vec<RegisteredSource>> {
        let rows = repo::sources::list(self.store.reader(), tenant_id).await?;
        Ok(rows.into_iter().map(|row| self.show(tenant_id, row)).collect())
    }

    /// The tenant's external source with this id.
    ///
    /// # Errors
    /// 404 when there is none.
    pub async fn find_source(&self, tenant_id: i64, id: &str) -> Result<RegisteredSource> {
        Ok(self.show(tenant_id, self.row_of(tenant_id, id).await?))
    }

    /// How the tenant's external source with this id has been since the server started.
    ///
    /// # Errors
    /// 404 when there is none.
    pub async fn health_of(&self, tenant_id: i64, id: &str) -> Result<SourceHealth> {
        let row = self.row_of(tenant_id, id).await?;
        let state = self.state_of(tenant_id, id);
        let mut health = state.health(row.id.clone(), row.enabled, self.started, self.began);
        health.summary = self.show(tenant_id, row).health;
        Ok(health)
    }

    /// Registers an external source.
    ///
    /// # Errors
    /// 400 that names the field, 409 for an id that is taken and for one source too many.
    pub async fn create_source(
        self: &Arc<Self>,
        tenant_id: i64,
        form: SourceForm,
    ) -> Result<RegisteredSource> {
        let id = new_id(form.id.as_deref())?;
        let row = self.check(tenant_id, id, form)?;
        if row.auth_type == sources::OAUTH2_CLIENT && row.client_secret_sealed.is_none() {
            return Err(Error::bad_request("auth.clientSecret: is required"));
        }
        let after = move |registry: &Self, row: &SourceRow| registry.prepare(tenant_id, row);
        let row = self
            .change_and(after, move |transaction| {
                Box::pin(async move {
                    let others = repo::sources::ids(&**transaction, tenant_id).await?;
                    sources::check_beside(&row.id, &others)?;
                    repo::sources::put(transaction, tenant_id, row.clone()).await?;
                    Ok(row)
                })
            })
            .await?;
        Ok(self.show(tenant_id, row))
    }

    /// Registers another external source in the place of the one with this id, whose secret it keeps when it brings
    /// none.
    ///
    /// # Errors
    /// 400 that names the field, 404 when there is no such source.
    pub async fn replace_source(
        self: &Arc<Self>,
        tenant_id: i64,
        id: String,
        form: SourceForm,
    ) -> Result<RegisteredSource> {
        check_same_id(&id, form.id.as_deref())?;
        let mut row = self.check(tenant_id, id, form)?;
        let keys = Arc::clone(&self.keys);
        let after = move |registry: &Self, row: &SourceRow| registry.prepare(tenant_id, row);
        let row = self
            .change_and(after, move |transaction| {
                Box::pin(async move {
                    let stored = repo::sources::find(&**transaction, tenant_id, &row.id).await?;
                    let stored = stored.ok_or_else(no_source)?;
                    if row.auth_type == sources::OAUTH2_CLIENT && row.client_secret_sealed.is_none() {
                        sources::check_secret_stays(&stored, &row)?;
                        let sealed = usable::keep_sealed(&keys.secrets, tenant_id, stored)?;
                        row.client_secret_sealed = Some(sealed);
                    }
                    repo::sources::put(transaction, tenant_id, row.clone()).await?;
                    Ok(row)
                })
            })
            .await?;
        Ok(self.show(tenant_id, row))
    }

    /// Removes an external source that no module shows.
    ///
    /// # Errors
    /// 404 when there is no such source, 409 that names the modules which show it.
    pub async fn remove_source(self: &Arc<Self>, tenant_id: i64, id: String) -> Result<()> {
        let key = (tenant_id, id.clone());
        let after = move |registry: &Self, (): &()| registry.forget_source(&key);
        self.change_and(after, move |transaction| {
            Box::pin(async move {
                let modules = repo::modules::list(&**transaction, tenant_id).await?;
                if repo::sources::remove(transaction, tenant_id, &id).await? {
                    check_unused(&id, &modules)
                } else {
                    Err(no_source())
                }
            })
        })
        .await
    }

    /// A check of the tenant's source with this id against the contract, by real calls with its registered settings; of disabled
    /// ones too, as it is before they are enabled that they are checked.
    ///
    /// # Errors
    /// 400 for a blank keyword and for settings that are not usable, 404 when there is no such source, 503 while as many
    /// checks run as may.
    pub async fn prepare_check(
        &self,
        tenant_id: i64,
        id: &str,
        keyword: Option<String>,
    ) -> Result<SourceCheck> {
        if keyword.as_deref().is_some_and(|keyword| keyword.trim().is_empty()) {
            return Err(Error::bad_request("keyword: must not be blank"));
        }
        let permit = Arc::clone(&self.checks).try_acquire_owned().map_err(|_| {
            Error::unavailable("other checks are running; try again shortly", CHECKS_BUSY_FOR)
        })?;
        let row = self.row_of(tenant_id, id).await?;
        let sealed = row.client_secret_sealed.clone().unwrap_or_default();
        let secret = || usable::open(&self.keys.secrets, tenant_id, id, &sealed);
        let usable = Usable::read(&row, &self.reach, secret)
            .map_err(|unusable| Error::bad_request(unusable.message()))?;
        let settings = usable.into_check(keyword);
        let check = conformance::Check::new(settings, &self.reach.addresses)
            .map_err(|error| Error::bad_request(error.to_string()))?;
        Ok(SourceCheck { check, _permit: permit })
    }

    /// The row that a form describes, its secret sealed where it brings one.
    fn check(&self, tenant_id: i64, id: String, form: SourceForm) -> Result<SourceRow> {
        let (mut row, secret) = form.into_row(id)?;
        let given = secret.clone().unwrap_or_default();
        Usable::read(&row, &self.reach, || Ok(given))
            .map_err(|unusable| Error::bad_request(unusable.to_string()))?;
        if let Some(secret) = secret {
            let sealed = usable::seal(&self.keys.secrets, tenant_id, &row.id, &secret);
            row.client_secret_sealed = Some(sealed.map_err(Error::internal)?);
        }
        Ok(row)
    }

    async fn row_of(&self, tenant_id: i64, id: &str) -> Result<SourceRow> {
        repo::sources::find(self.store.reader(), tenant_id, id).await?.ok_or_else(no_source)
    }

    /// A source as operators see it.
    fn show(&self, tenant_id: i64, row: SourceRow) -> RegisteredSource {
        let unusable = self.registered(tenant_id, &row).err().map(|unusable| unusable.message());
        let last = self.state_of(tenant_id, &row.id).summary();
        RegisteredSource::new(row, last, unusable)
    }
}

/// # Errors
/// 409 that names the modules which show the source.
fn check_unused(id: &String, modules: &[modules::Module]) -> Result<()> {
    let showing: Vec<&str> = modules
        .iter()
        .filter(|module| module.sources.contains(id))
        .map(|module| module.code.as_str())
        .collect();
    if showing.is_empty() {
        return Ok(());
    }
    let named = showing.iter().take(NAMED_MODULES).copied().collect::<Vec<_>>().join(", ");
    let more = match showing.len().saturating_sub(NAMED_MODULES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Err(Error::conflict(format!(
        "id: the source is shown by the modules {named}{more}; take it out of them first"
    )))
}

/// What every change goes through.
impl Registry {
    /// Writes, and lets every search that begins after the answer see what was written.
    async fn change<T, J>(self: &Arc<Self>, job: J) -> Result<T>
    where
        T: Send + 'static,
        J: for<'a> FnOnce(&'a Transaction) -> WriteFuture<'a, T> + Send + 'static,
    {
        self.change_and(|_, _| (), job).await
    }

    /// The same, and does something once it is written, in the same task.
    async fn change_and<T, J, A>(self: &Arc<Self>, after: A, job: J) -> Result<T>
    where
        T: Send + 'static,
        J: for<'a> FnOnce(&'a Transaction) -> WriteFuture<'a, T> + Send + 'static,
        A: FnOnce(&Self, &T) + Send + 'static,
    {
        let registry = Arc::clone(self);
        // In a task of its own: a caller that goes away leaves a write behind that is committed all the same.
        let written = tokio::spawn(async move {
            let written = registry.store.write(job).await;
            registry.forget_modules();
            if let Ok(written) = &written {
                after(&registry, written);
            }
            written
        });
        written.await.map_err(Error::internal)?
    }

    /// Forgets why a source that was written was suspended, and makes its client, in the background, with its connection and
    /// token, so that its first search waits for none of them.
    fn prepare(&self, tenant_id: i64, row: &SourceRow) {
        self.state_of(tenant_id, &row.id).resume();
        if !row.enabled {
            return;
        }
        if let Ok(registered) = self.registered(tenant_id, row) {
            tokio::spawn(async move {
                match registered.connected().await {
                    // How it went is told by the first search.
                    Ok(source) => drop(source.client.warm().await),
                    Err(failure) => {
                        tracing::warn!(tenant_id, reason = failure.message, "a source has no client");
                    }
                }
            });
        }
    }

    /// Forgets what is remembered of a source that was removed.
    fn forget_source(&self, key: &SourceKey) {
        self.sources.invalidate(key);
        self.states.invalidate(key);
    }
}
