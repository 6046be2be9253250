//! The best matches of all modules together, each once.
//!
//! One more search, over all sources as if one module had them. Its calls of external systems join those of the modules, and it
//! waits for them no longer than a part of the time.

use std::{collections::HashMap, sync::Arc};

use serde_json::Value;
use tokio::time::Instant;
use trawl_engine::relevance::Recency;

use super::PageContext;
use crate::{
    answer::SearchPage,
    duplicates::Duplicates,
    module::{Module, SearchableModule},
    request::{SearchContext, SearchParameters},
};

const WAIT_PART: u32 = 8;

pub(super) struct TopSearch {
    limit: usize,
    pub(super) searchable: Arc<SearchableModule>,
    /// Codes of modules as JSON, by the source's place among those in use.
    codes: Vec<String>,
}

impl TopSearch {
    pub(super) fn of(modules: &[Arc<SearchableModule>], limit: usize) -> Self {
        let sources = modules.iter().flat_map(|module| &module.sources).cloned().collect();
        let module = Module {
            id: String::new(),
            name: String::new(),
            icon: String::new(),
            code: String::new(),
            order_no: 0,
            kind: 0,
            sources: Vec::new(),
            duplicates: Duplicates::ByAction,
            recency: Recency::DEFAULT,
        };
        let searchable = SearchableModule { module: Arc::new(module), sources };
        let homes = homes(modules);
        let in_use = searchable.sources(None).filter(|source| !source.is_disabled());
        let codes = in_use.map(|source| Value::from(homes[source.id()]).to_string()).collect();
        Self { limit, searchable: Arc::new(searchable), codes }
    }

    /// The context of the modules' searches, with its own limit and an earlier deadline.
    pub(super) fn context(&self, modules: &PageContext) -> PageContext {
        let search = &*modules.search;
        let now = Instant::now();
        let deadline = now + search.deadline.saturating_duration_since(now) / WAIT_PART;
        let parameters = SearchParameters { limit: self.limit, ..search.parameters.clone() };
        let search = Arc::new(SearchContext { parameters, deadline, ..search.clone() });
        PageContext { search, ..modules.clone() }
    }

    /// Adds the code of its module to each item.
    pub(super) fn naming_modules(&self, mut page: SearchPage) -> SearchPage {
        for item in page.shown_mut() {
            if let Some(code) = item.lane.and_then(|lane| self.codes.get(lane)) {
                item.add_field("module", code);
            }
        }
        // Only a module has further pages.
        SearchPage { cursor: None, ..page }
    }
}

/// The module with the fewest sources has a source at home; of equal ones, the first.
fn homes(modules: &[Arc<SearchableModule>]) -> HashMap<&str, &str> {
    let mut homes = HashMap::new();
    let mut by_size: Vec<&Arc<SearchableModule>> = modules.iter().collect();
    by_size.sort_by_key(|module| module.sources.len());
    for module in by_size {
        for source in &module.sources {
            homes.entry(source.id()).or_insert(module.module.code.as_str());
        }
    }
    homes
}
