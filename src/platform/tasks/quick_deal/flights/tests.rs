use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::oneshot;

use super::*;
use crate::error::Kind;

fn flights(most: usize, most_per_application: usize) -> Flights<u32> {
    Flights::new(&Tasks {
        callbacks_at_once: most,
        callbacks_at_once_per_application: most_per_application,
        ..Tasks::default()
    })
}

/// A handling that ends with what it is told, and how to tell it.
fn held() -> (oneshot::Sender<u32>, impl Future<Output = Result<u32>> + Send + 'static) {
    let (end, ended) = oneshot::channel();
    (end, async move { ended.await.map_err(|_| Error::internal("nobody ended it")) })
}

fn refusal(joined: Result<Waiting<u32>>) -> Error {
    joined.map(drop).unwrap_err()
}

#[tokio::test]
async fn all_who_press_meanwhile_share_one_handling_and_who_presses_afterwards_begins_anew() {
    let flights = flights(1, 1);
    let begun = Arc::new(AtomicUsize::new(0));
    let counted = |handling| {
        let begun = Arc::clone(&begun);
        |_| async move {
            begun.fetch_add(1, Ordering::SeqCst);
            handling.await
        }
    };
    let (end, handling) = held();
    let first = flights.join("t1", "app", counted(handling)).unwrap();
    let others: Vec<_> = (0..20).map(|_| flights.join("t1", "app", counted(held().1)).unwrap()).collect();
    end.send(7).unwrap();
    assert_eq!(first.await.unwrap(), 7);
    for other in others {
        assert_eq!(other.await.unwrap(), 7);
    }
    assert_eq!(begun.load(Ordering::SeqCst), 1);
    let (end, handling) = held();
    let later = flights.join("t1", "app", counted(handling)).unwrap();
    end.send(8).unwrap();
    assert_eq!(later.await.unwrap(), 8);
    assert_eq!(begun.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn it_goes_on_when_nobody_waits() {
    let flights = flights(1, 1);
    let (done, mut is_done) = tokio::sync::mpsc::channel(1);
    let (end, handling) = held();
    let waiting = flights.join("t1", "app", |_| async move {
        let outcome = handling.await;
        done.send(()).await.unwrap();
        outcome
    });
    drop(waiting.unwrap());
    end.send(1).unwrap();
    is_done.recv().await.unwrap();
}

#[tokio::test]
async fn places_are_bounded_in_all_and_for_each_application() {
    let flights = flights(3, 2);
    let (end, handling) = held();
    let first = flights.join("t1", "hangs", |_| handling).unwrap();
    let (_end_second, handling) = held();
    let second = flights.join("t2", "hangs", |_| handling).unwrap();
    let full = refusal(flights.join("t3", "hangs", |_| held().1));
    assert_eq!((full.kind, full.retry_after), (Kind::Unavailable, Some(FULL_FOR)));
    assert!(full.message.contains("of this task's application"), "{}", full.message);
    // Joining takes no place.
    drop(flights.join("t2", "hangs", |_| held().1).unwrap());

    let (_end_third, handling) = held();
    let third = flights.join("t4", "other", |_| handling).unwrap();
    let full = refusal(flights.join("t5", "third", |_| held().1));
    assert!(full.message.starts_with("too many tasks are being handled"), "{}", full.message);

    end.send(1).unwrap();
    first.await.unwrap();
    let (_end_fourth, handling) = held();
    let fourth = flights.join("t3", "hangs", |_| handling).unwrap();
    drop((second, third, fourth));
}

#[tokio::test]
async fn a_panic_is_the_outcome_of_all_and_gives_the_place_up() {
    let flights = flights(1, 1);
    let panics = async { panic!("a test's panic") };
    let failed = flights.join("t1", "app", |_| panics).unwrap();
    assert_eq!(failed.await.unwrap_err().kind, Kind::Internal);
    let (end, handling) = held();
    let next = flights.join("t1", "app", |_| handling).unwrap();
    end.send(2).unwrap();
    assert_eq!(next.await.unwrap(), 2);
    assert!(lock(&flights.underway).by_application.is_empty());
}

#[tokio::test]
async fn a_stop_takes_no_more_and_waits_for_what_is_under_way() {
    let flights = flights(2, 2);
    let (end, handling) = held();
    let waiting = flights.join("t1", "app", |_| handling).unwrap();
    let mut stopping = Box::pin(flights.stop());
    assert!(futures::poll!(stopping.as_mut()).is_pending());
    let refused = refusal(flights.join("t2", "app", |_| held().1));
    assert!(refused.message.contains("stopping"), "{}", refused.message);
    end.send(3).unwrap();
    stopping.await;
    assert_eq!(waiting.now_or_never().unwrap().unwrap(), 3);
}

#[tokio::test]
async fn an_applications_place_stays_taken_for_as_long_as_anyone_holds_it() {
    let flights = flights(2, 1);
    let (keep, kept) = oneshot::channel();
    let first = flights.join("t1", "hangs", |place| async move {
        keep.send(place).map_err(|_| Error::internal("nobody keeps it"))?;
        Ok(1)
    });
    assert_eq!(first.unwrap().await.unwrap(), 1);
    let place = kept.await.unwrap();
    for task in ["t1", "t2"] {
        let full = refusal(flights.join(task, "hangs", |_| held().1));
        assert!(full.message.contains("of this task's application"), "{}", full.message);
    }
    // It takes none of the others' places, nor one of those in all.
    let (_end_second, handling) = held();
    let second = flights.join("t2", "other", |_| handling).unwrap();
    let (_end_third, handling) = held();
    let third = flights.join("t3", "third", |_| handling).unwrap();
    drop((second, third));

    drop(place);
    assert!(!lock(&flights.underway).by_application.contains_key("hangs"));
}
