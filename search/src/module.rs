use std::{
    collections::{HashMap, HashSet},
    ops::Deref,
    sync::Arc,
};

use serde::Serialize;
use trawl_engine::relevance::Recency;

use crate::{
    duplicates::Duplicates,
    error::Result,
    source::PagedSource,
    sources::{
        InactiveSource,
        builtin::{self, BuiltinSource, Spelling},
        external::ExternalSource,
    },
    vocabulary::Vocabulary,
};

/// A search module, as `POST /modules` lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Module {
    /// The id.
    pub id: String,
    /// The name.
    pub name: String,
    /// The name of an icon.
    pub icon: String,
    /// The code, unique in its tenant; `moduleId` takes it, too.
    pub code: String,
    /// The place in lists, ascending.
    pub order_no: i64,
    /// 1 article, 2 news, 3 to-do, 4 done, 5 feed, 6 people. Others: 7 department, 8 group, 9 file, 10 favorite, 11 message,
    /// 100 external, 101 mixed.
    #[serde(rename = "type")]
    pub kind: i64,
    /// Ids of external sources, or `builtin:CODE`.
    #[serde(skip)]
    pub sources: Vec<String>,
    /// The handling of duplicates.
    #[serde(skip)]
    pub duplicates: Duplicates,
    /// The gain of new items in relevance order, for all sources alike.
    #[serde(skip)]
    pub recency: Recency,
}

/// Source of a module.
#[derive(Clone)]
pub(crate) enum ModuleSource {
    /// Content of the index. By relevance, those of a module are ranked together.
    Builtin(Arc<BuiltinSource>),
    /// External system, or one that is never asked.
    External(Arc<dyn PagedSource>),
}

impl Deref for ModuleSource {
    type Target = dyn PagedSource;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Builtin(source) => &**source,
            Self::External(source) => &**source,
        }
    }
}

/// Disabled sources included.
pub(crate) struct SearchableModule {
    pub(crate) module: Arc<Module>,
    pub(crate) sources: Vec<ModuleSource>,
}

impl SearchableModule {
    /// Each source once, or the one of this id or name.
    pub(crate) fn sources(&self, chosen: Option<&str>) -> impl Iterator<Item = &ModuleSource> {
        let mut ids = HashSet::with_capacity(self.sources.len());
        let each = self.sources.iter().filter(move |source| ids.insert(source.id()));
        each.filter(move |source| chosen.is_none_or(|chosen| [source.id(), source.name()].contains(&chosen)))
    }

    pub(crate) fn builtin_sources(&self, chosen: Option<&str>) -> impl Iterator<Item = &BuiltinSource> {
        self.sources(chosen).filter_map(|source| match source {
            ModuleSource::Builtin(source) => Some(&**source),
            ModuleSource::External(_) => None,
        })
    }

    /// Whether external systems are asked.
    pub(crate) fn asks_external(&self, chosen: Option<&str>) -> bool {
        self.sources(chosen).any(|source| !source.is_disabled() && !builtin::is_id(source.id()))
    }
}

/// Built-in sources of modules, each once.
pub(crate) fn builtin_sources<'a>(
    modules: impl IntoIterator<Item = &'a Arc<SearchableModule>>,
) -> impl Iterator<Item = &'a BuiltinSource> {
    let mut scopes = HashSet::new();
    let sources = modules.into_iter().flat_map(|module| module.builtin_sources(None));
    sources.filter(move |source| scopes.insert(source.scope()))
}

/// A source of a tenant.
pub enum TenantSource {
    /// Content of a module.
    Builtin(BuiltinSource),
    /// External system.
    External(Arc<ExternalSource>),
    /// Never asked.
    Inactive(InactiveSource),
}

impl TenantSource {
    fn into_source(self) -> ModuleSource {
        match self {
            Self::Builtin(source) => ModuleSource::Builtin(Arc::new(source)),
            Self::External(source) => ModuleSource::External(source),
            Self::Inactive(source) => ModuleSource::External(Arc::new(source)),
        }
    }
}

/// The modules of one tenant.
pub struct TenantModules {
    list: Vec<Arc<SearchableModule>>,
    by_id_or_code: HashMap<String, Arc<SearchableModule>>,
    source_ids: HashSet<String>,
    spelling: Arc<Spelling>,
    vocabulary: Arc<Vocabulary>,
}

impl TenantModules {
    /// Modules by `orderNo`, and sources by id.
    pub fn new(modules: Vec<Module>, sources: HashMap<String, TenantSource>, vocabulary: Vocabulary) -> Self {
        let mut ids = HashSet::with_capacity(sources.len());
        let ids = modules.iter().flat_map(|module| &module.sources).filter(|id| ids.insert(*id));
        let spelling = Spelling::of(ids.filter_map(|id| match sources.get(id) {
            Some(TenantSource::Builtin(source)) => Some(source),
            _ => None,
        }));
        let sources: HashMap<String, ModuleSource> =
            sources.into_iter().map(|(id, source)| (id, source.into_source())).collect();
        let searchable = |module: Module| {
            let found = module.sources.iter().filter_map(|id| sources.get(id)).cloned().collect();
            Arc::new(SearchableModule { module: Arc::new(module), sources: found })
        };
        let list: Vec<Arc<SearchableModule>> = modules.into_iter().map(searchable).collect();
        let names = |searchable: &Arc<SearchableModule>| {
            let Module { id, code, .. } = &*searchable.module;
            [id, code].map(|name| (name.clone(), Arc::clone(searchable)))
        };
        let by_id_or_code = list.iter().flat_map(names).collect();
        let source_ids = sources.into_keys().collect();
        let (spelling, vocabulary) = (Arc::new(spelling), Arc::new(vocabulary));
        Self { list, by_id_or_code, source_ids, spelling, vocabulary }
    }

    pub(crate) fn list(&self) -> &[Arc<SearchableModule>] {
        &self.list
    }

    pub(crate) fn find(&self, id_or_code: &str) -> Option<&Arc<SearchableModule>> {
        self.by_id_or_code.get(id_or_code)
    }

    pub(crate) fn spelling(&self) -> &Arc<Spelling> {
        &self.spelling
    }

    pub(crate) fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// Whether any module shows this built-in content.
    pub fn has_builtin(&self, code: &str) -> bool {
        self.source_ids.contains(&builtin::id_of(code))
    }
}

/// Modules by tenant.
#[async_trait::async_trait]
pub trait ModuleDirectory: Send + Sync {
    /// The modules of a tenant.
    ///
    /// # Errors
    /// [`Error::Internal`](crate::Error::Internal).
    async fn modules_of(&self, tenant_id: i64) -> Result<Arc<TenantModules>>;
}
