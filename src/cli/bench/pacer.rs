//! Times requests: by schedule (open loop) or after answers (closed loop).

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::schedule::Schedule;

const LONGEST_SLEEP: Duration = Duration::from_millis(50);

const INSTANT: Duration = Duration::from_nanos(1);

#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) number: u64,
    pub(super) intended: Instant,
    pub(super) was_slot_free: Option<bool>,
}

#[derive(Debug)]
pub(super) enum Pacer {
    /// Each task is a client, which waits for its last answer.
    Closed { next: AtomicU64, begin: Instant, end: Instant, stop: CancellationToken },
    /// Starts by schedule; late without a free task.
    OpenLoop(Arc<OpenLoop>),
}

#[derive(Debug)]
pub(super) struct OpenLoop {
    schedule: Schedule,
    begin: Instant,
    /// Later starts are given up.
    last_begin: Instant,
    /// Due and not started.
    due: Semaphore,
    next: AtomicU64,
    stop: CancellationToken,
}

impl Pacer {
    pub(super) fn closed(begin: Instant, length: Duration, stop: CancellationToken) -> Self {
        Self::Closed { next: AtomicU64::new(0), begin, end: begin + length, stop }
    }

    pub(super) fn open(
        schedule: Schedule,
        begin: Instant,
        length: Duration,
        patience: Duration,
        stop: CancellationToken,
    ) -> Self {
        Self::OpenLoop(Arc::new(OpenLoop {
            schedule,
            begin,
            last_begin: begin + length + patience,
            due: Semaphore::new(0),
            next: AtomicU64::new(0),
            stop,
        }))
    }

    pub(super) fn start(&self) -> std::io::Result<()> {
        if let Self::OpenLoop(open) = self {
            let open = Arc::clone(open);
            thread::Builder::new().name("arrivals".to_owned()).spawn(move || open.keep_time())?;
        }
        Ok(())
    }

    pub(super) async fn next(&self) -> Option<Arrival> {
        match self {
            Self::Closed { next, begin, end, stop } => {
                if Instant::now() < *begin {
                    tokio::time::sleep_until((*begin).into()).await;
                }
                let intended = Instant::now();
                (intended < *end && !stop.is_cancelled()).then(|| Arrival {
                    number: next.fetch_add(1, Ordering::Relaxed),
                    intended,
                    was_slot_free: None,
                })
            }
            Self::OpenLoop(open) => open.next().await,
        }
    }

    pub(super) fn due_between(&self, from: Duration, to: Duration) -> Option<u64> {
        let Self::OpenLoop(open) = self else { return None };
        let before = |time: Duration| time.checked_sub(INSTANT).map_or(0, |time| open.schedule.due(time));
        Some(before(to).saturating_sub(before(from)))
    }
}

impl OpenLoop {
    fn keep_time(&self) {
        make_sleep_exact();
        thread::sleep(self.begin.saturating_duration_since(Instant::now()));
        let total = self.schedule.total();
        let mut released = 0;
        while released < total && !self.stop.is_cancelled() {
            let elapsed = self.begin.elapsed();
            let due = self.schedule.due(elapsed);
            self.due.add_permits(usize::try_from(due - released).unwrap_or_default());
            released = due;
            thread::sleep(self.schedule.start(released).saturating_sub(elapsed).min(LONGEST_SLEEP));
        }
        // Passes on the final permit, so that every task ends.
        self.due.add_permits(1);
    }

    async fn next(&self) -> Option<Arrival> {
        let free_since = Instant::now();
        self.due.acquire().await.ok()?.forget();
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let now = Instant::now();
        if number >= self.schedule.total() || self.stop.is_cancelled() || now >= self.last_begin {
            self.due.add_permits(1);
            return None;
        }
        let intended = self.begin + self.schedule.start(number);
        Some(Arrival { number, intended, was_slot_free: Some(free_since <= intended) })
    }
}

/// Linux delays sleeps by 50 µs; where that stays, results show it.
fn make_sleep_exact() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overdue(patience: Duration) -> Arc<Pacer> {
        let schedule = Schedule::new(10.0, Duration::from_secs(1));
        let begin = Instant::now().checked_sub(Duration::from_mins(1)).unwrap();
        let stop = CancellationToken::new();
        Arc::new(Pacer::open(schedule, begin, Duration::from_secs(1), patience, stop))
    }

    async fn turns(arrivals: &Arc<Pacer>) -> Vec<Arrival> {
        arrivals.start().unwrap();
        let places = (0..3).map(|_| async {
            let mut turns = Vec::new();
            while let Some(turn) = arrivals.next().await {
                turns.push(turn);
            }
            turns
        });
        let mut turns = futures::future::join_all(places).await.concat();
        turns.sort_by_key(|turn| turn.number);
        turns
    }

    #[tokio::test]
    async fn late_start_keeps_its_intended_time() {
        let arrivals = overdue(Duration::from_mins(10));
        let turns = turns(&arrivals).await;
        assert_eq!(turns.iter().map(|turn| turn.number).collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
        for pair in turns.windows(2) {
            assert_eq!(pair[1].intended.duration_since(pair[0].intended), Duration::from_millis(100));
        }
        assert!(turns.iter().all(|turn| turn.was_slot_free == Some(false)));
        let due = |from, to| arrivals.due_between(Duration::from_millis(from), Duration::from_millis(to));
        assert_eq!([due(0, 1_000), due(200, 1_000), due(200, 201), due(0, 0)], [10, 8, 1, 0].map(Some));
    }

    #[tokio::test]
    async fn overdue_start_is_given_up() {
        assert_eq!(turns(&overdue(Duration::from_secs(1))).await.len(), 0);
    }

    #[tokio::test]
    async fn clients_end_with_the_time() {
        let stop = CancellationToken::new();
        let ended = Pacer::closed(Instant::now(), Duration::ZERO, stop.clone());
        assert!(ended.next().await.is_none() && ended.due_between(Duration::ZERO, Duration::MAX).is_none());
        let arrivals = Pacer::closed(Instant::now(), Duration::from_mins(10), stop.clone());
        assert_eq!([arrivals.next().await.unwrap().number, arrivals.next().await.unwrap().number], [0, 1]);
        stop.cancel();
        assert!(arrivals.next().await.is_none());
    }
}
