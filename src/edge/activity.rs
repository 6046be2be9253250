//! What happens on one connection, and whether that is too little: without I/O and without a clock.
//!
//! There is one timer for each connection, not for each request: it is set anew only when it has run out.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// How long a client may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// For the head of a request.
    pub(super) head: Duration,
    /// Between two requests, and until it takes more of an answer.
    pub(super) idle: Duration,
}

impl Patience {
    /// Nothing is too late within this time.
    pub(super) fn least(self) -> Duration {
        self.head.min(self.idle)
    }
}

/// Whether a connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It does, and nothing can be too late before this time.
    LookAgain(Instant),
    /// Nothing was asked, or taken, in time.
    Close,
}

/// What happens on one connection.
#[derive(Debug)]
pub(super) struct Activity {
    state: Mutex<State>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    /// Requests that are being answered: the next one may be read before the last answer is let go of.
    asked: usize,
    /// While there are none: whether a head has begun to arrive.
    is_in_head: bool,
    /// Since when it is as it is.
    since: Instant,
    /// Since when the client takes nothing of what there is for it.
    held_up_since: Option<Instant>,
}

/// A request that is being answered, until it is dropped.
#[derive(Debug)]
pub(super) struct Asked {
    activity: Arc<Activity>,
}

impl Activity {
    /// A connection that was opened now. Its first head is waited for as if it had begun.
    pub(super) fn new(now: Instant) -> Self {
        let state = State { asked: 0, is_in_head: true, since: now, held_up_since: None };
        Self { state: Mutex::new(state) }
    }

    /// Something arrived.
    pub(super) fn receive(&self) {
        let mut state = self.lock();
        if state.asked == 0 && !state.is_in_head {
            state.is_in_head = true;
            state.since = Instant::now();
        }
    }

    /// The client was sent something, and took some of it or not.
    pub(super) fn send(&self, was_taken: bool) {
        let mut state = self.lock();
        if was_taken {
            state.held_up_since = None;
            if state.asked == 0 && !state.is_in_head {
                // The rest of an answer, which was let go of when the last of it was handed over.
                state.since = Instant::now();
            }
        } else {
            state.held_up_since.get_or_insert_with(Instant::now);
        }
    }

    /// The head of a request has arrived.
    pub(super) fn ask(self: &Arc<Self>) -> Asked {
        let mut state = self.lock();
        state.asked += 1;
        state.is_in_head = false;
        Asked { activity: Arc::clone(self) }
    }

    /// Whether the connection goes on.
    pub(super) fn judge(&self, now: Instant, patience: Patience) -> Verdict {
        let State { asked, is_in_head, since, held_up_since, .. } = *self.lock();
        // What begins from now on is not late before that.
        let soonest = now + patience.least();
        let until = match (held_up_since, asked, is_in_head) {
            (Some(since), ..) => since + patience.idle,
            (None, 0, false) => since + patience.idle,
            (None, 0, true) => since + patience.head,
            // What is asked has limits of its own.
            (None, ..) => soonest,
        };
        if until <= now { Verdict::Close } else { Verdict::LookAgain(until.min(soonest)) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        let mut state = self.activity.lock();
        state.asked -= 1;
        if state.asked == 0 {
            state.since = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Patience = Patience { head: Duration::from_secs(10), idle: Duration::from_secs(75) };

    async fn pass(seconds: u64) {
        tokio::time::advance(Duration::from_secs(seconds)).await;
    }

    /// So many seconds from now.
    fn again(seconds: u64) -> Verdict {
        Verdict::LookAgain(Instant::now() + Duration::from_secs(seconds))
    }

    fn judge(activity: &Activity) -> Verdict {
        activity.judge(Instant::now(), PATIENCE)
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_head_is_waited_for_from_the_opening_on() {
        let activity = Arc::new(Activity::new(Instant::now()));
        pass(4).await;
        // What comes in drops does not prolong it.
        activity.receive();
        assert_eq!(judge(&activity), again(6));
        pass(6).await;
        assert_eq!(judge(&activity), Verdict::Close);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_asked_is_waited_for_and_then_the_next_request() {
        let activity = Arc::new(Activity::new(Instant::now()));
        let asked = activity.ask();
        pass(1_000).await;
        assert_eq!(judge(&activity), again(10));
        drop(asked);
        pass(70).await;
        assert_eq!(judge(&activity), again(5));
        activity.receive();
        pass(5).await;
        assert_eq!(judge(&activity), again(5), "a head has begun");
        pass(5).await;
        assert_eq!(judge(&activity), Verdict::Close);
    }

    /// Whichever is the shorter, and although the timer was set for a head.
    #[tokio::test(start_paused = true)]
    async fn no_limit_is_overlooked_while_another_is_waited_for() {
        let patience = Patience { head: PATIENCE.idle, idle: PATIENCE.head };
        let activity = Arc::new(Activity::new(Instant::now()));
        assert_eq!(activity.judge(Instant::now(), patience), again(10));
        drop(activity.ask());
        pass(10).await;
        assert_eq!(activity.judge(Instant::now(), patience), Verdict::Close);
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_asked_for_long_closes_it() {
        let activity = Arc::new(Activity::new(Instant::now()));
        drop(activity.ask());
        assert_eq!(judge(&activity), again(10), "a head may begin at any time");
        pass(75).await;
        assert_eq!(judge(&activity), Verdict::Close);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_of_which_nothing_is_taken_is_given_up() {
        let activity = Arc::new(Activity::new(Instant::now()));
        let _asked = activity.ask();
        activity.send(false);
        pass(50).await;
        activity.send(false);
        pass(20).await;
        assert_eq!(judge(&activity), again(5));
        activity.send(true);
        pass(5).await;
        assert_eq!(judge(&activity), again(10), "some of it was taken");
        activity.send(false);
        pass(75).await;
        assert_eq!(judge(&activity), Verdict::Close);
    }

    #[tokio::test(start_paused = true)]
    async fn the_next_request_has_its_time_from_the_last_that_was_taken() {
        let activity = Arc::new(Activity::new(Instant::now()));
        let asked = activity.ask();
        activity.send(false);
        drop(asked);
        pass(74).await;
        activity.send(true);
        pass(74).await;
        assert_eq!(judge(&activity), again(1));
        pass(1).await;
        assert_eq!(judge(&activity), Verdict::Close);
    }
}
