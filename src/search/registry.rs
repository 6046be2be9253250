//! The modules and sources of each tenant, as the store holds them and as searches use them (decisions 4.1, 7).

mod changes;
mod connect;
mod forms;
mod modules;
mod repo;
mod sources;
#[cfg(test)]
mod tests;
mod usable;

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use moka::{future, sync};
use tokio::sync::Semaphore;

use self::{
    connect::{Registered, Unasked},
    repo::sources::SourceRow,
    usable::Unusable,
};
use super::{
    builtin::{self, BuiltinSource},
    cache::{Answers, BuiltInPages},
    clock::Clock,
    health::SourceState,
    served::Served,
    source::Source,
};
use crate::{
    auth::keys::Keys,
    config::{self, Suspension},
    error::{Error, Result},
    store::{Store, now_millis},
};

pub use self::{
    changes::SourceCheck,
    modules::{Module, ModuleForm, RegisteredModule, create_default_modules},
    sources::{AuthForm, RegisteredAuth, RegisteredSource, SourceForm},
    usable::Reach,
};

/// Conformance checks that may run at once: each makes some thirty calls.
const CHECKS_AT_ONCE: usize = 4;
/// Tenants whose modules are kept at hand.
const REMEMBERED_TENANTS: u64 = 100_000;
/// External sources whose connections and tokens are kept from one load of their tenant's modules to the next.
const REMEMBERED_SOURCES: u64 = 10_000;
/// External sources of which it is remembered how they have been.
const REMEMBERED_STATES: u64 = 100_000;

/// The modules of one tenant with their sources ready to be asked.
pub struct TenantModules {
    list: Vec<Arc<Module>>,
    by_id_or_code: HashMap<String, Arc<Module>>,
    sources: HashMap<String, Arc<dyn Source>>,
}

impl TenantModules {
    /// The modules by `orderNo`.
    pub fn list(&self) -> &[Arc<Module>] {
        &self.list
    }

    /// The module with this id or code.
    pub fn find(&self, id_or_code: &str) -> Option<&Arc<Module>> {
        self.by_id_or_code.get(id_or_code)
    }

    /// Whether any module shows the built-in content of this code.
    pub fn has_builtin(&self, code: &str) -> bool {
        self.sources.contains_key(&format!("{}{code}", builtin::ID_PREFIX))
    }

    /// The module's sources, by their places, disabled ones among them.
    pub(super) fn sources_of(&self, module: &Module) -> Vec<Arc<dyn Source>> {
        module.sources.iter().filter_map(|id| self.sources.get(id)).map(Arc::clone).collect()
    }
}

/// A source of a tenant.
type SourceKey = (i64, String);

/// Knows the modules and sources of every tenant.
pub struct Registry {
    store: Store,
    index: Arc<Served>,
    keys: Arc<Keys>,
    reach: Reach,
    answers: Answers,
    pages: BuiltInPages,
    suspension: Suspension,
    clock: Arc<dyn Clock>,
    /// Grows at each change of any registration; modules that were read before are of an older generation.
    generation: AtomicU64,
    tenants: future::Cache<(u64, i64), Arc<TenantModules>>,
    sources: sync::Cache<SourceKey, Arc<Registered>>,
    states: sync::Cache<SourceKey, Arc<SourceState>>,
    /// Conformance checks that may begin.
    checks: Arc<Semaphore>,
    /// Epoch milliseconds.
    started: i64,
    /// The same by `clock`.
    began: i64,
}

impl Registry {
    /// A registry over this store, whose external sources keep to `reach`, whose answers are used again as `cache` says,
    /// and which are suspended as `suspension` says, by this clock.
    pub fn new(
        store: Store,
        index: Arc<Served>,
        keys: Arc<Keys>,
        reach: Reach,
        cache: config::Cache,
        suspension: Suspension,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            store,
            index,
            keys,
            reach,
            answers: Answers::new(cache),
            pages: BuiltInPages::new(cache),
            suspension,
            began: clock.now(),
            clock,
            generation: AtomicU64::new(0),
            tenants: future::Cache::builder().max_capacity(REMEMBERED_TENANTS).build(),
            sources: sync::Cache::builder().max_capacity(REMEMBERED_SOURCES).build(),
            states: sync::Cache::builder().max_capacity(REMEMBERED_STATES).build(),
            checks: Arc::new(Semaphore::new(CHECKS_AT_ONCE)),
            started: now_millis(),
        }
    }

    /// The modules of a tenant.
    pub async fn modules_of(&self, tenant_id: i64) -> Result<Arc<TenantModules>> {
        let key = (self.generation.load(Ordering::Acquire), tenant_id);
        if let Some(modules) = self.tenants.get(&key).await {
            return Ok(modules);
        }
        // Many searches of a tenant that is not at hand read its modules once.
        let loaded = self.tenants.try_get_with(key, async { self.load(tenant_id).await.map(Arc::new) });
        let loaded = loaded.await.map_err(|error: Arc<Error>| Error::internal(error.to_string()))?;
        if self.generation.load(Ordering::Acquire) != key.0 {
            self.tenants.invalidate(&key).await;
        }
        // What was replaced goes now, its connections with it, and not when the caches next have much to do.
        self.tenants.run_pending_tasks().await;
        self.sources.run_pending_tasks();
        Ok(loaded)
    }

    /// Lets everyone read the modules anew, because some changed.
    fn forget_modules(&self) {
        // A look-up that began before the change files what it read under the old generation, where none finds it.
        self.generation.fetch_add(1, Ordering::AcqRel);
        self.tenants.invalidate_all();
    }

    /// Lets go of everything that is remembered of a tenant that is gone.
    pub fn forget_tenant(&self, tenant_id: i64) {
        self.forget_modules();
        for (key, _) in self.sources.iter().filter(|(key, _)| key.0 == tenant_id) {
            self.sources.invalidate(&*key);
        }
        for (key, _) in self.states.iter().filter(|(key, _)| key.0 == tenant_id) {
            self.states.invalidate(&*key);
        }
    }

    async fn load(&self, tenant_id: i64) -> Result<TenantModules> {
        let list = repo::modules::list(self.store.reader(), tenant_id).await?;
        let rows = repo::sources::list(self.store.reader(), tenant_id).await?;
        let mut rows: HashMap<String, SourceRow> =
            rows.into_iter().map(|row| (row.id.clone(), row)).collect();
        let mut sources: HashMap<String, Arc<dyn Source>> = HashMap::new();
        for id in list.iter().flat_map(|module| &module.sources) {
            if sources.contains_key(id) {
                continue;
            }
            let source: Arc<dyn Source> = if let Some(code) = id.strip_prefix(builtin::ID_PREFIX) {
                let name = list.iter().find(|module| module.code == code).map_or(code, |module| &module.name);
                let (index, pages) = (Arc::clone(&self.index), self.pages.clone());
                Arc::new(BuiltinSource::new(index, pages, tenant_id, code, name))
            } else if let Some(row) = rows.remove(id) {
                self.external(tenant_id, row)
            } else {
                let message = "it is not registered (any more)".to_owned();
                Arc::new(Unasked::unusable(id.clone(), id.clone(), message))
            };
            sources.insert(id.clone(), source);
        }
        let list: Vec<Arc<Module>> = list.into_iter().map(Arc::new).collect();
        let by_id_or_code = list
            .iter()
            .flat_map(|module| [&module.id, &module.code].map(|name| (name.clone(), Arc::clone(module))))
            .collect();
        Ok(TenantModules { list, by_id_or_code, sources })
    }

    fn external(&self, tenant_id: i64, row: SourceRow) -> Arc<dyn Source> {
        if !row.enabled {
            return Arc::new(Unasked::disabled(row));
        }
        match self.registered(tenant_id, &row) {
            Ok(registered) => registered,
            Err(unusable) => {
                tracing::warn!(tenant_id, source = row.id, %unusable, "the settings of a source are not usable");
                Arc::new(Unasked::unusable(row.id, row.name, unusable.message()))
            }
        }
    }

    /// The source of a row: the one of before where the row is what it was.
    fn registered(&self, tenant_id: i64, row: &SourceRow) -> Result<Arc<Registered>, Unusable> {
        let key = (tenant_id, row.id.clone());
        if let Some(known) = self.sources.get(&key).filter(|known| known.is_of(row)) {
            return Ok(known);
        }
        let sealed = row.client_secret_sealed.clone().unwrap_or_default();
        let secret = || usable::open(&self.keys.secrets, tenant_id, &key.1, &sealed);
        let state = self.state_of(tenant_id, &key.1);
        let made = Arc::new(Registered::new(row.clone(), &self.reach, state, self.answers.clone(), secret)?);
        // Of two that are made at once, one is kept.
        let kept = self.sources.entry(key).or_insert_with_if(|| made, |known| !known.is_of(row));
        Ok(kept.into_value())
    }

    fn state_of(&self, tenant_id: i64, source_id: &str) -> Arc<SourceState> {
        self.states.get_with((tenant_id, source_id.to_owned()), || {
            Arc::new(SourceState::new(
                tenant_id,
                source_id.to_owned(),
                self.suspension,
                Arc::clone(&self.clock),
            ))
        })
    }
}
