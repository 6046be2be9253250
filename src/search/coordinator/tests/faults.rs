//! Sources that fail, lie or never end (decisions 5.5, 6).

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use trawl_connectors::DeclaredOrder;

use super::{
    sources::{CursorForm, Fake, Fault, Paging},
    *,
};
use crate::search::{
    answer::Status,
    source::{Ask, Entry, Item, Later, Page, Position, SourceFailure},
};

fn external(page_size: usize) -> Paging {
    Paging::External { order: DeclaredOrder::Time, page_size, cursor: CursorForm::PageNumber, empty_pages: 0 }
}

fn items(source: &str, times: impl IntoIterator<Item = i64>) -> Vec<Made> {
    times
        .into_iter()
        .enumerate()
        .map(|(number, display_time)| Made {
            id: format!("{source}{number:03}"),
            display_time,
            author: "ann",
        })
        .collect()
}

fn failing(id: &str, paging: Paging, times: impl IntoIterator<Item = i64>, faults: &[Option<Fault>]) -> Fake {
    Fake { faults: faults.to_vec(), ..Fake::new(id, paging, items(id, times)) }
}

fn statuses(answer: &Answer) -> Vec<Status> {
    answer.sources.iter().map(|report| report.status).collect()
}

fn message(answer: &Answer, place: usize) -> &str {
    answer.sources[place].message.as_deref().unwrap_or_default()
}

/// A source whose pages a function makes.
struct Scripted<F> {
    id: &'static str,
    takes: Duration,
    calls: AtomicUsize,
    script: F,
}

impl<F: Fn(usize, &Position) -> Page + Send + Sync> Scripted<F> {
    fn new(id: &'static str, script: F) -> Self {
        Self { id, takes: Duration::ZERO, calls: AtomicUsize::new(0), script }
    }
}

#[async_trait::async_trait]
impl<F: Fn(usize, &Position) -> Page + Send + Sync> Source for Scripted<F> {
    fn id(&self) -> &str {
        self.id
    }

    fn name(&self) -> &str {
        self.id
    }

    fn timeout(&self) -> Duration {
        Duration::MAX
    }

    async fn page(&self, _ask: &Arc<Ask>, position: &Position) -> Result<Page, SourceFailure> {
        if !self.takes.is_zero() {
            tokio::time::sleep(self.takes).await;
        }
        Ok((self.script)(self.calls.fetch_add(1, Relaxed), position))
    }
}

fn to(cursor: &str) -> Position {
    Position::InPage(Some(cursor.to_owned()), Vec::new())
}

/// A page of one item that leads on to `next`.
fn page_of(id: &str, display_time: i64, next: Option<&str>) -> Page {
    let next = next.map(to);
    let json = serde_json::to_string(id).unwrap();
    let item = Item { id: id.to_owned(), display_time, json, title_is_name: false };
    let entries = vec![Entry { item, after: next.clone().unwrap_or(Position::End) }];
    Page { entries, next, later: Later::AtMost(display_time), ..Page::default() }
}

#[test]
fn failures_are_those_of_their_source_alone() {
    let fault = |fault| vec![Some(fault)];
    let sources = shared(vec![
        failing("a", Paging::BuiltIn, [5, 3], &fault(Fault::Hangs)),
        failing("b", external(10), [9, 4], &[]),
        failing("c", external(10), [8], &fault(Fault::Panics)),
        failing("d", external(10), [7], &fault(Fault::Fails)),
    ]);
    let first = runtime().block_on(search(&sources, &request(10))).unwrap();
    assert_eq!(statuses(&first), [Status::Timeout, Status::Ok, Status::Error, Status::Unavailable]);
    assert!(first.partial);
    let next = SearchRequest { start: Start::Cursor(first.cursor.clone().unwrap()), ..request(10) };
    assert_eq!(ids(&[first]), ["b000", "b001"]);
    let second = runtime().block_on(search(&sources, &next)).unwrap();
    assert_eq!(ids(&[second]), ["c000", "d000", "a000", "a001"]);
}

#[test]
fn an_answer_leaves_by_the_deadline_and_no_round_begins_after_it() {
    runtime().block_on(async {
        // It has no limit of its own and never ends: only the deadline stops it.
        let endless = Scripted::new("a", |call, _: &Position| Page {
            next: Some(to(&call.to_string())),
            later: Later::AtMost(10),
            ..Page::default()
        });
        let endless = Arc::new(Scripted { takes: Duration::from_millis(100), ..endless });
        let slow = failing("b", external(1), [20, 9], &[None, Some(Fault::Hangs)]);
        let sources: Vec<Arc<dyn Source>> = vec![Arc::clone(&endless) as _, Arc::new(slow)];
        let started = Instant::now();
        let request = SearchRequest { timeout: Duration::from_millis(450), ..request(10) };
        let answer = search(&sources, &request).await.unwrap();
        assert_eq!(started.elapsed(), Duration::from_millis(450));
        assert_eq!(statuses(&answer), [Status::Timeout, Status::Timeout]);
        assert_eq!(endless.calls.load(Relaxed), 4, "what was under way at the deadline was the last");
        assert_eq!(ids(std::slice::from_ref(&answer)), ["b000"]);
        assert!(answer.partial && answer.cursor.is_some());
    });
}

#[test]
fn a_source_is_given_the_smaller_of_its_own_limit_and_what_is_left() {
    let waited = |timeout| {
        let sources = shared(vec![failing("a", external(1), [1], &[Some(Fault::Hangs)])]);
        let request = SearchRequest { timeout: Duration::from_millis(timeout), ..request(1) };
        runtime().block_on(async {
            let started = Instant::now();
            search(&sources, &request).await.unwrap_err();
            started.elapsed()
        })
    };
    assert_eq!(waited(300), Duration::from_millis(300));
    assert_eq!(waited(5_000), Duration::from_secs(1), "the source's own limit");
}

#[test]
fn without_any_answer_there_is_no_page() {
    let failure = |faults: [Fault; 2]| {
        let [first, second] = faults.map(|fault| failing("x", external(10), [1], &[Some(fault)]));
        let sources = shared(vec![Fake { id: "y".to_owned(), ..first }, second]);
        match runtime().block_on(search(&sources, &request(10))) {
            Err(Failure::NoSource { all_timed_out, retry_after: None, sources }) => {
                (all_timed_out, sources.len())
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(failure([Fault::Hangs, Fault::Hangs]), (true, 2));
    assert_eq!(failure([Fault::Hangs, Fault::Fails]), (false, 2));
}

#[test]
fn a_source_at_its_end_is_no_answer_for_the_others() {
    let sources = shared(vec![
        failing("a", external(10), [9], &[]),
        failing("b", external(1), [8, 7], &[None, Some(Fault::Hangs)]),
    ]);
    runtime().block_on(async {
        let first = search(&sources, &request(2)).await.unwrap();
        assert_eq!(ids(std::slice::from_ref(&first)), ["a000", "b000"]);
        let next = SearchRequest { start: Start::Cursor(first.cursor.unwrap()), ..request(2) };
        let failure = search(&sources, &next).await.unwrap_err();
        assert!(matches!(failure, Failure::NoSource { all_timed_out: true, .. }), "{failure:?}");
        let second = search(&sources, &next).await.unwrap();
        assert_eq!(second.total, 3, "the source at its end still counts");
        assert_eq!((ids(&[second]), first.total), (vec!["b001".to_owned()], 3));
    });
}

#[test]
fn a_deadline_that_is_over_before_any_call_is_no_empty_success() {
    let sources = shared(vec![failing("a", external(10), [9], &[])]);
    let request = SearchRequest { timeout: Duration::ZERO, ..request(2) };
    let failure = runtime().block_on(search(&sources, &request)).unwrap_err();
    assert!(matches!(failure, Failure::NoSource { all_timed_out: true, .. }), "{failure:?}");
}

#[test]
fn a_module_without_sources_is_no_empty_success() {
    let failure = runtime().block_on(search(&[], &request(10))).unwrap_err();
    let Failure::NoSource { all_timed_out: false, retry_after: None, sources } = failure else {
        panic!("{failure:?}")
    };
    assert!(sources.is_empty());
}

#[test]
fn a_failure_that_costs_the_page_nothing_does_not_make_it_partial() {
    // Of the second source nothing above 3 is left after its first page, but the page may need it.
    let sources = shared(vec![
        failing("a", external(2), [9, 8, 7, 6], &[]),
        failing("b", external(1), [9, 3], &[None, Some(Fault::Fails)]),
    ]);
    let answer = runtime().block_on(search(&sources, &request(4))).unwrap();
    assert_eq!(ids(std::slice::from_ref(&answer)), ["a000", "b000", "a001", "a002"]);
    assert_eq!((answer.partial, statuses(&answer)[1]), (true, Status::Unavailable), "b could have sent 8");
    let sources = shared(vec![
        failing("a", external(2), [9, 8, 7, 6], &[]),
        failing("b", external(2), [9, 3, 2], &[None, Some(Fault::Fails)]),
    ]);
    let answer = runtime().block_on(search(&sources, &request(5))).unwrap();
    assert!(!answer.partial, "b was not in the way");
}

#[test]
fn an_endless_source_is_left_at_the_bound_and_goes_on_from_there() {
    let number = |position: &Position| match position {
        Position::InPage(Some(cursor), _) => cursor.parse::<usize>().unwrap(),
        _ => 0,
    };
    let endless = Scripted::new("a", move |_, position: &Position| {
        let next = Some(to(&(number(position) + 1).to_string()));
        Page { next, later: Later::AtMost(10), ..Page::default() }
    });
    let sources: Vec<Arc<dyn Source>> =
        vec![Arc::new(endless), Arc::new(failing("b", external(10), [20, 9], &[]))];
    runtime().block_on(async {
        let first = search_reading(&sources, &request(10), 7).await.unwrap();
        assert_eq!(message(&first, 0), "read 7 pages without getting to the end of this one");
        assert_eq!((first.partial, statuses(&first)), (true, vec![Status::Ok, Status::Ok]));
        let next = SearchRequest { start: Start::Cursor(first.cursor.clone().unwrap()), ..request(10) };
        let second = search_reading(&sources, &next, 7).await.unwrap();
        assert_eq!(ids(&[first, second]), ["b000", "b001"]);
    });
}

#[test]
fn a_time_deeper_than_the_bound_is_partial() {
    let sources = shared(vec![failing("a", external(2), (0..100).rev(), &[])]);
    let request = SearchRequest { start: Start::Before(50), exact_pages: false, ..request(5) };
    let answer = runtime().block_on(search_reading(&sources, &request, 10)).unwrap();
    assert!(answer.partial && answer.items.is_empty() && answer.cursor.is_some());
    let answer = runtime().block_on(search_reading(&sources, &request, 28)).unwrap();
    assert_eq!(answer.items.first().map(|item| item.display_time), Some(49));
    assert!(!answer.partial);
}

#[test]
fn cursors_in_a_circle_end_their_source() {
    let circling = || {
        Scripted::new("a", |_, position: &Position| match position {
            Position::InPage(Some(cursor), _) if cursor == "B" => page_of("b", 8, Some("C")),
            Position::InPage(Some(cursor), _) if cursor == "C" => page_of("c", 8, Some("B")),
            _ => page_of("first", 9, Some("B")),
        })
    };
    let answer = runtime().block_on(search(&shared(vec![circling()]), &request(10))).unwrap();
    assert_eq!((statuses(&answer), answer.cursor.is_some()), (vec![Status::Invalid], false));
    assert!(message(&answer, 0).contains("circle"), "{}", message(&answer, 0));
    assert_eq!(ids(&[answer]), ["first", "b", "c"]);
    // Page by page the cursor has to remember it.
    let pages = runtime().block_on(follow_cursor(&shared(vec![circling()]), request(1), &[1]));
    assert!(pages.len() < 8, "{} pages", pages.len());
    assert_eq!(pages.last().map(statuses), Some(vec![Status::Invalid]));
}

#[test]
fn an_order_broken_between_pages_is_reported() {
    let breaking = Scripted::new("a", |_, position: &Position| match position {
        Position::Beginning => page_of("old", 5, Some("B")),
        _ => page_of("new", 9, None),
    });
    let answer = runtime().block_on(search(&shared(vec![breaking]), &request(10))).unwrap();
    assert_eq!(statuses(&answer), [Status::Invalid]);
    assert!(message(&answer, 0).contains("time order"), "{}", message(&answer, 0));
    assert_eq!(ids(&[answer]), ["old", "new"]);
}

#[test]
fn a_source_that_repeats_itself_is_reported_also_where_another_one_was_shown() {
    let repeating = Scripted::new("b", |_, position: &Position| match position {
        Position::Beginning => page_of("a000", 8, Some("B")),
        _ => page_of("a000", 8, None),
    });
    let sources: Vec<Arc<dyn Source>> =
        vec![Arc::new(failing("a", Paging::BuiltIn, [9], &[])), Arc::new(repeating)];
    let request = request(10);
    let answer = search_module(Duplicates::ById, &sources, &request, 10);
    let answer = runtime().block_on(answer).unwrap();
    assert_eq!(statuses(&answer), [Status::Ok, Status::Invalid]);
    assert!(message(&answer, 1).contains("repeat an id"), "{}", message(&answer, 1));
    assert_eq!(ids(&[answer]), ["a000"]);
}

#[test]
fn totals_that_lie_do_not_overflow() {
    let boasting =
        |id| Scripted::new(id, |_, _: &Position| Page { total: Some(u64::MAX), ..Page::default() });
    let sources: Vec<Arc<dyn Source>> = vec![Arc::new(boasting("a")), Arc::new(boasting("b"))];
    assert_eq!(runtime().block_on(search(&sources, &request(1))).unwrap().total, u64::MAX);
}

#[test]
fn a_source_that_was_away_goes_on_where_it_stood() {
    let both = shared(vec![
        failing("a", external(2), [9, 7, 5, 3], &[]),
        failing("b", Paging::BuiltIn, [8, 6, 4, 2], &[]),
    ]);
    runtime().block_on(async {
        let first = search(&both, &request(2)).await.unwrap();
        let next = |page: &Answer| SearchRequest {
            start: Start::Cursor(page.cursor.clone().unwrap()),
            ..request(2)
        };
        let second = search(&both[..1], &next(&first)).await.unwrap();
        let third = search(&both, &next(&second)).await.unwrap();
        let fourth = search(&both, &next(&third)).await.unwrap();
        let mut found = ids(&[first, second, third, fourth]);
        found.sort();
        assert_eq!(found, ["a000", "a001", "a002", "a003", "b000", "b001", "b002", "b003"]);
    });
}
