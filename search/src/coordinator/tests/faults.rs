//! Sources that fail, break the contract or never end.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::{
    sources::{FakeCursor, FakePaging, FakeSource, SourceFault},
    *,
};
use crate::{
    loop_guard::{SentRow, fingerprint},
    source::{Position, PositionedItem, ResultItem, SourceFailure, SourcePage, SourceRequest, TimeBound},
    weight::Relevance,
};

fn external(page_size: usize) -> FakePaging {
    FakePaging::by_time(page_size, FakeCursor::PageNumber)
}

fn items(source: &str, times: impl IntoIterator<Item = i64>) -> Vec<MadeItem> {
    times
        .into_iter()
        .enumerate()
        .map(|(number, display_time)| MadeItem {
            id: format!("{source}{number:03}"),
            display_time,
            author: "ann",
        })
        .collect()
}

fn failing(
    id: &str,
    paging: FakePaging,
    times: impl IntoIterator<Item = i64>,
    faults: &[Option<SourceFault>],
) -> FakeSource {
    FakeSource { faults: faults.to_vec(), ..FakeSource::new(id, paging, items(id, times)) }
}

fn statuses(answer: &SearchPage) -> Vec<Status> {
    answer.sources.iter().map(|report| report.status).collect()
}

fn message(answer: &SearchPage, place: usize) -> &str {
    answer.sources[place].message.as_deref().unwrap_or_default()
}

struct Scripted<F> {
    id: &'static str,
    takes: Duration,
    calls: AtomicUsize,
    script: F,
}

impl<F: Fn(usize, &Position) -> SourcePage + Send + Sync> Scripted<F> {
    fn new(id: &'static str, script: F) -> Self {
        Self { id, takes: Duration::ZERO, calls: AtomicUsize::new(0), script }
    }
}

#[async_trait::async_trait]
impl<F: Fn(usize, &Position) -> SourcePage + Send + Sync> PagedSource for Scripted<F> {
    fn id(&self) -> &str {
        self.id
    }

    fn name(&self) -> &str {
        self.id
    }

    async fn page(&self, _request: &SourceRequest, position: &Position) -> Result<SourcePage, SourceFailure> {
        if !self.takes.is_zero() {
            tokio::time::sleep(self.takes).await;
        }
        Ok((self.script)(self.calls.fetch_add(1, Relaxed), position))
    }
}

fn to(cursor: &str) -> Position {
    Position::InPage(Some(cursor.to_owned()), Vec::new())
}

fn page_of(id: &str, display_time: i64, next: Option<&str>) -> SourcePage {
    let next = next.map(to);
    let json = serde_json::to_string(id).unwrap();
    let sent = Arc::new([SentRow { id: fingerprint(id), display_time }]);
    let item = ResultItem { id: id.to_owned(), display_time, json, ..ResultItem::default() };
    let after = next.clone().unwrap_or(Position::End);
    let items = vec![PositionedItem { item, after, relevance: Relevance::default() }];
    SourcePage { items, sent, next, bound: TimeBound::AtMost(display_time), ..SourcePage::default() }
}

/// Pages whose rows the filters hide, each with a row and a cursor of its own.
fn filtered_page(number: usize) -> SourcePage {
    let cursor = number.to_string();
    SourcePage { items: Vec::new(), ..page_of(&format!("row {cursor}"), 10, Some(&cursor)) }
}

#[test]
fn failures_cost_their_own_source_only() {
    let fault = |fault| vec![Some(fault)];
    let sources = shared(vec![
        failing("a", FakePaging::Builtin, [5, 3], &fault(SourceFault::Hangs)),
        failing("b", external(10), [9, 4], &[]),
        failing("c", external(10), [8], &fault(SourceFault::Panics)),
        failing("d", external(10), [7], &fault(SourceFault::Fails)),
    ]);
    let first = paused_runtime().block_on(search(&sources, &request(10))).unwrap();
    assert_eq!(statuses(&first), [Status::Timeout, Status::Ok, Status::Error, Status::Unavailable]);
    assert!(first.partial);
    let next = TestSearch { start: PageStart::Cursor(first.cursor.clone().unwrap()), ..request(10) };
    assert_eq!(ids(&[first]), ["b000", "b001"]);
    let second = paused_runtime().block_on(search(&sources, &next)).unwrap();
    assert_eq!(ids(&[second]), ["c000", "d000", "a000", "a001"]);
}

#[test]
fn answer_leaves_at_the_deadline_and_no_round_follows() {
    paused_runtime().block_on(async {
        let endless = Scripted::new("a", |call, _: &Position| filtered_page(call));
        let endless = Arc::new(Scripted { takes: Duration::from_millis(100), ..endless });
        let slow = failing("b", external(1), [20, 9], &[None, Some(SourceFault::Hangs)]);
        let sources: Vec<ModuleSource> =
            vec![ModuleSource::External(Arc::clone(&endless) as _), ModuleSource::External(Arc::new(slow))];
        let started = Instant::now();
        let request = TestSearch { timeout: Duration::from_millis(450), ..request(10) };
        let answer = search(&sources, &request).await.unwrap();
        assert_eq!(started.elapsed(), Duration::from_millis(450));
        assert_eq!(statuses(&answer), [Status::Timeout, Status::Timeout]);
        assert_eq!(endless.calls.load(Relaxed), 4, "the call in flight at the deadline is the last");
        assert_eq!(ids(std::slice::from_ref(&answer)), ["b000"]);
        assert!(answer.partial && answer.cursor.is_some());
    });
}

#[test]
fn search_without_any_answer_fails() {
    let failure = |faults: [SourceFault; 2]| {
        let [first, second] = faults.map(|fault| failing("x", external(10), [1], &[Some(fault)]));
        let sources = shared(vec![FakeSource { id: "y".to_owned(), ..first }, second]);
        match paused_runtime().block_on(search(&sources, &request(10))) {
            Err(SearchFailure::NoSource { all_timed_out, retry_after: None, sources }) => {
                (all_timed_out, sources.len())
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(failure([SourceFault::Hangs, SourceFault::Hangs]), (true, 2));
    assert_eq!(failure([SourceFault::Hangs, SourceFault::Fails]), (false, 2));
}

#[test]
fn source_at_its_end_does_not_count_as_an_answer() {
    let sources = shared(vec![
        failing("a", external(10), [9], &[]),
        failing("b", external(1), [8, 7], &[None, Some(SourceFault::Hangs)]),
    ]);
    paused_runtime().block_on(async {
        let first = search(&sources, &request(2)).await.unwrap();
        assert_eq!(ids(std::slice::from_ref(&first)), ["a000", "b000"]);
        let next = TestSearch { start: PageStart::Cursor(first.cursor.unwrap()), ..request(2) };
        let failure = search(&sources, &next).await.unwrap_err();
        assert!(matches!(failure, SearchFailure::NoSource { all_timed_out: true, .. }), "{failure:?}");
        let second = search(&sources, &next).await.unwrap();
        assert_eq!(second.total, 3, "the source at its end still counts");
        assert_eq!((ids(&[second]), first.total), (vec!["b001".to_owned()], 3));
    });
}

#[test]
fn deadline_before_any_call_is_a_failure() {
    let sources = shared(vec![failing("a", external(10), [9], &[])]);
    let request = TestSearch { timeout: Duration::ZERO, ..request(2) };
    let failure = paused_runtime().block_on(search(&sources, &request)).unwrap_err();
    assert!(matches!(failure, SearchFailure::NoSource { all_timed_out: true, .. }), "{failure:?}");
}

#[test]
fn module_without_sources_is_a_failure() {
    let failure = paused_runtime().block_on(search(&[], &request(10))).unwrap_err();
    let SearchFailure::NoSource { all_timed_out: false, retry_after: None, sources } = failure else {
        panic!("{failure:?}")
    };
    assert!(sources.is_empty());
}

#[test]
fn failure_behind_the_page_does_not_make_it_partial() {
    let sources = shared(vec![
        failing("a", external(2), [9, 8, 7, 6], &[]),
        failing("b", external(1), [9, 3], &[None, Some(SourceFault::Fails)]),
    ]);
    let answer = paused_runtime().block_on(search(&sources, &request(4))).unwrap();
    assert_eq!(ids(std::slice::from_ref(&answer)), ["a000", "b000", "a001", "a002"]);
    assert_eq!((answer.partial, statuses(&answer)[1]), (true, Status::Unavailable), "b could have sent 8");
    let sources = shared(vec![
        failing("a", external(2), [9, 8, 7, 6], &[]),
        failing("b", external(2), [9, 3, 2], &[None, Some(SourceFault::Fails)]),
    ]);
    let answer = paused_runtime().block_on(search(&sources, &request(5))).unwrap();
    assert!(!answer.partial, "the page does not need the rest of b");
}

#[test]
fn endless_source_stops_at_the_page_limit_and_continues() {
    let number = |position: &Position| match position {
        Position::InPage(Some(cursor), _) => cursor.parse::<usize>().unwrap(),
        _ => 0,
    };
    let endless = Scripted::new("a", move |_, position: &Position| filtered_page(number(position) + 1));
    let sources = [shared(vec![endless]), shared(vec![failing("b", external(10), [20, 9], &[])])].concat();
    paused_runtime().block_on(async {
        let first = search_reading(&sources, &request(10), 7).await.unwrap();
        assert_eq!(message(&first, 0), "read 7 pages without finishing this one");
        assert_eq!((first.partial, statuses(&first)), (true, vec![Status::Ok, Status::Ok]));
        let next = TestSearch { start: PageStart::Cursor(first.cursor.clone().unwrap()), ..request(10) };
        let second = search_reading(&sources, &next, 7).await.unwrap();
        assert_eq!(ids(&[first, second]), ["b000", "b001"]);
    });
}

#[test]
fn time_beyond_the_page_limit_is_partial() {
    let sources = shared(vec![failing("a", external(2), (0..100).rev(), &[])]);
    let request = TestSearch { start: PageStart::Before(50), is_exact: false, ..request(5) };
    let answer = paused_runtime().block_on(search_reading(&sources, &request, 10)).unwrap();
    assert!(answer.partial && answer.items.is_empty() && answer.cursor.is_some());
    let answer = paused_runtime().block_on(search_reading(&sources, &request, 28)).unwrap();
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
    let answer = paused_runtime().block_on(search(&shared(vec![circling()]), &request(10))).unwrap();
    assert_eq!((statuses(&answer), answer.cursor.is_some()), (vec![Status::Invalid], false));
    assert!(message(&answer, 0).contains("loop"), "{}", message(&answer, 0));
    assert_eq!(ids(&[answer]), ["first", "b", "c"]);
    let pages = paused_runtime().block_on(follow_cursor(&shared(vec![circling()]), request(1), &[1]));
    assert!(pages.len() < 8, "{} pages", pages.len());
    assert_eq!(pages.last().map(statuses), Some(vec![Status::Invalid]));
}

#[test]
fn order_broken_between_pages_is_reported() {
    let breaking = Scripted::new("a", |_, position: &Position| match position {
        Position::Beginning => page_of("old", 5, Some("B")),
        _ => page_of("new", 9, None),
    });
    let answer = paused_runtime().block_on(search(&shared(vec![breaking]), &request(10))).unwrap();
    assert_eq!(statuses(&answer), [Status::Invalid]);
    assert!(message(&answer, 0).contains("time order"), "{}", message(&answer, 0));
    assert_eq!(ids(&[answer]), ["old", "new"]);
}

#[test]
fn repeated_id_is_reported_even_if_it_is_a_duplicate() {
    let repeating = Scripted::new("b", |_, position: &Position| match position {
        Position::Beginning => page_of("a000", 8, Some("B")),
        _ => page_of("a000", 8, None),
    });
    let sources =
        [shared(vec![failing("a", FakePaging::Builtin, [9], &[])]), shared(vec![repeating])].concat();
    let request = request(10);
    let answer = search_module(Duplicates::ById, &sources, &request, 10);
    let answer = paused_runtime().block_on(answer).unwrap();
    assert_eq!(statuses(&answer), [Status::Ok, Status::Invalid]);
    assert!(message(&answer, 1).contains("repeat an id"), "{}", message(&answer, 1));
    assert_eq!(ids(&[answer]), ["a000"]);
}

#[test]
fn false_totals_do_not_overflow() {
    let overstating = |id| {
        Scripted::new(id, |_, _: &Position| SourcePage { total: Some(u64::MAX), ..SourcePage::default() })
    };
    let sources = shared(vec![overstating("a"), overstating("b")]);
    assert_eq!(paused_runtime().block_on(search(&sources, &request(1))).unwrap().total, u64::MAX);
}

#[test]
fn absent_source_continues_where_it_stood() {
    let both = shared(vec![
        failing("a", external(2), [9, 7, 5, 3], &[]),
        failing("b", FakePaging::Builtin, [8, 6, 4, 2], &[]),
    ]);
    paused_runtime().block_on(async {
        let first = search(&both, &request(2)).await.unwrap();
        let next = |page: &SearchPage| TestSearch {
            start: PageStart::Cursor(page.cursor.clone().unwrap()),
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
