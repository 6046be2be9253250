use serde::{Deserialize, Serialize};

const LONGEST_PAUSE_MS: u64 = 24 * 60 * 60 * 1_000;

/// The settings of cached pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CacheSettings {
    /// External pages are fresh for this time, in milliseconds; 0 shares concurrent calls only.
    pub fresh_ms: u64,
    /// Stale pages stand in for failures for this time, in milliseconds.
    pub stale_ms: u64,
    /// The bytes of all pages; a quarter is for built-in ones.
    pub bytes: u64,
}

impl Default for CacheSettings {
    fn default() -> Self {
        Self { fresh_ms: 3_000, stale_ms: 60_000, bytes: 64 << 20 }
    }
}

/// The suspension of failing sources, by kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SuspensionSettings {
    /// Not reached, or turned away. `Retry-After` suspends at the first failure, up to a day.
    pub unavailable: SuspensionRule,
    /// Credentials refused.
    pub unauthorized: SuspensionRule,
    /// No usable answer.
    pub invalid: SuspensionRule,
    /// The search failed there.
    pub error: SuspensionRule,
    /// No answer within the source's timeout.
    pub timeout: SuspensionRule,
}

/// When and for how long a source is suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SuspensionRule {
    /// Failures without an answer in between.
    pub failures: u32,
    /// The first pause in milliseconds; each further one doubles.
    pub least_ms: u64,
    /// The longest pause in milliseconds.
    pub most_ms: u64,
}

impl Default for SuspensionSettings {
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

impl SuspensionSettings {
    /// Errors name the setting.
    pub fn check(&self) -> Result<(), String> {
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
            if !(1..=LONGEST_PAUSE_MS).contains(&most_ms) || !(1..=most_ms).contains(&least_ms) {
                return Err(format!(
                    "suspension.{name}: least_ms must be 1 to most_ms, and most_ms at most {LONGEST_PAUSE_MS} (a day)"
                ));
            }
        }
        Ok(())
    }
}
