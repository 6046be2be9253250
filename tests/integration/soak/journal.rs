//! The calls of clients, with their times and statuses.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard},
    time::{Duration, Instant},
};

/// Calls of all clients in the order of their ends.
pub(super) struct Journal {
    begun: Instant,
    calls: Mutex<Vec<Call>>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    /// Kind of client.
    pub(super) client: &'static str,
    /// Time since the journal began.
    pub(super) at: Duration,
    pub(super) took: Duration,
    /// HTTP status; 0 without an answer.
    pub(super) status: u16,
}

impl Journal {
    pub(super) fn new() -> Self {
        Self { begun: Instant::now(), calls: Mutex::default() }
    }

    pub(super) fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Makes a call and writes down how it ended.
    pub(super) async fn write_down(&self, client: &'static str, call: impl Future<Output = u16>) -> u16 {
        let begun = self.now();
        let status = call.await;
        let at = self.now();
        self.lock().push(Call { client, at, took: at.saturating_sub(begun), status });
        status
    }

    /// Calls that ended between two times.
    pub(super) fn between(&self, from: Duration, to: Duration) -> Vec<Call> {
        let calls = self.lock();
        let first = calls.partition_point(|call| call.at < from);
        calls[first..].iter().take_while(|call| call.at < to).copied().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Call>> {
        self.calls.lock().unwrap()
    }
}

/// Time within which so many of a thousand calls of a client were answered.
pub(super) fn quantile(calls: &[Call], client: &str, of_thousand: usize) -> Duration {
    let mut times: Vec<Duration> =
        calls.iter().filter(|call| call.client == client).map(|call| call.took).collect();
    times.sort_unstable();
    let place = times.len() * of_thousand / 1_000;
    times.get(place.min(times.len().saturating_sub(1))).copied().unwrap_or_default()
}

/// Number of calls by client and status.
pub(super) fn counts(calls: &[Call]) -> BTreeMap<(&'static str, u16), usize> {
    let mut counts = BTreeMap::new();
    for call in calls {
        *counts.entry((call.client, call.status)).or_default() += 1;
    }
    counts
}
