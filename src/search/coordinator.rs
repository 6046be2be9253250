//! One search of one module, or of all at once, from the request to the answer.

mod all;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};
use trawl_index::Query;

use self::all::Shared;

use super::{
    answer::{Answer, Failure, Status},
    cursor::{self, Cursor},
    duplicates::Duplicates,
    highlight,
    plan::plan,
    registry::{Module, Registry},
    request::{Order, SearchRequest, Start, Viewer},
    run::Run,
    source::Source,
};
use crate::{
    auth::keys::Keys,
    error::{Error, Result},
};

pub use self::all::{AllModules, Held, ModuleAnswer};

/// Runs searches.
pub struct Coordinator {
    registry: Arc<Registry>,
    keys: Arc<Keys>,
    permits: Arc<Semaphore>,
    /// Pages of one source that one search asks for at the most.
    source_pages: usize,
}

impl Coordinator {
    /// A coordinator that runs `at_once` searches at the most.
    pub fn new(registry: Arc<Registry>, keys: Arc<Keys>, at_once: usize, source_pages: usize) -> Self {
        Self { registry, keys, permits: Arc::new(Semaphore::new(at_once)), source_pages }
    }

    /// Answers one page of one module.
    ///
    /// # Errors
    /// 400 for a cursor or source filter that does not belong here, 404 for a module that is not the tenant's, 503
    /// under overload; [`Failure::NoSource`] when no source answered.
    pub async fn search(&self, viewer: Viewer, request: SearchRequest) -> Result<Answer, Failure> {
        let deadline = Instant::now() + request.timeout;
        let _permit = self.permit()?;
        let modules = self.registry.modules_of(viewer.tenant_id).await?;
        let module = modules.find(&request.module).ok_or_else(|| {
            Error::not_found(
                "moduleId: there is no such module; POST /modules lists those that you may search",
            )
        })?;
        let sources = modules.sources_of(module);
        let query = Arc::new(Query::parse(&request.keyword));
        let own = Own { keys: &self.keys, source_pages: self.source_pages, query: &query, deadline };
        answer_page(own, &module.id, module.duplicates, &sources, viewer, request).await
    }

    /// Searches every module of the viewer's tenant at once, by one deadline (decisions 5.9). `request.module` is of no
    /// account.
    ///
    /// # Errors
    /// 503 under overload. What becomes of each module stands in its own answer.
    pub async fn search_all(&self, viewer: Viewer, request: SearchRequest) -> Result<AllModules> {
        let deadline = Instant::now() + request.timeout;
        let permit = self.permit()?;
        let modules = self.registry.modules_of(viewer.tenant_id).await?;
        let with_sources = |module: &Arc<Module>| (Arc::clone(module), modules.sources_of(module));
        let modules = modules.list().iter().map(with_sources).collect();
        let (keys, source_pages) = (Arc::clone(&self.keys), self.source_pages);
        Ok(AllModules::start(modules, Shared::new(keys, source_pages, viewer, request, deadline), permit))
    }

    /// One permit for one call, however many modules it searches.
    fn permit(&self) -> Result<OwnedSemaphorePermit> {
        Arc::clone(&self.permits).try_acquire_owned().map_err(|_| {
            Error::unavailable("too many searches run already; try again shortly", Duration::from_secs(1))
        })
    }

    /// The code of the tenant's module with this id or code.
    pub async fn code_of(&self, tenant_id: i64, module: &str) -> Option<String> {
        let modules = self.registry.modules_of(tenant_id).await.ok()?;
        modules.find(module).map(|module| module.code.clone())
    }

    /// The modules of a tenant, by `orderNo`.
    pub async fn modules(&self, tenant_id: i64) -> Result<Vec<Arc<Module>>> {
        Ok(self.registry.modules_of(tenant_id).await?.list().to_vec())
    }
}

/// What the pages of one call share.
#[derive(Clone, Copy)]
struct Own<'a> {
    keys: &'a Keys,
    source_pages: usize,
    /// The keyword, understood.
    query: &'a Arc<Query>,
    deadline: Instant,
}

/// One page of a module over these sources. Where nothing is found, similar words are looked for (decisions 5.7).
async fn answer_page(
    own: Own<'_>,
    module_id: &str,
    duplicates: Duplicates,
    sources: &[Arc<dyn Source>],
    viewer: Viewer,
    request: SearchRequest,
) -> Result<Answer, Failure> {
    let context = cursor::context(&viewer, module_id, &request)?;
    let opened = match &request.start {
        Start::Cursor(text) => Some(Cursor::open(text, &own.keys.cursors, &context)?),
        Start::Beginning | Start::Before(_) => None,
    };
    let ask = |opened, corrected| {
        answer_once(own, &context, duplicates, sources, viewer.clone(), request.clone(), opened, corrected)
    };
    if let Some(opened) = opened {
        let corrected = opened.corrected.clone();
        return ask(Some(opened), corrected).await;
    }
    let answer = ask(None, None).await?;
    let correction = correct(sources, &viewer, &request.keyword);
    if finds_nothing(&answer)
        && let Ok(Some(corrected)) = tokio::time::timeout_at(own.deadline, correction).await
        && let Ok(second) = ask(None, Some(corrected)).await
        && (second.total > 0 || !second.items.is_empty())
    {
        return Ok(second);
    }
    Ok(answer)
}

/// Whether every source in use was asked and says that it has nothing on any page. That one without a total has nothing on this
/// page does not say it, and pages that follow each other by time have to come to the same.
fn finds_nothing(answer: &Answer) -> bool {
    let mut answered = answer.sources.iter().filter(|source| source.status == Status::Ok);
    answer.total == 0
        && answer.items.is_empty()
        && !answer.partial
        && answered.all(|source| source.total.is_some())
}

/// What else may have been meant, by the first source that knows.
async fn correct(sources: &[Arc<dyn Source>], viewer: &Viewer, keyword: &str) -> Option<String> {
    for source in sources.iter().filter(|source| !source.is_disabled()) {
        if let Some(corrected) = source.correct(viewer, keyword).await {
            return Some(corrected);
        }
    }
    None
}

/// One page for the keyword, or for what is looked for instead of it.
#[expect(clippy::too_many_arguments, reason = "the one place where a page's parts meet")]
async fn answer_once(
    own: Own<'_>,
    context: &[u8],
    duplicates: Duplicates,
    sources: &[Arc<dyn Source>],
    viewer: Viewer,
    mut request: SearchRequest,
    opened: Option<Cursor>,
    corrected: Option<String>,
) -> Result<Answer, Failure> {
    let mut query = Arc::clone(own.query);
    if let Some(corrected) = &corrected {
        query = Arc::new(Query::parse(corrected));
        request.keyword.clone_from(corrected);
    }
    let plan = plan(&request, sources, opened, duplicates)?;
    let (wants_marks, order) = (request.highlight, request.order);
    let mut run = Run::new(plan, viewer, request, Arc::clone(&query), own.source_pages, own.deadline);
    run.ask_until_done().await;
    let seal = |cursor| Cursor { corrected: corrected.clone(), ..cursor }.seal(&own.keys.cursors, context);
    let answer = Answer { corrected: corrected.clone(), ..run.finish(seal)? };
    if !wants_marks {
        return Ok(answer);
    }
    let marked = if order == Order::Relevance { Arc::new(query.telling()) } else { query };
    Ok(highlight::add(answer, &marked).await?)
}
