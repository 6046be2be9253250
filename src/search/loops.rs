//! Notices a source whose cursors lead in a circle, although nobody keeps the pages of a caller: what is remembered
//! travels in the opaque cursor and does not grow.

#[cfg(test)]
mod tests;

use aws_lc_rs::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

/// A few bytes that stand for a text.
pub(super) type Fingerprint = [u8; 8];

/// The fingerprint of a text, the same on every server.
pub(super) fn fingerprint(text: &str) -> Fingerprint {
    let mut print = Fingerprint::default();
    print.iter_mut().zip(digest(&SHA256, text.as_bytes()).as_ref()).for_each(|(to, from)| *to = *from);
    print
}

/// Brent's cycle detection: one cursor is remembered, a later one each time the way has doubled. A circle is noticed
/// before the way is three times as long as the circle and the way into it together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LoopGuard {
    remembered: Option<Fingerprint>,
    passed: u32,
}

impl LoopGuard {
    /// Whether this is the cursor that is remembered.
    pub(super) fn was_at(&self, cursor: &str) -> bool {
        self.remembered.is_some_and(|remembered| remembered == fingerprint(cursor))
    }

    /// Goes on to the page of this cursor.
    pub(super) fn pass(&mut self, cursor: &str) {
        self.passed = self.passed.saturating_add(1);
        if self.passed.is_power_of_two() {
            self.remembered = Some(fingerprint(cursor));
        }
    }
}
