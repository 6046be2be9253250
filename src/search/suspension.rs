//! When a failing source is left alone, for how long, and by which call it comes back (decisions 6.3).
//!
//! It does no I/O and knows no clock: times are handed in, epoch milliseconds, and so is chance.

#[cfg(test)]
mod tests;

use std::{mem, time::Duration};

use serde::Serialize;

use super::source::FailureKind;
use crate::config::{Suspension as Rules, SuspensionRule as Rule};

/// The longest that a source is left alone because it asked for it (`Retry-After`).
const LONGEST_ASKED_FOR: Duration = Duration::from_hours(24);

/// Why and until when a source is not asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Suspended {
    /// When it may be asked again, epoch milliseconds; once that is over, the next search probes it.
    pub until: i64,
    /// How the failure ended that led to it.
    pub cause: FailureKind,
    /// How often it was suspended since it last answered.
    pub times: u32,
}

/// Whether a source may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// It may; the permission comes back by [`Suspension::judge`] or [`Suspension::release`].
    Ask(Permission),
    /// It may not.
    LeaveAlone(Suspended),
}

/// What a call that was let through has to show when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Permission {
    /// The epoch in which it was given.
    epoch: u64,
    /// It is the one call that shows whether the source is back.
    is_probe: bool,
}

impl Permission {
    /// Whether it is the one call that shows whether the source is back.
    pub(super) fn is_probe(self) -> bool {
        self.is_probe
    }
}

/// What the end of a call says of its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It answered, however late, and even where it broke the contract without harm to its rows.
    Answered,
    /// It failed.
    Failed {
        /// How.
        cause: FailureKind,
        /// How long it asked to be left alone.
        retry_after: Option<Duration>,
    },
}

/// What a call's end changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The source is left alone from now on, or again.
    Suspended(Suspended),
    /// It is back, after having been suspended so often.
    Recovered {
        /// How often it was suspended.
        times: u32,
    },
}

/// Whether one source is in use or left alone.
#[derive(Debug)]
pub(super) struct Suspension {
    rules: Rules,
    state: State,
    /// Grows whenever the state changes, so that calls from before can be told.
    epoch: u64,
    /// The first epoch of the present registration.
    registered_in: u64,
}

#[derive(Debug)]
enum State {
    /// It is asked. Failures by cause since it last answered.
    InUse { failures: [u32; 5] },
    /// It is not asked, until a probe finds it back.
    LeftAlone {
        since: i64,
        suspended: Suspended,
        /// It asked for it itself, so that only a probe ends it.
        was_asked_for: bool,
        is_probed: bool,
    },
}

impl State {
    const FRESH: Self = Self::InUse { failures: [0; 5] };
}

impl Suspension {
    /// A source of which nothing is known yet.
    pub(super) fn new(rules: Rules) -> Self {
        Self { rules, state: State::FRESH, epoch: 0, registered_in: 0 }
    }

    /// Whether the source may be asked now. Of all who ask once a suspension is over, one gets the probe until that one ends.
    pub(super) fn ask(&mut self, now: i64) -> Decision {
        let epoch = self.epoch;
        match &mut self.state {
            State::InUse { .. } => Decision::Ask(Permission { epoch, is_probe: false }),
            // A clock that was put back ends it too: nobody waits for a time that comes twice.
            State::LeftAlone { since, suspended, is_probed, .. }
                if *is_probed || (*since..suspended.until).contains(&now) =>
            {
                Decision::LeaveAlone(*suspended)
            }
            State::LeftAlone { is_probed, .. } => {
                *is_probed = true;
                Decision::Ask(Permission { epoch, is_probe: true })
            }
        }
    }

    /// Takes the end of a call in. `chance`, from 0 to 1, spreads the pauses of several servers.
    pub(super) fn judge(
        &mut self,
        now: i64,
        permission: Permission,
        verdict: Verdict,
        chance: f64,
    ) -> Option<Change> {
        if permission.epoch < self.registered_in {
            return None;
        }
        match verdict {
            Verdict::Answered => self.take_answer(permission),
            Verdict::Failed { cause, retry_after } => {
                let asked_for = retry_after.map(|wait| wait.min(LONGEST_ASKED_FOR)).unwrap_or_default();
                self.take_failure(now, permission, cause, asked_for, chance)
            }
        }
    }

    /// A call ended without saying anything of its source: its caller went away, say.
    pub(super) fn release(&mut self, permission: Permission) {
        if let State::LeftAlone { is_probed, .. } = &mut self.state
            && permission.is_probe
            && permission.epoch == self.epoch
        {
            *is_probed = false;
        }
    }

    /// The source was registered anew: nothing of before counts, nor do calls that are still under way.
    pub(super) fn reset(&mut self) {
        self.enter(State::FRESH);
        self.registered_in = self.epoch;
    }

    /// Whether the source is in use and its last call that ended was answered.
    pub(super) fn is_steady(&self) -> bool {
        matches!(&self.state, State::InUse { failures: [0, 0, 0, 0, 0] })
    }

    /// Until when and why the source is left alone; `None` while it is in use.
    pub(super) fn suspended(&self) -> Option<Suspended> {
        match &self.state {
            State::InUse { .. } => None,
            State::LeftAlone { suspended, .. } => Some(*suspended),
        }
    }

    fn enter(&mut self, state: State) -> State {
        self.epoch += 1;
        mem::replace(&mut self.state, state)
    }

    fn take_answer(&mut self, permission: Permission) -> Option<Change> {
        let is_probe = permission.is_probe && permission.epoch == self.epoch;
        match &mut self.state {
            State::InUse { failures } => {
                *failures = [0; 5];
                None
            }
            // A call from before came through; that is no leave to go on where the source asked for a pause.
            State::LeftAlone { was_asked_for: true, .. } if !is_probe => None,
            State::LeftAlone { suspended, .. } => {
                let times = suspended.times;
                self.enter(State::FRESH);
                Some(Change::Recovered { times })
            }
        }
    }

    fn take_failure(
        &mut self,
        now: i64,
        permission: Permission,
        cause: FailureKind,
        asked_for: Duration,
        chance: f64,
    ) -> Option<Change> {
        let is_of_now = permission.epoch == self.epoch;
        let times = match &mut self.state {
            State::InUse { failures } if is_of_now || !asked_for.is_zero() => {
                let failures = &mut failures[cause as usize];
                *failures = failures.saturating_add(1);
                if asked_for.is_zero() && *failures < rule(&self.rules, cause).failures {
                    return None;
                }
                1
            }
            State::LeftAlone { suspended, .. } if is_of_now => suspended.times.saturating_add(1),
            State::LeftAlone { suspended, was_asked_for, .. } if !asked_for.is_zero() => {
                suspended.until = suspended.until.max(later(now, asked_for));
                *was_asked_for = true;
                return None;
            }
            // Calls that began before all say the same; the first ones were enough.
            State::InUse { .. } | State::LeftAlone { .. } => return None,
        };
        let pause = pause(rule(&self.rules, cause), times, chance).max(asked_for);
        let suspended = Suspended { until: later(now, pause), cause, times };
        let was_asked_for = !asked_for.is_zero();
        self.enter(State::LeftAlone { since: now, suspended, was_asked_for, is_probed: false });
        Some(Change::Suspended(suspended))
    }
}

fn rule(rules: &Rules, cause: FailureKind) -> &Rule {
    match cause {
        FailureKind::Timeout => &rules.timeout,
        FailureKind::Unavailable => &rules.unavailable,
        FailureKind::Unauthorized => &rules.unauthorized,
        FailureKind::Invalid => &rules.invalid,
        FailureKind::Error => &rules.error,
    }
}

/// The shortest pause, doubled with each time up to the longest; by chance up to a quarter longer, or, where that would be
/// too long, a fifth shorter.
fn pause(rule: &Rule, times: u32, chance: f64) -> Duration {
    let (least, most) = (Duration::from_millis(rule.least_ms), Duration::from_millis(rule.most_ms));
    let doubled = least.saturating_mul(2_u32.saturating_pow(times.saturating_sub(1))).min(most);
    let longest = (doubled * 5 / 4).min(most);
    let shortest = (longest * 4 / 5).max(least);
    (shortest + longest.saturating_sub(shortest).mul_f64(chance)).clamp(least, most)
}

fn later(now: i64, wait: Duration) -> i64 {
    now.saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX))
}
