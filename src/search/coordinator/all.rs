//! A search of every module of a tenant at once (decisions 5.9): bounded in calls and in memory, by one deadline.

use std::sync::Arc;

use futures::{
    StreamExt,
    stream::{self, BoxStream, Stream},
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument;
use trawl_index::Query;

use super::{Own, answer_page};
use crate::{
    auth::keys::Keys,
    error::Error,
    search::{
        answer::{Answer, Failure, SourceReport},
        builtin,
        registry::Module,
        request::{SearchRequest, Viewer},
        source::Source,
    },
};

/// Calls under way at once of modules that show external sources. A module of more sources is searched alone.
const EXTERNAL_CALLS: usize = 48;
/// The same of modules that show built-in sources only: those never wait for an external system that hangs.
const BUILT_IN_CALLS: usize = 16;
/// What the answers of one call that were handed out and not sent yet may hold, in KiB.
const ROOM_KIB: usize = 32 << 10;

/// A module, and its sources by their places.
type Searched = (Arc<Module>, Vec<Arc<dyn Source>>);

/// A search of every module under way. Dropping it ends everything that it caused.
pub struct AllModules {
    count: usize,
    shared: Arc<Shared>,
    answers: BoxStream<'static, ModuleAnswer>,
    _permit: OwnedSemaphorePermit,
}

impl AllModules {
    pub(super) fn start(modules: Vec<Searched>, shared: Shared, permit: OwnedSemaphorePermit) -> Self {
        let count = modules.len();
        let shared = Arc::new(shared);
        let is_built_in =
            |module: &Module| module.sources.iter().all(|id| id.starts_with(builtin::ID_PREFIX));
        let (built_in, external): (Vec<_>, Vec<_>) =
            modules.into_iter().enumerate().partition(|(_, (module, _))| is_built_in(module));
        let built_in = lane(built_in, BUILT_IN_CALLS, Arc::clone(&shared));
        let external = lane(external, EXTERNAL_CALLS, Arc::clone(&shared));
        Self { count, shared, answers: stream::select(built_in, external).boxed(), _permit: permit }
    }

    /// How many modules are searched.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The next module that is ready; `None` after the last one. Each comes once, by the deadline at the latest.
    pub async fn next(&mut self) -> Option<ModuleAnswer> {
        self.answers.next().await.map(|answer| self.shared.keep(answer))
    }
}

/// What became of one module.
#[derive(Debug)]
pub struct ModuleAnswer {
    /// Its place among all, by `orderNo`, from 0 on.
    pub place: usize,
    /// The module.
    pub module: Arc<Module>,
    /// Its page, or why there is none; 413 when the answers before it left no room for it.
    pub result: Result<Answer, Failure>,
    /// To be kept for as long as the page is.
    pub held: Held,
}

/// The room that a page takes among those that were not sent yet; dropping this gives it back.
#[derive(Debug, Default)]
pub struct Held {
    _room: Option<OwnedSemaphorePermit>,
}

/// What the modules of one call share.
pub(super) struct Shared {
    keys: Arc<Keys>,
    source_pages: usize,
    viewer: Viewer,
    request: SearchRequest,
    query: Arc<Query>,
    deadline: Instant,
    room: Arc<Semaphore>,
}

impl Shared {
    pub(super) fn new(
        keys: Arc<Keys>,
        source_pages: usize,
        viewer: Viewer,
        request: SearchRequest,
        deadline: Instant,
    ) -> Self {
        let query = Arc::new(Query::parse(&request.keyword));
        let room = Arc::new(Semaphore::new(ROOM_KIB));
        Self { keys, source_pages, viewer, request, query, deadline, room }
    }

    async fn search(&self, (module, sources): &Searched) -> Result<Answer, Failure> {
        if self.room.available_permits() == 0 {
            return Err(no_room());
        }
        let own = Own {
            keys: &self.keys,
            source_pages: self.source_pages,
            query: &self.query,
            deadline: self.deadline,
        };
        answer_page(own, &module.id, module.duplicates, sources, self.viewer.clone(), self.request.clone())
            .await
    }

    /// Takes the room that an answer needs from the moment at which it is handed out.
    fn keep(&self, answer: ModuleAnswer) -> ModuleAnswer {
        let kib = u32::try_from(size(&answer.result).div_ceil(1_024)).unwrap_or(u32::MAX);
        match Arc::clone(&self.room).try_acquire_many_owned(kib) {
            Ok(room) => ModuleAnswer { held: Held { _room: Some(room) }, ..answer },
            Err(_) => ModuleAnswer { result: Err(no_room()), ..answer },
        }
    }
}

/// Searches these modules in their order, with so many calls under way at once.
fn lane(
    modules: Vec<(usize, Searched)>,
    calls: usize,
    shared: Arc<Shared>,
) -> impl Stream<Item = ModuleAnswer> + Send + 'static {
    let permits = Arc::new(Semaphore::new(calls));
    stream::iter(modules)
        .then(move |(place, searched)| {
            let calls_of_it = u32::try_from(searched.1.len().clamp(1, calls)).unwrap_or(1);
            let permits = Arc::clone(&permits).acquire_many_owned(calls_of_it);
            async move { (place, searched, permits.await) }
        })
        .map(move |(place, searched, permits)| start(place, searched, permits.ok(), Arc::clone(&shared)))
        .buffer_unordered(calls)
}

/// Begins the search of one module. It has a task of its own, so that what one module makes of its answer delays no
/// other one, and a panic is its own affair.
fn start(
    place: usize,
    searched: Searched,
    permits: Option<OwnedSemaphorePermit>,
    shared: Arc<Shared>,
) -> impl Future<Output = ModuleAnswer> + Send + 'static {
    let module = Arc::clone(&searched.0);
    let task = async move {
        let _permits = permits;
        shared.search(&searched).await
    };
    let task = AbortOnDropHandle::new(tokio::spawn(task.in_current_span()));
    async move {
        let result = task.await.unwrap_or_else(|panic| Err(Error::internal(panic).into()));
        ModuleAnswer { place, module, result, held: Held::default() }
    }
}

fn no_room() -> Failure {
    Failure::Refused(Error::too_large(format!(
        "the answer is full: it holds at most {} MiB; ask for fewer items (`limit`), or search this module by itself",
        ROOM_KIB >> 10
    )))
}

/// About how many bytes of an answer this takes.
fn size(result: &Result<Answer, Failure>) -> usize {
    let of_sources = |sources: &[SourceReport]| -> usize { sources.iter().map(size_of_report).sum() };
    match result {
        Ok(answer) => {
            let items: usize = answer.items.iter().map(|item| item.json.len() + 1).sum();
            items + answer.cursor.as_ref().map_or(0, String::len) + of_sources(&answer.sources)
        }
        Err(Failure::NoSource { sources, .. }) => of_sources(sources),
        Err(Failure::Refused(_)) => 0,
    }
}

fn size_of_report(report: &SourceReport) -> usize {
    /// The names of its fields, its numbers and its status.
    const FRAME: usize = 100;
    FRAME + report.id.len() + report.name.len() + report.message.as_ref().map_or(0, String::len)
}
