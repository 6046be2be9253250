//! Part of a long text.

use std::ops::Range;

/// Longest part in bytes.
pub(super) const MAX_PART_BYTES: usize = 64 << 10;
/// Holds any character.
pub(super) const MIN_PART_BYTES: usize = 4;

/// Returns the part of `length` bytes from `offset` on.
///
/// Both ends move back to the beginning of a character, so that parts join without gaps.
pub(super) fn part(text: &str, offset: usize, length: usize) -> &str {
    let Range { start, end } = offset.min(text.len())..offset.saturating_add(length).min(text.len());
    &text[text.floor_char_boundary(start)..text.floor_char_boundary(end)]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{MIN_PART_BYTES, part};

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        #[test]
        fn parts_join_to_the_whole_text(text in "[a-z港é🚢 ]{0,60}", length in MIN_PART_BYTES..40) {
            let parts = (0..text.len()).step_by(length).map(|offset| part(&text, offset, length));
            let parts: Vec<&str> = parts.collect();
            prop_assert!(parts.iter().all(|part| part.len() <= length + 3));
            prop_assert_eq!(parts.concat(), text);
        }
    }

    #[test]
    fn part_behind_the_end_is_empty() {
        assert_eq!(part("港", 3, 10), "");
        assert_eq!(part("港", usize::MAX, usize::MAX), "");
    }
}
