//! How failing external sources are left alone.

use serde::{Deserialize, Serialize};

/// The longest pause that a suspension may be set to: a day.
const MOST_SUSPENSION_MS: u64 = 24 * 60 * 60 * 1_000;

/// When and for how long failing external sources are left alone, by how their calls failed (decisions 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Suspension {
    /// It could not be reached, or took no calls. Where it said for how long (`Retry-After`), the first failure is enough,
    /// and it is left alone for that long at least, up to a day.
    pub unavailable: SuspensionRule,
    /// It refused the credentials.
    pub unauthorized: SuspensionRule,
    /// Nothing in its answer was usable.
    pub invalid: SuspensionRule,
    /// The search failed there.
    pub error: SuspensionRule,
    /// It did not answer within its own timeout.
    pub timeout: SuspensionRule,
}

/// When and for how long a source is left alone that fails in one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SuspensionRule {
    /// So many such failures without an answer in between.
    pub failures: u32,
    /// The first pause, in milliseconds; each further one is twice as long.
    pub least_ms: u64,
    /// The longest pause, in milliseconds.
    pub most_ms: u64,
}

impl Default for Suspension {
    fn default() -> Self {
        let rule = |failures, least_ms, most_ms| SuspensionRule { failures, least_ms, most_ms };
        Self {
            unavailable: rule(3, 1_000, 60_000),
            unauthorized: rule(2, 5_000, 300_000),
            invalid: rule(5, 5_000, 300_000),
            error: rule(5, 1_000, 30_000),
            timeout: rule(5, 1_000, 30_000),
        }
    }
}

impl Suspension {
    /// # Errors
    /// A message for the operator that names the setting.
    pub(super) fn check(&self) -> Result<(), String> {
        let rules = [
            ("unavailable", self.unavailable),
            ("unauthorized", self.unauthorized),
            ("invalid", self.invalid),
            ("error", self.error),
            ("timeout", self.timeout),
        ];
        for (name, SuspensionRule { failures, least_ms, most_ms }) in rules {
            if failures == 0 {
                return Err(format!("suspension.{name}.failures must be at least 1"));
            }
            if !(1..=MOST_SUSPENSION_MS).contains(&most_ms) || !(1..=most_ms).contains(&least_ms) {
                return Err(format!(
                    "suspension.{name}: least_ms must be 1 to most_ms, and most_ms at most {MOST_SUSPENSION_MS} (a day)"
                ));
            }
        }
        Ok(())
    }
}
