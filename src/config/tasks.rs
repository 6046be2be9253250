//! Quick handling of tasks.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The callback's maximum timeout (book: reference/tasks.md).
const MAX_CALLBACK_MS: u64 = 5_000;

/// Quick handling of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Tasks {
    /// Timeout of a callback, from name resolution to the head of the answer.
    pub callback_timeout_ms: u64,
    /// Concurrent quick handlings; more get 503.
    pub callbacks_at_once: usize,
    /// Share of one application. Counts a name resolution beyond its timeout.
    pub callbacks_at_once_per_application: usize,
}

impl Default for Tasks {
    fn default() -> Self {
        Self {
            callback_timeout_ms: MAX_CALLBACK_MS,
            callbacks_at_once: 128,
            callbacks_at_once_per_application: 16,
        }
    }
}

impl Tasks {
    /// Timeout of a callback.
    pub fn callback_timeout(&self) -> Duration {
        Duration::from_millis(self.callback_timeout_ms)
    }

    pub(super) fn check(&self) -> Result<(), String> {
        if !(1..=MAX_CALLBACK_MS).contains(&self.callback_timeout_ms) {
            return Err(format!("tasks.callback_timeout_ms: must be 1 to {MAX_CALLBACK_MS} (milliseconds)"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_setting_is_named() {
        assert_eq!(Tasks::default().check(), Ok(()));
        for callback_timeout_ms in [0, 5_001] {
            let refusal = Tasks { callback_timeout_ms, ..Tasks::default() }.check().unwrap_err();
            assert!(refusal.contains("callback_timeout_ms"));
        }
    }
}
