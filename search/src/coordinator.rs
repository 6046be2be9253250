mod all_modules;
mod facet_counting;
mod items;
mod shown_texts;
mod suggestions;
#[cfg(test)]
mod tests;
mod top;

use std::{pin::pin, sync::Arc};

use futures::future::{Either, join, select};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout_at},
};
use trawl_engine::correction::{Correction, UnknownWords};

use crate::{
    answer::{Facets, Failure, Relaxed, SearchPage},
    cursor::{self, Cursor, CursorKey, Rewrite},
    error::{Error, Result},
    explanation,
    facets::{self, ModuleTotals},
    figures::Figures,
    highlight,
    module::{Module, ModuleDirectory, ModuleSource, SearchableModule, TenantModules},
    pinned::Pinned,
    plan::plan,
    relaxation::{Matches, relax},
    request::{ModuleSearch, Order, PageRequest, PageStart, SearchContext, SearchParameters, Viewer},
    rounds::SearchRounds,
    source::{Item, Status},
    sources::builtin::{BuiltinSource, Spelling},
};

use self::shown_texts::ShownTexts;
pub use self::{
    all_modules::{AllModules, AnswerReservation, ModuleAnswer},
    items::{FoundItem, ItemKey, ItemRequest},
    suggestions::{Suggestion, SuggestionKind, SuggestionRequest},
};

/// Runs searches.
pub struct Coordinator {
    directory: Arc<dyn ModuleDirectory>,
    cursor_key: Arc<dyn CursorKey>,
    permits: Arc<Semaphore>,
    source_pages: usize,
    figures: Arc<Figures>,
}

impl Coordinator {
    /// Allows `at_once` concurrent searches and `source_pages` pages of each source.
    pub fn new(
        directory: Arc<dyn ModuleDirectory>,
        cursor_key: Arc<dyn CursorKey>,
        at_once: usize,
        source_pages: usize,
        figures: Arc<Figures>,
    ) -> Self {
        Self { directory, cursor_key, permits: Arc::new(Semaphore::new(at_once)), source_pages, figures }
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
        let context = self.context(&modules, viewer, parameters, deadline);
        let result = context.answer(module, &page).await.map(SearchPage::with_pinned_first);
        context.record(&module.module, &result);
        result
    }

    /// Searches every module of the viewer's tenant (decisions 5.9).
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
        let deadline = Instant::now() + parameters.timeout;
        let permit = self.permit()?;
        let modules = self.directory.modules_of(viewer.tenant_id).await?;
        let context = self.context(&modules, viewer, parameters, deadline);
        let unknown = context.unknown_words().await;
        Ok(AllModules::start(modules.list(), context, unknown, facets, top, permit))
    }

    fn permit(&self) -> Result<OwnedSemaphorePermit> {
        Arc::clone(&self.permits).try_acquire_owned().map_err(|_| Error::TooManySearches)
    }

    fn context(
        &self,
        modules: &TenantModules,
        viewer: Viewer,
        parameters: SearchParameters,
        deadline: Instant,
    ) -> PageContext {
        let vocabulary = Arc::clone(modules.vocabulary());
        PageContext {
            cursor_key: Arc::clone(&self.cursor_key),
            spelling: Arc::clone(modules.spelling()),
            source_pages: self.source_pages,
            figures: Arc::clone(&self.figures),
            started: Instant::now(),
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
    fn record(&self, module: &Module, result: &Result<SearchPage, Failure>) {
        self.figures.record(self.search.viewer.tenant_id, &module.id, self.started.elapsed(), result);
    }

    /// Corrects words that are found nowhere. If nothing is found so, it searches for fewer words (decisions 5.7, 12.1).
    async fn answer(&self, module: &SearchableModule, page: &PageRequest) -> Result<SearchPage, Failure> {
        if matches!(page.start, PageStart::Cursor(_)) || self.search.parameters.exact {
            return self.answer_as_typed(module, page).await;
        }
        let asks_external = module.asks_external(page.source.as_deref());
        let (unknown, typed) = {
            let (looking_up, searching) =
                (pin!(self.unknown_words()), pin!(self.answer_as_typed(module, page)));
            match select(looking_up, searching).await {
                Either::Left((unknown, _)) if !asks_external && unknown.correction.is_some() => {
                    (unknown, None)
                }
                Either::Left((unknown, searching)) => (unknown, Some(searching.await?)),
                Either::Right((typed, looking_up)) => (looking_up.await, Some(typed?)),
            }
        };
        let UnknownWords { correction, uncorrected } = unknown;
        let answer = match typed {
            Some(typed) if correction.is_none() && !finds_nothing(&typed) => typed,
            // Boxed, as it is rare and larger than all else.
            typed => Box::pin(self.answer_corrected(module, page, correction, typed)).await?,
        };
        Ok(self.naming_unknown_words(answer, &uncorrected))
    }

    /// `typed`: the answer for the keyword as typed, if it is known.
    async fn answer_corrected(
        &self,
        module: &SearchableModule,
        page: &PageRequest,
        correction: Option<Correction>,
        typed: Option<SearchPage>,
    ) -> Result<SearchPage, Failure> {
        let asks_external = module.asks_external(page.source.as_deref());
        let corrected = match (correction, &typed) {
            (Some(correction), Some(typed)) if asks_external => {
                self.without_shown_words(&correction, module, page, typed).await
            }
            (correction, _) => correction,
        };
        let rewrite = Rewrite { corrected, relaxation: None };
        if rewrite.corrected.is_some()
            && let Some(instead) = self.answer_instead(module, page, rewrite.clone()).await
        {
            return Ok(instead);
        }
        let typed = match typed {
            Some(typed) => typed,
            None => self.answer_as_typed(module, page).await?,
        };
        let sources = module.builtin_sources(page.source.as_deref()).collect();
        if finds_nothing(&typed)
            && let Some(rewrite) = self.relax(sources, rewrite).await
            && let Some(instead) = self.answer_instead(module, page, rewrite).await
        {
            return Ok(instead);
        }
        Ok(typed)
    }

    /// Decides by the first page, as for all later ones.
    async fn without_shown_words(
        &self,
        correction: &Correction,
        module: &SearchableModule,
        page: &PageRequest,
        typed: &SearchPage,
    ) -> Option<Correction> {
        if page.start == PageStart::Beginning {
            return self.without_words_of(correction, &typed.items);
        }
        let first = PageRequest { start: PageStart::Beginning, ..page.clone() };
        let typed = self.answer_as_typed(module, &first).await.ok()?;
        self.without_words_of(correction, &typed.items)
    }

    /// Keeps words as typed that items show, which only external sources can have.
    fn without_words_of<'a>(
        &self,
        correction: &Correction,
        items: impl IntoIterator<Item = &'a Item>,
    ) -> Option<Correction> {
        let shown = ShownTexts::of(items);
        correction.without(&self.search.parameters.keyword, |word| shown.hold(word))
    }

    /// Names words that nothing holds, which relevance order leaves out by itself (decisions 12.1).
    fn naming_unknown_words(&self, answer: SearchPage, words: &[String]) -> SearchPage {
        let is_complete = words.is_empty() || answer.relaxed.is_some() || !answer.shows_a_match();
        if is_complete || self.search.parameters.order == Order::Time {
            return answer;
        }
        let shown = ShownTexts::of(answer.shown());
        let left_out: Vec<String> = words.iter().filter(|word| !shown.hold(word)).cloned().collect();
        let relaxed = (!left_out.is_empty()).then_some(Relaxed { left_out });
        SearchPage { relaxed, ..answer }
    }

    /// Later pages stay with the keyword of their cursor.
    async fn answer_as_typed(
        &self,
        module: &SearchableModule,
        page: &PageRequest,
    ) -> Result<SearchPage, Failure> {
        let binding = cursor::binding(&self.search, &module.module.id, page)?;
        let attempt = Attempt { context: self, module, page, binding: &binding };
        let PageStart::Cursor(text) = &page.start else {
            return attempt.run(None, Rewrite::default()).await;
        };
        let opened = Cursor::open(text, &*self.cursor_key, &binding)?;
        let rewrite = opened.rewrite.clone();
        attempt.run(Some(opened), rewrite).await
    }

    /// `None` if that finds nothing either.
    async fn answer_instead(
        &self,
        module: &SearchableModule,
        page: &PageRequest,
        rewrite: Rewrite,
    ) -> Option<SearchPage> {
        let binding = cursor::binding(&self.search, &module.module.id, page).ok()?;
        let attempt = Attempt { context: self, module, page, binding: &binding };
        let answer = attempt.run(None, rewrite).await.ok()?;
        (answer.total > 0 || !answer.items.is_empty()).then_some(answer)
    }

    /// Those of the keyword as typed, whatever is searched for in its place.
    async fn pinned(&self, module: &SearchableModule, page: &PageRequest, search: &SearchContext) -> Pinned {
        let pins = self.search.vocabulary.pinned(&self.search.parameters.keyword);
        if pins.is_empty() || page.hides_pinned {
            return Pinned::default();
        }
        let sources: Vec<_> = module.builtin_sources(page.source.as_deref()).collect();
        Pinned::find(&sources, search, pins).await
    }

    /// The search for another keyword, if there is one.
    fn searched_for(&self, rewrite: &Rewrite) -> Arc<SearchContext> {
        match rewrite.keyword() {
            Some(keyword) => Arc::new(self.search.with_keyword(keyword)),
            None => Arc::clone(&self.search),
        }
    }

    /// Looks up words that no built-in content of the tenant shows.
    async fn unknown_words(&self) -> UnknownWords {
        let SearchContext { viewer, parameters, deadline, .. } = &*self.search;
        if parameters.exact {
            return UnknownWords::default();
        }
        let known = self.search.vocabulary.known();
        let looking_up = self.spelling.unknown_words(viewer, &parameters.keyword, known);
        timeout_at(*deadline, looking_up).await.unwrap_or_default()
    }

    /// Leaves out words, by what the index counts. Relevance order requires none.
    async fn relax(&self, sources: Vec<&BuiltinSource>, corrected: Rewrite) -> Option<Rewrite> {
        let SearchContext { parameters, deadline, .. } = &*self.search;
        if parameters.order == Order::Relevance {
            return None;
        }
        let keyword = corrected.keyword().unwrap_or(&parameters.keyword);
        let matches = IndexMatches { search: &self.search, sources };
        let relaxation = timeout_at(*deadline, relax(keyword, &matches)).await.ok().flatten()?;
        Some(Rewrite { relaxation: Some(relaxation), ..corrected })
    }
}

/// Matches in the index, which alone counts them.
struct IndexMatches<'a> {
    search: &'a SearchContext,
    sources: Vec<&'a BuiltinSource>,
}

#[async_trait::async_trait]
impl Matches for IndexMatches<'_> {
    async fn count(&self, keyword: String) -> u64 {
        let search = self.search.with_keyword(&keyword);
        let mut count = 0;
        for source in &self.sources {
            count += source.count(search.clone()).await.unwrap_or(0);
        }
        count
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
    async fn run(self, opened: Option<Cursor>, rewrite: Rewrite) -> Result<SearchPage, Failure> {
        let Self { context, module, page, binding } = self;
        let search = context.searched_for(&rewrite);
        let mut pinned = match &opened {
            Some(cursor) => Pinned::shown_before(cursor.pinned.clone()),
            None => context.pinned(module, page, &search).await,
        };
        let mut plan = plan(&search.parameters, page, module, opened)?;
        plan.leave_out(&mut pinned);
        let sources: Vec<ModuleSource> = plan.lanes.iter().map(|lane| lane.source.clone()).collect();
        let mut rounds = SearchRounds::new(plan, Arc::clone(&search), context.source_pages);
        let selection = search.parameters.facets;
        let modules = [module];
        let counting = facets::count_fields(&search, selection, &modules, page.source.as_deref());
        let ((), counts) = join(rounds.run(), counting).await;
        let search = match rounds.ranked_query() {
            Some(query) => Arc::new(SearchContext { query: Arc::clone(query), ..(*search).clone() }),
            None => search,
        };
        let seal = |cursor| {
            let cursor = Cursor { rewrite: rewrite.clone(), pinned: pinned.marks.clone(), ..cursor };
            cursor.seal(&*context.cursor_key, binding)
        };
        let answer = rounds.finish(seal)?;
        let Rewrite { corrected, relaxation } = rewrite;
        let left_out = relaxation.map_or(Vec::new(), |relaxation| relaxation.left_out);
        let relaxed = (!left_out.is_empty()).then_some(Relaxed { left_out });
        if page.start != PageStart::Beginning {
            pinned.items.clear();
        }
        let mut answer = SearchPage { pinned, corrected, relaxed, ..answer };
        if !selection.is_empty() {
            let totals = ModuleTotals::answered(module, &answer);
            answer.facets = Some(Facets::new(selection, &counts, &[totals]));
        }
        if search.parameters.explain {
            explanation::add(&mut answer, &search, &sources).await;
        }
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
