//! Searches of every module at once over sources in memory: their bounds (decisions 5.9, 6).

use std::{
    collections::HashSet,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use super::*;
use crate::{
    error::Kind,
    search::{
        answer::Status,
        source::{Ask, Entry, Item, Later, Page, Position, SourceFailure},
    },
};

/// What the sources of one test saw.
#[derive(Debug, Default)]
struct Watch {
    under_way: AtomicUsize,
    most: AtomicUsize,
    /// Addresses of the parsed queries.
    queries: Mutex<HashSet<usize>>,
}

/// What a source does when it is called.
#[derive(Clone, Copy, Debug)]
enum Does {
    /// Answers one item of so many bytes after a moment.
    Answers(usize),
    Hangs,
}

struct Watched {
    id: String,
    does: Does,
    watch: Arc<Watch>,
}

#[async_trait::async_trait]
impl Source for Watched {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> &str {
        &self.id
    }

    fn timeout(&self) -> Duration {
        Duration::MAX
    }

    async fn page(&self, ask: &Arc<Ask>, _position: &Position) -> Result<Page, SourceFailure> {
        let Watch { under_way, most, queries } = &*self.watch;
        queries.lock().unwrap().insert(Arc::as_ptr(&ask.query).addr());
        most.fetch_max(under_way.fetch_add(1, Relaxed) + 1, Relaxed);
        let Does::Answers(bytes) = self.does else { return std::future::pending().await };
        tokio::time::sleep(Duration::from_millis(1)).await;
        under_way.fetch_sub(1, Relaxed);
        let item =
            Item { id: self.id.clone(), display_time: 1, json: "x".repeat(bytes), title_is_name: false };
        let entries = vec![Entry { item, after: Position::End }];
        Ok(Page { entries, later: Later::AtMost(0), total: Some(1), ..Page::default() })
    }
}

/// A module of so many sources.
fn module(code: &str, kind: &str, sources: usize, does: Does, watch: &Arc<Watch>) -> Searched {
    let ids: Vec<String> = (0..sources).map(|number| format!("{kind}{code}-{number}")).collect();
    let source = |id: &String| Watched { id: id.clone(), does, watch: Arc::clone(watch) };
    let watched = shared(ids.iter().map(source).collect());
    let module = Module {
        duplicates: Duplicates::Keep,
        id: code.to_owned(),
        name: code.to_owned(),
        icon: String::new(),
        code: code.to_owned(),
        order_no: 0,
        kind: 101,
        sources: ids,
    };
    (Arc::new(module), watched)
}

type Searched = (Arc<Module>, Vec<Arc<dyn Source>>);

fn modules(kind: &str, count: usize, sources: usize, does: Does, watch: &Arc<Watch>) -> Vec<Searched> {
    (0..count).map(|number| module(&format!("{number:03}"), kind, sources, does, watch)).collect()
}

fn start(modules: Vec<Searched>) -> AllModules {
    let permit = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
    let request = request(10);
    let deadline = Instant::now() + request.timeout;
    AllModules::start(modules, Shared::new(Arc::clone(&KEYS), 10, viewer(), request, deadline), permit)
}

async fn all(modules: Vec<Searched>) -> Vec<ModuleAnswer> {
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
        Err(Failure::NoSource { all_timed_out: true, sources, .. }) => {
            assert!(!sources.is_empty());
            sources.iter().all(|report| report.status == Status::Timeout)
        }
        _ => false,
    }
}

#[test]
fn calls_are_bounded_however_many_modules_there_are() {
    runtime().block_on(async {
        for (kind, sources, most) in [("x-", 1, 48), ("builtin:", 1, 16), ("x-", 7, 42), ("x-", 100, 100)] {
            let watch = Arc::default();
            let answers = all(modules(kind, 200, sources, Does::Answers(1), &watch)).await;
            assert!(answers.iter().all(|answer| answer.result.is_ok()));
            let places: HashSet<usize> = answers.iter().map(|answer| answer.place).collect();
            assert_eq!(places.len(), 200);
            assert_eq!(watch.most.load(Relaxed), most, "{kind} {sources}");
            assert_eq!(watch.queries.lock().unwrap().len(), 1, "the keyword was parsed for each module");
        }
    });
}

#[test]
fn the_whole_ends_at_the_deadline_and_modules_not_begun_have_timed_out() {
    runtime().block_on(async {
        let started = Instant::now();
        let watch = Arc::default();
        let mut searched = modules("x-", 100, 2, Does::Hangs, &watch);
        searched.push(module("article", "builtin:", 1, Does::Answers(1), &Arc::default()));
        let mut search = start(searched);
        let first = search.next().await.unwrap();
        assert_eq!((first.place, first.module.code.as_str()), (100, "article"), "it waited for the others");
        assert!(started.elapsed() < Duration::from_secs(2));
        let mut late = 0;
        while let Some(answer) = search.next().await {
            assert!(timed_out(&answer), "{answer:?}");
            late += 1;
        }
        assert_eq!((late, started.elapsed()), (100, Duration::from_secs(2)));
        assert_eq!(watch.most.load(Relaxed), 48);
    });
}

#[test]
fn one_module_that_hangs_costs_the_others_nothing() {
    runtime().block_on(async {
        let watch = Arc::default();
        let mut searched = modules("x-", 20, 1, Does::Answers(1), &watch);
        searched.insert(3, module("slow", "x-", 1, Does::Hangs, &watch));
        let answers = all(searched).await;
        let late: Vec<usize> =
            answers.iter().filter(|answer| timed_out(answer)).map(|answer| answer.place).collect();
        assert_eq!(late, [3]);
        assert!(answers[..20].iter().all(|answer| answer.result.is_ok()), "the slow one comes last");
    });
}

#[test]
fn what_is_not_sent_is_bounded_and_the_rest_is_refused() {
    let refused = |answer: &ModuleAnswer| match &answer.result {
        Err(Failure::Refused(error)) => error.kind == Kind::TooLarge,
        _ => false,
    };
    runtime().block_on(async {
        let watch = Arc::default();
        let kept = all(modules("x-", 100, 1, Does::Answers(1 << 20), &watch)).await;
        let held: usize = kept
            .iter()
            .filter_map(|answer| answer.result.as_ref().ok())
            .map(|page| page.items[0].json.len())
            .sum();
        assert_eq!(held, 31 << 20, "with its account a page takes a little more than its items");
        assert_eq!(kept.iter().filter(|answer| refused(answer)).count(), 69);

        // What is sent gives its room back.
        let mut search = start(modules("x-", 100, 1, Does::Answers(1 << 20), &watch));
        while let Some(answer) = search.next().await {
            assert!(answer.result.is_ok(), "{answer:?}");
        }
    });
}

#[test]
fn dropping_it_ends_every_call() {
    runtime().block_on(async {
        let watch = Arc::new(Watch::default());
        let mut search = start(modules("x-", 100, 2, Does::Hangs, &watch));
        assert!(tokio::time::timeout(Duration::from_secs(1), search.next()).await.is_err());
        drop(search);
        // Aborted tasks let go of their sources when they are next scheduled.
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(Arc::strong_count(&watch), 1);
    });
}
