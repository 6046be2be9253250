//! Limits how deep values and elements nest that others send.

use std::iter::from_fn;

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
    outside_of_texts(json).filter(|(_, byte)| matches!(byte, b'{' | b'[' | b',')).count()
}

/// Bytes of JSON outside of its texts, and their places.
///
/// The opening quote of a text is one of them.
pub(crate) fn outside_of_texts(json: &[u8]) -> impl Iterator<Item = (usize, u8)> {
    let mut next = 0;
    from_fn(move || {
        let (place, byte) = (next, *json.get(next)?);
        next += 1;
        if byte == b'"' {
            next = end_of_text(json, next);
        }
        Some((place, byte))
    })
}

fn end_of_text(json: &[u8], mut place: usize) -> usize {
    while let Some(found) = json.get(place..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        place += found + 1;
        if json[place - 1] == b'"' {
            return place;
        }
        // The escaped character.
        place += 1;
    }
    json.len()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

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
