//! Limits how deep values and elements nest that others send.

use std::{borrow::BorrowMut, iter::from_fn};

use memchr::memchr2;
use serde::{Deserialize, de::Error as _};

/// Maximum depth of JSON values and of XML elements.
pub const MAX_DEPTH: usize = 64;

/// A document that nests deeper than [`MAX_DEPTH`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be nested at most {MAX_DEPTH} levels deep (line {line} is deeper)")]
pub struct TooDeep {
    /// From 1.
    pub line: u64,
}

/// Reads JSON that another system sent.
///
/// # Errors
/// Malformed JSON, a value of another type, or one that is [`TooDeep`].
pub fn read_json<'a, T: Deserialize<'a>>(json: &'a [u8]) -> serde_json::Result<T> {
    check_json_depth(json).map_err(serde_json::Error::custom)?;
    serde_json::from_slice(json)
}

/// Checks how deep arrays and objects nest. Malformed JSON may pass.
///
/// # Errors
/// The first value that is too deep.
pub fn check_json_depth(json: &[u8]) -> Result<(), TooDeep> {
    let mut depth = 0_usize;
    for (place, byte) in outside_of_texts(json) {
        match byte {
            b'{' | b'[' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    let lines = json[..place].split(|byte| *byte == b'\n').count();
                    return Err(TooDeep { line: lines as u64 });
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

/// Counts beginnings of arrays and objects, and separators: about the values.
pub fn count_json_values(json: &[u8]) -> usize {
    JsonValueCounter::default().count(json)
}

/// Counts the values of JSON that comes in pieces.
#[derive(Debug, Default)]
pub struct JsonValueCounter {
    values: usize,
    texts: TextState,
}

impl JsonValueCounter {
    /// Counts the values up to the end of the next piece.
    pub fn count(&mut self, piece: &[u8]) -> usize {
        let is_one = |(_, byte): &(usize, u8)| matches!(byte, b'{' | b'[' | b',');
        self.values += outside_of_texts_after(&mut self.texts, piece).filter(is_one).count();
        self.values
    }
}

/// Where a piece of JSON ended.
#[derive(Debug, Default)]
struct TextState {
    is_in_text: bool,
    is_escaped: bool,
}

/// Bytes of JSON outside of its texts, and their places.
///
/// The opening quote of a text is one of them.
pub(crate) fn outside_of_texts(json: &[u8]) -> impl Iterator<Item = (usize, u8)> {
    outside_of_texts_after(TextState::default(), json)
}

fn outside_of_texts_after(
    mut state: impl BorrowMut<TextState>,
    json: &[u8],
) -> impl Iterator<Item = (usize, u8)> {
    let mut next = 0;
    from_fn(move || {
        let state = state.borrow_mut();
        if state.is_in_text {
            next = state.end_of_text(json, next);
        }
        let (place, byte) = (next, *json.get(next)?);
        next += 1;
        state.is_in_text = byte == b'"';
        Some((place, byte))
    })
}

impl TextState {
    /// The place behind the text's closing quote, or the end of the piece.
    fn end_of_text(&mut self, json: &[u8], mut place: usize) -> usize {
        if self.is_escaped && place < json.len() {
            self.is_escaped = false;
            place += 1;
        }
        while let Some(found) = json.get(place..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
            place += found + 1;
            if json[place - 1] == b'"' {
                self.is_in_text = false;
                return place;
            }
            self.is_escaped = place == json.len();
            // The escaped character.
            place += 1;
        }
        json.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};
    use serde_json::Value;

    use super::*;

    #[test]
    fn escape_at_the_end_of_a_piece_reaches_into_the_next() {
        let mut counter = JsonValueCounter::default();
        assert_eq!([r#"["a\"#, r#"",[""#, r#",["]"#].map(|piece| counter.count(piece.as_bytes())), [1, 1, 3]);
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        #[test]
        fn values_in_pieces_are_those_of_the_whole(json in r#"([\[{,"\\\\x]|"(\\\\.|[,\[a])*")*"#, pieces in vec(0_usize..64, 0..8)) {
            let mut ends: Vec<usize> = pieces.into_iter().map(|end| end.min(json.len())).collect();
            ends.extend([0, json.len()]);
            ends.sort_unstable();
            let mut counter = JsonValueCounter::default();
            let counts: Vec<usize> = ends.windows(2).map(|piece| counter.count(&json.as_bytes()[piece[0]..piece[1]])).collect();
            prop_assert_eq!(counts.last(), Some(&count_json_values(json.as_bytes())));
        }
    }

    #[test]
    fn json_nested_too_deep_is_refused_by_its_line() {
        let nested = |depth| format!("{}\n{}", "[\n".repeat(depth), "]".repeat(depth));
        assert!(read_json::<Value>(nested(MAX_DEPTH).as_bytes()).is_ok());
        let refused = read_json::<Value>(nested(MAX_DEPTH + 1).as_bytes()).unwrap_err();
        assert_eq!(refused.to_string(), "must be nested at most 64 levels deep (line 65 is deeper)");
    }

    #[test]
    fn brackets_in_texts_and_in_a_row_are_not_nested() {
        let texts = serde_json::json!({"a": "[".repeat(100), "\"{": "\\\"[[".repeat(100)}).to_string();
        let row = format!("[{}{{}}]", "[{}],".repeat(100));
        for json in [texts, row] {
            assert_eq!(check_json_depth(json.as_bytes()), Ok(()), "{json}");
        }
    }
}
