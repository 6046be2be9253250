//! The built-in index as a source.

#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use tokio_util::task::AbortOnDropHandle;
use trawl_index as index;

use super::{
    cache::{BuiltInPages, Question},
    request::{Order, Viewer},
    served::{Served, View},
    source::{Ask, Entry, FailureKind, Item, Later, Page, Position, Source, SourceFailure},
};
use crate::store::now_millis;

/// What the sources of a module call a built-in one: `builtin:article` (decisions 4.1).
pub(super) const ID_PREFIX: &str = "builtin:";

/// The largest group of equal times that is read on the runtime's own thread.
const QUICK_TIE: usize = 100;

/// The documents of one built-in module of one tenant.
pub(super) struct BuiltinSource {
    id: Arc<str>,
    name: String,
    scope: Arc<index::Scope>,
    served: Arc<Served>,
    pages: BuiltInPages,
}

impl BuiltinSource {
    /// The source over the documents of the module with this code, which keeps pages among `pages`.
    pub(super) fn new(
        served: Arc<Served>,
        pages: BuiltInPages,
        tenant_id: i64,
        code: &str,
        name: &str,
    ) -> Self {
        Self {
            id: format!("{ID_PREFIX}{code}").into(),
            name: name.to_owned(),
            scope: Arc::new(index::Scope::new(tenant_id, code)),
            served,
            pages,
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

    fn timeout(&self) -> Duration {
        Duration::MAX
    }

    async fn correct(&self, viewer: &Viewer, keyword: &str) -> Option<String> {
        let view = self.served.view()?;
        let (scope, snapshot) = (Arc::clone(&self.scope), view.snapshot.clone());
        let (principals, keyword) = (Arc::clone(&viewer.principals), keyword.to_owned());
        let look = move || snapshot.correct(&scope, &principals, &keyword);
        let looked = AbortOnDropHandle::new(tokio::task::spawn_blocking(look)).await.ok()?;
        // The search was answered; where this fails, only the help is not there.
        looked.map_err(|error| self.failed(&view)(&error)).ok().flatten()
    }

    async fn page(&self, ask: &Arc<Ask>, position: &Position) -> Result<Page, SourceFailure> {
        let Some(start) = start(ask, position) else { return Ok(Page::default()) };
        let Some(view) = self.served.view() else {
            return Err(SourceFailure::new(
                FailureKind::Unavailable,
                "the index cannot be opened at the moment",
            ));
        };
        let page = self.page_of(&view, ask, start).await?;
        Ok(Page { lacking: view.lacking, ..page })
    }
}

impl BuiltinSource {
    async fn page_of(&self, view: &View, ask: &Arc<Ask>, start: index::Start) -> Result<Page, SourceFailure> {
        if let Some(page) = self.answer_at_once(view, ask, &start)? {
            return Ok(page);
        }
        let question = Arc::new(Question::new(&self.scope, ask, start.clone()));
        let failed = self.failed(view);
        let page = self.pages.get(question, view.snapshot.clone(), failed).await?;
        Ok(into_page(Arc::unwrap_or_clone(page), ask, &start))
    }

    /// The page, where finding it is so little work that handing it to another thread and back would cost more.
    fn answer_at_once(
        &self,
        view: &View,
        ask: &Ask,
        start: &index::Start,
    ) -> Result<Option<Page>, SourceFailure> {
        let mut start = start.clone();
        if let index::Start::Time { whole_ties: Some(most), .. } = &mut start {
            *most = QUICK_TIE.min(*most);
        }
        let question = Question::new(&self.scope, ask, start);
        let request = question.request();
        let page = view.snapshot.search_at_once(&request).map_err(|error| self.failed(view)(&error))?;
        let Some(page) = page else { return Ok(None) };
        // A larger group of equal times is not for this thread.
        Ok((!page.cut).then(|| into_page(page, ask, &request.start)))
    }

    /// What becomes of a failure: this source's for those who search, and a reason to verify the index.
    fn failed(&self, view: &View) -> impl FnOnce(&index::Error) -> SourceFailure + Send + 'static {
        let (id, served, number) = (Arc::clone(&self.id), Arc::clone(&self.served), view.number());
        move |error| {
            tracing::error!(%error, source = &*id, "the index could not answer");
            served.report(number);
            SourceFailure::new(FailureKind::Error, "the index could not answer")
        }
    }
}

/// The beginning of this hour: ages are told from it, so that pages that are asked for one after the other have one order, and
/// can be kept.
fn this_hour() -> i64 {
    const HOUR: i64 = 60 * 60 * 1_000;
    now_millis() / HOUR * HOUR
}

/// Where the index is to begin; `None` at the end.
pub(super) fn start(ask: &Ask, position: &Position) -> Option<index::Start> {
    match (ask.order, position) {
        (_, Position::End) => None,
        (Order::Time, position) => {
            let after = match position {
                Position::AfterItem(display_time, id) => {
                    Some(index::TimePosition { display_time: *display_time, id: Some(id.clone()) })
                }
                // The time condition; `to` is a filter of its own, which the total heeds too.
                _ => ask.before.map(|display_time| index::TimePosition { display_time, id: None }),
            };
            Some(index::Start::Time { after, whole_ties: ask.whole_ties })
        }
        (Order::Relevance, position) => {
            let skip = if let Position::AfterRank(skip) = position { *skip } else { 0 };
            Some(index::Start::Relevance { skip, now: this_hour() })
        }
    }
}

/// A page of the index as one of the coordinator.
pub(super) fn into_page(page: index::Page, ask: &Ask, start: &index::Start) -> Page {
    let skipped = match start {
        index::Start::Relevance { skip, .. } => *skip,
        index::Start::Time { .. } => 0,
    };
    let entries: Vec<Entry> = page
        .hits
        .into_iter()
        .enumerate()
        .map(|(rank, hit)| Entry {
            after: match ask.order {
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
    let last = entries.last();
    let later = match last.map(|entry| entry.item.display_time) {
        // A page of whole groups leaves nothing of the last one's time behind, unless the group was cut.
        Some(time) if ask.whole_ties.is_some() && !page.cut => Later::AtMost(time.saturating_sub(1)),
        Some(time) => Later::AtMost(time),
        None => Later::AnyTime,
    };
    Page {
        next: page.more.then(|| last.map(|entry| entry.after.clone())).flatten(),
        later,
        total: Some(page.total),
        tie_cut: page.cut,
        entries,
        ..Page::default()
    }
}
