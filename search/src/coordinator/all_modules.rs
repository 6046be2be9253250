//! A search of all modules of a tenant (decisions 5.9).
//!
//! Each module has a task of its own; calls begin in the modules' order. Modules without external sources
//! have their own share of calls and never wait for an external system.

use std::sync::Arc;

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
    answers: BoxStream<'static, ModuleAnswer>,
    _permit: OwnedSemaphorePermit,
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
        Self { count: modules.len(), shared, answers, _permit: permit }
    }

    /// Number of modules.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Next complete answer; each comes by the deadline.
    pub async fn next(&mut self) -> Option<ModuleAnswer> {
        self.answers.next().await.map(|answer| self.shared.reserve(answer))
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
        self.context.answer(module, &PageRequest::default()).await
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
) -> impl Stream<Item = ModuleAnswer> + Send + 'static {
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

/// A separate task isolates panics and slow work.
fn start(
    place: usize,
    searchable: Arc<SearchableModule>,
    permits: Option<OwnedSemaphorePermit>,
    shared: Arc<Shared>,
) -> impl Future<Output = ModuleAnswer> + Send + 'static {
    let module = Arc::clone(&searchable.module);
    let task = async move {
        let _permits = permits;
        shared.answer(&searchable).await
    };
    let task = AbortOnDropHandle::new(tokio::spawn(task.in_current_span()));
    async move {
        let result = task.await.unwrap_or_else(|panic| Err(Error::internal(panic).into()));
        ModuleAnswer { place, module, result, reservation: AnswerReservation::default() }
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
