//! Subscriptions.

use serde::{Deserialize, Serialize};

/// Subscriptions.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Subscriptions {
    /// Concurrent runs.
    pub at_once: usize,
}

impl Default for Subscriptions {
    fn default() -> Self {
        Self { at_once: 8 }
    }
}
