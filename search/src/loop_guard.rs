//! Detects cursors in a circle, in constant space inside the opaque cursor.

#[cfg(test)]
mod tests;

use aws_lc_rs::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

pub(crate) type Fingerprint = [u8; 8];

pub(crate) fn fingerprint(text: &str) -> Fingerprint {
    let mut print = Fingerprint::default();
    print.iter_mut().zip(digest(&SHA256, text.as_bytes()).as_ref()).for_each(|(to, from)| *to = *from);
    print
}

/// Brent's cycle detection: remembers the cursor at each power of two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LoopGuard {
    remembered: Option<Fingerprint>,
    passed: u32,
}

impl LoopGuard {
    pub(crate) fn was_at(&self, cursor: &str) -> bool {
        self.remembered.is_some_and(|remembered| remembered == fingerprint(cursor))
    }

    pub(crate) fn pass(&mut self, cursor: &str) {
        self.passed = self.passed.saturating_add(1);
        if self.passed.is_power_of_two() {
            self.remembered = Some(fingerprint(cursor));
        }
    }
}
