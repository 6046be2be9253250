use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::{join_all, pending};
use tokio::{sync::Notify, time::advance};
use trawl_connectors::{Answer, DeclaredOrder};

use super::*;
use crate::search::source::FailureKind;

const SETTINGS: config::Cache = config::Cache { fresh_ms: 5_000, stale_ms: 60_000, bytes: 1 << 20 };
const FRESH: Duration = Duration::from_millis(SETTINGS.fresh_ms);
const STALE: Duration = Duration::from_millis(SETTINGS.stale_ms);

fn key(keyword: &str) -> Arc<Key> {
    Arc::new(question(keyword))
}

fn question(keyword: &str) -> Key {
    Key { registration: 1, keyword: keyword.to_owned(), cursor: None }
}

/// A deadline that is far away.
fn later() -> Instant {
    Instant::now() + Duration::from_mins(10)
}

/// A page that is known by this note.
fn page(note: &str) -> Arc<SourcePage> {
    let answer = Answer { notes: vec![note.to_owned()], ..Answer::default() };
    Arc::new(SourcePage::read(answer, DeclaredOrder::Time, None).unwrap())
}

fn failure() -> SourceFailure {
    SourceFailure::new(FailureKind::Unavailable, "down")
}

/// Asks a question by a call that ends so, and says which page came and whether it stands in for a failure.
async fn ask(answers: &Answers, key: Arc<Key>, outcome: Outcome) -> Result<(String, bool), SourceFailure> {
    let (keeper, kept) = (answers.clone(), key.clone());
    let call = async move { outcome.inspect(|page| keeper.keep(kept, page)) };
    let known = answers.get(key, later(), |_| Ok(call)).await?;
    Ok((known.page.note.clone().unwrap(), known.instead_of.is_some()))
}

fn came(note: &str, instead: bool) -> (String, bool) {
    (note.to_owned(), instead)
}

#[tokio::test(start_paused = true)]
async fn a_page_is_used_again_while_it_is_fresh() {
    let answers = Answers::new(SETTINGS);
    assert_eq!(ask(&answers, key("a"), Ok(page("1"))).await, Ok(came("1", false)));
    assert_eq!(ask(&answers, key("a"), Ok(page("2"))).await, Ok(came("1", false)));
    advance(FRESH).await;
    assert_eq!(ask(&answers, key("a"), Ok(page("3"))).await, Ok(came("3", false)));
}

#[tokio::test(start_paused = true)]
async fn an_earlier_page_stands_in_for_a_failure_for_a_while() {
    let answers = Answers::new(SETTINGS);
    assert_eq!(ask(&answers, key("a"), Err(failure())).await, Err(failure()));
    ask(&answers, key("a"), Ok(page("1"))).await.unwrap();
    advance(FRESH).await;
    assert_eq!(ask(&answers, key("a"), Err(failure())).await, Ok(came("1", true)));
    advance(STALE).await;
    assert_eq!(ask(&answers, key("a"), Err(failure())).await, Err(failure()));
}

#[tokio::test(start_paused = true)]
async fn where_no_call_is_permitted_an_earlier_page_stands_in_too() {
    type Never = std::future::Pending<Outcome>;
    let answers = Answers::new(SETTINGS);
    let refuse = |_| Err::<Never, _>(failure());
    assert_eq!(answers.get(key("a"), later(), refuse).await.unwrap_err(), failure());
    ask(&answers, key("a"), Ok(page("1"))).await.unwrap();
    advance(FRESH).await;
    let known = answers.get(key("a"), later(), refuse).await.unwrap();
    assert_eq!((known.page.note.as_deref(), known.instead_of), (Some("1"), Some(failure())));
}

#[tokio::test(start_paused = true)]
async fn an_earlier_page_stands_in_for_a_source_that_is_silent_before_the_search_is_over() {
    let answers = Answers::new(SETTINGS);
    ask(&answers, key("a"), Ok(page("1"))).await.unwrap();
    advance(FRESH).await;
    for left in [Duration::from_millis(50), Duration::from_secs(2)] {
        let deadline = Instant::now() + left;
        let known = timeout_at(deadline, answers.get(key("a"), deadline, |_| Ok(pending()))).await;
        let known = known.expect("the search is not over").unwrap();
        assert_eq!(known.page.note.as_deref(), Some("1"));
        assert_eq!(known.instead_of.unwrap().kind, FailureKind::Timeout);
        assert!(answers.held.flights.is_empty());
    }
    // Who has nothing else waits to the end.
    let deadline = Instant::now() + Duration::from_secs(2);
    let waiting = answers.get(key("b"), deadline, |until| {
        assert_eq!(until, deadline);
        Ok(pending())
    });
    assert!(timeout_at(deadline, waiting).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn behind_a_page_that_was_asked_for_anew_stands_none_of_before() {
    let answers = Answers::new(SETTINGS);
    let leading = |note: &str| {
        let cursor = Some("2".to_owned());
        let answer = Answer { notes: vec![note.to_owned()], cursor, ..Answer::default() };
        Arc::new(SourcePage::read(answer, DeclaredOrder::Time, None).unwrap())
    };
    let second = || Arc::new(Key { cursor: Some("2".to_owned()), ..question("a") });
    ask(&answers, key("a"), Ok(leading("1"))).await.unwrap();
    advance(FRESH / 2).await;
    ask(&answers, second(), Ok(page("2"))).await.unwrap();
    assert_eq!(ask(&answers, second(), Ok(page("unasked"))).await, Ok(came("2", false)));
    advance(FRESH / 2).await;
    assert_eq!(ask(&answers, key("a"), Ok(leading("1 anew"))).await, Ok(came("1 anew", false)));
    assert_eq!(ask(&answers, second(), Err(failure())).await, Ok(came("2", true)));
    assert_eq!(ask(&answers, second(), Ok(page("2 anew"))).await, Ok(came("2 anew", false)));
    assert_eq!(ask(&answers, second(), Ok(page("unasked"))).await, Ok(came("2 anew", false)));
}

#[tokio::test(start_paused = true)]
async fn the_longest_settings_are_no_reason_to_panic() {
    let settings = config::Cache { fresh_ms: u64::MAX, stale_ms: u64::MAX, bytes: u64::MAX };
    let answers = Answers::new(settings);
    ask(&answers, key("a"), Ok(page("1"))).await.unwrap();
    assert_eq!(ask(&answers, key("a"), Ok(page("2"))).await, Ok(came("1", false)));
}

#[tokio::test(start_paused = true)]
async fn other_registrations_keywords_and_pages_are_other_questions() {
    let answers = Answers::new(SETTINGS);
    ask(&answers, key("a"), Ok(page("first"))).await.unwrap();
    let others = [
        Key { registration: 2, ..question("a") },
        question("b"),
        Key { cursor: Some(String::new()), ..question("a") },
        Key { cursor: Some("next".to_owned()), ..question("a") },
    ];
    for other in others {
        let note = format!("{other:?}");
        assert_eq!(ask(&answers, Arc::new(other), Ok(page(&note))).await, Ok(came(&note, false)));
    }
}

#[tokio::test(start_paused = true)]
async fn those_who_ask_the_same_at_once_share_one_call() {
    let answers = Answers::new(SETTINGS);
    let calls = Arc::new(AtomicUsize::new(0));
    let asking = (0..50).map(|_| {
        let calls = Arc::clone(&calls);
        let call = async move {
            tokio::time::sleep(Duration::from_millis(10)).await;
            calls.fetch_add(1, Ordering::SeqCst);
            Ok(page("shared"))
        };
        answers.get(key("a"), later(), |_| Ok(call))
    });
    for known in join_all(asking).await {
        assert_eq!(known.unwrap().page.note.as_deref(), Some("shared"));
    }
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    assert!(answers.held.flights.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_call_is_dropped_once_nobody_waits_for_it() {
    let (answers, release) = (Answers::new(SETTINGS), Arc::new(Notify::new()));
    let alive = Arc::new(());
    let call = {
        let (held, release) = (Arc::clone(&alive), Arc::clone(&release));
        async move {
            release.notified().await;
            drop(held);
            Ok(page("late"))
        }
    };
    let mut first = Box::pin(answers.get(key("a"), later(), |_| Ok(call)));
    let mut second = Box::pin(answers.get(key("a"), later(), |_| Ok(pending())));
    assert!(futures::poll!(&mut first).is_pending() && futures::poll!(&mut second).is_pending());
    drop(first);
    assert_eq!(Arc::strong_count(&alive), 2, "one still waits");
    drop(second);
    assert_eq!(Arc::strong_count(&alive), 1);
    assert!(answers.held.flights.is_empty());
    assert_eq!(ask(&answers, key("a"), Ok(page("next"))).await, Ok(came("next", false)));
}

#[tokio::test(start_paused = true)]
async fn who_stays_gets_what_another_one_asked_for() {
    let (answers, release) = (Answers::new(SETTINGS), Arc::new(Notify::new()));
    let call = {
        let release = Arc::clone(&release);
        async move {
            release.notified().await;
            Ok(page("asked for by the first"))
        }
    };
    let mut first = Box::pin(answers.get(key("a"), later(), |_| Ok(call)));
    let mut second = Box::pin(answers.get(key("a"), later(), |_| Ok(pending())));
    assert!(futures::poll!(&mut first).is_pending() && futures::poll!(&mut second).is_pending());
    drop(first);
    release.notify_one();
    assert_eq!(second.await.unwrap().page.note.as_deref(), Some("asked for by the first"));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_panics_is_a_failure_and_the_next_one_begins_anew() {
    let answers = Answers::new(SETTINGS);
    let failed = answers.get(key("a"), later(), |_| Ok(async { panic!("inside the source") })).await;
    assert_eq!(failed.unwrap_err().kind, FailureKind::Error);
    assert_eq!(ask(&answers, key("a"), Ok(page("1"))).await, Ok(came("1", false)));
}

#[tokio::test]
async fn the_pages_together_are_bounded_by_their_bytes() {
    let answers = Answers::new(config::Cache { bytes: 100_000, ..SETTINGS });
    for number in 0..1_000 {
        ask(&answers, key(&number.to_string()), Ok(page(&"x".repeat(1_000)))).await.unwrap();
    }
    answers.held.kept.run_pending_tasks();
    assert!(answers.held.kept.weighted_size() <= 100_000);
    assert!(answers.held.kept.entry_count() > 10);
}
