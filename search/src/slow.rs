//! Slow searches in memory, without keywords and filter values.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use serde::Serialize;

use crate::{
    answer::{Facets, SearchFailure, SearchPage, SourceReport},
    clock::now_millis,
    coordinator::{AllModules, ModuleAnswer},
    error::Error,
    request::{PageRequest, PageStart, SearchOrder, SearchParameters},
    source::Status,
};

const MAX_OF_TENANT: usize = 64;
const MAX_IN_ALL: usize = 4_096;
/// The slowest ones are kept.
const MAX_SOURCES: usize = 32;

/// A slow search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SlowSearch {
    /// The end, epoch milliseconds.
    pub time: i64,
    /// Milliseconds since the request.
    pub took_ms: u64,
    /// The module's code; null for all modules.
    pub module: Option<String>,
    /// `time` or `relevance`.
    #[schema(value_type = String, example = "time")]
    pub order: &'static str,
    /// Words separated by spaces.
    pub words: usize,
    /// The names of the filters.
    #[schema(value_type = Vec<String>)]
    pub filters: Vec<&'static str>,
    /// Whether it was a later page.
    pub later: bool,
    /// Whether matches may be missing.
    pub partial: bool,
    /// `ok` if any module had a page, else `failed`.
    #[schema(value_type = String, example = "ok")]
    pub status: &'static str,
    /// The 32 slowest sources, slowest first.
    pub sources: Vec<SlowSource>,
}

/// A source's part in a slow search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SlowSource {
    /// The id.
    pub id: String,
    /// The name.
    pub name: String,
    /// The status.
    pub status: Status,
    /// The most milliseconds in any module.
    pub took_ms: u64,
}

/// Slow searches of all tenants.
#[derive(Debug)]
pub struct SlowSearches {
    threshold: Duration,
    searches: Mutex<VecDeque<(i64, SlowSearch)>>,
}

impl SlowSearches {
    /// Keeps searches of at least this many milliseconds.
    pub fn new(threshold_ms: u64) -> Self {
        Self { threshold: Duration::from_millis(threshold_ms), searches: Mutex::default() }
    }

    /// A tenant's searches, newest first.
    pub fn list(&self, tenant_id: i64, limit: usize) -> Vec<SlowSearch> {
        let searches = self.lock();
        let of_tenant = searches.iter().rev().filter(|(tenant, _)| *tenant == tenant_id);
        of_tenant.take(limit).map(|(_, search)| search.clone()).collect()
    }

    /// Starts a timer.
    pub fn start(
        self: &Arc<Self>,
        tenant_id: i64,
        parameters: &SearchParameters,
        page: &PageRequest,
    ) -> SearchTimer {
        SearchTimer {
            searches: Arc::clone(self),
            tenant_id,
            started: Instant::now(),
            order: match parameters.order {
                SearchOrder::Time => "time",
                SearchOrder::Relevance => "relevance",
            },
            words: parameters.keyword.split_whitespace().count(),
            filters: filter_names(parameters, page),
            later: page.start != PageStart::Beginning,
        }
    }

    fn add_search(&self, tenant_id: i64, search: SlowSearch) {
        let mut searches = self.lock();
        let mut of_tenant = searches.iter().enumerate().filter(|(_, (tenant, _))| *tenant == tenant_id);
        let oldest = of_tenant.next().map(|(place, _)| place);
        if let Some(oldest) = oldest.filter(|_| of_tenant.count() + 1 >= MAX_OF_TENANT) {
            searches.remove(oldest);
        } else if searches.len() >= MAX_IN_ALL {
            searches.pop_front();
        }
        searches.push_back((tenant_id, search));
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(i64, SlowSearch)>> {
        self.searches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn filter_names(parameters: &SearchParameters, page: &PageRequest) -> Vec<&'static str> {
    let filters = &parameters.filters;
    let set = [
        ("from", filters.from.is_some()),
        ("to", filters.to.is_some()),
        ("author", filters.author.is_some()),
        ("source", page.source.is_some()),
    ];
    set.into_iter().filter_map(|(name, is_set)| is_set.then_some(name)).collect()
}

/// A dropped timer keeps nothing.
#[derive(Debug)]
pub struct SearchTimer {
    searches: Arc<SlowSearches>,
    tenant_id: i64,
    started: Instant,
    order: &'static str,
    words: usize,
    filters: Vec<&'static str>,
    later: bool,
}

impl SearchTimer {
    /// Keeps a slow search that was not refused.
    ///
    /// `module` and `outcome` are evaluated for slow ones only.
    pub async fn end<M: Future<Output = Option<String>>>(
        self,
        module: impl FnOnce() -> M,
        outcome: impl FnOnce() -> SearchOutcome,
    ) {
        let took = self.started.elapsed();
        if took < self.searches.threshold {
            return;
        }
        let outcome = outcome();
        if !outcome.has_run {
            return;
        }
        let mut sources: Vec<SlowSource> = outcome.sources.into_values().collect();
        sources.sort_unstable_by(|one, other| other.took_ms.cmp(&one.took_ms).then(one.id.cmp(&other.id)));
        sources.truncate(MAX_SOURCES);
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
        self.searches.add_search(self.tenant_id, search);
    }
}

/// Outcome of a search.
#[derive(Debug, Default)]
pub struct SearchOutcome {
    has_run: bool,
    has_page: bool,
    partial: bool,
    sources: HashMap<String, SlowSource>,
}

impl SearchOutcome {
    /// The outcome of one module.
    pub fn of(result: &Result<SearchPage, SearchFailure>) -> Self {
        let mut outcome = Self::default();
        outcome.add(result);
        outcome
    }

    fn add(&mut self, result: &Result<SearchPage, SearchFailure>) {
        match result {
            Ok(page) => {
                self.has_page = true;
                self.partial |= page.partial;
                self.add_sources(&page.sources);
            }
            Err(SearchFailure::NoSource { sources, .. }) => {
                self.partial = true;
                self.add_sources(sources);
            }
            // Internal failures may be slow.
            Err(SearchFailure::Refused(error)) => {
                self.partial = true;
                self.has_run |= matches!(error, Error::Internal(_));
                return;
            }
        }
        self.has_run = true;
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

/// Search of all modules with its timer.
pub struct TimedModules {
    modules: AllModules,
    timer: Option<SearchTimer>,
    outcome: SearchOutcome,
}

impl TimedModules {
    /// Times a search.
    pub fn new(modules: AllModules, timer: SearchTimer) -> Self {
        Self { modules, timer: Some(timer), outcome: SearchOutcome::default() }
    }

    /// Number of modules.
    pub fn count(&self) -> usize {
        self.modules.count()
    }

    /// Counts facets like [`AllModules::facets`].
    pub async fn facets(&mut self) -> Option<Facets> {
        self.modules.facets().await
    }

    /// Returns the next answer like [`AllModules::next`].
    pub async fn next(&mut self) -> Option<ModuleAnswer> {
        let answer = self.modules.next().await;
        match (&answer, self.timer.take()) {
            (Some(answer), timer) => {
                // The best of all modules come from the same sources.
                if answer.place.is_some() {
                    self.outcome.add(&answer.result);
                }
                self.timer = timer;
            }
            (None, Some(timer)) => {
                let outcome = std::mem::take(&mut self.outcome);
                timer.end(async || None, || outcome).await;
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
    fn tenants_keep_their_latest_searches() {
        let searches = SlowSearches::new(0);
        searches.add_search(2, search(7));
        (0..1_000).for_each(|number| searches.add_search(1, search(number)));
        let listed = searches.list(1, usize::MAX);
        assert_eq!((listed.len(), listed[0].took_ms, listed[63].took_ms), (MAX_OF_TENANT, 999, 936));
        assert_eq!(searches.list(2, usize::MAX), [search(7)]);
        assert_eq!(searches.list(1, 2), [search(999), search(998)]);
        assert_eq!(searches.list(3, usize::MAX), []);
    }

    #[test]
    fn all_searches_are_bounded() {
        let searches = SlowSearches::new(0);
        (0..10_000).for_each(|tenant| searches.add_search(tenant, search(1)));
        assert_eq!(searches.lock().len(), MAX_IN_ALL);
        assert_eq!((searches.list(5_000, 1).len(), searches.list(9_999, 1).len()), (0, 1));
    }

    #[test]
    fn sources_of_several_modules_are_listed_once() {
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
        let failure =
            |sources| Err(SearchFailure::NoSource { all_timed_out: true, retry_after: None, sources });
        let mut outcome = SearchOutcome::of(&failure(vec![report("a", 5), report("b", 70)]));
        outcome.add(&failure(vec![report("a", 900)]));
        assert!(outcome.partial && outcome.has_run && !outcome.has_page);
        assert_eq!((outcome.sources["a"].took_ms, outcome.sources["b"].took_ms), (900, 70));
        assert!(!format!("{outcome:?}").contains("unmentionable"));
    }
}
