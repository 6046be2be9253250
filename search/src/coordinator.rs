mod all_modules;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout_at},
};

use crate::{
    answer::{Failure, SearchPage, Status},
    cursor::{self, Cursor, CursorKey},
    error::{Error, Result},
    highlight,
    module::{Module, ModuleDirectory, SearchableModule},
    plan::plan,
    request::{ModuleSearch, Order, PageRequest, PageStart, SearchContext, SearchParameters, Viewer},
    rounds::SearchRounds,
};

pub use self::all_modules::{AllModules, AnswerReservation, ModuleAnswer};

/// Runs searches.
pub struct Coordinator {
    directory: Arc<dyn ModuleDirectory>,
    cursor_key: Arc<dyn CursorKey>,
    permits: Arc<Semaphore>,
    source_pages: usize,
}

impl Coordinator {
    /// Allows `at_once` concurrent searches and `source_pages` pages of each source.
    pub fn new(
        directory: Arc<dyn ModuleDirectory>,
        cursor_key: Arc<dyn CursorKey>,
        at_once: usize,
        source_pages: usize,
    ) -> Self {
        Self { directory, cursor_key, permits: Arc::new(Semaphore::new(at_once)), source_pages }
    }

    /// Answers one page of one module.
    ///
    /// # Errors
    /// [`Failure::NoSource`] when no source answered, else [`Failure::Refused`].
    pub async fn search(&self, viewer: Viewer, search: ModuleSearch) -> Result<SearchPage, Failure> {
        let ModuleSearch { module, page, parameters } = search;
        let deadline = Instant::now() + parameters.timeout;
        let _permit = self.permit()?;
        let modules = self.directory.modules_of(viewer.tenant_id).await?;
        let module = modules.find(&module).ok_or(Error::NoSuchModule)?;
        self.context(SearchContext::new(viewer, parameters, deadline)).answer(module, &page).await
    }

    /// Searches every module of the viewer's tenant (decisions 5.9).
    ///
    /// # Errors
    /// [`Error::TooManySearches`]. Failures of modules are in their answers.
    pub async fn search_all(&self, viewer: Viewer, parameters: SearchParameters) -> Result<AllModules> {
        let deadline = Instant::now() + parameters.timeout;
        let permit = self.permit()?;
        let modules = self.directory.modules_of(viewer.tenant_id).await?;
        let context = self.context(SearchContext::new(viewer, parameters, deadline));
        Ok(AllModules::start(modules.list(), context, permit))
    }

    fn permit(&self) -> Result<OwnedSemaphorePermit> {
        Arc::clone(&self.permits).try_acquire_owned().map_err(|_| Error::TooManySearches)
    }

    fn context(&self, search: SearchContext) -> PageContext {
        PageContext {
            cursor_key: Arc::clone(&self.cursor_key),
            source_pages: self.source_pages,
            search: Arc::new(search),
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

struct PageContext {
    cursor_key: Arc<dyn CursorKey>,
    source_pages: usize,
    search: Arc<SearchContext>,
}

impl PageContext {
    /// Searches once more for similar words if nothing is found (decisions 5.7).
    async fn answer(&self, module: &SearchableModule, page: &PageRequest) -> Result<SearchPage, Failure> {
        let binding = cursor::binding(&self.search, &module.module.id, page)?;
        let attempt = Attempt { context: self, module, page, binding: &binding };
        if let PageStart::Cursor(text) = &page.start {
            let opened = Cursor::open(text, &*self.cursor_key, &binding)?;
            let corrected = opened.corrected.clone();
            return attempt.run(Some(opened), corrected).await;
        }
        let first = attempt.run(None, None).await?;
        if finds_nothing(&first)
            && let Ok(Some(corrected)) = timeout_at(self.search.deadline, self.correct(module)).await
            && let Ok(second) = attempt.run(None, Some(corrected)).await
            && (second.total > 0 || !second.items.is_empty())
        {
            return Ok(second);
        }
        Ok(first)
    }

    async fn correct(&self, module: &SearchableModule) -> Option<String> {
        let SearchContext { viewer, parameters, .. } = &*self.search;
        for source in module.sources.iter().filter(|source| !source.is_disabled()) {
            if let Some(corrected) = source.correct(viewer, &parameters.keyword).await {
                return Some(corrected);
            }
        }
        None
    }
}

/// Whether all sources answered with a total of 0. Without a total, a source cannot prove it.
fn finds_nothing(page: &SearchPage) -> bool {
    let mut answered = page.sources.iter().filter(|source| source.status == Status::Ok);
    page.total == 0 && page.items.is_empty() && !page.partial && answered.all(|source| source.total.is_some())
}

#[derive(Clone, Copy)]
struct Attempt<'a> {
    context: &'a PageContext,
    module: &'a SearchableModule,
    page: &'a PageRequest,
    binding: &'a [u8],
}

impl Attempt<'_> {
    async fn run(self, opened: Option<Cursor>, corrected: Option<String>) -> Result<SearchPage, Failure> {
        let Self { context, module, page, binding } = self;
        let search = match &corrected {
            Some(corrected) => Arc::new(context.search.corrected(corrected)),
            None => Arc::clone(&context.search),
        };
        let plan = plan(&search.parameters, page, module, opened)?;
        let mut rounds = SearchRounds::new(plan, Arc::clone(&search), context.source_pages);
        rounds.run().await;
        let seal =
            |cursor| Cursor { corrected: corrected.clone(), ..cursor }.seal(&*context.cursor_key, binding);
        let answer = SearchPage { corrected: corrected.clone(), ..rounds.finish(seal)? };
        if !search.parameters.highlight {
            return Ok(answer);
        }
        let marked = match search.parameters.order {
            Order::Relevance => Arc::new(search.query.without_stop_words()),
            Order::Time => Arc::clone(&search.query),
        };
        Ok(highlight::add(answer, &marked).await?)
    }
}
