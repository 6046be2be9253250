//! Suspension as a pure state machine.
//!
//! Failures of one cause add up until an answer. Then pauses grow, each ended by one probe. Times are epoch milliseconds.

#[cfg(test)]
mod tests;

use std::{mem, time::Duration};

use serde::Serialize;

use crate::{
    settings::{SuspensionRule, SuspensionSettings},
    source::FailureKind,
};

const MAX_RETRY_AFTER: Duration = Duration::from_hours(24);

/// A suspension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Suspended {
    /// When the next search probes it, epoch milliseconds.
    pub until: i64,
    /// The last failure.
    pub cause: FailureKind,
    /// Suspensions since the last answer.
    pub times: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Permission {
    epoch: u64,
    is_probe: bool,
}

impl Permission {
    pub(super) fn is_probe(self) -> bool {
        self.is_probe
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallEnd {
    Answered,
    Failed { cause: FailureKind, retry_after: Option<Duration> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transition {
    /// Suspended for the first time or again.
    Suspended(Suspended),
    Recovered {
        times: u32,
    },
}

#[derive(Debug)]
pub(super) struct Suspension {
    settings: SuspensionSettings,
    state: SuspensionState,
    /// Grows with each change, to recognise earlier calls.
    epoch: u64,
    registered_in: u64,
}

#[derive(Debug)]
enum SuspensionState {
    Active {
        failures: [u32; 5],
    },
    Paused {
        since: i64,
        suspended: Suspended,
        /// Whether `Retry-After` asked for it. Then only a probe ends it.
        is_requested: bool,
        is_probed: bool,
    },
}

impl SuspensionState {
    const FRESH: Self = Self::Active { failures: [0; 5] };
}

impl Suspension {
    pub(super) fn new(settings: SuspensionSettings) -> Self {
        Self { settings, state: SuspensionState::FRESH, epoch: 0, registered_in: 0 }
    }

    /// Permits a call. After a pause, one at a time is the probe.
    pub(super) fn admit(&mut self, now: i64) -> Result<Permission, Suspended> {
        let epoch = self.epoch;
        match &mut self.state {
            SuspensionState::Active { .. } => Ok(Permission { epoch, is_probe: false }),
            // A clock that goes back ends the pause.
            SuspensionState::Paused { since, suspended, is_probed, .. }
                if *is_probed || (*since..suspended.until).contains(&now) =>
            {
                Err(*suspended)
            }
            SuspensionState::Paused { is_probed, .. } => {
                *is_probed = true;
                Ok(Permission { epoch, is_probe: true })
            }
        }
    }

    /// `chance`, from 0 to 1, spreads pauses of several servers.
    pub(super) fn judge(
        &mut self,
        now: i64,
        permission: Permission,
        end: CallEnd,
        chance: f64,
    ) -> Option<Transition> {
        if permission.epoch < self.registered_in {
            return None;
        }
        match end {
            CallEnd::Answered => self.take_answer(permission),
            CallEnd::Failed { cause, retry_after } => {
                let requested = retry_after.map(|wait| wait.min(MAX_RETRY_AFTER)).unwrap_or_default();
                self.take_failure(now, permission, cause, requested, chance)
            }
        }
    }

    /// Returns a permission without a result.
    pub(super) fn release(&mut self, permission: Permission) {
        if let SuspensionState::Paused { is_probed, .. } = &mut self.state
            && permission.is_probe
            && permission.epoch == self.epoch
        {
            *is_probed = false;
        }
    }

    /// Calls in flight no longer count.
    pub(super) fn reset(&mut self) {
        self.enter(SuspensionState::FRESH);
        self.registered_in = self.epoch;
    }

    /// Active, and the last ended call was answered.
    pub(super) fn is_steady(&self) -> bool {
        matches!(&self.state, SuspensionState::Active { failures: [0, 0, 0, 0, 0] })
    }

    pub(super) fn suspended(&self) -> Option<Suspended> {
        match &self.state {
            SuspensionState::Active { .. } => None,
            SuspensionState::Paused { suspended, .. } => Some(*suspended),
        }
    }

    fn enter(&mut self, state: SuspensionState) -> SuspensionState {
        self.epoch += 1;
        mem::replace(&mut self.state, state)
    }

    fn take_answer(&mut self, permission: Permission) -> Option<Transition> {
        let is_probe = permission.is_probe && permission.epoch == self.epoch;
        match &mut self.state {
            SuspensionState::Active { failures } => {
                *failures = [0; 5];
                None
            }
            // The source itself requested the pause.
            SuspensionState::Paused { is_requested: true, .. } if !is_probe => None,
            SuspensionState::Paused { suspended, .. } => {
                let times = suspended.times;
                self.enter(SuspensionState::FRESH);
                Some(Transition::Recovered { times })
            }
        }
    }

    fn take_failure(
        &mut self,
        now: i64,
        permission: Permission,
        cause: FailureKind,
        requested: Duration,
        chance: f64,
    ) -> Option<Transition> {
        let is_current = permission.epoch == self.epoch;
        let times = match &mut self.state {
            SuspensionState::Active { failures } if is_current || !requested.is_zero() => {
                let failures = &mut failures[cause as usize];
                *failures = failures.saturating_add(1);
                if requested.is_zero() && *failures < rule(&self.settings, cause).failures {
                    return None;
                }
                1
            }
            SuspensionState::Paused { suspended, .. } if is_current => suspended.times.saturating_add(1),
            SuspensionState::Paused { suspended, is_requested, .. } if !requested.is_zero() => {
                suspended.until = suspended.until.max(later(now, requested));
                *is_requested = true;
                return None;
            }
            // Earlier calls repeat the reason of the change.
            SuspensionState::Active { .. } | SuspensionState::Paused { .. } => return None,
        };
        let pause = pause(rule(&self.settings, cause), times, chance).max(requested);
        let suspended = Suspended { until: later(now, pause), cause, times };
        let is_requested = !requested.is_zero();
        self.enter(SuspensionState::Paused { since: now, suspended, is_requested, is_probed: false });
        Some(Transition::Suspended(suspended))
    }
}

fn rule(settings: &SuspensionSettings, cause: FailureKind) -> &SuspensionRule {
    match cause {
        FailureKind::Timeout => &settings.timeout,
        FailureKind::Unavailable => &settings.unavailable,
        FailureKind::Unauthorized => &settings.unauthorized,
        FailureKind::Invalid => &settings.invalid,
        FailureKind::Error => &settings.error,
    }
}

/// Doubles each time, and is up to a quarter longer by chance.
///
/// At the longest pause it is up to a fifth shorter.
fn pause(rule: &SuspensionRule, times: u32, chance: f64) -> Duration {
    let (least, most) = (Duration::from_millis(rule.least_ms), Duration::from_millis(rule.most_ms));
    let doubled = least.saturating_mul(2_u32.saturating_pow(times.saturating_sub(1))).min(most);
    let longest = (doubled * 5 / 4).min(most);
    let shortest = (longest * 4 / 5).max(least);
    (shortest + longest.saturating_sub(shortest).mul_f64(chance)).clamp(least, most)
}

pub(super) fn later(now: i64, wait: Duration) -> i64 {
    now.saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX))
}
