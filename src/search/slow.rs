//! Searches that took long, for operators: what they were like, never what they looked for. They are kept in memory, and a
//! restart forgets them.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use serde::Serialize;

use super::{
    AllModules, ModuleAnswer,
    answer::{Answer, Failure, SourceReport, Status},
    request::{Filters, Order, SearchRequest, Start},
};
use crate::{error::Kind, store::now_millis};

/// Slow searches that are kept of one tenant.
const OF_A_TENANT: usize = 64;
/// Slow searches that are kept in all.
const IN_ALL: usize = 4_096;
/// Sources that are kept of one search: those that took longest.
const SOURCES: usize = 32;

/// A search that took long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SlowSearch {
    /// When its answer was ready, epoch milliseconds.
    pub time: i64,
    /// Milliseconds from the request on.
    pub took_ms: u64,
    /// The module's code; null where every module was searched.
    pub module: Option<String>,
    /// `time` or `relevance`.
    #[schema(value_type = String, example = "time")]
    pub order: &'static str,
    /// How many words were looked for, as spaces part them.
    pub words: usize,
    /// The filters that were set, of `from`, `to`, `author` and `source`; never to what.
    #[schema(value_type = Vec<String>)]
    pub filters: Vec<&'static str>,
    /// Whether it was for a page behind the first one.
    pub later: bool,
    /// Whether something was missing that was asked for.
    pub partial: bool,
    /// `ok` where there was a page, of any module; else `failed`.
    #[schema(value_type = String, example = "ok")]
    pub status: &'static str,
    /// The sources that were asked, the 32 that took longest at most, the slowest first.
    pub sources: Vec<SlowSource>,
}

/// How a source took part in a slow search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SlowSource {
    /// The source's id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// How it took part.
    pub status: Status,
    /// Milliseconds that its requests took in all; where several modules show it, in the one where they took longest.
    pub took_ms: u64,
}

/// The slow searches of all tenants.
#[derive(Debug)]
pub struct SlowSearches {
    /// What takes as long is slow.
    from: Duration,
    /// With their tenants' numbers, the oldest first.
    kept: Mutex<VecDeque<(i64, SlowSearch)>>,
}

impl SlowSearches {
    /// Keeps searches that take so many milliseconds.
    pub fn new(from_ms: u64) -> Self {
        Self { from: Duration::from_millis(from_ms), kept: Mutex::default() }
    }

    /// The tenant's, the newest first.
    pub fn list(&self, tenant_id: i64, limit: usize) -> Vec<SlowSearch> {
        let kept = self.lock();
        let of_tenant = kept.iter().rev().filter(|(tenant, _)| *tenant == tenant_id);
        of_tenant.take(limit).map(|(_, search)| search.clone()).collect()
    }

    /// A search begins.
    pub fn begin(self: &Arc<Self>, tenant_id: i64, request: &SearchRequest) -> Begun {
        Begun {
            searches: Arc::clone(self),
            tenant_id,
            started: Instant::now(),
            order: match request.order {
                Order::Time => "time",
                Order::Relevance => "relevance",
            },
            words: request.keyword.split_whitespace().count(),
            filters: names(&request.filters),
            later: request.start != Start::Beginning,
        }
    }

    fn keep(&self, tenant_id: i64, search: SlowSearch) {
        let mut kept = self.lock();
        let mut of_tenant = kept.iter().enumerate().filter(|(_, (tenant, _))| *tenant == tenant_id);
        let oldest = of_tenant.next().map(|(place, _)| place);
        if let Some(oldest) = oldest.filter(|_| of_tenant.count() + 1 >= OF_A_TENANT) {
            kept.remove(oldest);
        } else if kept.len() >= IN_ALL {
            kept.pop_front();
        }
        kept.push_back((tenant_id, search));
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(i64, SlowSearch)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn names(filters: &Filters) -> Vec<&'static str> {
    let Filters { from, to, author, source } = filters;
    let set = [
        ("from", from.is_some()),
        ("to", to.is_some()),
        ("author", author.is_some()),
        ("source", source.is_some()),
    ];
    set.into_iter().filter_map(|(name, is_set)| is_set.then_some(name)).collect()
}

/// A search under way. One that nobody waits for any more, or that was refused, is not kept.
#[derive(Debug)]
pub struct Begun {
    searches: Arc<SlowSearches>,
    tenant_id: i64,
    started: Instant,
    order: &'static str,
    words: usize,
    filters: Vec<&'static str>,
    later: bool,
}

impl Begun {
    /// The search is over; it is kept if it was slow and not refused. Only then `module` is asked for the code of the module
    /// that was searched, and `outcome` for what became of it.
    pub async fn end<M: Future<Output = Option<String>>>(
        self,
        module: impl FnOnce() -> M,
        outcome: impl FnOnce() -> Outcome,
    ) {
        let took = self.started.elapsed();
        if took < self.searches.from {
            return;
        }
        let outcome = outcome();
        if !outcome.has_ended {
            return;
        }
        let mut sources: Vec<SlowSource> = outcome.sources.into_values().collect();
        sources.sort_unstable_by(|one, other| other.took_ms.cmp(&one.took_ms).then(one.id.cmp(&other.id)));
        sources.truncate(SOURCES);
        let search = SlowSearch {
            time: now_millis(),
            took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            module: module().await,
            order: self.order,
            words: self.words,
            filters: self.filters,
            later: self.later,
            partial: outcome.partial,
            status: if outcome.has_page { "ok" } else { "failed" },
            sources,
        };
        self.searches.keep(self.tenant_id, search);
    }
}

/// What became of a search, of one module or of several.
#[derive(Debug, Default)]
pub struct Outcome {
    /// It got so far as to ask.
    has_ended: bool,
    has_page: bool,
    partial: bool,
    sources: HashMap<String, SlowSource>,
}

impl Outcome {
    /// What became of the search of one module.
    pub fn of(result: &Result<Answer, Failure>) -> Self {
        let mut outcome = Self::default();
        outcome.add(result);
        outcome
    }

    /// One module more.
    fn add(&mut self, result: &Result<Answer, Failure>) {
        match result {
            Ok(answer) => {
                self.has_page = true;
                self.partial |= answer.partial;
                self.add_sources(&answer.sources);
            }
            Err(Failure::NoSource { sources, .. }) => {
                self.partial = true;
                self.add_sources(sources);
            }
            // What cannot be asked is no slow search; what failed inside may be one.
            Err(Failure::Refused(error)) => {
                self.partial = true;
                self.has_ended |= error.kind == Kind::Internal;
                return;
            }
        }
        self.has_ended = true;
    }

    fn add_sources(&mut self, reports: &[SourceReport]) {
        for SourceReport { id, name, status, took_ms, .. } in reports {
            let known = self.sources.get(id).is_some_and(|known| known.took_ms >= *took_ms);
            if !known {
                let source =
                    SlowSource { id: id.clone(), name: name.clone(), status: *status, took_ms: *took_ms };
                self.sources.insert(id.clone(), source);
            }
        }
    }
}

/// A search of every module under way, and what became of its modules so far.
pub struct WatchedModules {
    modules: AllModules,
    begun: Option<Begun>,
    outcome: Outcome,
}

impl WatchedModules {
    /// Watches a search that began so.
    pub fn new(modules: AllModules, begun: Begun) -> Self {
        Self { modules, begun: Some(begun), outcome: Outcome::default() }
    }

    /// How many modules are searched.
    pub fn count(&self) -> usize {
        self.modules.count()
    }

    /// As [`AllModules::next`]; after the last one, the search is over.
    pub async fn next(&mut self) -> Option<ModuleAnswer> {
        let answer = self.modules.next().await;
        match (&answer, self.begun.take()) {
            (Some(answer), begun) => {
                self.outcome.add(&answer.result);
                self.begun = begun;
            }
            (None, Some(begun)) => {
                let outcome = std::mem::take(&mut self.outcome);
                begun.end(async || None, || outcome).await;
            }
            (None, None) => {}
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(took_ms: u64) -> SlowSearch {
        SlowSearch {
            time: 0,
            took_ms,
            module: None,
            order: "time",
            words: 1,
            filters: Vec::new(),
            later: false,
            partial: false,
            status: "ok",
            sources: Vec::new(),
        }
    }

    #[test]
    fn a_tenant_keeps_its_last_ones_and_takes_no_other_ones_place() {
        let searches = SlowSearches::new(0);
        searches.keep(2, search(7));
        (0..1_000).for_each(|number| searches.keep(1, search(number)));
        let kept = searches.list(1, usize::MAX);
        assert_eq!((kept.len(), kept[0].took_ms, kept[63].took_ms), (OF_A_TENANT, 999, 936));
        assert_eq!(searches.list(2, usize::MAX), [search(7)]);
        assert_eq!(searches.list(1, 2), [search(999), search(998)]);
        assert_eq!(searches.list(3, usize::MAX), []);
    }

    #[test]
    fn all_together_are_bounded() {
        let searches = SlowSearches::new(0);
        (0..10_000).for_each(|tenant| searches.keep(tenant, search(1)));
        assert_eq!(searches.lock().len(), IN_ALL);
        assert_eq!((searches.list(5_000, 1).len(), searches.list(9_999, 1).len()), (0, 1));
    }

    #[test]
    fn sources_of_several_modules_are_told_once_the_slowest_first() {
        let report = |id: &str, took_ms| SourceReport {
            id: id.to_owned(),
            name: id.to_uppercase(),
            status: Status::Ok,
            took_ms,
            total: None,
            message: Some("unmentionable".to_owned()),
            retry_at: None,
            stale: false,
        };
        let page = |sources| Answer {
            items: Vec::new(),
            total: 0,
            cursor: None,
            partial: false,
            corrected: Some("unmentionable".to_owned()),
            sources,
        };
        let mut outcome = Outcome::of(&Ok(page(vec![report("a", 5), report("b", 70)])));
        outcome.add(&Err(Failure::NoSource {
            all_timed_out: true,
            retry_after: None,
            sources: vec![report("a", 900)],
        }));
        assert!(outcome.partial && outcome.has_page && outcome.has_ended);
        assert_eq!((outcome.sources["a"].took_ms, outcome.sources["b"].took_ms), (900, 70));
        assert!(!format!("{outcome:?}").contains("unmentionable"));
        let refused = Outcome::of(&Err(crate::error::Error::not_found("x").into()));
        assert!(!refused.has_ended);
    }
}
