mod all_modules;
mod attempt;
mod facet_counting;
mod items;
mod rewriting;
mod suggestions;
#[cfg(test)]
mod tests;
mod top;

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, timeout};
use trawl_fair::{FairPermit, FairSemaphore};

use crate::{
    answer::{SearchFailure, SearchPage},
    cursor::{CursorKey, Rewrite},
    error::{Error, Result},
    figures::Figures,
    module::{Module, ModuleDirectory, TenantModules},
    request::{ModuleSearch, SearchContext, SearchParameters, SearcherKey, Viewer},
    sources::builtin::Spelling,
};

pub use self::{
    all_modules::{AllModules, AnswerReservation, ModuleAnswer},
    items::{FoundItem, ItemRequest, ModuleItemKey},
    suggestions::{Suggestion, SuggestionKind, SuggestionRequest},
};

/// Most time that a search waits for a place.
///
/// It is half of the search's own time where that is less.
const MAX_PLACE_WAIT: Duration = Duration::from_secs(1);

/// A place among the concurrent searches.
type SearchPermit = FairPermit<i64, SearcherKey>;

/// Runs searches.
pub struct Coordinator {
    directory: Arc<dyn ModuleDirectory>,
    cursor_key: Arc<dyn CursorKey>,
    places: FairSemaphore<i64, SearcherKey>,
    source_pages: usize,
    figures: Arc<Figures>,
}

impl Coordinator {
    /// Allows `at_once` concurrent searches, half of them to one searcher, and `source_pages` pages of each source.
    pub fn new(
        directory: Arc<dyn ModuleDirectory>,
        cursor_key: Arc<dyn CursorKey>,
        at_once: usize,
        source_pages: usize,
        figures: Arc<Figures>,
    ) -> Self {
        let places = FairSemaphore::new(at_once, at_once.div_ceil(2).max(2), at_once);
        Self { directory, cursor_key, places, source_pages, figures }
    }

    /// Answers one page of one module.
    ///
    /// # Errors
    /// [`SearchFailure::NoSource`] when no source answered, else [`SearchFailure::Refused`].
    pub async fn search(&self, viewer: Viewer, search: ModuleSearch) -> Result<SearchPage, SearchFailure> {
        let ModuleSearch { module, page, parameters } = search;
        let started = Instant::now();
        let (modules, _permit) = self.admit(&viewer, parameters.timeout).await?;
        let module = modules.find(&module).ok_or(Error::NoSuchModule)?;
        let context = self.context(&modules, viewer, parameters, started);
        let result = context.answer(module, &page).await.map(SearchPage::with_pinned_first);
        context.record(&module.module, &result);
        result
    }

    /// Searches every module of the viewer's tenant.
    ///
    /// `top`: the number of best items of all modules together.
    ///
    /// # Errors
    /// [`Error::TooManySearches`]. Failures of modules are in their answers.
    pub async fn search_all(
        &self,
        viewer: Viewer,
        mut parameters: SearchParameters,
        top: Option<usize>,
    ) -> Result<AllModules> {
        // Counted once for all modules.
        let facets = std::mem::take(&mut parameters.facets);
        let started = Instant::now();
        let (modules, permit) = self.admit(&viewer, parameters.timeout).await?;
        let context = self.context(&modules, viewer, parameters, started);
        let unknown = context.unknown_words().await;
        Ok(AllModules::start(modules.list(), context, unknown, facets, top, permit))
    }

    /// Waits for a place among the concurrent searches.
    async fn admit(
        &self,
        viewer: &Viewer,
        search_time: Duration,
    ) -> Result<(Arc<TenantModules>, SearchPermit)> {
        let max_wait = MAX_PLACE_WAIT.min(search_time / 2);
        let place = timeout(max_wait, self.places.acquire(viewer.searcher())).await;
        let Ok(Ok(permit)) = place else {
            metrics::counter!("trawl_searches_refused_total").increment(1);
            return Err(Error::TooManySearches);
        };
        let modules = self.directory.modules_of(viewer.tenant_id).await?;
        Ok((modules, permit))
    }

    fn context(
        &self,
        modules: &TenantModules,
        viewer: Viewer,
        parameters: SearchParameters,
        started: Instant,
    ) -> PageContext {
        let vocabulary = Arc::clone(modules.vocabulary());
        let deadline = started + parameters.timeout;
        PageContext {
            cursor_key: Arc::clone(&self.cursor_key),
            spelling: Arc::clone(modules.spelling()),
            source_pages: self.source_pages,
            figures: Arc::clone(&self.figures),
            started,
            search: Arc::new(SearchContext::new(viewer, parameters, vocabulary, deadline)),
        }
    }

    /// Code of the module with this id or code.
    pub async fn code_of(&self, tenant_id: i64, module: &str) -> Option<String> {
        let modules = self.directory.modules_of(tenant_id).await.ok()?;
        modules.find(module).map(|found| found.module.code.clone())
    }

    /// Modules by `orderNo`.
    pub async fn modules(&self, tenant_id: i64) -> Result<Vec<Arc<Module>>> {
        let modules = self.directory.modules_of(tenant_id).await?;
        Ok(modules.list().iter().map(|found| Arc::clone(&found.module)).collect())
    }
}

/// The parts that all searches of one request share.
#[derive(Clone)]
struct PageContext {
    cursor_key: Arc<dyn CursorKey>,
    spelling: Arc<Spelling>,
    source_pages: usize,
    figures: Arc<Figures>,
    started: Instant,
    search: Arc<SearchContext>,
}

impl PageContext {
    fn record(&self, module: &Module, result: &Result<SearchPage, SearchFailure>) {
        self.figures.record(self.search.viewer.tenant_id, &module.id, self.started.elapsed(), result);
    }

    /// The search for another keyword, if there is one.
    fn searched_for(&self, rewrite: &Rewrite) -> Arc<SearchContext> {
        match rewrite.keyword() {
            Some(keyword) => Arc::new(self.search.with_keyword(keyword)),
            None => Arc::clone(&self.search),
        }
    }
}
