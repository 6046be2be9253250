//! A search of all modules of a tenant (decisions 5.9).
//!
//! Each module has a task of its own; calls begin in the modules' order. Modules without external sources
//! have their own share of calls and never wait for an external system.
//!
//! Words are corrected and left out only if no module finds anything (decisions 12.1). Until one does, modules without
//! matches wait.

use std::{collections::VecDeque, sync::Arc};

use futures::{
    StreamExt,
    stream::{self, BoxStream, Stream},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument;

use super::PageContext;
use crate::{
    answer::{Failure, SearchPage, SourceReport},
    cursor::Rewrite,
    error::Error,
    module::{Module, SearchableModule},
    request::PageRequest,
    sources::builtin,
};

/// Modules with more sources are searched alone.
const EXTERNAL_CALLS: usize = 48;
/// For modules without external sources.
const BUILTIN_CALLS: usize = 16;
/// Bound on unsent answers.
const UNSENT_KIB: usize = 32 << 10;

/// A search of all modules. Dropping it ends its calls.
pub struct AllModules {
    count: usize,
    shared: Arc<Shared>,
    answers: BoxStream<'static, Answered>,
    /// Without matches, while no module has any.
    waiting: Vec<Answered>,
    ready: VecDeque<ModuleAnswer>,
    stage: Stage,
    _permit: OwnedSemaphorePermit,
}

struct Answered {
    searchable: Arc<SearchableModule>,
    answer: ModuleAnswer,
}

/// The keyword that modules are searched for.
#[derive(PartialEq, Eq)]
enum Stage {
    Typed,
    Corrected(Rewrite),
    /// No other keyword follows.
    Last,
}

impl AllModules {
    pub(super) fn start(
        modules: &[Arc<SearchableModule>],
        context: PageContext,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        let shared = Arc::new(Shared { context, room: Arc::new(Semaphore::new(UNSENT_KIB)) });
        let is_builtin = |module: &Module| module.sources.iter().all(|id| builtin::is_id(id));
        let (builtin, external): (Vec<_>, Vec<_>) =
            modules.iter().cloned().enumerate().partition(|(_, searchable)| is_builtin(&searchable.module));
        let builtin = answers(builtin, BUILTIN_CALLS, Arc::clone(&shared));
        let external = answers(external, EXTERNAL_CALLS, Arc::clone(&shared));
        let answers = stream::select(builtin, external).boxed();
        let (waiting, ready) = (Vec::new(), VecDeque::new());
        Self { count: modules.len(), shared, answers, waiting, ready, stage: Stage::Typed, _permit: permit }
    }

    /// Number of modules.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Next complete answer; each comes by the deadline.
    pub async fn next(&mut self) -> Option<ModuleAnswer> {
        loop {
            if let Some(answer) = self.ready.pop_front() {
                return Some(self.shared.reserve(answer));
            }
            match self.answers.next().await {
                Some(answered) if self.stage != Stage::Last && self.shared.may_be_rewritten(&answered) => {
                    self.waiting.push(answered);
                    continue;
                }
                Some(answered) => {
                    if answered.answer.result.as_ref().is_ok_and(|page| !page.items.is_empty()) {
                        self.stage = Stage::Last;
                    }
                    self.ready.push_back(answered.answer);
                }
                None if self.waiting.is_empty() => return None,
                None => self.rewrite_all().await,
            }
            if self.stage == Stage::Last {
                self.ready.extend(self.waiting.drain(..).map(|answered| answered.answer));
            }
        }
    }

    /// One decision for all modules, as none has found anything.
    async fn rewrite_all(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        let sources: Vec<_> = waiting.iter().flat_map(|answered| answered.searchable.sources(None)).collect();
        let context = &self.shared.context;
        let rewrite = match std::mem::replace(&mut self.stage, Stage::Last) {
            Stage::Typed => match context.correct(&sources).await {
                Some(corrected) => {
                    self.stage = Stage::Corrected(corrected.clone());
                    Some(corrected)
                }
                None => context.relax(&sources, Rewrite::default()).await,
            },
            Stage::Corrected(corrected) => context.relax(&sources, corrected).await,
            Stage::Last => None,
        };
        self.answers = match rewrite {
            Some(rewrite) => answers_instead(waiting, Arc::new(rewrite), Arc::clone(&self.shared)).boxed(),
            None => stream::iter(waiting).boxed(),
        };
    }
}

/// The answer of one module.
#[derive(Debug)]
pub struct ModuleAnswer {
    /// By `orderNo`, from 0.
    pub place: usize,
    /// Module.
    pub module: Arc<Module>,
    /// [`Error::AnswerTooLarge`] without room.
    pub result: Result<SearchPage, Failure>,
    /// Must be held until the page is sent.
    pub reservation: AnswerReservation,
}

/// Room of an unsent answer.
#[derive(Debug, Default)]
pub struct AnswerReservation {
    _room: Option<OwnedSemaphorePermit>,
}

struct Shared {
    context: PageContext,
    room: Arc<Semaphore>,
}

impl Shared {
    async fn answer(&self, module: &SearchableModule) -> Result<SearchPage, Failure> {
        if self.room.available_permits() == 0 {
            return Err(no_room());
        }
        self.context.answer_as_typed(module, &PageRequest::default()).await
    }

    fn may_be_rewritten(&self, answered: &Answered) -> bool {
        answered.answer.result.as_ref().is_ok_and(|page| self.context.may_be_rewritten(page))
    }

    fn reserve(&self, answer: ModuleAnswer) -> ModuleAnswer {
        let kib = u32::try_from(size(&answer.result).div_ceil(1_024)).unwrap_or(u32::MAX);
        match Arc::clone(&self.room).try_acquire_many_owned(kib) {
            Ok(room) => ModuleAnswer { reservation: AnswerReservation { _room: Some(room) }, ..answer },
            Err(_) => ModuleAnswer { result: Err(no_room()), ..answer },
        }
    }
}

fn answers(
    modules: Vec<(usize, Arc<SearchableModule>)>,
    calls: usize,
    shared: Arc<Shared>,
) -> impl Stream<Item = Answered> + Send + 'static {
    let permits = Arc::new(Semaphore::new(calls));
    stream::iter(modules)
        .then(move |(place, module)| {
            let module_calls = u32::try_from(module.sources.len().clamp(1, calls)).unwrap_or(1);
            let permits = Arc::clone(&permits).acquire_many_owned(module_calls);
            async move { (place, module, permits.await) }
        })
        .map(move |(place, module, permits)| start(place, module, permits.ok(), Arc::clone(&shared)))
        .buffer_unordered(calls)
}

/// Searches modules without matches for another keyword.
fn answers_instead(
    answered: Vec<Answered>,
    rewrite: Arc<Rewrite>,
    shared: Arc<Shared>,
) -> impl Stream<Item = Answered> + Send + 'static {
    let permits = Arc::new(Semaphore::new(EXTERNAL_CALLS));
    let search = move |answered: Answered| {
        let (rewrite, shared) = (Rewrite::clone(&rewrite), Arc::clone(&shared));
        let searchable = Arc::clone(&answered.searchable);
        let module_calls = u32::try_from(searchable.sources.len().clamp(1, EXTERNAL_CALLS)).unwrap_or(1);
        let permits = Arc::clone(&permits).acquire_many_owned(module_calls);
        let task = async move {
            let _permits = permits.await;
            shared.context.answer_instead(&searchable, &PageRequest::default(), rewrite).await
        };
        let task = AbortOnDropHandle::new(tokio::spawn(task.in_current_span()));
        async move {
            match task.await {
                Ok(Some(page)) => {
                    Answered { answer: ModuleAnswer { result: Ok(page), ..answered.answer }, ..answered }
                }
                Ok(None) | Err(_) => answered,
            }
        }
    };
    stream::iter(answered).map(search).buffer_unordered(BUILTIN_CALLS)
}

/// A separate task isolates panics and slow work.
fn start(
    place: usize,
    searchable: Arc<SearchableModule>,
    permits: Option<OwnedSemaphorePermit>,
    shared: Arc<Shared>,
) -> impl Future<Output = Answered> + Send + 'static {
    let (module, searched) = (Arc::clone(&searchable.module), Arc::clone(&searchable));
    let task = async move {
        let _permits = permits;
        shared.answer(&searched).await
    };
    let task = AbortOnDropHandle::new(tokio::spawn(task.in_current_span()));
    async move {
        let result = task.await.unwrap_or_else(|panic| Err(Error::internal(panic).into()));
        let answer = ModuleAnswer { place, module, result, reservation: AnswerReservation::default() };
        Answered { searchable, answer }
    }
}

fn no_room() -> Failure {
    Failure::Refused(Error::AnswerTooLarge(UNSENT_KIB >> 10))
}

fn size(result: &Result<SearchPage, Failure>) -> usize {
    let reports = |sources: &[SourceReport]| -> usize { sources.iter().map(report_size).sum() };
    match result {
        Ok(page) => {
            let items: usize = page.items.iter().map(|item| item.json.len() + 1).sum();
            items + page.cursor.as_ref().map_or(0, String::len) + reports(&page.sources)
        }
        Err(Failure::NoSource { sources, .. }) => reports(sources),
        Err(Failure::Refused(_)) => 0,
    }
}

fn report_size(report: &SourceReport) -> usize {
    const FRAME: usize = 100;
    FRAME + report.id.len() + report.name.len() + report.message.as_ref().map_or(0, String::len)
}
