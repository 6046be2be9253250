//! Relevance order: score, then time, then id.
//!
//! `first_pass` ranks by BM25 and skips matches that cannot be among the best (block-max WAND). `rescore` and
//! `feedback` refine a fixed number. Later pages rank by what the first was ranked by and go on behind a place, so no
//! write between them, and no other replica, repeats or loses a match.

mod feedback;
mod first_pass;
mod rescore;
mod scored;
mod spelling;

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use trawl_engine::relevance::{MatchScore, RESCORED_MATCHES, RankPosition, RankedBy, WeightedWords};
use trawl_engine::{Hit, HitPage, RankedPage, RankedScope, Request, Scope, ScopeStart, TimePosition};

use self::first_pass::Part;
use self::rescore::Rescorer;
use self::scored::{Scored, place_of, sort};
use super::budget::{SearchError, StepBudget};
use super::matches::Matches;
use super::plan::Plan;
use super::ranking::Ranking;
use super::stored::read_hit;
use super::time_order::{self, newest};
use super::viewer_scope::ViewerScope;
use crate::view::IndexView;

/// Rescored matches of a later page: new ones may have come among the best.
const MAX_RESCORED_AGAIN: usize = 10 * RESCORED_MATCHES;

/// A request, its scopes and how they are ranked.
struct RankedSearch<'a> {
    view: &'a IndexView,
    request: &'a Request,
    scopes: &'a [ViewerScope<'a>],
    starts: &'a [&'a ScopeStart],
    ranking: &'a Ranking,
}

/// The page behind the hits of earlier pages.
pub(super) fn page(
    view: &IndexView,
    request: &Request,
    list: &RankedPage,
    budget: &mut StepBudget,
) -> Result<HitPage, SearchError> {
    let keys = scopes_of(request, &list.beside);
    let mut ranked_by = list.ranked_by.clone();
    let missing = match &ranked_by {
        Some(before) => before.missing.clone(),
        None => missing(view, request, &keys, budget)?,
    };
    let request = &*without_missing(request, &missing);
    if request.query.is_empty() {
        return Ok(HitPage::default());
    }
    let beside = list.beside.iter().map(|beside| &beside.start);
    let starts: Vec<&ScopeStart> = std::iter::once(&list.start).chain(beside).collect();
    let scopes = viewer_scopes(view, &keys, request)?;
    let ranking = match &ranked_by {
        Some(before) => Ranking::again(request, before),
        None => Ranking::read(&scopes, view, request, budget)?,
    };
    let search = RankedSearch { view, request, scopes: &scopes, starts: &starts, ranking: &ranking };

    let any_of = hash_of_terms(&ranking.words);
    let mut totals = Vec::with_capacity(scopes.len());
    let mut best: Vec<Scored> = Vec::new();
    for (number, scope) in scopes.iter().enumerate() {
        let plan = Plan::new(scope, request, Some(&ranking.words), budget)?;
        let matches = Matches::new(view, &plan, request.from, request.to, budget)?;
        totals.push(matches.total(view, &scope.total_key(request, any_of), budget)?);
        if ranking.words.is_empty() {
            best.extend(search.newest(number, &matches, budget)?);
        }
    }
    if ranking.words.is_empty() {
        sort(view, &mut best)?;
    } else if request.limit > 0 && !ranking.words.cannot_match() {
        best = if let Some(before) = &ranked_by {
            search.rank_again(before, budget)?
        } else {
            let new = RankedBy { now: list.now, recency: list.recency, missing, ..ranking.ranked_by() };
            let (best, new) = search.rank(new, budget)?;
            ranked_by = Some(Arc::new(new));
            best
        };
    }

    let least = ranked_by.as_ref().map_or(f32::MAX, |ranked_by| ranked_by.least.value());
    let mut left: Vec<usize> = starts.iter().map(|start| skipped(start)).collect();
    let mut hits = Vec::with_capacity(request.limit.min(best.len()));
    // Without a hit to come, the totals tell.
    let is_left = |(total, start): (&u64, &&ScopeStart)| request.limit == 0 && *total > start.skip as u64;
    let mut more_by_scope: Vec<bool> = totals.iter().zip(&starts).map(is_left).collect();
    let is_cut = best.len() >= search.reach();
    for scored in best {
        if left[scored.scope] > 0 {
            left[scored.scope] -= 1;
        } else if hits.len() < request.limit {
            let score = (!ranking.words.is_empty()).then(|| scored.shown_score(least));
            let rank = Some(scored.key());
            hits.push(Hit { scope: scored.scope, score, rank, ..read_hit(view, scored.found)? });
        } else {
            more_by_scope[scored.scope] = true;
        }
    }
    // A scope without a match among those may have some behind them.
    for more in &mut more_by_scope {
        *more |= is_cut;
    }
    let more = more_by_scope.contains(&true);
    let statistics = (!ranking.words.is_empty()).then(|| Arc::new(ranking.into_statistics(&request.query)));
    let mut totals = totals.into_iter();
    let total = totals.next().unwrap_or(0);
    let totals_beside = totals.collect();
    Ok(HitPage { hits, total, totals_beside, more, more_by_scope, cut: false, statistics, ranked_by })
}

impl RankedSearch<'_> {
    /// Matches that a page needs, with one that shows whether more follow.
    fn reach(&self) -> usize {
        let skipped = self.starts.iter().map(|start| skipped(start));
        skipped.fold(self.request.limit.saturating_add(1), usize::saturating_add)
    }

    /// All matches of a scope are equal without words, so the newest come first.
    fn newest(
        &self,
        scope: usize,
        matches: &Matches<'_>,
        budget: &mut StepBudget,
    ) -> Result<Vec<Scored>, SearchError> {
        let after = self.starts[scope].after.as_ref().map(|RankPosition { display_time, id, .. }| {
            TimePosition { display_time: *display_time, id: Some(id.clone()) }
        });
        let found =
            time_order::collect(self.view, matches, after.as_ref(), None, self.reach(), budget)?.found;
        let equal = |found| Scored {
            score: MatchScore::from_words(0.0),
            is_rescored: false,
            found,
            texts: self.view.fields.open,
            scope,
        };
        Ok(found.into_iter().map(equal).collect())
    }

    /// Ranks matches, and tells by what.
    fn rank(&self, new: RankedBy, budget: &mut StepBudget) -> Result<(Vec<Scored>, RankedBy), SearchError> {
        let mut best = first_pass::collect(self, &Part::All, self.reach().max(RESCORED_MATCHES), budget)?;
        let rescored = best.len().min(RESCORED_MATCHES);
        let rescored = &mut best[..rescored];
        let mut ranked_by = RankedBy { rescored_to: place_of(self.view, rescored.last())?, ..new };
        Rescorer::new(self).score(rescored)?;
        sort(self.view, rescored)?;
        ranked_by.spelt_to = spelling::find_last(self, rescored)?;
        spelling::add(self, &ranked_by, rescored)?;
        ranked_by.feedback = feedback::find(self, rescored, budget)?;
        feedback::add(self, &ranked_by.feedback, rescored)?;
        finish(self.view, &ranked_by, rescored)?;
        ranked_by.least = rescored.last().map(|last| last.score.total()).unwrap_or_default().into();
        Ok((best, ranked_by))
    }

    /// Ranks the matches behind earlier pages by what those were ranked by.
    fn rank_again(&self, before: &RankedBy, budget: &mut StepBudget) -> Result<Vec<Scored>, SearchError> {
        let is_among_best =
            |start: &&ScopeStart| start.after.as_ref().is_none_or(|after| after.key.is_rescored);
        let mut best = Vec::new();
        if self.starts.iter().any(is_among_best) {
            let part = Part::Best(&before.rescored_to);
            let mut rescored = first_pass::collect(self, &part, MAX_RESCORED_AGAIN, budget)?;
            Rescorer::new(self).score(&mut rescored)?;
            spelling::add(self, before, &mut rescored)?;
            feedback::add(self, &before.feedback, &mut rescored)?;
            finish(self.view, before, &mut rescored)?;
            for scored in rescored {
                let after = self.starts[scored.scope].after.as_ref();
                let is_left = match after {
                    Some(after) => scored.is_behind(self.view, after)?,
                    None => true,
                };
                best.extend(is_left.then_some(scored));
            }
        }
        let missing = self.reach().saturating_sub(best.len());
        if missing > 0 {
            best.extend(first_pass::collect(self, &Part::Others(&before.rescored_to), missing, budget)?);
        }
        Ok(best)
    }
}

/// Hits of a scope to skip, where no place tells where its page starts.
fn skipped(start: &ScopeStart) -> usize {
    if start.after.is_some() { 0 } else { start.skip }
}

/// Adds the recency of rescored matches, and sorts them.
fn finish(view: &IndexView, ranked_by: &RankedBy, rescored: &mut [Scored]) -> Result<(), SearchError> {
    for scored in rescored.iter_mut() {
        scored.is_rescored = true;
        scored.score.recency = ranked_by.recency.factor(ranked_by.now, scored.found.display_time);
    }
    Ok(sort(view, rescored)?)
}

/// Plans of the matches, one for each scope.
pub(super) fn plans(
    view: &IndexView,
    request: &Request,
    beside: &[RankedScope],
    budget: &mut StepBudget,
) -> Result<Vec<Plan>, SearchError> {
    let keys = scopes_of(request, beside);
    let request = &*without_missing(request, &missing(view, request, &keys, budget)?);
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

/// Places of [`Query::whole_token_queries`](trawl_engine::Query::whole_token_queries) that the viewer finds in no scope.
fn missing(
    view: &IndexView,
    request: &Request,
    scopes: &[&Arc<Scope>],
    budget: &mut StepBudget,
) -> Result<Vec<usize>, SearchError> {
    let mut missing = Vec::new();
    for (place, whole) in request.query.whole_token_queries().into_iter().enumerate() {
        let query = Arc::new(whole);
        let mut is_found = false;
        for scope in scopes {
            let total = Request::total_of(scope, &request.principals, Arc::clone(&query));
            is_found = is_found || !newest(view, &Request { limit: 1, ..total }, budget)?.is_empty();
        }
        if !is_found {
            missing.push(place);
        }
    }
    Ok(missing)
}

/// Replaces missing words by their parts.
fn without_missing<'r>(request: &'r Request, missing: &[usize]) -> Cow<'r, Request> {
    let whole_tokens = request.query.whole_token_queries();
    if whole_tokens.is_empty() {
        return Cow::Borrowed(request);
    }
    let missing: Vec<_> = missing.iter().filter_map(|place| whole_tokens.get(*place).cloned()).collect();
    Cow::Owned(Request { query: Arc::new(request.query.with_parts_of(&missing)), ..request.clone() })
}

/// Totals depend on the words that select matches, which may differ between sets of scopes.
fn hash_of_terms(words: &WeightedWords) -> u64 {
    let mut hasher = DefaultHasher::new();
    words.matching_terms().for_each(|term| term.hash(&mut hasher));
    hasher.finish().max(1)
}
