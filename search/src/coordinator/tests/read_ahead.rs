//! Reading ahead while a source is late.

use std::sync::atomic::Ordering::Relaxed;

use super::{
    sources::{FakeCursor, FakePaging, FakeSource, SourceFault},
    *,
};
use crate::{
    source::{Position, SourceFailure, SourcePage, SourceRequest, Status},
    weight::Weight,
};

fn source(id: &str, page_size: usize, newest: i64, count: i64) -> FakeSource {
    let made =
        |number| MadeItem { id: format!("{id}{number:03}"), display_time: newest - number, author: "ann" };
    FakeSource::new(id, FakePaging::by_time(page_size, FakeCursor::Offset), (0..count).map(made).collect())
}

fn failing(fake: FakeSource, faults: &[Option<SourceFault>]) -> FakeSource {
    FakeSource { faults: faults.to_vec(), ..fake }
}

struct DelayedSource(Duration, FakeSource);

#[async_trait::async_trait]
impl PagedSource for DelayedSource {
    fn id(&self) -> &str {
        &self.1.id
    }

    fn name(&self) -> &str {
        &self.1.id
    }

    fn weight(&self) -> Weight {
        self.1.weight
    }

    async fn page(&self, request: &SourceRequest, position: &Position) -> Result<SourcePage, SourceFailure> {
        tokio::time::sleep(self.0).await;
        self.1.page(request, position).await
    }
}

fn hanging() -> DelayedSource {
    DelayedSource(Duration::from_hours(1), source("late", 10, 2_000, 100))
}

fn search_beside(
    first: FakeSource,
    second: impl PagedSource + 'static,
    request: &TestSearch,
) -> (SearchPage, usize) {
    let first = Arc::new(first);
    let sources =
        vec![ModuleSource::External(Arc::clone(&first) as _), ModuleSource::External(Arc::new(second))];
    let answer = paused_runtime().block_on(async {
        let started = Instant::now();
        let answer = search(&sources, request).await.unwrap();
        assert!(started.elapsed() <= request.timeout);
        answer
    });
    (answer, first.calls.load(Relaxed))
}

fn whole_ties(limit: usize) -> TestSearch {
    TestSearch { is_exact: false, ..request(limit) }
}

fn status(answer: &SearchPage, place: usize) -> Status {
    answer.sources[place].status
}

#[test]
fn sources_with_several_pages_are_complete_beside_a_hanging_one() {
    for request in [
        request(100),
        whole_ties(100),
        TestSearch { order: SearchOrder::Relevance, ..request(100) },
        TestSearch { timeout: Duration::from_millis(50), ..request(100) },
    ] {
        let (answer, calls) = search_beside(source("good", 3, 1_000, 20), hanging(), &request);
        assert_eq!((status(&answer, 0), status(&answer, 1)), (Status::Ok, Status::Timeout));
        assert_eq!(ids(std::slice::from_ref(&answer)), made_ids(&source("good", 3, 1_000, 20).items));
        assert_eq!((calls, answer.partial), (7, true));
    }
}

#[test]
fn read_ahead_stops_when_the_page_is_full() {
    let (answer, calls) = search_beside(source("good", 10, 1_000, 50), hanging(), &request(10));
    assert_eq!((status(&answer, 0), answer.items.len(), calls), (Status::Ok, 10, 1));
    let (answer, calls) = search_beside(source("good", 10, 1_000, 50), hanging(), &request(11));
    assert_eq!((status(&answer, 0), answer.items.len(), calls), (Status::Ok, 11, 2));
}

#[test]
fn page_that_may_continue_the_last_group_is_read_ahead() {
    let mut good = source("good", 10, 1_000, 50);
    good.items[10].display_time = good.items[9].display_time;
    let (answer, calls) = search_beside(good, hanging(), &whole_ties(10));
    assert_eq!((status(&answer, 0), answer.items.len(), calls), (Status::Ok, 11, 2));
}

#[test]
fn nothing_is_read_ahead_while_sources_are_in_time() {
    let soon = DelayedSource(Duration::from_millis(199), source("soon", 100, 9_000, 100));
    let (answer, calls) = search_beside(source("good", 3, 1_000, 20), soon, &request(100));
    assert_eq!(
        (status(&answer, 0), status(&answer, 1), answer.items.len(), calls),
        (Status::Ok, Status::Ok, 100, 1)
    );
}

#[test]
fn failure_ahead_counts_once_its_page_is_needed() {
    let fails = |call: usize| -> Vec<Option<SourceFault>> {
        (0..=call).map(|number| (number == call).then_some(SourceFault::Fails)).collect()
    };
    let later = DelayedSource(Duration::from_secs(1), source("later", 100, 9_000, 100));
    let (answer, calls) =
        search_beside(failing(source("good", 3, 1_000, 20), &fails(1)), later, &request(100));
    assert_eq!((status(&answer, 0), answer.partial, calls), (Status::Ok, false, 2));
    let (answer, calls) =
        search_beside(failing(source("good", 3, 1_000, 20), &fails(1)), hanging(), &request(100));
    assert_eq!((status(&answer, 0), answer.items.len(), calls), (Status::Unavailable, 3, 2));
    assert!(answer.partial);
}

#[test]
fn silent_source_is_not_ok_when_the_page_is_full_without_it() {
    for first_after in [100, 300] {
        let weighed = FakeSource { weight: Weight::from_thousandths(2_000), ..source("good", 10, 1_000, 30) };
        let first = DelayedSource(Duration::from_millis(first_after), weighed);
        let sources = shared(vec![first, hanging()]);
        let request = TestSearch { order: SearchOrder::Relevance, ..request(1) };
        let answer = paused_runtime().block_on(search(&sources, &request)).unwrap();
        assert_eq!((status(&answer, 0), status(&answer, 1)), (Status::Ok, Status::Timeout));
        assert_eq!(answer.items.len(), 1);
    }
}

#[test]
fn unneeded_call_ahead_delays_no_page() {
    let fails = failing(source("a", 3, 1_000, 20), &[None, Some(SourceFault::Fails)]);
    let hangs = failing(source("b", 3, 900, 20), &[None, Some(SourceFault::Hangs)]);
    let late = DelayedSource(Duration::from_secs(1), source("late", 10, 950, 5));
    let sources = [shared(vec![fails]), shared(vec![hangs]), shared(vec![late])].concat();
    paused_runtime().block_on(async {
        let started = Instant::now();
        let answer = search(&sources, &request(10)).await.unwrap();
        assert_eq!((started.elapsed(), answer.partial), (Duration::from_secs(1), true));
    });
}
