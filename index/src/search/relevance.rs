//! Relevance order: score, then time, then id.
//!
//! `first_pass` ranks by BM25 and skips matches that cannot be among the best (block-max WAND). `rescore` and
//! `feedback` refine a fixed number, so pages join without gaps.

mod feedback;
mod first_pass;
mod rescore;
mod scored;

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use trawl_engine::relevance::parameters::FEEDBACK_DOCUMENTS;
use trawl_engine::relevance::{MatchScore, RESCORED_MATCHES, WeightedWords};
use trawl_engine::{Hit, HitPage, RankedScope, Request, Scope, Texts};

use self::rescore::Rescorer;
use self::scored::{Scored, sort};
use super::budget::{SearchError, StepBudget};
use super::matches::Matches;
use super::plan::Plan;
use super::ranking::Ranking;
use super::stored::read_hit;
use super::time_order::{self, newest};
use super::viewer_scope::ViewerScope;
use crate::view::IndexView;

/// The page after the skipped matches of each scope.
///
/// `recency` is the factor of a display time.
pub(super) fn page(
    view: &IndexView,
    request: &Request,
    skip: usize,
    beside: &[RankedScope],
    recency: impl Fn(i64) -> f32,
    budget: &mut StepBudget,
) -> Result<HitPage, SearchError> {
    let keys = scopes_of(request, beside);
    let request = &*without_missing(view, request, &keys, budget)?;
    if request.query.is_empty() {
        return Ok(HitPage::default());
    }
    let skips: Vec<usize> = std::iter::once(skip).chain(beside.iter().map(|beside| beside.skip)).collect();
    let scopes = viewer_scopes(view, &keys, request)?;
    let ranking = Ranking::read(&scopes, view, request, budget)?;
    let reach = skips.iter().fold(request.limit, |reach, skip| reach.saturating_add(*skip));

    let any_of = hash_of_terms(&ranking.words);
    let mut totals = Vec::with_capacity(scopes.len());
    let mut best: Vec<Scored> = Vec::new();
    for (number, scope) in scopes.iter().enumerate() {
        let plan = Plan::new(scope, request, Some(&ranking.words), budget)?;
        let matches = Matches::new(view, &plan, request.from, request.to, budget)?;
        totals.push(matches.total(view, &scope.total_key(request, any_of), budget)?);
        if ranking.words.is_empty() {
            // All matches are equal, so the newest come first.
            let newest = time_order::collect(view, &matches, None, None, reach, budget)?.found;
            let texts = view.fields.open;
            best.extend(newest.into_iter().map(|found| Scored {
                score: MatchScore::from_words(0.0),
                found,
                texts,
                scope: number,
            }));
        }
    }
    if ranking.words.is_empty() {
        sort(view, &mut best)?;
    } else if request.limit > 0 && !ranking.words.cannot_match() {
        best = first_pass::collect(view, &scopes, &ranking, request, reach.max(RESCORED_MATCHES), budget)?;
        // Which of the rescored matches are skipped depends on their final order, except in one scope.
        if skip < RESCORED_MATCHES || !beside.is_empty() {
            rescore(view, &scopes, &ranking, recency, &mut best, budget)?;
        }
    }

    let mut left = skips.clone();
    let mut hits = Vec::with_capacity(request.limit.min(best.len()));
    for Scored { score, found, scope, .. } in best {
        if left[scope] > 0 {
            left[scope] -= 1;
        } else if hits.len() < request.limit {
            let score = (!ranking.words.is_empty()).then_some(score);
            hits.push(Hit { scope, score, ..read_hit(view, found)? });
        }
    }
    let more = totals.iter().zip(&skips).enumerate().any(|(number, (total, skip))| {
        let shown = hits.iter().filter(|hit| hit.scope == number).count();
        (skip.saturating_add(shown) as u64) < *total
    });
    let statistics = (!ranking.words.is_empty()).then(|| Arc::new(ranking.into_statistics(&request.query)));
    let mut totals = totals.into_iter();
    let total = totals.next().unwrap_or(0);
    Ok(HitPage { hits, total, totals_beside: totals.collect(), more, cut: false, statistics })
}

/// Plans of the matches, one for each scope.
pub(super) fn plans(
    view: &IndexView,
    request: &Request,
    beside: &[RankedScope],
    budget: &mut StepBudget,
) -> Result<Vec<Plan>, SearchError> {
    let keys = scopes_of(request, beside);
    let request = &*without_missing(view, request, &keys, budget)?;
    let scopes = viewer_scopes(view, &keys, request)?;
    let ranking = Ranking::read(&scopes, view, request, budget)?;
    scopes.iter().map(|scope| Plan::new(scope, request, Some(&ranking.words), budget)).collect()
}

fn scopes_of<'a>(request: &'a Request, beside: &'a [RankedScope]) -> Vec<&'a Arc<Scope>> {
    std::iter::once(&request.scope).chain(beside.iter().map(|beside| &beside.scope)).collect()
}

fn viewer_scopes<'a>(
    view: &'a IndexView,
    keys: &[&'a Arc<Scope>],
    request: &Request,
) -> Result<Vec<ViewerScope<'a>>, SearchError> {
    let viewer_scope = |key: &&'a Arc<Scope>| ViewerScope::new(view, key, &request.principals);
    Ok(keys.iter().map(viewer_scope).collect::<Result<_, _>>()?)
}

/// Replaces words that the viewer finds in no scope by their parts.
///
/// The words are [`Query::whole_token_queries`](trawl_engine::Query::whole_token_queries).
fn without_missing<'r>(
    view: &IndexView,
    request: &'r Request,
    scopes: &[&Arc<Scope>],
    budget: &mut StepBudget,
) -> Result<Cow<'r, Request>, SearchError> {
    let whole_tokens = request.query.whole_token_queries();
    if whole_tokens.is_empty() {
        return Ok(Cow::Borrowed(request));
    }
    let mut missing = Vec::new();
    for whole in whole_tokens {
        let query = Arc::new(whole.clone());
        let mut is_found = false;
        for scope in scopes {
            let total = Request::total_of(scope, &request.principals, Arc::clone(&query));
            is_found = is_found || !newest(view, &Request { limit: 1, ..total }, budget)?.is_empty();
        }
        if !is_found {
            missing.push(whole);
        }
    }
    Ok(Cow::Owned(Request { query: Arc::new(request.query.with_parts_of(&missing)), ..request.clone() }))
}

/// Refines the order of the best matches; the others stay below.
fn rescore(
    view: &IndexView,
    scopes: &[ViewerScope<'_>],
    ranking: &Ranking,
    recency: impl Fn(i64) -> f32,
    matches: &mut [Scored],
    budget: &mut StepBudget,
) -> Result<(), SearchError> {
    let (best, others) = matches.split_at_mut(matches.len().min(RESCORED_MATCHES));
    Rescorer::new(view, scopes, ranking).score(best)?;
    sort(view, best)?;
    if ranking.words.prefers_a_spelling() {
        for scored in best.iter_mut().take(FEEDBACK_DOCUMENTS) {
            let item = read_hit(view, scored.found)?.item;
            scored.score.nearness += ranking.words.typed_spelling_score(&Texts::read(&item));
        }
        sort(view, best)?;
    }
    feedback::add(view, scopes, ranking, best, budget)?;
    for scored in best.iter_mut() {
        scored.score.recency = recency(scored.found.display_time);
    }
    sort(view, best)?;
    if let Some(least) = best.last().map(|last| last.score.total()) {
        for scored in others {
            scored.score.words = scored.score.words.min(least);
        }
    }
    Ok(())
}

/// Totals depend on the words that select matches, which may differ between sets of scopes.
fn hash_of_terms(words: &WeightedWords) -> u64 {
    let mut hasher = DefaultHasher::new();
    words.matching_terms().for_each(|term| term.hash(&mut hasher));
    hasher.finish().max(1)
}
