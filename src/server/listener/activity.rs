//! A connection's activity and deadline.
//!
//! hyper's `header_read_timeout` does not separate `idle_timeout_ms` from `header_timeout_ms`. It has no write timeout.

use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::Instant,
};

#[derive(Clone, Copy, Debug)]
pub(super) struct ConnectionTimeouts {
    /// Time from the opening, or a head's first byte, to its last.
    pub(super) head: Duration,
    /// Time between requests, and for unread answers.
    pub(super) idle: Duration,
    /// Time from the stop to the end of heads and bodies that still arrive.
    pub(super) stop: Duration,
}

#[derive(Debug)]
pub(super) struct Activity {
    state: Mutex<ActivityState>,
}

#[derive(Debug)]
struct ActivityState {
    /// Two where hyper reads ahead.
    requests_in_flight: usize,
    is_head_begun: bool,
    bodies_arriving: usize,
    since: Instant,
    /// Time at which the first of the arriving bodies began.
    arriving_since: Instant,
    /// Start of backpressure.
    blocked_since: Option<Instant>,
    /// Whether the connection ends at once, amid its request.
    is_abandoned: bool,
}

#[derive(Debug)]
pub(super) struct InFlightRequest(Arc<Activity>);

impl Activity {
    /// The first head counts as begun.
    pub(super) fn new(now: Instant) -> Self {
        let state = ActivityState {
            requests_in_flight: 0,
            is_head_begun: true,
            bodies_arriving: 0,
            since: now,
            arriving_since: now,
            blocked_since: None,
            is_abandoned: false,
        };
        Self { state: Mutex::new(state) }
    }

    pub(super) fn begin_body(&self) {
        let mut state = self.lock();
        if state.bodies_arriving == 0 {
            state.arriving_since = Instant::now();
        }
        state.bodies_arriving += 1;
    }

    pub(super) fn end_body(&self) {
        self.lock().bodies_arriving -= 1;
    }

    pub(super) fn begin_request(self: &Arc<Self>) -> InFlightRequest {
        let mut state = self.lock();
        state.requests_in_flight += 1;
        state.is_head_begun = false;
        InFlightRequest(Arc::clone(self))
    }

    fn receive(&self) {
        let mut state = self.lock();
        if state.requests_in_flight == 0 && !state.is_head_begun {
            state.is_head_begun = true;
            state.since = Instant::now();
        }
    }

    pub(super) fn send(&self, was_taken: bool) {
        let mut state = self.lock();
        if was_taken {
            state.blocked_since = None;
            if state.requests_in_flight == 0 && !state.is_head_begun {
                // The buffered rest of an answer.
                state.since = Instant::now();
            }
        } else {
            state.blocked_since.get_or_insert_with(Instant::now);
        }
    }

    /// The time since which there is no request.
    ///
    /// `None` during one, and until its answer is sent.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let state = self.lock();
        (state.requests_in_flight == 0 && state.blocked_since.is_none()).then_some(state.since)
    }

    /// The time since which a request waits for its client.
    ///
    /// The client has to send its body, or to read its answer.
    pub(super) fn stalled_since(&self) -> Option<Instant> {
        let state = self.lock();
        state.blocked_since.or((state.bodies_arriving > 0).then_some(state.arriving_since))
    }

    /// Ends the connection at its next look at the deadline.
    pub(super) fn abandon(&self) {
        self.lock().is_abandoned = true;
    }

    /// Returns the deadline; none during a request, which has its own limits.
    ///
    /// `stopped` is when the server began to stop.
    pub(super) fn deadline(&self, timeouts: ConnectionTimeouts, stopped: Option<Instant>) -> Option<Instant> {
        let state = self.lock();
        let is_arriving = state.bodies_arriving > 0 || state.requests_in_flight == 0;
        let stop = stopped.filter(|_| is_arriving).map(|stopped| stopped + timeouts.stop);
        if state.is_abandoned {
            return Some(state.since);
        }
        let usual = match (state.blocked_since, state.requests_in_flight, state.is_head_begun) {
            (Some(since), ..) => Some(since + timeouts.idle),
            (None, 0, true) => Some(state.since + timeouts.head),
            (None, 0, false) => Some(state.since + timeouts.idle),
            (None, ..) => None,
        };
        [usual, stop].into_iter().flatten().min()
    }

    fn lock(&self) -> MutexGuard<'_, ActivityState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for InFlightRequest {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.requests_in_flight -= 1;
        state.since = Instant::now();
    }
}

pub(super) struct MonitoredStream {
    stream: TcpStream,
    activity: Arc<Activity>,
}

impl MonitoredStream {
    pub(super) fn new(stream: TcpStream, activity: Arc<Activity>) -> Self {
        Self { stream, activity }
    }
}

impl AsyncRead for MonitoredStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.activity.receive();
        }
        read
    }
}

impl AsyncWrite for MonitoredStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.activity.send(sent.is_ready());
        sent
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.activity.send(sent.is_ready());
        sent
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUTS: ConnectionTimeouts = ConnectionTimeouts {
        head: Duration::from_secs(10),
        idle: Duration::from_secs(75),
        stop: Duration::from_secs(5),
    };

    async fn pass(seconds: u64) {
        tokio::time::advance(Duration::from_secs(seconds)).await;
    }

    fn seconds_left(activity: &Activity) -> Option<u64> {
        activity.deadline(TIMEOUTS, None).map(|deadline| (deadline - Instant::now()).as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn first_head_is_timed_from_the_opening() {
        let activity = Arc::new(Activity::new(Instant::now()));
        pass(4).await;
        activity.receive();
        assert_eq!(seconds_left(&activity), Some(6), "dripping bytes do not extend it");
    }

    #[tokio::test(start_paused = true)]
    async fn later_head_is_timed_from_its_first_byte() {
        let activity = Arc::new(Activity::new(Instant::now()));
        let request = activity.begin_request();
        pass(1_000).await;
        activity.receive();
        assert_eq!(seconds_left(&activity), None, "a request in flight has limits of its own");
        drop(request);
        pass(70).await;
        assert_eq!(seconds_left(&activity), Some(5), "idle");
        activity.receive();
        assert_eq!(seconds_left(&activity), Some(10));
    }

    #[tokio::test(start_paused = true)]
    async fn pipelined_request_keeps_the_connection_in_flight() {
        let activity = Arc::new(Activity::new(Instant::now()));
        let (first, second) = (activity.begin_request(), activity.begin_request());
        drop(first);
        assert_eq!(seconds_left(&activity), None);
        pass(20).await;
        drop(second);
        assert_eq!(seconds_left(&activity), Some(75));
    }

    #[tokio::test(start_paused = true)]
    async fn shorter_idle_timeout_replaces_the_timeout_of_the_head() {
        let timeouts = ConnectionTimeouts { head: TIMEOUTS.idle, idle: TIMEOUTS.head, ..TIMEOUTS };
        let activity = Arc::new(Activity::new(Instant::now()));
        assert_eq!(activity.deadline(timeouts, None), Some(Instant::now() + TIMEOUTS.idle));
        drop(activity.begin_request());
        assert_eq!(activity.deadline(timeouts, None), Some(Instant::now() + TIMEOUTS.head));
    }

    #[tokio::test(start_paused = true)]
    async fn blocked_write_is_timed_until_some_is_taken() {
        let activity = Arc::new(Activity::new(Instant::now()));
        let _request = activity.begin_request();
        activity.send(false);
        pass(50).await;
        activity.send(false);
        pass(20).await;
        assert_eq!(seconds_left(&activity), Some(5));
        activity.send(true);
        assert_eq!(seconds_left(&activity), None);
        activity.send(false);
        assert_eq!(seconds_left(&activity), Some(75));
    }

    #[tokio::test(start_paused = true)]
    async fn idle_time_counts_from_the_last_byte_taken() {
        let activity = Arc::new(Activity::new(Instant::now()));
        let request = activity.begin_request();
        activity.send(false);
        drop(request);
        pass(74).await;
        activity.send(true);
        pass(74).await;
        assert_eq!(seconds_left(&activity), Some(1));
    }
}
