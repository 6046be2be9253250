//! Makes searchable modules and sources of rows.

use std::{collections::HashMap, sync::Arc};

use moka::sync::Cache;
use trawl_search::{
    CacheSettings, SuspensionSettings, TenantModules, TenantSource, Weight,
    clock::Clock,
    sources::{
        InactiveSource,
        builtin::{self, BuiltinSource, IndexPageCache, ServedIndex},
        external::{ExternalSettings, ExternalSource, SourcePageCache, SourceState},
    },
};

use super::{
    repo::{self, sources::SourceRow},
    validated_settings::{self, InvalidSettings, SourcePolicy, validate},
};
use crate::{
    auth::keys::Keys,
    error::{Error, Result},
    store::Store,
    telemetry::trace::hand_on,
};

/// Their connections and tokens stay between two loads.
const MAX_SOURCES: u64 = 10_000;
const MAX_STATES: u64 = 100_000;

pub(super) type SourceKey = (i64, String);

pub(super) struct Loader {
    store: Store,
    index: Arc<ServedIndex>,
    keys: Arc<Keys>,
    policy: SourcePolicy,
    source_pages: SourcePageCache,
    index_pages: IndexPageCache,
    suspension: SuspensionSettings,
    clock: Arc<dyn Clock>,
    sources: Cache<SourceKey, Arc<LoadedSource>>,
    states: Cache<SourceKey, Arc<SourceState>>,
}

pub(super) struct LoadedSource {
    row: SourceRow,
    pub(super) source: Arc<ExternalSource>,
}

impl Loader {
    pub(super) fn new(
        store: Store,
        index: Arc<ServedIndex>,
        keys: Arc<Keys>,
        policy: SourcePolicy,
        cache: CacheSettings,
        (suspension, clock): (SuspensionSettings, Arc<dyn Clock>),
    ) -> Self {
        Self {
            store,
            index,
            keys,
            policy,
            source_pages: SourcePageCache::new(cache),
            index_pages: IndexPageCache::new(cache),
            suspension,
            clock,
            sources: Cache::new(MAX_SOURCES),
            states: Cache::new(MAX_STATES),
        }
    }

    pub(super) async fn load(&self, tenant_id: i64) -> Result<TenantModules> {
        let modules = repo::modules::list(self.store.reader(), tenant_id).await?;
        let rows = repo::sources::list(self.store.reader(), tenant_id).await?;
        let mut rows: HashMap<String, SourceRow> =
            rows.into_iter().map(|row| (row.id.clone(), row)).collect();
        let mut sources: HashMap<String, TenantSource> = HashMap::new();
        for id in modules.iter().flat_map(|module| &module.sources) {
            if sources.contains_key(id) {
                continue;
            }
            let source = if let Some(code) = builtin::code_of(id) {
                let named = modules.iter().find(|module| module.code == code);
                let name = named.map_or(code, |module| &module.name);
                let (index, pages) = (Arc::clone(&self.index), self.index_pages.clone());
                TenantSource::Builtin(BuiltinSource::new(index, pages, tenant_id, code, name))
            } else if let Some(row) = rows.remove(id) {
                self.external(tenant_id, row)
            } else {
                let message = "it is not registered".to_owned();
                TenantSource::Inactive(InactiveSource::failing(id.clone(), id.clone(), message))
            };
            sources.insert(id.clone(), source);
        }
        let registered = repo::vocabularies::find(self.store.reader(), tenant_id).await?;
        let compiling = tokio::task::spawn_blocking(move || registered.compile());
        let vocabulary = compiling.await.map_err(Error::internal)?;
        Ok(TenantModules::new(modules, sources, vocabulary))
    }

    /// A source with invalid settings fails alone.
    fn external(&self, tenant_id: i64, row: SourceRow) -> TenantSource {
        if !row.enabled {
            return TenantSource::Inactive(InactiveSource::disabled(row.id, row.name));
        }
        match self.source(tenant_id, &row) {
            Ok(source) => TenantSource::External(source),
            Err(invalid) => {
                tracing::warn!(tenant_id, source = row.id, unusable = %invalid, "the settings of a source are not usable");
                TenantSource::Inactive(InactiveSource::failing(row.id, row.name, invalid.message()))
            }
        }
    }

    /// An unchanged row keeps its source, with its connections and token.
    pub(super) fn source(
        &self,
        tenant_id: i64,
        row: &SourceRow,
    ) -> Result<Arc<ExternalSource>, InvalidSettings> {
        let key = (tenant_id, row.id.clone());
        if let Some(known) = self.sources.get(&key).filter(|known| known.row == *row) {
            return Ok(Arc::clone(&known.source));
        }
        let sealed = row.client_secret_sealed.clone().unwrap_or_default();
        let secret = || validated_settings::open(&self.keys.secrets, tenant_id, &key.1, &sealed);
        let settings = ExternalSettings {
            id: row.id.clone(),
            name: row.name.clone(),
            weight: Weight::from_thousandths(row.weight),
            hedging: row.hedging,
            requests_per_minute: row.requests_per_minute.and_then(|requests| usize::try_from(requests).ok()),
            while_typing: row.while_typing,
            client: validate(tenant_id, row, &self.policy, secret)?,
        };
        let state = self.state_of(tenant_id, &row.id);
        let source = ExternalSource::new(settings, state, self.source_pages.clone(), hand_on);
        let loaded = Arc::new(LoadedSource { row: row.clone(), source: Arc::new(source) });
        // Two may be made at once; one stays.
        let kept = self.sources.entry(key).or_insert_with_if(|| loaded, |known| known.row != *row);
        Ok(Arc::clone(&kept.into_value().source))
    }

    pub(super) fn state_of(&self, tenant_id: i64, source_id: &str) -> Arc<SourceState> {
        self.states.get_with((tenant_id, source_id.to_owned()), || {
            let clock = Arc::clone(&self.clock);
            Arc::new(SourceState::new(tenant_id, source_id.to_owned(), self.suspension, clock))
        })
    }

    pub(super) fn run_pending_tasks(&self) {
        self.sources.run_pending_tasks();
    }

    pub(super) fn forget_source(&self, key: &SourceKey) {
        self.sources.invalidate(key);
        self.states.invalidate(key);
    }

    pub(super) fn forget_tenant(&self, tenant_id: i64) {
        for (key, _) in self.sources.iter().filter(|(key, _)| key.0 == tenant_id) {
            self.sources.invalidate(&*key);
        }
        for (key, _) in self.states.iter().filter(|(key, _)| key.0 == tenant_id) {
            self.states.invalidate(&*key);
        }
    }
}
