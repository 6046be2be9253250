use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use proptest::prelude::*;
use tokio::time::advance;

use super::state::MIN_FORGOTTEN;
use super::usage::HALF_LIFE;
use super::*;

type Waiting<'a> = BoxFuture<'a, Result<FairPermit<u8, u8>, TooManyWait>>;

fn of(group: u8, member: u8) -> Asker<u8, u8> {
    Asker { group, member }
}

/// Begins to wait; `None` if it is refused at once.
fn begin(semaphore: &FairSemaphore<u8, u8>, asker: Asker<u8, u8>) -> Option<Waiting<'_>> {
    let mut waiting = semaphore.acquire(asker).boxed();
    (&mut waiting).now_or_never().is_none().then_some(waiting)
}

/// The order in which askers get the only permit, each for so many milliseconds.
async fn order<const N: usize>(
    semaphore: &FairSemaphore<u8, u8>,
    askers: [(Asker<u8, u8>, u64); N],
) -> Vec<(u8, u8)> {
    let first = semaphore.acquire(of(0, 0)).await.unwrap();
    let order = Mutex::new(Vec::new());
    let wait = async |(asker, held): (Asker<u8, u8>, u64)| {
        let permit = semaphore.acquire(asker.clone()).await.unwrap();
        order.lock().unwrap().push((asker.group, asker.member));
        advance(Duration::from_millis(held)).await;
        drop(permit);
    };
    let all = join_all(askers.map(wait));
    tokio::join!(all, async { drop(first) });
    order.into_inner().unwrap()
}

#[tokio::test(start_paused = true)]
async fn permits_go_to_waiting_groups_and_their_members_in_turn() {
    let semaphore = FairSemaphore::new(1, 1, 10);
    let askers = [(1, 1), (1, 1), (1, 2), (2, 1), (2, 1)];
    let found = order(&semaphore, askers.map(|(group, member)| (of(group, member), 0))).await;
    assert_eq!(found, [(1, 1), (2, 1), (1, 2), (2, 1), (1, 1)]);
}

#[tokio::test(start_paused = true)]
async fn permits_go_first_to_those_who_used_least_lately() {
    let semaphore = FairSemaphore::new(1, 1, 10);
    let askers = [(of(1, 1), 400), (of(1, 1), 400), (of(1, 2), 10), (of(1, 2), 10), (of(1, 2), 10)];
    let found = order(&semaphore, askers).await;
    assert_eq!(found, [(1, 1), (1, 2), (1, 2), (1, 2), (1, 1)]);
    // Ten half-lives later the uses count less than new ones.
    advance(10 * HALF_LIFE).await;
    let found = order(&semaphore, [(of(1, 2), 20), (of(1, 2), 20), (of(1, 1), 20)]).await;
    assert_eq!(found, [(1, 2), (1, 1), (1, 2)]);
}

#[tokio::test]
async fn member_holds_its_part_at_most() {
    let semaphore = FairSemaphore::new(3, 2, 10);
    let mut held =
        Vec::from([semaphore.acquire(of(1, 1)).await.unwrap(), semaphore.acquire(of(1, 1)).await.unwrap()]);
    let third = begin(&semaphore, of(1, 1)).unwrap();
    let _other = semaphore.acquire(of(1, 2)).await.unwrap();
    held.pop();
    assert!(third.await.is_ok());
}

#[tokio::test]
async fn small_requests_do_not_pass_a_large_one_that_is_next() {
    let semaphore = FairSemaphore::new(4, 3, 10);
    let large = semaphore.acquire_patiently(of(1, 1), 3).await;
    let mut waiting =
        [2, 1].map(|count| semaphore.acquire_patiently(of(1 + count, 1), count as usize).boxed());
    assert!(waiting.iter_mut().all(|waiting| waiting.now_or_never().is_none()));
    drop(large);
    let [second, third] = waiting;
    assert!(second.now_or_never().is_some() && third.now_or_never().is_some());
}

#[tokio::test]
async fn small_request_is_served_when_a_large_one_before_it_is_cancelled() {
    let semaphore = FairSemaphore::new(4, 3, 10);
    let _held = semaphore.acquire_patiently(of(1, 1), 3).await;
    let mut large = semaphore.acquire_patiently(of(2, 1), 2).boxed();
    let mut small = semaphore.acquire(of(3, 1)).boxed();
    assert!((&mut large).now_or_never().is_none() && (&mut small).now_or_never().is_none());
    drop(large);
    assert!(matches!(small.now_or_never(), Some(Ok(_))));
}

#[tokio::test]
async fn member_with_most_requests_gives_way_where_too_many_wait() {
    let semaphore = FairSemaphore::new(1, 1, 3);
    let _running = semaphore.acquire(of(0, 0)).await.unwrap();
    let mut waiting: Vec<_> = (0..3).map(|_| begin(&semaphore, of(1, 1)).unwrap()).collect();
    assert!(begin(&semaphore, of(1, 1)).is_none(), "it has most itself");
    let other = begin(&semaphore, of(2, 1)).unwrap();
    let last = waiting.pop().unwrap();
    assert_eq!(last.await.unwrap_err(), TooManyWait);
    assert!(begin(&semaphore, of(2, 1)).is_none(), "both groups have as many");
    let same_group = begin(&semaphore, of(1, 2)).unwrap();
    assert_eq!(waiting.pop().unwrap().await.unwrap_err(), TooManyWait);
    drop((other, same_group));
    assert!(begin(&semaphore, of(3, 1)).is_some(), "one waits no longer");
    let mut patient: Vec<_> = (0..5).map(|_| semaphore.acquire_patiently(of(4, 1), 1).boxed()).collect();
    assert!(patient.iter_mut().all(|waiting| waiting.now_or_never().is_none()), "however many wait");
}

#[tokio::test(start_paused = true)]
async fn askers_without_a_recent_use_are_forgotten() {
    let semaphore = FairSemaphore::new(1, 1, 0);
    for group in 0..=u8::MAX {
        for member in 0..16 {
            drop(semaphore.acquire(of(group, member)).await.unwrap());
        }
    }
    assert!(semaphore.lock().members.len() <= MIN_FORGOTTEN);
}

proptest! {
    #![proptest_config(trawl_seeds::cases(256))]

    /// Steps take permits or wait for them, give some back, or stop waiting.
    #[test]
    fn no_permit_is_lost_and_none_is_given_twice(
        permits in 1_usize..4, max_each in 1_usize..4,
        steps in prop::collection::vec((0_u8..3, 0_u8..4, any::<prop::sample::Index>()), 0..60),
    ) {
        let semaphore = FairSemaphore::new(permits, max_each, 5);
        let (mut held, mut waiting) = (Vec::new(), Vec::new());
        for (step, key, place) in steps {
            let asker = of(key / 2, key % 2);
            match step {
                0 => {
                    let count = 1 + place.index(permits.min(max_each));
                    let mut asked = semaphore.wait(asker.clone(), count, false).boxed();
                    match (&mut asked).now_or_never() {
                        Some(answer) => held.extend(answer),
                        None => waiting.push((asker, count, asked)),
                    }
                }
                1 if !held.is_empty() => drop(held.swap_remove(place.index(held.len()))),
                2 if !waiting.is_empty() => drop(waiting.remove(place.index(waiting.len()))),
                _ => {}
            }
            waiting.retain_mut(|(_, _, asked)| match asked.now_or_never() {
                Some(answer) => {
                    held.extend(answer);
                    false
                }
                None => true,
            });
            let count_of = |held: &[FairPermit<u8, u8>]| held.iter().map(|permit| permit.count).sum::<usize>();
            let of_one = |asker: &Asker<u8, u8>| {
                held.iter().filter(|permit| permit.asker == *asker).map(|permit| permit.count).sum::<usize>()
            };
            prop_assert!(held.iter().all(|permit| of_one(&permit.asker) <= max_each));
            let free = permits - count_of(&held);
            let mut firsts: Vec<(&Asker<u8, u8>, usize)> = Vec::new();
            for (asker, count, _) in &waiting {
                if firsts.iter().all(|(first, _)| *first != asker) {
                    firsts.push((asker, *count));
                }
            }
            firsts.retain(|(asker, count)| of_one(asker) + count <= max_each);
            prop_assert!(
                firsts.is_empty() || firsts.iter().any(|(_, count)| *count > free),
                "one waits beside permits that it may have, and for nobody"
            );
        }
        drop(waiting);
        drop(held);
        prop_assert_eq!(semaphore.lock().free, permits);
    }
}
