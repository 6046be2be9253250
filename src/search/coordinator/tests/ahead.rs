//! Beside a source that is late the others are read ahead, so that they are complete when the time is over (decisions 6.2).

use std::sync::atomic::Ordering::Relaxed;

use trawl_connectors::DeclaredOrder;

use super::{
    sources::{CursorForm, Fake, Fault, Paging},
    *,
};
use crate::search::{
    answer::Status,
    source::{Ask, Page, Position, SourceFailure},
    weight::Weight,
};

fn external(page_size: usize) -> Paging {
    Paging::External { order: DeclaredOrder::Time, page_size, cursor: CursorForm::Offset, empty_pages: 0 }
}

/// A source of `count` items from `newest` on, each a millisecond older than the one before.
fn source(id: &str, page_size: usize, newest: i64, count: i64) -> Fake {
    let made = |number| Made { id: format!("{id}{number:03}"), display_time: newest - number, author: "ann" };
    Fake::new(id, external(page_size), (0..count).map(made).collect())
}

fn failing(fake: Fake, faults: &[Option<Fault>]) -> Fake {
    Fake { faults: faults.to_vec(), ..fake }
}

/// A source that answers each call after this time.
struct Slow(Duration, Fake);

#[async_trait::async_trait]
impl Source for Slow {
    fn id(&self) -> &str {
        &self.1.id
    }

    fn name(&self) -> &str {
        &self.1.id
    }

    fn timeout(&self) -> Duration {
        Duration::MAX
    }

    fn weight(&self) -> Weight {
        self.1.weight
    }

    async fn page(&self, ask: &Arc<Ask>, position: &Position) -> Result<Page, SourceFailure> {
        tokio::time::sleep(self.0).await;
        self.1.page(ask, position).await
    }
}

/// A source that answers after longer than any search waits.
fn hanging() -> Slow {
    Slow(Duration::from_hours(1), source("late", 10, 2_000, 100))
}

/// One search of two sources, and how often the first was called.
fn search_beside(first: Fake, second: impl Source + 'static, request: &SearchRequest) -> (Answer, usize) {
    let first = Arc::new(first);
    let sources: Vec<Arc<dyn Source>> = vec![Arc::clone(&first) as _, Arc::new(second)];
    let answer = runtime().block_on(async {
        let started = Instant::now();
        let answer = search(&sources, request).await.unwrap();
        assert!(started.elapsed() <= request.timeout);
        answer
    });
    (answer, first.calls.load(Relaxed))
}

fn whole_ties(limit: usize) -> SearchRequest {
    SearchRequest { exact_pages: false, ..request(limit) }
}

fn status(answer: &Answer, place: usize) -> Status {
    answer.sources[place].status
}

#[test]
fn sources_of_several_pages_are_complete_beside_one_that_hangs() {
    for request in [
        request(100),
        whole_ties(100),
        SearchRequest { order: Order::Relevance, ..request(100) },
        SearchRequest { timeout: Duration::from_millis(50), ..request(100) },
    ] {
        let (answer, calls) = search_beside(source("good", 3, 1_000, 20), hanging(), &request);
        assert_eq!((status(&answer, 0), status(&answer, 1)), (Status::Ok, Status::Timeout));
        assert_eq!(ids(std::slice::from_ref(&answer)), made_ids(&source("good", 3, 1_000, 20).items));
        assert_eq!((calls, answer.partial), (7, true));
    }
}

#[test]
fn no_more_is_read_ahead_than_the_page_may_want() {
    let (answer, calls) = search_beside(source("good", 10, 1_000, 50), hanging(), &request(10));
    assert_eq!((status(&answer, 0), answer.items.len(), calls), (Status::Ok, 10, 1));
    let (answer, calls) = search_beside(source("good", 10, 1_000, 50), hanging(), &request(11));
    assert_eq!((status(&answer, 0), answer.items.len(), calls), (Status::Ok, 11, 2));
}

/// What closes a page of whole groups of equal times may be on the next one.
#[test]
fn the_page_that_may_go_on_with_the_last_time_is_read_ahead_too() {
    let mut good = source("good", 10, 1_000, 50);
    good.items[10].display_time = good.items[9].display_time;
    let (answer, calls) = search_beside(good, hanging(), &whole_ties(10));
    assert_eq!((status(&answer, 0), answer.items.len(), calls), (Status::Ok, 11, 2));
}

#[test]
fn nothing_is_read_ahead_where_all_answer_soon() {
    // Its first page fills the answer; until it came, the other one's would have had to.
    let soon = Slow(Duration::from_millis(199), source("soon", 100, 9_000, 100));
    let (answer, calls) = search_beside(source("good", 3, 1_000, 20), soon, &request(100));
    assert_eq!(
        (status(&answer, 0), status(&answer, 1), answer.items.len(), calls),
        (Status::Ok, Status::Ok, 100, 1)
    );
}

/// A page that turns out not to be wanted is of no account.
#[test]
fn a_failure_met_ahead_counts_once_the_page_is_wanted() {
    let fails = |call: usize| -> Vec<Option<Fault>> {
        (0..=call).map(|number| (number == call).then_some(Fault::Fails)).collect()
    };
    let later = Slow(Duration::from_secs(1), source("later", 100, 9_000, 100));
    let (answer, calls) =
        search_beside(failing(source("good", 3, 1_000, 20), &fails(1)), later, &request(100));
    assert_eq!((status(&answer, 0), answer.partial, calls), (Status::Ok, false, 2));
    let (answer, calls) =
        search_beside(failing(source("good", 3, 1_000, 20), &fails(1)), hanging(), &request(100));
    assert_eq!((status(&answer, 0), answer.items.len(), calls), (Status::Unavailable, 3, 2));
    assert!(answer.partial);
}

/// By relevance a page may be full before a source has said anything.
#[test]
fn a_source_that_said_nothing_is_not_ok_where_the_page_is_full_without_it() {
    for first_after in [100, 300] {
        let weighed = Fake { weight: Weight::from_thousandths(2_000), ..source("good", 10, 1_000, 30) };
        let first = Slow(Duration::from_millis(first_after), weighed);
        let sources = shared(vec![first, hanging()]);
        let request = SearchRequest { order: Order::Relevance, ..request(1) };
        let answer = runtime().block_on(search(&sources, &request)).unwrap();
        assert_eq!((status(&answer, 0), status(&answer, 1)), (Status::Ok, Status::Timeout));
        assert_eq!(answer.items.len(), 1);
    }
}

/// A call that was begun ahead is waited for only where the page wants it.
#[test]
fn what_was_begun_ahead_and_is_not_wanted_holds_nobody_up() {
    let fails = failing(source("a", 3, 1_000, 20), &[None, Some(Fault::Fails)]);
    let hangs = failing(source("b", 3, 900, 20), &[None, Some(Fault::Hangs)]);
    let late = Slow(Duration::from_secs(1), source("late", 10, 950, 5));
    let sources: Vec<Arc<dyn Source>> = vec![Arc::new(fails), Arc::new(hangs), Arc::new(late)];
    runtime().block_on(async {
        let started = Instant::now();
        let answer = search(&sources, &request(10)).await.unwrap();
        assert_eq!((started.elapsed(), answer.partial), (Duration::from_secs(1), true));
    });
}
