//! Relevance order: score, then time, then id.
//!
//! `first_pass` ranks by BM25 and skips matches that cannot be among the best (block-max WAND). `rescore` and
//! `feedback` refine a fixed number, so pages join without gaps.

mod feedback;
mod first_pass;
mod rescore;
mod scored;

use trawl_engine::Request;
use trawl_engine::relevance::{RESCORED_MATCHES, freshness};

use self::rescore::Rescorer;
use self::scored::sort;
use super::budget::{SearchError, StepBudget};
use super::ranking::Ranking;
use super::stored::Match;
use super::viewer_scope::ViewerScope;

/// After `skip` matches, at the time `now`.
pub(super) fn collect(
    scope: &ViewerScope<'_>,
    ranking: &Ranking<'_>,
    request: &Request,
    skip: usize,
    now: i64,
    budget: &mut StepBudget,
) -> Result<Vec<Match>, SearchError> {
    if request.limit == 0 || ranking.words.cannot_match() {
        return Ok(Vec::new());
    }
    let limit = skip.saturating_add(request.limit).max(RESCORED_MATCHES);
    let mut best = first_pass::collect(scope, ranking, request, limit, budget)?;
    if skip < RESCORED_MATCHES {
        let count = best.len().min(RESCORED_MATCHES);
        let looked_at = &mut best[..count];
        Rescorer::new(scope, ranking).score(looked_at)?;
        sort(scope.view, looked_at)?;
        feedback::add(scope, ranking, looked_at)?;
        for scored in looked_at.iter_mut() {
            scored.score *= freshness(now, scored.found.display_time);
        }
        sort(scope.view, looked_at)?;
    }
    Ok(best.into_iter().skip(skip).take(request.limit).map(|scored| scored.found).collect())
}
