//! Documents of a module as a source.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use tokio_util::task::AbortOnDropHandle;
use trawl_index as index;

use super::{
    id_of,
    page_cache::{IndexPageCache, IndexPageKey},
    snapshot::{IndexView, ServedIndex},
};
use crate::{
    clock::now_millis,
    request::{Order, Viewer},
    source::{
        FailureKind, Item, Position, PositionedItem, Source, SourceFailure, SourcePage, SourceRequest,
        TimeBound,
    },
};

/// A larger group of equal times needs a blocking thread.
const INLINE_TIE: usize = 100;

/// Documents of a module.
pub struct BuiltinSource {
    id: Arc<str>,
    name: String,
    scope: Arc<index::Scope>,
    served: Arc<ServedIndex>,
    cache: IndexPageCache,
}

impl BuiltinSource {
    /// Of the module's documents.
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
            scope: Arc::new(index::Scope::new(tenant_id, code)),
            served,
            cache,
        }
    }
}

#[async_trait::async_trait]
impl Source for BuiltinSource {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> &str {
        &self.name
    }

    async fn correct(&self, viewer: &Viewer, keyword: &str) -> Option<String> {
        let view = self.served.view()?;
        let (scope, snapshot) = (Arc::clone(&self.scope), view.snapshot.clone());
        let (principals, keyword) = (Arc::clone(&viewer.principals), keyword.to_owned());
        let correct = move || snapshot.correct(&scope, &principals, &keyword);
        let corrected = AbortOnDropHandle::new(tokio::task::spawn_blocking(correct)).await.ok()?;
        // A failure costs the correction only.
        corrected.map_err(|error| self.on_failure(&view)(&error)).ok().flatten()
    }

    async fn page(&self, request: &SourceRequest, position: &Position) -> Result<SourcePage, SourceFailure> {
        let Some(start) = start(request, position) else { return Ok(SourcePage::default()) };
        let Some(view) = self.served.view() else {
            return Err(SourceFailure::new(
                FailureKind::Unavailable,
                "the index cannot be opened at the moment",
            ));
        };
        let page = self.search(&view, request, start).await?;
        Ok(SourcePage { incomplete: view.incomplete, ..page })
    }
}

impl BuiltinSource {
    async fn search(
        &self,
        view: &IndexView,
        request: &SourceRequest,
        start: index::Start,
    ) -> Result<SourcePage, SourceFailure> {
        if let Some(page) = self.search_inline(view, request, &start)? {
            return Ok(page);
        }
        let key = Arc::new(IndexPageKey::new(&self.scope, request, start.clone()));
        let page = self.cache.get(key, view.snapshot.clone(), self.on_failure(view)).await?;
        Ok(into_page(Arc::unwrap_or_clone(page), request, &start))
    }

    /// Searches here if that is cheaper than a change of threads.
    fn search_inline(
        &self,
        view: &IndexView,
        request: &SourceRequest,
        start: &index::Start,
    ) -> Result<Option<SourcePage>, SourceFailure> {
        let mut start = start.clone();
        if let index::Start::Time { whole_ties: Some(largest), .. } = &mut start {
            *largest = INLINE_TIE.min(*largest);
        }
        let key = IndexPageKey::new(&self.scope, request, start);
        let question = key.request();
        let found = view.snapshot.search_at_once(&question).map_err(|error| self.on_failure(view)(&error))?;
        Ok(found.filter(|page| !page.cut).map(|page| into_page(page, request, &question.start)))
    }

    /// Logs it, and requests verification of the index.
    fn on_failure(&self, view: &IndexView) -> impl FnOnce(&index::Error) -> SourceFailure + Send + use<> {
        let (id, served, number) = (Arc::clone(&self.id), Arc::clone(&self.served), view.number);
        move |error| {
            tracing::error!(%error, source = &*id, "the index could not answer");
            served.report_unreadable(number);
            SourceFailure::new(FailureKind::Error, "the index could not answer")
        }
    }
}

/// Ages count from full hours, so that pages keep their order and can be cached.
fn this_hour() -> i64 {
    const HOUR: i64 = 60 * 60 * 1_000;
    now_millis() / HOUR * HOUR
}

pub(crate) fn start(request: &SourceRequest, position: &Position) -> Option<index::Start> {
    match (request.search.parameters.order, position) {
        (_, Position::End) => None,
        (Order::Time, position) => {
            let after = match position {
                Position::AfterItem(display_time, id) => {
                    Some(index::TimePosition { display_time: *display_time, id: Some(id.clone()) })
                }
                // The total includes the filter `to`.
                _ => request.before.map(|display_time| index::TimePosition { display_time, id: None }),
            };
            Some(index::Start::Time { after, whole_ties: request.whole_ties })
        }
        (Order::Relevance, position) => {
            let skip = if let Position::AfterRank(skip) = position { *skip } else { 0 };
            Some(index::Start::Relevance { skip, now: this_hour() })
        }
    }
}

pub(crate) fn into_page(page: index::Page, request: &SourceRequest, start: &index::Start) -> SourcePage {
    let skipped = match start {
        index::Start::Relevance { skip, .. } => *skip,
        index::Start::Time { .. } => 0,
    };
    let order = request.search.parameters.order;
    let items: Vec<PositionedItem> = page
        .hits
        .into_iter()
        .enumerate()
        .map(|(rank, hit)| PositionedItem {
            after: match order {
                Order::Time => Position::AfterItem(hit.display_time, hit.id.clone()),
                Order::Relevance => Position::AfterRank(skipped + rank + 1),
            },
            item: Item {
                id: hit.id,
                display_time: hit.display_time,
                json: hit.item,
                title_is_name: hit.title_is_name,
            },
        })
        .collect();
    let last = items.last();
    let bound = match last.map(|last| last.item.display_time) {
        // Whole groups leave nothing behind unless cut.
        Some(time) if request.whole_ties.is_some() && !page.cut => TimeBound::AtMost(time.saturating_sub(1)),
        Some(time) => TimeBound::AtMost(time),
        None => TimeBound::AnyTime,
    };
    SourcePage {
        next: page.more.then(|| last.map(|last| last.after.clone())).flatten(),
        bound,
        total: Some(page.total),
        tie_cut: page.cut,
        items,
        ..SourcePage::default()
    }
}
