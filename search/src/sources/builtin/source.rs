//! Documents of a module as a source.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use trawl_engine::relevance::{QueryStatistics, RankedBy, Recency};
use trawl_engine::{
    FacetFields, Failure, FieldCounts, Hit, Query, RankedPage, RankedScope, Request, Scope, ScopeStart,
    Start, View,
};

use super::{
    id_of,
    page_cache::IndexPageCache,
    ranked::{into_pages, start_of},
    snapshot::{ServedIndex, ServedView},
    time_order::{into_page, start},
};
use crate::{
    clock::this_hour,
    request::{SearchContext, SearchOrder, Viewer},
    source::{FailureKind, PagedSource, Position, ResultItem, SourceFailure, SourcePage, SourceRequest},
};

/// A larger group of equal times needs a blocking thread.
const INLINE_TIE: usize = 100;
/// Note of a page for a keyword that finds nothing in any document.
const NO_WORD: &str = "the keyword holds no word: a word has letters, digits, ideographs or emoji";

/// Documents of a module.
pub struct BuiltinSource {
    id: Arc<str>,
    name: String,
    pub(super) scope: Arc<Scope>,
    pub(super) served: Arc<ServedIndex>,
    pub(super) cache: IndexPageCache,
}

impl BuiltinSource {
    /// Makes the source of a module's documents.
    pub fn new(
        served: Arc<ServedIndex>,
        cache: IndexPageCache,
        tenant_id: i64,
        code: &str,
        name: &str,
    ) -> Self {
        Self {
            id: id_of(code).into(),
            name: name.to_owned(),
            scope: Arc::new(Scope::new(tenant_id, code)),
            served,
            cache,
        }
    }
}

#[async_trait::async_trait]
impl PagedSource for BuiltinSource {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> &str {
        &self.name
    }

    async fn find_item(&self, viewer: &Viewer, id: &str) -> Result<Option<ResultItem>, SourceFailure> {
        let request = request_of_id(&self.scope, viewer, id);
        let found = self.newest(viewer, &[request].into()).await?;
        Ok(found.into_iter().flatten().next().map(ResultItem::from))
    }

    async fn page(&self, request: &SourceRequest, position: &Position) -> Result<SourcePage, SourceFailure> {
        let Some(start) = start(request, position) else { return Ok(SourcePage::default()) };
        if request.search.parameters.order == SearchOrder::Relevance {
            let pages = ranked_together(request, &[(self, position)], None).await?;
            return Ok(pages.into_iter().next().unwrap_or_default());
        }
        let ServedView { view, incomplete, degradation } = self.view_of(&request.search)?;
        let page = self.search(view, request, start).await?;
        Ok(SourcePage { incomplete, note: note(&request.search, degradation), ..page })
    }
}

/// Note on a whole page, for the report of its source.
fn note(search: &SearchContext, degradation: Option<Arc<String>>) -> Option<String> {
    let without_word = search.query.is_empty().then(|| NO_WORD.to_owned());
    without_word.or_else(|| degradation.map(Arc::unwrap_or_clone))
}

impl BuiltinSource {
    /// Counts the matches of a keyword in time order.
    pub(crate) async fn count(&self, mut search: SearchContext) -> Option<u64> {
        search.parameters.limit = 0;
        let request = SourceRequest {
            search: Arc::new(search),
            whole_ties: None,
            before: None,
            recency: Recency::default(),
        };
        self.page(&request, &Position::Beginning).await.ok()?.total
    }

    async fn search(
        &self,
        view: Arc<dyn View>,
        request: &SourceRequest,
        start: Start,
    ) -> Result<SourcePage, SourceFailure> {
        if let Some(page) = self.search_inline(&*view, request, start.clone())? {
            return Ok(page);
        }
        let search = Arc::new(self.request(request, start));
        let page = self.cache.get(search, view, self.on_failure()).await?;
        Ok(into_page(Arc::unwrap_or_clone(page), request))
    }

    pub(crate) fn scope(&self) -> &Arc<Scope> {
        &self.scope
    }

    /// The newest hits of each request of one viewer, uncounted.
    pub(crate) async fn newest(
        &self,
        viewer: &Viewer,
        requests: &Arc<[Request]>,
    ) -> Result<Vec<Vec<Hit>>, SourceFailure> {
        self.view(viewer)?.view.newest(requests).await.map_err(self.on_failure())
    }

    /// Finds an item by its id alone, within the filters.
    pub(crate) fn request_of_item(&self, search: &SearchContext, id: &str) -> Request {
        let query = Arc::new(Query::default().for_item(id));
        let start = Start::Time { after: None, whole_ties: None };
        Request { query, limit: 1, ..self.request_of(search, start) }
    }

    /// Whether a search of this source among `sources` finds an item; true if the index fails.
    pub(crate) async fn matches_item(
        &self,
        search: &SearchContext,
        sources: &[&BuiltinSource],
        id: &str,
    ) -> bool {
        if search.query.is_empty() {
            return false;
        }
        let query = Arc::new(search.query.for_item(id));
        let request = Arc::new(Request { query, ..self.request_of_all(search, sources) });
        let Ok(ServedView { view, .. }) = self.view(&search.viewer) else { return true };
        view.search(&request).await.map_err(self.on_failure()).map_or(true, |page| page.total > 0)
    }

    /// Selects all matches; by relevance, as ranked beside the other `sources`.
    pub(crate) fn request_of_all(&self, search: &SearchContext, sources: &[&BuiltinSource]) -> Request {
        let beside = sources.iter().filter(|source| source.scope != self.scope);
        let beside = beside
            .map(|source| RankedScope { scope: Arc::clone(&source.scope), start: ScopeStart::default() });
        let start = match search.parameters.order {
            SearchOrder::Time => Start::Time { after: None, whole_ties: None },
            SearchOrder::Relevance => Start::Relevance(RankedPage {
                start: ScopeStart::default(),
                beside: beside.collect(),
                ranked_by: None,
                now: this_hour(),
                recency: Recency::default(),
            }),
        };
        Request { limit: 0, ..self.request_of(search, start) }
    }

    /// Counts the matches of requests of one viewer.
    ///
    /// They are cut where the index is incomplete.
    pub(crate) async fn count_fields(
        &self,
        viewer: &Viewer,
        requests: &Arc<[Request]>,
        fields: FacetFields,
    ) -> Result<FieldCounts, SourceFailure> {
        let ServedView { view, incomplete, .. } = self.view(viewer)?;
        let counts = view.count_fields(requests, fields).await.map_err(self.on_failure())?;
        Ok(FieldCounts { is_cut: counts.is_cut || incomplete.is_some(), ..counts })
    }

    /// The view for a search, which tells what that asked for and is not there yet.
    pub(super) fn view_of(&self, search: &SearchContext) -> Result<ServedView, SourceFailure> {
        let missing = search.parameters.missing_change;
        let missing = missing.map(|change| format!("the index does not hold change {change} yet"));
        let served = self.view(&search.viewer)?;
        Ok(ServedView { incomplete: served.incomplete.or(missing), ..served })
    }

    fn view(&self, viewer: &Viewer) -> Result<ServedView, SourceFailure> {
        let unavailable = |reason| SourceFailure::new(FailureKind::Unavailable, reason);
        self.served.view(viewer).map_err(unavailable)
    }

    pub(super) fn request(&self, request: &SourceRequest, start: Start) -> Request {
        self.request_of(&request.search, start)
    }

    fn request_of(&self, search: &SearchContext, start: Start) -> Request {
        let filters = &search.parameters.filters;
        Request {
            scope: Arc::clone(&self.scope),
            query: Arc::clone(&search.query),
            principals: Arc::clone(&search.viewer.principals),
            from: filters.from,
            to: filters.to,
            author: filters.author.clone(),
            start,
            limit: search.parameters.limit,
        }
    }

    /// Searches here if that is cheaper than a change of threads.
    fn search_inline(
        &self,
        view: &dyn View,
        request: &SourceRequest,
        mut start: Start,
    ) -> Result<Option<SourcePage>, SourceFailure> {
        if let Start::Time { whole_ties: Some(largest), .. } = &mut start {
            *largest = INLINE_TIE.min(*largest);
        }
        let search = self.request(request, start);
        let found = view.search_at_once(&search).map_err(self.on_failure())?;
        Ok(found.filter(|page| !page.cut).map(|page| into_page(page, request)))
    }

    /// Logs it.
    pub(super) fn on_failure(&self) -> impl FnOnce(Failure) -> SourceFailure + Send + use<> {
        let id = Arc::clone(&self.id);
        move |failure| match failure {
            Failure::Unavailable(reason) | Failure::Foreign(reason) => {
                tracing::debug!(reason, source = &*id, "the index is unavailable");
                SourceFailure::new(FailureKind::Unavailable, reason)
            }
            Failure::Failed(error) => {
                tracing::error!(error, source = &*id, "the index could not answer");
                SourceFailure::new(FailureKind::Error, "the index could not answer")
            }
        }
    }
}

/// Finds an item of a scope by its id.
pub(crate) fn request_of_id(scope: &Arc<Scope>, viewer: &Viewer, id: &str) -> Request {
    let query = Arc::new(Query::default().for_item(id));
    Request { limit: 1, ..Request::total_of(scope, &viewer.principals, query) }
}

/// One page of each source, from its position; by what earlier pages were ranked by.
pub(crate) async fn ranked_together(
    request: &SourceRequest,
    sources: &[(&BuiltinSource, &Position)],
    ranked_by: Option<&Arc<RankedBy>>,
) -> Result<Vec<SourcePage>, SourceFailure> {
    let [(first, _), beside @ ..] = sources else { return Ok(Vec::new()) };
    let ServedView { view, incomplete, degradation } = first.view_of(&request.search)?;
    let starts: Vec<ScopeStart> = sources.iter().map(|(_, position)| start_of(position)).collect();
    let beside = beside
        .iter()
        .zip(&starts[1..])
        .map(|((source, _), start)| RankedScope { scope: Arc::clone(&source.scope), start: start.clone() });
    let start = Start::Relevance(RankedPage {
        start: starts[0].clone(),
        beside: beside.collect(),
        ranked_by: ranked_by.cloned(),
        now: this_hour(),
        recency: request.recency,
    });
    let search = Arc::new(first.request(request, start));
    let page = first.cache.get(search, view, first.on_failure()).await?;
    let mut pages = into_pages(Arc::unwrap_or_clone(page), starts);
    let note = note(&request.search, degradation);
    for page in &mut pages {
        page.incomplete.clone_from(&incomplete);
        page.note.clone_from(&note);
    }
    Ok(pages)
}

/// Statistics of sources that have no more items; `None` if the index fails.
pub(crate) async fn statistics(
    request: &SourceRequest,
    sources: &[&BuiltinSource],
    ranked_by: Option<&Arc<RankedBy>>,
) -> Option<Arc<QueryStatistics>> {
    let mut search = (*request.search).clone();
    search.parameters.limit = 0;
    let request = SourceRequest { search: Arc::new(search), ..request.clone() };
    let sources: Vec<_> = sources.iter().map(|source| (*source, &Position::Beginning)).collect();
    ranked_together(&request, &sources, ranked_by).await.ok()?.into_iter().next()?.statistics
}
