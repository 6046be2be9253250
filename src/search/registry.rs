//! The modules and sources of each tenant, as the store holds them and as searches use them (decisions 4.1, 7).

mod repo;

use std::{collections::HashMap, sync::Arc, time::Duration};

use moka::future::Cache;
use serde::Serialize;
use trawl_connectors::{AddressRules, Authentication, DeclaredOrder, Method, SourceClient, SourceSettings};
use url::Url;

use super::{
    builtin::{self, BuiltinSource},
    external::ExternalSource,
    source::Source,
};
use crate::{
    auth::keys::Keys,
    error::{Error, Result},
    store::{Store, Transaction},
};

/// Tenants whose modules are kept at hand.
const REMEMBERED_TENANTS: u64 = 100_000;

/// A search module, as `POST /modules` lists it (decisions 4.1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Module {
    /// The module's id.
    pub id: String,
    /// A name for people.
    pub name: String,
    /// The name of an icon.
    pub icon: String,
    /// The code, unique in its tenant, which `moduleId` takes too.
    pub code: String,
    /// Modules are listed by this, ascending.
    pub order_no: i64,
    /// 1 article, 2 news, 3 to-do, 4 done, 5 feed, 6 people, 7 department, 8 group, 9 file, 10 favorite, 11 message,
    /// 100 external, 101 mixed.
    #[serde(rename = "type")]
    pub kind: i64,
    /// Its sources by their places: an external one's id, or `builtin:CODE`.
    #[serde(skip)]
    pub sources: Vec<String>,
}

/// An external source as it is registered (decisions 7.1).
#[derive(Clone, Debug)]
pub struct ExternalRegistration {
    /// The source's id.
    pub id: String,
    /// A name for people.
    pub name: String,
    /// The interface URL.
    pub url: Url,
    /// How it is called.
    pub method: Method,
    /// Who trawl is for it.
    pub authentication: Authentication,
    /// In which order it says it sends its matches.
    pub order: DeclaredOrder,
    /// The longest that one call may take.
    pub timeout: Duration,
    /// Items asked for in one call.
    pub page_size: usize,
    /// Calls that may be under way at once.
    pub max_concurrency: usize,
    /// Whether searches ask it.
    pub enabled: bool,
}

/// The built-in modules that every tenant starts with: code, name, type (decisions 4.2).
pub const DEFAULT_MODULES: [(&str, &str, i64); 11] = [
    ("article", "Articles", 1),
    ("news", "News", 2),
    ("todo", "To-do", 3),
    ("done", "Done", 4),
    ("feed", "Feeds", 5),
    ("people", "People", 6),
    ("department", "Departments", 7),
    ("group", "Groups", 8),
    ("file", "Files", 9),
    ("favorite", "Favorites", 10),
    ("message", "Messages", 11),
];

/// Stores the modules that a tenant starts with.
pub async fn create_default_modules(transaction: &Transaction, tenant_id: i64) -> Result<()> {
    for (place, (code, name, kind)) in (1..).zip(DEFAULT_MODULES) {
        let module = Module {
            id: uuid::Uuid::new_v4().to_string(),
            name: name.to_owned(),
            icon: code.to_owned(),
            code: code.to_owned(),
            order_no: place,
            kind,
            sources: vec![format!("{}{code}", builtin::ID_PREFIX)],
        };
        repo::insert_module(transaction, tenant_id, &module).await?;
    }
    Ok(())
}

/// The modules of one tenant with their sources ready to be asked.
pub struct TenantModules {
    list: Vec<Arc<Module>>,
    sources: HashMap<String, Arc<dyn Source>>,
}

impl TenantModules {
    /// The modules by `orderNo`.
    pub fn list(&self) -> &[Arc<Module>] {
        &self.list
    }

    /// The module with this id or code.
    pub fn find(&self, id_or_code: &str) -> Option<&Arc<Module>> {
        self.list.iter().find(|module| module.id == id_or_code || module.code == id_or_code)
    }

    /// Whether any module shows the built-in content of this code.
    pub fn has_builtin(&self, code: &str) -> bool {
        let id = format!("{}{code}", builtin::ID_PREFIX);
        self.list.iter().any(|module| module.sources.contains(&id))
    }

    /// The module's enabled sources, by their places.
    pub(super) fn sources_of(&self, module: &Module) -> Vec<Arc<dyn Source>> {
        module.sources.iter().filter_map(|id| self.sources.get(id)).map(Arc::clone).collect()
    }
}

/// What the configuration allows external sources (decisions 6.2, 7.4).
#[derive(Clone, Debug)]
pub struct Reach {
    /// Where they may be.
    pub addresses: AddressRules,
    /// Whether they may be called without credentials.
    pub auth_none: bool,
    /// The largest answer, in bytes, inflated.
    pub max_body_bytes: usize,
}

/// Knows the modules and sources of every tenant.
pub struct Registry {
    store: Store,
    index: trawl_index::Index,
    keys: Arc<Keys>,
    reach: Reach,
    tenants: Cache<i64, Arc<TenantModules>>,
}

impl Registry {
    /// A registry over this store, whose external sources keep to `reach`.
    pub fn new(store: Store, index: trawl_index::Index, keys: Arc<Keys>, reach: Reach) -> Self {
        let tenants = Cache::builder().max_capacity(REMEMBERED_TENANTS).build();
        Self { store, index, keys, reach, tenants }
    }

    /// The modules of a tenant.
    pub async fn modules_of(&self, tenant_id: i64) -> Result<Arc<TenantModules>> {
        if let Some(modules) = self.tenants.get(&tenant_id).await {
            return Ok(modules);
        }
        // Many searches of a tenant that is not at hand read its modules once.
        let loaded = self.tenants.try_get_with(tenant_id, async { self.load(tenant_id).await.map(Arc::new) });
        loaded.await.map_err(|error: Arc<Error>| Error::internal(error.to_string()))
    }

    /// Registers an external source and a module that shows `sources`, in one transaction.
    ///
    /// # Errors
    /// 400 for settings that can never work, 409 when the module's code is taken.
    pub async fn register(&self, tenant_id: i64, source: ExternalRegistration, module: Module) -> Result<()> {
        self.connect(&source)?;
        let row = repo::SourceRow::new(&source, &self.keys)?;
        self.store
            .write(move |transaction| {
                Box::pin(async move {
                    repo::insert_source(transaction, tenant_id, row).await?;
                    repo::insert_module(transaction, tenant_id, &module).await
                })
            })
            .await?;
        self.tenants.invalidate(&tenant_id).await;
        Ok(())
    }

    async fn load(&self, tenant_id: i64) -> Result<TenantModules> {
        let list = repo::modules(self.store.reader(), tenant_id).await?;
        let mut sources: HashMap<String, Arc<dyn Source>> = HashMap::new();
        for id in list.iter().flat_map(|module| &module.sources) {
            if let Some(code) = id.strip_prefix(builtin::ID_PREFIX) {
                let name = list.iter().find(|module| module.code == code).map_or(code, |module| &module.name);
                let source = BuiltinSource::new(self.index.clone(), tenant_id, code, name);
                sources.insert(id.clone(), Arc::new(source));
            }
        }
        for row in repo::sources(self.store.reader(), tenant_id).await? {
            let registration = row.into_registration(&self.keys)?;
            if registration.enabled {
                let source = self.connect(&registration)?;
                sources.insert(registration.id, Arc::new(source));
            }
        }
        Ok(TenantModules { list: list.into_iter().map(Arc::new).collect(), sources })
    }

    fn connect(&self, registration: &ExternalRegistration) -> Result<ExternalSource> {
        let settings = SourceSettings {
            url: registration.url.clone(),
            method: registration.method,
            authentication: registration.authentication.clone(),
            timeout: registration.timeout,
            max_concurrency: registration.max_concurrency,
            max_body_bytes: self.reach.max_body_bytes,
        };
        let client = SourceClient::new(settings, &self.reach.addresses)
            .map_err(|error| Error::bad_request(error.to_string()))?;
        Ok(ExternalSource {
            id: registration.id.clone(),
            name: registration.name.clone(),
            order: registration.order,
            timeout: registration.timeout,
            page_size: registration.page_size,
            client,
        })
    }
}
