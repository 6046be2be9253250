//! Promises about any cursor, for the fuzzers of `tests/fuzz`.

#![allow(clippy::missing_panics_doc, reason = "each panics where a promise is broken")]

use crate::cursor::{CursorKey, PageCursor};

/// Seals nothing, so that a fuzzer reaches what is sealed.
struct OpenKey;

impl CursorKey for OpenKey {
    fn seal(&self, _: &[u8], plain: &[u8]) -> Option<Vec<u8>> {
        Some(plain.to_vec())
    }

    fn open(&self, _: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        Some(sealed.to_vec())
    }
}

/// A cursor's text, or its plain bytes: what opens is sealed and opened alike again.
pub fn cursor(bytes: &[u8]) {
    let text = std::str::from_utf8(bytes).ok().and_then(open);
    for opened in [text, postcard::from_bytes(bytes).ok()].into_iter().flatten() {
        let Ok(sealed) = opened.seal(&OpenKey, b"") else { continue };
        let again = open(&sealed).map(|again| again.seal(&OpenKey, b"").ok());
        assert_eq!(again, Some(Some(sealed)));
    }
}

fn open(text: &str) -> Option<PageCursor> {
    PageCursor::open(text, &OpenKey, b"").ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn wild_cursors_hold_what_the_fuzzer_asks() {
        trawl_seeds::each_wild_file("cursors", super::cursor).unwrap();
    }
}
