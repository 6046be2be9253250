//! A search of all modules of a tenant.
//!
//! Each module has a task of its own; calls begin in the modules' order. Modules without external sources
//! have their own share of calls and never wait for an external system.
//!
//! One correction holds for all modules. If there is one, external sources are asked for the keyword as typed before,
//! for half of the time at most. Words are left out only if no module finds anything. Until one does, modules without
//! matches wait.

use std::{borrow::Cow, collections::VecDeque, sync::Arc};

use futures::{
    StreamExt,
    stream::{self, BoxStream, Stream},
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout_at},
};
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument;
use trawl_engine::correction::{Correction, UnknownWords};

use super::{
    PageContext, SearchPermit, facet_counting::FacetCounting, rewriting::finds_nothing, top::TopSearch,
};
use crate::{
    answer::{Facets, SearchFailure, SearchPage, SourceReport},
    cursor::Rewrite,
    error::Error,
    module::{Module, SearchableModule, builtin_sources},
    request::{FacetSelection, PageRequest},
};

/// Modules with more sources are searched alone.
const EXTERNAL_CALLS: usize = 48;
/// Modules without external sources that are searched at once.
const BUILTIN_CALLS: usize = 16;
/// Bound on unsent answers.
const UNSENT_KIB: usize = 32 << 10;

/// A search of all modules. Dropping it ends its calls.
pub struct AllModules {
    count: usize,
    shared: Arc<SharedSearch>,
    answers: BoxStream<'static, AnsweredModule>,
    /// Until the correction is decided; then without matches, while no module has any.
    waiting: Vec<AnsweredModule>,
    ready: VecDeque<ModuleAnswer>,
    stage: KeywordStage,
    /// Words that no built-in content shows, as typed.
    uncorrected: Vec<String>,
    facets: FacetCounting,
    _permit: SearchPermit,
}

struct AnsweredModule {
    searchable: Arc<SearchableModule>,
    answer: ModuleAnswer,
}

/// How far the decision on the keyword is.
enum KeywordStage {
    /// Until then modules with external sources are searched as typed; the others wait.
    Asking(Instant, Correction, Vec<PlacedModule>),
    /// No module has found anything.
    Decided(Arc<Rewrite>),
    /// No other keyword follows.
    Last,
}

/// A module and its place by `orderNo`; the best of all modules have none.
type PlacedModule = (Option<usize>, Arc<SearchableModule>);

impl AllModules {
    pub(super) fn start(
        modules: &[Arc<SearchableModule>],
        context: PageContext,
        unknown: UnknownWords,
        facets: FacetSelection,
        top: Option<usize>,
        permit: SearchPermit,
    ) -> Self {
        let top = top.map(|limit| TopSearch::of(modules, limit));
        let shared = Arc::new(SharedSearch { context, room: Arc::new(Semaphore::new(UNSENT_KIB)), top });
        let mut facets = FacetCounting::new(facets, modules);
        let places =
            modules.iter().enumerate().map(|(place, searchable)| (Some(place), Arc::clone(searchable)));
        let (external, builtin): (Vec<PlacedModule>, Vec<PlacedModule>) =
            places.partition(|(_, searchable)| searchable.asks_external(None));
        // They are what is looked at first.
        let builtin =
            shared.top.iter().map(|top| (None, Arc::clone(&top.searchable))).chain(builtin).collect();
        let UnknownWords { correction, uncorrected } = unknown;
        let (answers, stage) = match correction {
            Some(correction) if !external.is_empty() => {
                let now = Instant::now();
                let until = now + (shared.context.search.deadline - now) / 2;
                let typed = answers(external, EXTERNAL_CALLS, Arc::default(), Arc::clone(&shared));
                (typed.boxed(), KeywordStage::Asking(until, correction, builtin))
            }
            corrected => {
                let rewrite = Arc::new(Rewrite { corrected, relaxation: None });
                facets.start(&shared.context, &rewrite);
                let of = |places, calls| answers(places, calls, Arc::clone(&rewrite), Arc::clone(&shared));
                let answers = stream::select(of(builtin, BUILTIN_CALLS), of(external, EXTERNAL_CALLS));
                (answers.boxed(), KeywordStage::Decided(rewrite))
            }
        };
        let (waiting, ready) = (Vec::new(), VecDeque::new());
        Self {
            count: modules.len(),
            shared,
            answers,
            waiting,
            ready,
            stage,
            uncorrected,
            facets,
            _permit: permit,
        }
    }

    /// Number of modules.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Next complete answer; each comes by the deadline.
    pub async fn next(&mut self) -> Option<ModuleAnswer> {
        loop {
            if let Some(answer) = self.ready.pop_front() {
                let answer = self.shared.reserve(answer);
                self.facets.add(&answer);
                let context = &self.shared.context;
                let named = answer.result.map(|page| context.naming_unknown_words(page, &self.uncorrected));
                let named = match (&self.shared.top, answer.place) {
                    (Some(top), None) => named.map(|page| top.naming_modules(page)),
                    _ => named,
                };
                let result = named.map(SearchPage::with_pinned_first);
                if answer.place.is_some() {
                    context.record(&answer.module, &result);
                }
                return Some(ModuleAnswer { result, ..answer });
            }
            let next = match &self.stage {
                KeywordStage::Asking(until, ..) => {
                    timeout_at(*until, self.answers.next()).await.unwrap_or_default()
                }
                KeywordStage::Decided(_) | KeywordStage::Last => self.answers.next().await,
            };
            match (next, &self.stage) {
                (Some(answered), KeywordStage::Asking(..)) => {
                    let answer = self.shared.reserve(answered.answer);
                    self.waiting.push(AnsweredModule { answer, ..answered });
                }
                (Some(answered), KeywordStage::Decided(_)) if self.shared.may_be_relaxed(&answered) => {
                    self.waiting.push(answered);
                }
                (Some(answered), _) => {
                    if answered.answer.result.as_ref().is_ok_and(SearchPage::shows_a_match) {
                        self.stage = KeywordStage::Last;
                        self.ready.extend(self.waiting.drain(..).map(|answered| answered.answer));
                    }
                    self.ready.push_back(answered.answer);
                }
                (None, KeywordStage::Asking(..)) => self.decide(),
                (None, _) if self.waiting.is_empty() => return None,
                (None, _) => self.relax_all().await,
            }
        }
    }

    /// Counts of all modules, once each has answered; `None` if none is asked for.
    pub async fn facets(&mut self) -> Option<Facets> {
        self.facets.finish().await
    }

    /// One correction for all modules; those that have not answered yet are answered as typed.
    fn decide(&mut self) {
        let KeywordStage::Asking(_, correction, builtin) =
            std::mem::replace(&mut self.stage, KeywordStage::Last)
        else {
            return;
        };
        let external = std::mem::take(&mut self.waiting);
        let shown = external.iter().filter_map(|answered| answered.answer.result.as_ref().ok());
        let shown = shown.flat_map(|page| &page.items);
        let corrected = self.shared.context.without_words_of(&correction, shown);
        let rewrite = Arc::new(Rewrite { corrected, relaxation: None });
        self.facets.start(&self.shared.context, &rewrite);
        let external = if rewrite.corrected.is_some() {
            answers_instead(external, Arc::clone(&rewrite), Arc::clone(&self.shared)).boxed()
        } else {
            stream::iter(external).boxed()
        };
        let builtin = answers(builtin, BUILTIN_CALLS, Arc::clone(&rewrite), Arc::clone(&self.shared));
        let late = std::mem::replace(&mut self.answers, stream::empty().boxed());
        self.answers = stream::select(builtin, stream::select(external, late)).boxed();
        self.stage = KeywordStage::Decided(rewrite);
    }

    /// One decision for all modules, as none has found anything.
    async fn relax_all(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        let sources = builtin_sources(waiting.iter().map(|answered| &answered.searchable)).collect();
        let rewrite = match std::mem::replace(&mut self.stage, KeywordStage::Last) {
            KeywordStage::Decided(decided) => {
                self.shared.context.relax(sources, Rewrite::clone(&decided)).await
            }
            KeywordStage::Asking(..) | KeywordStage::Last => None,
        };
        self.answers = match rewrite {
            Some(rewrite) => {
                self.facets.start(&self.shared.context, &rewrite);
                answers_instead(waiting, Arc::new(rewrite), Arc::clone(&self.shared)).boxed()
            }
            None => stream::iter(waiting).boxed(),
        };
    }
}

/// The answer of one module.
#[derive(Debug)]
pub struct ModuleAnswer {
    /// Place by `orderNo`, from 0. The best of all modules have none.
    pub place: Option<usize>,
    /// Module.
    pub module: Arc<Module>,
    /// [`Error::AnswerTooLarge`] without room.
    pub result: Result<SearchPage, SearchFailure>,
    /// Must be held until the page is sent.
    pub reservation: AnswerReservation,
}

/// Room of an unsent answer.
#[derive(Debug, Default)]
pub struct AnswerReservation {
    room: Option<OwnedSemaphorePermit>,
}

struct SharedSearch {
    context: PageContext,
    room: Arc<Semaphore>,
    top: Option<TopSearch>,
}

impl SharedSearch {
    async fn answer(
        &self,
        (place, module): &PlacedModule,
        rewrite: &Rewrite,
    ) -> Result<SearchPage, SearchFailure> {
        if self.room.available_permits() == 0 {
            return Err(no_room());
        }
        let page = PageRequest::default();
        let context = self.context(*place);
        if rewrite.corrected.is_some()
            && let Some(instead) = context.search_instead(module, &page, rewrite.clone()).await
        {
            return Ok(instead);
        }
        context.search_as_typed(module, &page).await
    }

    fn context(&self, place: Option<usize>) -> Cow<'_, PageContext> {
        match (&self.top, place) {
            (Some(top), None) => Cow::Owned(top.context(&self.context)),
            _ => Cow::Borrowed(&self.context),
        }
    }

    fn may_be_relaxed(&self, answered: &AnsweredModule) -> bool {
        let is_exact = self.context.search.parameters.exact;
        !is_exact && answered.answer.result.as_ref().is_ok_and(finds_nothing)
    }

    fn reserve(&self, answer: ModuleAnswer) -> ModuleAnswer {
        if answer.reservation.room.is_some() {
            return answer;
        }
        let kib = u32::try_from(size(&answer.result).div_ceil(1_024)).unwrap_or(u32::MAX);
        match Arc::clone(&self.room).try_acquire_many_owned(kib) {
            Ok(room) => ModuleAnswer { reservation: AnswerReservation { room: Some(room) }, ..answer },
            Err(_) => ModuleAnswer { result: Err(no_room()), ..answer },
        }
    }
}

fn answers(
    modules: Vec<PlacedModule>,
    calls: usize,
    rewrite: Arc<Rewrite>,
    shared: Arc<SharedSearch>,
) -> impl Stream<Item = AnsweredModule> + Send + 'static {
    let permits = Arc::new(Semaphore::new(calls));
    stream::iter(modules)
        .then(move |place| {
            let permits = Arc::clone(&permits).acquire_many_owned(count_calls(&place, calls));
            async move { (place, permits.await) }
        })
        .map(move |(place, permits)| start(place, permits.ok(), Arc::clone(&rewrite), Arc::clone(&shared)))
        .buffer_unordered(calls)
}

/// Searches modules for another keyword; those without matches keep their answers.
fn answers_instead(
    answered: Vec<AnsweredModule>,
    rewrite: Arc<Rewrite>,
    shared: Arc<SharedSearch>,
) -> impl Stream<Item = AnsweredModule> + Send + 'static {
    let permits = Arc::new(Semaphore::new(EXTERNAL_CALLS));
    let search = move |answered: AnsweredModule| {
        let (rewrite, shared) = (Rewrite::clone(&rewrite), Arc::clone(&shared));
        let place = (answered.answer.place, Arc::clone(&answered.searchable));
        let permits = Arc::clone(&permits).acquire_many_owned(count_calls(&place, EXTERNAL_CALLS));
        let task = async move {
            let _permits = permits.await;
            let (place, searchable) = place;
            shared.context(place).search_instead(&searchable, &PageRequest::default(), rewrite).await
        };
        let task = AbortOnDropHandle::new(tokio::spawn(task.in_current_span()));
        async move {
            match task.await {
                Ok(Some(page)) => {
                    let ModuleAnswer { place, module, .. } = answered.answer;
                    let reservation = AnswerReservation::default();
                    let answer = ModuleAnswer { place, module, result: Ok(page), reservation };
                    AnsweredModule { answer, ..answered }
                }
                Ok(None) | Err(_) => answered,
            }
        }
    };
    stream::iter(answered).map(search).buffer_unordered(BUILTIN_CALLS)
}

/// One for each source. The best of all modules share the calls of the modules.
fn count_calls((place, searchable): &PlacedModule, most: usize) -> u32 {
    let calls = place.map_or(1, |_| searchable.sources.len().clamp(1, most));
    u32::try_from(calls).unwrap_or(1)
}

/// A separate task isolates panics and slow work.
fn start(
    place: PlacedModule,
    permits: Option<OwnedSemaphorePermit>,
    rewrite: Arc<Rewrite>,
    shared: Arc<SharedSearch>,
) -> impl Future<Output = AnsweredModule> + Send + 'static {
    let searched = place.clone();
    let task = async move {
        let _permits = permits;
        shared.answer(&searched, &rewrite).await
    };
    let task = AbortOnDropHandle::new(tokio::spawn(task.in_current_span()));
    async move {
        let (place, searchable) = place;
        let module = Arc::clone(&searchable.module);
        let result = task.await.unwrap_or_else(|panic| Err(Error::internal(panic).into()));
        let answer = ModuleAnswer { place, module, result, reservation: AnswerReservation::default() };
        AnsweredModule { searchable, answer }
    }
}

fn no_room() -> SearchFailure {
    SearchFailure::Refused(Error::AnswerTooLarge(UNSENT_KIB >> 10))
}

fn size(result: &Result<SearchPage, SearchFailure>) -> usize {
    let reports = |sources: &[SourceReport]| -> usize { sources.iter().map(report_size).sum() };
    match result {
        Ok(page) => {
            let parts = page.shown().flat_map(|item| item.json_parts().into_iter().chain([","]));
            let items: usize = parts.map(str::len).sum();
            items + page.cursor.as_ref().map_or(0, String::len) + reports(&page.sources)
        }
        Err(SearchFailure::NoSource { sources, .. }) => reports(sources),
        Err(SearchFailure::Refused(_)) => 0,
    }
}

fn report_size(report: &SourceReport) -> usize {
    const FRAME: usize = 100;
    FRAME + report.id.len() + report.name.len() + report.message.as_ref().map_or(0, String::len)
}
