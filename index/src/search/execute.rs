use trawl_engine::{Page, Request, Start};

use super::budget::{SearchError, StepBudget};
use super::matches::Matches;
use super::plan::Plan;
use super::ranking::Ranking;
use super::stored::read_hit;
use super::viewer_scope::ViewerScope;
use super::{relevance, time_order};
use crate::Error;
use crate::segment_cache::TotalKeyRef;
use crate::view::IndexView;

/// Each hit is read from the document store.
const MAX_BOUNDED_HITS: usize = 50;
/// A few hundred microseconds.
const MAX_BOUNDED_STEPS: u64 = 16_384;

const BYTES_PER_STEP: u64 = 64;

/// `None` if the step budget does not suffice.
pub(crate) fn search_at_once(view: &IndexView, request: &Request) -> Result<Option<Page>, Error> {
    if request.limit > MAX_BOUNDED_HITS || !matches!(request.start, Start::Time { .. }) {
        return Ok(None);
    }
    match search_within(view, request, &mut StepBudget::bounded(MAX_BOUNDED_STEPS)) {
        Ok(page) => Ok(Some(page)),
        Err(SearchError::OverBudget) => Ok(None),
        Err(SearchError::Failed(error)) => Err(error),
    }
}

pub(crate) fn search(view: &IndexView, request: &Request) -> Result<Page, Error> {
    match search_within(view, request, &mut StepBudget::unbounded()) {
        Ok(page) => Ok(page),
        Err(SearchError::Failed(error)) => Err(error),
        // Unreachable: the budget exceeds any number of steps.
        Err(SearchError::OverBudget) => Ok(Page::default()),
    }
}

fn search_within(view: &IndexView, request: &Request, budget: &mut StepBudget) -> Result<Page, SearchError> {
    if request.query.is_empty() {
        return Ok(Page::default());
    }
    let scope = ViewerScope::new(view, &request.scope, &request.principals)?;
    let ranking = match request.start {
        Start::Relevance { .. } => Some(Ranking::read(&scope, request, budget)?),
        Start::Time { .. } => None,
    };
    let plan = Plan::new(&scope, request, ranking.as_ref().map(|ranking| &ranking.words), budget)?;
    let matches = Matches::new(view, &plan, request.from, request.to, budget)?;
    let key = TotalKeyRef {
        scope: &request.scope,
        query: &request.query,
        by_relevance: ranking.is_some(),
        viewer: scope.viewer.as_ref().map_or(0, |viewer| viewer.number),
        from: request.from,
        to: request.to,
        author: request.author.as_deref(),
    };
    let total = matches.total(view, &key, budget)?;
    let (found, more, cut) = match (&request.start, &ranking) {
        (Start::Time { after, whole_ties }, _) => {
            let after = after.as_ref();
            let page = time_order::collect(view, &matches, after, *whole_ties, request.limit, budget)?;
            (page.found, page.more, page.cut)
        }
        (Start::Relevance { skip, now }, Some(ranking)) if !ranking.words.is_empty() => {
            let found = relevance::collect(&scope, ranking, request, *skip, *now, budget)?;
            let end = skip.saturating_add(found.len());
            (found, (end as u64) < total, false)
        }
        // All matches are equal, so the newest come first.
        (Start::Relevance { skip, .. }, _) => {
            let limit = skip.saturating_add(request.limit);
            let page = time_order::collect(view, &matches, None, None, limit, budget)?;
            (page.found.into_iter().skip(*skip).collect(), page.more, false)
        }
    };
    let mut hits = Vec::with_capacity(found.len());
    for found in found {
        let hit = read_hit(view, found)?;
        budget.take(hit.item.len() as u64 / BYTES_PER_STEP)?;
        hits.push(hit);
    }
    Ok(Page { hits, total, more, cut })
}
