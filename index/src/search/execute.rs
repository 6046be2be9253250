use tokio_util::sync::CancellationToken;
use trawl_engine::{Hit, HitPage, Request, Start};

use super::budget::{SearchError, StepBudget};
use super::matches::Matches;
use super::plan::Plan;
use super::stored::{Match, read_hit};
use super::time_order::{TimePage, newest};
use super::viewer_scope::ViewerScope;
use super::{relevance, time_order};
use crate::Error;
use crate::view::IndexView;

/// Each hit is read from the document store.
const MAX_BOUNDED_HITS: usize = 50;
/// A few hundred microseconds.
const MAX_BOUNDED_STEPS: u64 = 16_384;

const BYTES_PER_STEP: u64 = 64;

/// `None` if the step budget does not suffice.
pub(crate) fn search_at_once(view: &IndexView, request: &Request) -> Result<Option<HitPage>, Error> {
    if request.limit > MAX_BOUNDED_HITS || !matches!(request.start, Start::Time { .. }) {
        return Ok(None);
    }
    match search_within(view, request, &mut StepBudget::bounded(MAX_BOUNDED_STEPS)) {
        Ok(page) => Ok(Some(page)),
        Err(SearchError::OverBudget) => Ok(None),
        Err(SearchError::Failed(error)) => Err(error),
    }
}

pub(crate) fn search(
    view: &IndexView,
    request: &Request,
    cancelled: &CancellationToken,
) -> Result<HitPage, Error> {
    until(cancelled, |budget| search_within(view, request, budget))
}

/// The newest hits, uncounted.
pub(crate) fn newest_hits(
    view: &IndexView,
    request: &Request,
    cancelled: &CancellationToken,
) -> Result<Vec<Hit>, Error> {
    until(cancelled, |budget| read_hits(view, newest(view, request, budget)?, budget))
}

pub(super) fn until<T>(
    cancelled: &CancellationToken,
    work: impl FnOnce(&mut StepBudget) -> Result<T, SearchError>,
) -> Result<T, Error> {
    // A caller may have many searches of few steps.
    if cancelled.is_cancelled() {
        return Err(Error::Cancelled);
    }
    work(&mut StepBudget::until(cancelled.clone())).map_err(|error| match error {
        SearchError::Failed(error) => error,
        SearchError::OverBudget => Error::Cancelled,
    })
}

fn search_within(
    view: &IndexView,
    request: &Request,
    budget: &mut StepBudget,
) -> Result<HitPage, SearchError> {
    if request.query.is_empty() {
        return Ok(HitPage::default());
    }
    let (after, whole_ties) = match &request.start {
        Start::Time { after, whole_ties } => (after.as_ref(), *whole_ties),
        Start::Relevance(list) => return relevance::page(view, request, list, budget),
    };
    let scope = ViewerScope::new(view, &request.scope, &request.principals)?;
    let plan = Plan::new(&scope, request, None, budget)?;
    let matches = Matches::new(view, &plan, request.from, request.to, budget)?;
    let total = matches.total(view, &scope.total_key(request, 0), budget)?;
    let TimePage { found, more, cut } =
        time_order::collect(view, &matches, after, whole_ties, request.limit, budget)?;
    let hits = read_hits(view, found, budget)?;
    Ok(HitPage { hits, total, more, cut, ..HitPage::default() })
}

fn read_hits(view: &IndexView, found: Vec<Match>, budget: &mut StepBudget) -> Result<Vec<Hit>, SearchError> {
    let mut hits = Vec::with_capacity(found.len());
    for found in found {
        let hit = read_hit(view, found)?;
        budget.take(hit.item.len() as u64 / BYTES_PER_STEP)?;
        hits.push(hit);
    }
    Ok(hits)
}
