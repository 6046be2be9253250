use std::sync::atomic::{AtomicUsize, Ordering};

use futures::FutureExt;
use tokio::sync::oneshot;

use super::*;
use crate::error::ErrorKind;

fn handlings(most: usize, most_per_application: usize) -> Handlings<u32> {
    Handlings::new(&Tasks {
        callbacks_at_once: most,
        callbacks_at_once_per_application: most_per_application,
        ..Tasks::default()
    })
}

fn held() -> (oneshot::Sender<u32>, impl Future<Output = Result<u32>> + Send + 'static) {
    let (end, ended) = oneshot::channel();
    (end, async move { ended.await.map_err(|_| Error::internal("nobody ended it")) })
}

fn refusal(joined: Result<SharedCall<Outcome<u32>>>) -> Error {
    joined.map(drop).unwrap_err()
}

#[tokio::test]
async fn concurrent_requests_share_one_handling() {
    let handlings = handlings(1, 1);
    let begun = Arc::new(AtomicUsize::new(0));
    let counted = |handling| {
        let begun = Arc::clone(&begun);
        |_| async move {
            begun.fetch_add(1, Ordering::SeqCst);
            handling.await
        }
    };
    let (end, handling) = held();
    let first = handlings.join("t1", "state", counted(handling)).unwrap();
    let others: Vec<_> = (0..20).map(|_| handlings.join("t1", "state", counted(held().1)).unwrap()).collect();
    end.send(7).unwrap();
    assert_eq!(first.await.unwrap(), 7);
    for other in others {
        assert_eq!(other.await.unwrap(), 7);
    }
    assert_eq!(begun.load(Ordering::SeqCst), 1);
    let (end, handling) = held();
    let later = handlings.join("t1", "state", counted(handling)).unwrap();
    end.send(8).unwrap();
    assert_eq!(later.await.unwrap(), 8);
    assert_eq!(begun.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn handling_continues_without_waiters() {
    let handlings = handlings(1, 1);
    let (done, mut is_done) = tokio::sync::mpsc::channel(1);
    let (end, handling) = held();
    let waiting = handlings.join("t1", "state", |_| async move {
        let outcome = handling.await;
        done.send(()).await.unwrap();
        outcome
    });
    drop(waiting.unwrap());
    end.send(1).unwrap();
    is_done.recv().await.unwrap();
}

#[tokio::test]
async fn permits_are_limited_in_total_and_per_application() {
    let handlings = handlings(3, 2);
    let (end, handling) = held();
    let first = handlings.join("t1", "hangs", |_| handling).unwrap();
    let (_end_second, handling) = held();
    let second = handlings.join("t2", "hangs", |_| handling).unwrap();
    let full = refusal(handlings.join("t3", "hangs", |_| held().1));
    assert_eq!((full.kind, full.retry_after), (ErrorKind::Unavailable, Some(FULL_FOR)));
    assert!(full.message.contains("of this task's application"), "{}", full.message);
    drop(handlings.join("t2", "hangs", |_| held().1).unwrap());

    let (_end_third, handling) = held();
    let third = handlings.join("t4", "other", |_| handling).unwrap();
    let full = refusal(handlings.join("t5", "third", |_| held().1));
    assert!(full.message.starts_with("too many tasks are being handled"), "{}", full.message);

    end.send(1).unwrap();
    first.await.unwrap();
    let (_end_fourth, handling) = held();
    let fourth = handlings.join("t3", "hangs", |_| handling).unwrap();
    drop((second, third, fourth));
}

#[tokio::test]
async fn panic_reaches_all_waiters_and_releases_permit() {
    let handlings = handlings(1, 1);
    let panics = async { panic!("a test's panic") };
    let failed = handlings.join("t1", "state", |_| panics).unwrap();
    assert_eq!(failed.await.unwrap_err().kind, ErrorKind::Internal);
    let (end, handling) = held();
    let next = handlings.join("t1", "state", |_| handling).unwrap();
    end.send(2).unwrap();
    assert_eq!(next.await.unwrap(), 2);
    assert!(lock(&handlings.by_application).is_empty());
}

#[tokio::test]
async fn stop_rejects_new_and_waits_for_running_handlings() {
    let handlings = handlings(2, 2);
    let (end, handling) = held();
    let waiting = handlings.join("t1", "state", |_| handling).unwrap();
    let mut stopping = Box::pin(handlings.stop());
    assert!(futures::poll!(stopping.as_mut()).is_pending());
    let refused = refusal(handlings.join("t2", "state", |_| held().1));
    assert!(refused.message.contains("stopping"), "{}", refused.message);
    end.send(3).unwrap();
    stopping.await;
    assert_eq!(waiting.now_or_never().unwrap().unwrap(), 3);
}

#[tokio::test]
async fn application_permit_is_held_until_last_clone_drops() {
    let handlings = handlings(2, 1);
    let (keep, kept) = oneshot::channel();
    let first = handlings.join("t1", "hangs", |permit| async move {
        keep.send(permit).map_err(|_| Error::internal("nobody keeps it"))?;
        Ok(1)
    });
    assert_eq!(first.unwrap().await.unwrap(), 1);
    let permit = kept.await.unwrap();
    for task in ["t1", "t2"] {
        let full = refusal(handlings.join(task, "hangs", |_| held().1));
        assert!(full.message.contains("of this task's application"), "{}", full.message);
    }
    let (_end_second, handling) = held();
    let second = handlings.join("t2", "other", |_| handling).unwrap();
    let (_end_third, handling) = held();
    let third = handlings.join("t3", "third", |_| handling).unwrap();
    drop((second, third));

    drop(permit);
    assert!(!lock(&handlings.by_application).contains_key("hangs"));
}
