use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::{join_all, pending};
use tokio::{sync::Notify, time::advance};
use trawl_connectors::{Answer, DeclaredOrder};

use super::*;
use crate::source::FailureKind;

const SETTINGS: CacheSettings = CacheSettings { fresh_ms: 5_000, stale_ms: 60_000, bytes: 1 << 20 };
const FRESH: Duration = Duration::from_millis(SETTINGS.fresh_ms);
const STALE: Duration = Duration::from_millis(SETTINGS.stale_ms);

fn key(keyword: &str) -> Arc<SourcePageKey> {
    Arc::new(plain_key(keyword))
}

fn plain_key(keyword: &str) -> SourcePageKey {
    SourcePageKey { registration: 1, keyword: keyword.to_owned(), person: None, cursor: None }
}

fn later() -> Instant {
    Instant::now() + Duration::from_mins(10)
}

fn page(note: &str) -> Arc<RawPage> {
    let answer = Answer { notes: vec![note.to_owned()], ..Answer::default() };
    Arc::new(RawPage::read(answer, DeclaredOrder::Time, None).unwrap())
}

fn failure() -> SourceFailure {
    SourceFailure::new(FailureKind::Unavailable, "down")
}

async fn ask<C: Future<Output = PageResult> + Send + 'static>(
    cache: &SourcePageCache,
    key: Arc<SourcePageKey>,
    deadline: Instant,
    call: Result<C, SourceFailure>,
) -> Result<CachedPage, SourceFailure> {
    match cache.look_up(&key, deadline) {
        Ok(cached) => Ok(cached),
        Err(missing) => missing.fill(call.map(|call| cache.join(key, call))).await,
    }
}

async fn get(
    cache: &SourcePageCache,
    key: Arc<SourcePageKey>,
    result: PageResult,
) -> Result<(String, bool), SourceFailure> {
    let (writer, written) = (cache.clone(), Arc::clone(&key));
    let call = async move {
        writer.keep(written, &result);
        result
    };
    let cached = ask(cache, key, later(), Ok(call)).await?;
    Ok((cached.page.note.clone().unwrap(), matches!(cached.origin, PageOrigin::Stale { .. })))
}

fn found(note: &str, is_stale: bool) -> (String, bool) {
    (note.to_owned(), is_stale)
}

#[tokio::test(start_paused = true)]
async fn fresh_page_is_reused() {
    let cache = SourcePageCache::new(SETTINGS);
    assert_eq!(get(&cache, key("a"), Ok(page("1"))).await, Ok(found("1", false)));
    assert_eq!(get(&cache, key("a"), Ok(page("2"))).await, Ok(found("1", false)));
    advance(FRESH).await;
    assert_eq!(get(&cache, key("a"), Ok(page("3"))).await, Ok(found("3", false)));
}

#[tokio::test(start_paused = true)]
async fn stale_page_stands_in_for_a_failure_until_it_expires() {
    let cache = SourcePageCache::new(SETTINGS);
    assert_eq!(get(&cache, key("a"), Err(failure())).await, Err(failure()));
    get(&cache, key("a"), Ok(page("1"))).await.unwrap();
    advance(FRESH).await;
    assert_eq!(get(&cache, key("a"), Err(failure())).await, Ok(found("1", true)));
    advance(STALE).await;
    assert_eq!(get(&cache, key("a"), Err(failure())).await, Err(failure()));
}

#[tokio::test(start_paused = true)]
async fn pages_of_a_person_who_is_refused_are_forgotten() {
    let cache = SourcePageCache::new(SETTINGS);
    let of = |person: &str, keyword| {
        Arc::new(SourcePageKey { person: Some(person.to_owned()), ..plain_key(keyword) })
    };
    for key in [of("mei", "a"), of("mei", "b"), of("tom", "a")] {
        get(&cache, key, Ok(page("before"))).await.unwrap();
    }
    advance(FRESH).await;
    let refused = SourceFailure::no_person();
    assert_eq!(get(&cache, of("mei", "a"), Err(refused.clone())).await, Err(refused));
    for keyword in ["a", "b"] {
        assert_eq!(get(&cache, of("mei", keyword), Err(failure())).await, Err(failure()));
    }
    assert_eq!(get(&cache, of("tom", "a"), Err(failure())).await, Ok(found("before", true)));
}

#[tokio::test(start_paused = true)]
async fn stale_page_stands_in_for_a_refused_call() {
    type Never = std::future::Pending<PageResult>;
    let cache = SourcePageCache::new(SETTINGS);
    let refused = || Err::<Never, _>(failure());
    assert_eq!(ask(&cache, key("a"), later(), refused()).await.unwrap_err(), failure());
    get(&cache, key("a"), Ok(page("1"))).await.unwrap();
    advance(FRESH).await;
    let cached = ask(&cache, key("a"), later(), refused()).await.unwrap();
    let stale = PageOrigin::Stale { failure: failure(), was_called: false };
    assert_eq!((cached.page.note.as_deref(), cached.origin), (Some("1"), stale));
}

#[tokio::test(start_paused = true)]
async fn stale_page_stands_in_shortly_before_the_deadline() {
    let cache = SourcePageCache::new(SETTINGS);
    get(&cache, key("a"), Ok(page("1"))).await.unwrap();
    advance(FRESH).await;
    for left in [Duration::from_millis(50), Duration::from_secs(2)] {
        let deadline = Instant::now() + left;
        let cached = timeout_at(deadline, ask(&cache, key("a"), deadline, Ok(pending()))).await;
        let cached = cached.expect("the search is not over").unwrap();
        assert_eq!(cached.page.note.as_deref(), Some("1"));
        let PageOrigin::Stale { failure, was_called: true } = cached.origin else {
            panic!("{:?}", cached.origin)
        };
        assert_eq!(failure.kind, FailureKind::Timeout);
        assert!(cache.in_flight.is_empty());
    }
    let deadline = Instant::now() + Duration::from_secs(2);
    assert_eq!(cache.look_up(&key("b"), deadline).unwrap_err().until, deadline);
    let waiting = ask(&cache, key("b"), deadline, Ok(pending()));
    assert!(timeout_at(deadline, waiting).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn page_behind_a_new_page_is_no_longer_fresh() {
    let cache = SourcePageCache::new(SETTINGS);
    let leading = |note: &str| {
        let cursor = Some("2".to_owned());
        let answer = Answer { notes: vec![note.to_owned()], cursor, ..Answer::default() };
        Arc::new(RawPage::read(answer, DeclaredOrder::Time, None).unwrap())
    };
    let second = || Arc::new(SourcePageKey { cursor: Some("2".to_owned()), ..plain_key("a") });
    get(&cache, key("a"), Ok(leading("1"))).await.unwrap();
    advance(FRESH / 2).await;
    get(&cache, second(), Ok(page("2"))).await.unwrap();
    assert_eq!(get(&cache, second(), Ok(page("unasked"))).await, Ok(found("2", false)));
    advance(FRESH / 2).await;
    assert_eq!(get(&cache, key("a"), Ok(leading("1 anew"))).await, Ok(found("1 anew", false)));
    assert_eq!(get(&cache, second(), Err(failure())).await, Ok(found("2", true)));
    assert_eq!(get(&cache, second(), Ok(page("2 anew"))).await, Ok(found("2 anew", false)));
    assert_eq!(get(&cache, second(), Ok(page("unasked"))).await, Ok(found("2 anew", false)));
}

#[tokio::test(start_paused = true)]
async fn longest_settings_do_not_panic() {
    let settings = CacheSettings { fresh_ms: u64::MAX, stale_ms: u64::MAX, bytes: u64::MAX };
    let cache = SourcePageCache::new(settings);
    get(&cache, key("a"), Ok(page("1"))).await.unwrap();
    assert_eq!(get(&cache, key("a"), Ok(page("2"))).await, Ok(found("1", false)));
}

#[tokio::test(start_paused = true)]
async fn registration_keyword_and_cursor_make_the_key() {
    let cache = SourcePageCache::new(SETTINGS);
    get(&cache, key("a"), Ok(page("first"))).await.unwrap();
    let others = [
        SourcePageKey { registration: 2, ..plain_key("a") },
        plain_key("b"),
        SourcePageKey { cursor: Some(String::new()), ..plain_key("a") },
        SourcePageKey { cursor: Some("next".to_owned()), ..plain_key("a") },
    ];
    for other in others {
        let note = format!("{other:?}");
        assert_eq!(get(&cache, Arc::new(other), Ok(page(&note))).await, Ok(found(&note, false)));
    }
}

#[tokio::test(start_paused = true)]
async fn identical_concurrent_requests_share_one_call() {
    let cache = SourcePageCache::new(SETTINGS);
    let calls = Arc::new(AtomicUsize::new(0));
    let asking = (0..50).map(|_| {
        let calls = Arc::clone(&calls);
        let call = async move {
            tokio::time::sleep(Duration::from_millis(10)).await;
            calls.fetch_add(1, Ordering::SeqCst);
            Ok(page("shared"))
        };
        ask(&cache, key("a"), later(), Ok(call))
    });
    for cached in join_all(asking).await {
        assert_eq!(cached.unwrap().page.note.as_deref(), Some("shared"));
    }
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    assert!(cache.in_flight.is_empty());
}

#[tokio::test(start_paused = true)]
async fn call_is_dropped_with_its_last_waiter() {
    let (cache, release) = (SourcePageCache::new(SETTINGS), Arc::new(Notify::new()));
    let alive = Arc::new(());
    let call = {
        let (held, release) = (Arc::clone(&alive), Arc::clone(&release));
        async move {
            release.notified().await;
            drop(held);
            Ok(page("late"))
        }
    };
    let mut first = Box::pin(ask(&cache, key("a"), later(), Ok(call)));
    let mut second = Box::pin(ask(&cache, key("a"), later(), Ok(pending())));
    assert!(futures::poll!(&mut first).is_pending() && futures::poll!(&mut second).is_pending());
    drop(first);
    assert_eq!(Arc::strong_count(&alive), 2, "one still waits");
    drop(second);
    assert_eq!(Arc::strong_count(&alive), 1);
    assert!(cache.in_flight.is_empty());
    assert_eq!(get(&cache, key("a"), Ok(page("next"))).await, Ok(found("next", false)));
}

#[tokio::test(start_paused = true)]
async fn remaining_waiter_gets_the_page_of_the_first_caller() {
    let (cache, release) = (SourcePageCache::new(SETTINGS), Arc::new(Notify::new()));
    let call = {
        let release = Arc::clone(&release);
        async move {
            release.notified().await;
            Ok(page("asked for by the first"))
        }
    };
    let mut first = Box::pin(ask(&cache, key("a"), later(), Ok(call)));
    let mut second = Box::pin(ask(&cache, key("a"), later(), Ok(pending())));
    assert!(futures::poll!(&mut first).is_pending() && futures::poll!(&mut second).is_pending());
    drop(first);
    release.notify_one();
    assert_eq!(second.await.unwrap().page.note.as_deref(), Some("asked for by the first"));
}

#[tokio::test(start_paused = true)]
async fn panicking_call_is_a_failure_and_the_next_begins_anew() {
    let cache = SourcePageCache::new(SETTINGS);
    let failed = ask(&cache, key("a"), later(), Ok(async { panic!("inside the source") })).await;
    assert_eq!(failed.unwrap_err().kind, FailureKind::Error);
    assert_eq!(get(&cache, key("a"), Ok(page("1"))).await, Ok(found("1", false)));
}

#[tokio::test]
async fn cached_pages_are_bounded_by_their_bytes() {
    let cache = SourcePageCache::new(CacheSettings { bytes: 100_000, ..SETTINGS });
    for number in 0..1_000 {
        get(&cache, key(&number.to_string()), Ok(page(&"x".repeat(1_000)))).await.unwrap();
    }
    cache.pages.run_pending_tasks();
    assert!(cache.pages.weighted_size() <= 100_000);
    assert!(cache.pages.entry_count() > 10);
}
