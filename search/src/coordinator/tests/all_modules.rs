//! Bounds of searches of all modules.

use std::{
    collections::HashSet,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use futures::FutureExt;
use trawl_engine::correction::UnknownWords;

use super::*;
use crate::request::FacetSelection;
use crate::{
    source::{Position, PositionedItem, ResultItem, SourceFailure, SourcePage, SourceRequest, TimeBound},
    weight::Relevance,
};

#[derive(Debug, Default)]
struct CallLog {
    in_flight: AtomicUsize,
    most: AtomicUsize,
    queries: Mutex<HashSet<usize>>,
}

#[derive(Clone, Copy, Debug)]
enum Reaction {
    Answers(usize),
    Hangs,
}

struct LoggedSource {
    id: String,
    reaction: Reaction,
    log: Arc<CallLog>,
}

#[async_trait::async_trait]
impl PagedSource for LoggedSource {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> &str {
        &self.id
    }

    async fn page(&self, request: &SourceRequest, _position: &Position) -> Result<SourcePage, SourceFailure> {
        let CallLog { in_flight, most, queries } = &*self.log;
        queries.lock().unwrap().insert(Arc::as_ptr(&request.search.query).addr());
        most.fetch_max(in_flight.fetch_add(1, Relaxed) + 1, Relaxed);
        let Reaction::Answers(bytes) = self.reaction else { return std::future::pending().await };
        tokio::time::sleep(Duration::from_millis(1)).await;
        in_flight.fetch_sub(1, Relaxed);
        let item = ResultItem {
            id: self.id.clone(),
            display_time: 1,
            json: "x".repeat(bytes),
            ..ResultItem::default()
        };
        let items = vec![PositionedItem { item, after: Position::End, relevance: Relevance::default() }];
        Ok(SourcePage { items, bound: TimeBound::AtMost(0), total: Some(1), ..SourcePage::default() })
    }
}

fn module_of(
    code: &str,
    kind: &str,
    sources: usize,
    reaction: Reaction,
    log: &Arc<CallLog>,
) -> Arc<SearchableModule> {
    let source =
        |number| LoggedSource { id: format!("{kind}{code}-{number}"), reaction, log: Arc::clone(log) };
    Arc::new(module(code, Duplicates::Keep, &shared((0..sources).map(source).collect())))
}

fn modules(
    kind: &str,
    count: usize,
    sources: usize,
    reaction: Reaction,
    log: &Arc<CallLog>,
) -> Vec<Arc<SearchableModule>> {
    (0..count).map(|number| module_of(&format!("{number:03}"), kind, sources, reaction, log)).collect()
}

fn start(modules: &[Arc<SearchableModule>]) -> AllModules {
    start_with_top(modules, None)
}

fn start_with_top(modules: &[Arc<SearchableModule>], top: Option<usize>) -> AllModules {
    let place = FairSemaphore::new(1, 1, 0).acquire(viewer().searcher()).now_or_never();
    let permit = place.unwrap().unwrap();
    let context = request(10).context(Arc::new(TestKey::new(1)), 10);
    AllModules::start(modules, context, UnknownWords::default(), FacetSelection::default(), top, permit)
}

async fn all(modules: &[Arc<SearchableModule>]) -> Vec<ModuleAnswer> {
    let mut search = start(modules);
    let mut answers = Vec::new();
    while let Some(answer) = search.next().await {
        answers.push(answer);
    }
    assert_eq!(answers.len(), search.count());
    answers
}

fn timed_out(answer: &ModuleAnswer) -> bool {
    match &answer.result {
        Err(SearchFailure::NoSource { all_timed_out: true, sources, .. }) => {
            assert!(!sources.is_empty());
            sources.iter().all(|report| report.status == Status::Timeout)
        }
        _ => false,
    }
}

#[test]
fn calls_are_bounded_for_any_number_of_modules() {
    paused_runtime().block_on(async {
        for (kind, sources, most) in [("x-", 1, 48), ("builtin:", 1, 16), ("x-", 7, 42), ("x-", 100, 100)] {
            let log = Arc::default();
            let answers = all(&modules(kind, 200, sources, Reaction::Answers(1), &log)).await;
            assert!(answers.iter().all(|answer| answer.result.is_ok()));
            let places: HashSet<usize> = answers.iter().filter_map(|answer| answer.place).collect();
            assert_eq!(places.len(), 200);
            assert_eq!(log.most.load(Relaxed), most, "{kind} {sources}");
            assert_eq!(log.queries.lock().unwrap().len(), 1, "the keyword was parsed for each module");
        }
    });
}

#[test]
fn modules_not_begun_at_the_deadline_have_timed_out() {
    paused_runtime().block_on(async {
        let started = Instant::now();
        let log = Arc::default();
        let mut searched = modules("x-", 100, 2, Reaction::Hangs, &log);
        searched.push(module_of("article", "builtin:", 1, Reaction::Answers(1), &Arc::default()));
        let mut search = start(&searched);
        let first = search.next().await.unwrap();
        assert_eq!(
            (first.place, first.module.code.as_str()),
            (Some(100), "article"),
            "built-in modules wait for no external one"
        );
        assert!(started.elapsed() < Duration::from_secs(2));
        let mut late = 0;
        while let Some(answer) = search.next().await {
            assert!(timed_out(&answer), "{answer:?}");
            late += 1;
        }
        assert_eq!((late, started.elapsed()), (100, Duration::from_secs(2)));
        assert_eq!(log.most.load(Relaxed), 48);
    });
}

#[test]
fn hanging_module_delays_no_other() {
    paused_runtime().block_on(async {
        let log = Arc::default();
        let mut searched = modules("x-", 20, 1, Reaction::Answers(1), &log);
        searched.insert(3, module_of("slow", "x-", 1, Reaction::Hangs, &log));
        let answers = all(&searched).await;
        let late: Vec<usize> =
            answers.iter().filter(|answer| timed_out(answer)).filter_map(|answer| answer.place).collect();
        assert_eq!(late, [3]);
        assert!(answers[..20].iter().all(|answer| answer.result.is_ok()), "the slow module comes last");
    });
}

#[test]
fn top_results_wait_for_an_eighth_of_the_time() {
    paused_runtime().block_on(async {
        let started = Instant::now();
        let log = Arc::default();
        let searched = [
            module_of("slow", "x-", 1, Reaction::Hangs, &log),
            module_of("article", "builtin:", 1, Reaction::Answers(1), &log),
            module_of("news", "builtin:", 2, Reaction::Answers(1), &log),
        ];
        let mut search = start_with_top(&searched, Some(5));
        assert_eq!(search.count(), 3);
        let top = loop {
            let answer = search.next().await.unwrap();
            if answer.place.is_none() {
                break answer.result.unwrap();
            }
            assert!(answer.result.is_ok());
        };
        assert_eq!(started.elapsed(), Duration::from_millis(250));
        assert_eq!((top.items.len(), top.partial, &top.cursor), (3, true, &None));
        assert!(timed_out(&search.next().await.unwrap()));
        assert!(search.next().await.is_none());
    });
}

#[test]
fn unsent_answers_are_bounded_and_the_rest_refused() {
    let refused = |answer: &ModuleAnswer| match &answer.result {
        Err(SearchFailure::Refused(error)) => matches!(error, Error::AnswerTooLarge(32)),
        _ => false,
    };
    paused_runtime().block_on(async {
        let log = Arc::default();
        let answers = all(&modules("x-", 100, 1, Reaction::Answers(1 << 20), &log)).await;
        let held: usize = answers
            .iter()
            .filter_map(|answer| answer.result.as_ref().ok())
            .map(|page| page.items[0].json.len())
            .sum();
        assert_eq!(held, 31 << 20, "a page takes a little more than its items");
        assert_eq!(answers.iter().filter(|answer| refused(answer)).count(), 69);

        let mut search = start(&modules("x-", 100, 1, Reaction::Answers(1 << 20), &log));
        while let Some(answer) = search.next().await {
            assert!(answer.result.is_ok(), "{answer:?}");
        }
    });
}

#[test]
fn dropping_the_search_ends_all_calls() {
    paused_runtime().block_on(async {
        let log = Arc::new(CallLog::default());
        let mut search = start(&modules("x-", 100, 2, Reaction::Hangs, &log));
        assert!(tokio::time::timeout(Duration::from_secs(1), search.next()).await.is_err());
        drop(search);
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(Arc::strong_count(&log), 1);
    });
}
