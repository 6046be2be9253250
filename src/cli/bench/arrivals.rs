//! Says when the next request begins: at its time on the schedule (open loop), or as soon as the last one of its client
//! was answered (closed loop).

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

/// How soon the pacing thread notices that the run was stopped.
const LONGEST_SLEEP: Duration = Duration::from_millis(50);

/// The shortest time.
const INSTANT: Duration = Duration::from_nanos(1);

/// One request's turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    /// Counted from 0 over all clients.
    pub(super) number: u64,
    /// When it is meant to begin.
    pub(super) intended: Instant,
    /// Whether a place was free at that time; nothing is said of it in a closed loop.
    pub(super) place_was_free: Option<bool>,
}

/// When requests begin. The places among which they are shared out are the tasks that ask for the next one.
#[derive(Debug)]
pub(super) enum Arrivals {
    /// Each place is a client that sends its next request when the last one was answered, until the end.
    Closed { next: AtomicU64, begin: Instant, end: Instant, stop: CancellationToken },
    /// Requests begin by a schedule. One that finds no place free waits for it, and is as late as it then is.
    Open(Arc<Open>),
}

/// The arrivals of an open loop.
#[derive(Debug)]
pub(super) struct Open {
    schedule: Schedule,
    begin: Instant,
    /// After this, what waits for a place is given up.
    last_begin: Instant,
    /// One permit for each request that is due and has not begun.
    due: Semaphore,
    next: AtomicU64,
    stop: CancellationToken,
}

impl Arrivals {
    /// Clients that send one request after the other for this length from `begin` on.
    pub(super) fn closed(begin: Instant, length: Duration, stop: CancellationToken) -> Self {
        Self::Closed { next: AtomicU64::new(0), begin, end: begin + length, stop }
    }

    /// Requests by a schedule from `begin` on; one that was not begun `patience` after its end is given up.
    pub(super) fn open(
        schedule: Schedule,
        begin: Instant,
        length: Duration,
        patience: Duration,
        stop: CancellationToken,
    ) -> Self {
        Self::Open(Arc::new(Open {
            schedule,
            begin,
            last_begin: begin + length + patience,
            due: Semaphore::new(0),
            next: AtomicU64::new(0),
            stop,
        }))
    }

    /// Starts the thread that keeps an open loop's time. A thread of its own, since the runtime's timers tell
    /// milliseconds apart, and requests may take a tenth of one.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(super) fn start(&self) -> std::io::Result<()> {
        if let Self::Open(open) = self {
            let open = Arc::clone(open);
            thread::Builder::new().name("arrivals".to_owned()).spawn(move || open.keep_time())?;
        }
        Ok(())
    }

    /// Waits for the next request's turn; none when there are no more.
    pub(super) async fn next(&self) -> Option<Turn> {
        match self {
            Self::Closed { next, begin, end, stop } => {
                if Instant::now() < *begin {
                    tokio::time::sleep_until((*begin).into()).await;
                }
                let intended = Instant::now();
                (intended < *end && !stop.is_cancelled()).then(|| Turn {
                    number: next.fetch_add(1, Ordering::Relaxed),
                    intended,
                    place_was_free: None,
                })
            }
            Self::Open(open) => open.next().await,
        }
    }

    /// How many requests of an open loop are meant to begin from `from` on and before `to`; none is said of a closed one.
    pub(super) fn due_between(&self, from: Duration, to: Duration) -> Option<u64> {
        let Self::Open(open) = self else { return None };
        let before = |time: Duration| time.checked_sub(INSTANT).map_or(0, |time| open.schedule.due(time));
        Some(before(to).saturating_sub(before(from)))
    }
}

impl Open {
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
        // One that finds no request behind its permit hands it on, so that all come to their end.
        self.due.add_permits(1);
    }

    async fn next(&self) -> Option<Turn> {
        let free_since = Instant::now();
        // It is never closed.
        self.due.acquire().await.ok()?.forget();
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let now = Instant::now();
        if number >= self.schedule.total() || self.stop.is_cancelled() || now >= self.last_begin {
            self.due.add_permits(1);
            return None;
        }
        let intended = self.begin + self.schedule.start(number);
        Some(Turn { number, intended, place_was_free: Some(free_since <= intended) })
    }
}

/// Sleeps are lengthened by 50 µs on Linux, so that the system can wake several sleepers at once. Where that cannot be
/// changed, requests begin so much later, which the results show.
fn make_sleep_exact() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An open loop of ten requests that began a minute ago, with this much patience.
    fn overdue(patience: Duration) -> Arc<Arrivals> {
        let schedule = Schedule::new(10.0, Duration::from_secs(1));
        let begin = Instant::now().checked_sub(Duration::from_mins(1)).unwrap();
        let stop = CancellationToken::new();
        Arc::new(Arrivals::open(schedule, begin, Duration::from_secs(1), patience, stop))
    }

    async fn turns(arrivals: &Arc<Arrivals>) -> Vec<Turn> {
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
    async fn what_found_no_place_in_time_begins_late_and_keeps_its_time() {
        let arrivals = overdue(Duration::from_mins(10));
        let turns = turns(&arrivals).await;
        assert_eq!(turns.iter().map(|turn| turn.number).collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
        for pair in turns.windows(2) {
            assert_eq!(pair[1].intended.duration_since(pair[0].intended), Duration::from_millis(100));
        }
        assert!(turns.iter().all(|turn| turn.place_was_free == Some(false)));
        let due = |from, to| arrivals.due_between(Duration::from_millis(from), Duration::from_millis(to));
        assert_eq!([due(0, 1_000), due(200, 1_000), due(200, 201), due(0, 0)], [10, 8, 1, 0].map(Some));
    }

    #[tokio::test]
    async fn what_waited_for_longer_than_a_request_may_take_never_begins() {
        assert_eq!(turns(&overdue(Duration::from_secs(1))).await.len(), 0);
    }

    #[tokio::test]
    async fn clients_end_with_the_time() {
        let stop = CancellationToken::new();
        let ended = Arrivals::closed(Instant::now(), Duration::ZERO, stop.clone());
        assert!(ended.next().await.is_none() && ended.due_between(Duration::ZERO, Duration::MAX).is_none());
        let arrivals = Arrivals::closed(Instant::now(), Duration::from_mins(10), stop.clone());
        assert_eq!([arrivals.next().await.unwrap().number, arrivals.next().await.unwrap().number], [0, 1]);
        stop.cancel();
        assert!(arrivals.next().await.is_none());
    }
}
