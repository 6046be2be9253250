//! The use of permits, which fades.

use std::cmp::Ordering;
use std::time::Duration;

use tokio::time::Instant;

/// Time after which a use counts half.
pub(super) const HALF_LIFE: Duration = Duration::from_secs(10);

/// The permits that a group or member holds, and used lately.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    pub(super) held: usize,
    /// Seconds of use at `at`.
    seconds: f64,
    at: Instant,
    /// Turn at which a permit came last.
    turn: u64,
}

impl Usage {
    pub(super) fn none(at: Instant) -> Self {
        Self { held: 0, seconds: 0.0, at, turn: 0 }
    }

    pub(super) fn seconds(&self, now: Instant) -> f64 {
        let half_lives = now.duration_since(self.at).as_secs_f64() / HALF_LIFE.as_secs_f64();
        self.seconds * (-half_lives).exp2()
    }

    pub(super) fn begin(&mut self, count: usize, turn: u64) {
        self.held += count;
        self.turn = turn;
    }

    pub(super) fn end(&mut self, count: usize, used: Duration, now: Instant) {
        self.held -= count;
        *self = Self { seconds: self.seconds(now) + used.as_secs_f64(), at: now, ..*self };
    }

    pub(super) fn compare(one: Option<&Self>, other: Option<&Self>, now: Instant) -> Ordering {
        let rank = |usage: Option<&Self>| usage.map_or((0.0, 0), |usage| (usage.seconds(now), usage.turn));
        let ((seconds, turn), (other_seconds, other_turn)) = (rank(one), rank(other));
        seconds.total_cmp(&other_seconds).then(turn.cmp(&other_turn))
    }
}
