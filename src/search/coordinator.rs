//! One search of one module, from the request to the answer.

#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use tokio::{sync::Semaphore, time::Instant};

use super::{
    answer::{Answer, Failure},
    cursor::{self, Cursor},
    duplicates::Duplicates,
    plan::plan,
    registry::{Module, Registry},
    request::{SearchRequest, Start, Viewer},
    run::Run,
    source::Source,
};
use crate::{
    auth::keys::Keys,
    error::{Error, Result},
};

/// Runs searches.
pub struct Coordinator {
    registry: Arc<Registry>,
    keys: Arc<Keys>,
    permits: Semaphore,
    /// Pages of one source that one search asks for at the most.
    source_pages: usize,
}

impl Coordinator {
    /// A coordinator that runs `at_once` searches at the most.
    pub fn new(registry: Arc<Registry>, keys: Arc<Keys>, at_once: usize, source_pages: usize) -> Self {
        Self { registry, keys, permits: Semaphore::new(at_once), source_pages }
    }

    /// Answers one page of one module.
    ///
    /// # Errors
    /// 400 for a cursor or source filter that does not belong here, 404 for a module that is not the tenant's, 503
    /// under overload; [`Failure::NoSource`] when no source answered.
    pub async fn search(&self, viewer: Viewer, request: SearchRequest) -> Result<Answer, Failure> {
        let deadline = Instant::now() + request.timeout;
        let _permit = self.permits.try_acquire().map_err(|_| {
            Error::unavailable("too many searches run already; try again shortly", Duration::from_secs(1))
        })?;
        let modules = self.registry.modules_of(viewer.tenant_id).await?;
        let module = modules.find(&request.module).ok_or_else(|| {
            Error::not_found(
                "moduleId: there is no such module; POST /modules lists those that you may search",
            )
        })?;
        let sources = modules.sources_of(module);
        let own = Own { keys: &self.keys, source_pages: self.source_pages };
        answer_page(own, &module.id, module.duplicates, &sources, viewer, request, deadline).await
    }

    /// The modules of a tenant, by `orderNo`.
    pub async fn modules(&self, tenant_id: i64) -> Result<Vec<Arc<Module>>> {
        Ok(self.registry.modules_of(tenant_id).await?.list().to_vec())
    }
}

/// What the coordinator brings to every search.
#[derive(Clone, Copy)]
struct Own<'a> {
    keys: &'a Keys,
    source_pages: usize,
}

/// One page of a module over these sources.
async fn answer_page(
    own: Own<'_>,
    module_id: &str,
    duplicates: Duplicates,
    sources: &[Arc<dyn Source>],
    viewer: Viewer,
    request: SearchRequest,
    deadline: Instant,
) -> Result<Answer, Failure> {
    let context = cursor::context(&viewer, module_id, &request)?;
    let key = &own.keys.cursors;
    let opened = match &request.start {
        Start::Cursor(text) => Some(Cursor::open(text, key, &context)?),
        Start::Beginning | Start::Before(_) => None,
    };
    let plan = plan(&request, sources, opened, duplicates)?;
    let mut run = Run::new(plan, viewer, request, own.source_pages, deadline);
    run.ask_until_done().await;
    run.finish(|cursor| cursor.seal(key, &context))
}
