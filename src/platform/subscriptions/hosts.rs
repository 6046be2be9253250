//! Courtesy to hosts: one connection at a time, pauses that they request.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Number of turns above which those that nobody holds are forgotten.
const MANY_TURNS: usize = 1_000;

/// The hosts that runs call.
#[derive(Default)]
pub(super) struct Hosts {
    turns: Mutex<HashMap<String, Arc<Semaphore>>>,
    /// Epoch milliseconds.
    rests: Mutex<HashMap<String, i64>>,
}

impl Hosts {
    /// Waits for the only connection to a host.
    pub(super) async fn turn(&self, host: &str) -> Option<OwnedSemaphorePermit> {
        let turn = {
            let mut turns = locked(&self.turns);
            if turns.len() > MANY_TURNS {
                turns.retain(|_, turn| Arc::strong_count(turn) > 1);
            }
            Arc::clone(turns.entry(host.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(1))))
        };
        turn.acquire_owned().await.ok()
    }

    /// Makes no request of a host until then.
    pub(super) fn rest(&self, host: &str, until: i64) {
        let mut rests = locked(&self.rests);
        let end = rests.entry(host.to_owned()).or_insert(until);
        *end = until.max(*end);
    }

    /// The end of a host's rest.
    pub(super) fn rests_to(&self, host: &str, now: i64) -> Option<i64> {
        locked(&self.rests).get(host).copied().filter(|until| *until > now)
    }

    /// The hosts at rest, and the end of each.
    pub(super) fn resting(&self, now: i64) -> Vec<(String, i64)> {
        let mut rests = locked(&self.rests);
        rests.retain(|_, until| *until > now);
        rests.iter().map(|(host, until)| (host.clone(), *until)).collect()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_host_has_one_turn_and_the_longest_rest() {
        let hosts = Hosts::default();
        let held = hosts.turn("a").await;
        assert!(futures::FutureExt::now_or_never(hosts.turn("a")).is_none());
        assert!(hosts.turn("b").await.is_some());
        drop(held);
        assert!(hosts.turn("a").await.is_some());

        hosts.rest("a", 20);
        hosts.rest("a", 10);
        assert_eq!(hosts.rests_to("a", 19), Some(20));
        assert_eq!(hosts.resting(20), []);
    }
}
