//! The modules, sources and vocabularies of tenants, as registered and as searched.
//!
//! They are cached together until a change makes them stale.

mod changes;
pub(crate) mod forms;
mod loader;
pub mod modules;
mod repo;
mod source_forms;
mod sources;
#[cfg(test)]
mod tests;
mod validated_settings;
mod vocabulary;

use std::sync::Arc;

use moka::sync::Cache;
use tokio::sync::Semaphore;
use trawl_search::{
    CacheSettings, ModuleDirectory, SingleFlight, SuspensionSettings, TenantModules, clock::Clock,
    panics::CaughtPanic, sources::builtin::ServedIndex,
};

use self::loader::Loader;
use crate::{
    auth::keys::Keys,
    store::{Cached, Generation, Store, now_millis},
};

pub use self::{
    changes::{Author, SourceCheck},
    modules::{ModuleForm, RegisteredModule, create_default_modules},
    source_forms::{AuthForm, IdentityForm, SourceForm, TrialForm},
    sources::{LastCheck, RegisteredAuth, RegisteredSource},
    validated_settings::SourcePolicy,
    vocabulary::{OneWaySynonym, PinnedKeyword, PinnedReference, RegisteredVocabulary},
};

/// Concurrent checks; each makes about thirty calls.
const MAX_CHECKS: usize = 4;
const MAX_TENANTS: u64 = 100_000;

/// A tenant and the number of the generation.
type LoadKey = (i64, u64);

type CachedModules = (Generation, Arc<TenantModules>);

/// The modules and sources of every tenant.
pub struct Registry {
    store: Store,
    keys: Arc<Keys>,
    policy: SourcePolicy,
    loader: Arc<Loader>,
    tenants: Cache<i64, CachedModules>,
    loads: SingleFlight<LoadKey, Result<Arc<TenantModules>, String>>,
    checks: Arc<Semaphore>,
    /// Epoch milliseconds.
    started: i64,
    began: i64,
}

impl Registry {
    /// `clock` is that of suspensions.
    pub fn new(
        store: Store,
        index: Arc<ServedIndex>,
        keys: Arc<Keys>,
        policy: SourcePolicy,
        cache: CacheSettings,
        suspension: SuspensionSettings,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let began = clock.now();
        let loader =
            Loader::new(store.clone(), index, Arc::clone(&keys), policy.clone(), cache, (suspension, clock));
        Self {
            store,
            keys,
            policy,
            loader: Arc::new(loader),
            tenants: Cache::new(MAX_TENANTS),
            loads: SingleFlight::default(),
            checks: Arc::new(Semaphore::new(MAX_CHECKS)),
            started: now_millis(),
            began,
        }
    }

    /// Drops the sources of a deleted tenant.
    pub fn forget_tenant(&self, tenant_id: i64) {
        self.tenants.invalidate(&tenant_id);
        self.loader.forget_tenant(tenant_id);
    }
}

#[async_trait::async_trait]
impl ModuleDirectory for Registry {
    /// The modules as of the store's last refresh.
    async fn modules_of(&self, tenant_id: i64) -> trawl_search::Result<Arc<TenantModules>> {
        if let Some((_, modules)) = self.tenants.get(&tenant_id).filter(|(loaded, _)| loaded.is_current()) {
            return Ok(modules);
        }
        let generation = self.store.generations().now(Cached::Modules(tenant_id));
        let (loader, tenants) = (Arc::clone(&self.loader), self.tenants.clone());
        let panicked =
            |panic: &CaughtPanic| Err(format!("loading the modules of a tenant panicked: {panic}"));
        let (load, _joined) = self.loads.join((tenant_id, generation.number), panicked, async move {
            let modules = Arc::new(loader.load(tenant_id).await.map_err(|error| error.to_string())?);
            tenants.insert(tenant_id, (generation, Arc::clone(&modules)));
            Ok(modules)
        });
        let modules = load.await.map_err(trawl_search::Error::internal)?;
        // Replaced sources close their connections now.
        self.tenants.run_pending_tasks();
        self.loader.run_pending_tasks();
        Ok(modules)
    }
}
