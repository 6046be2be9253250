//! Splits JSON Lines and JSON arrays into raw rows.
//!
//! A broken or oversized row costs only itself.

use std::io::{self, BufRead, Read};

/// The server would refuse longer rows.
pub(crate) const MAX_RECORD_BYTES: usize = 16 * 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordOutcome {
    Record,
    TooLong,
    /// The file ends inside the array.
    Unclosed,
    /// Text follows the array.
    Trailing,
    End,
}

pub(crate) struct Lines<R> {
    input: R,
    number: u64,
    longest: usize,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, number: 0, longest: MAX_RECORD_BYTES }
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn next_record(&mut self, buffer: &mut Vec<u8>) -> io::Result<RecordOutcome> {
        loop {
            buffer.clear();
            let most = u64::try_from(self.longest).unwrap_or(u64::MAX).saturating_add(1);
            if (&mut self.input).take(most).read_until(b'\n', buffer)? == 0 {
                return Ok(RecordOutcome::End);
            }
            self.number += 1;
            if buffer.len() > self.longest && !buffer.ends_with(b"\n") {
                self.input.skip_until(b'\n')?;
                return Ok(RecordOutcome::TooLong);
            }
            if !buffer.trim_ascii().is_empty() {
                return Ok(RecordOutcome::Record);
            }
        }
    }
}

/// Splits a JSON array without validating it.
pub(crate) struct Elements<R> {
    input: R,
    number: u64,
    longest: usize,
    place: ArrayPosition,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ArrayPosition {
    Before,
    Inside,
    Behind,
    Done,
}

#[derive(Default)]
struct ElementScanner {
    depth: usize,
    in_text: bool,
    escaped: bool,
}

impl ElementScanner {
    fn end_in(&mut self, chunk: &[u8]) -> Option<usize> {
        chunk.iter().position(|&byte| self.ends_at(byte))
    }

    fn ends_at(&mut self, byte: u8) -> bool {
        if self.in_text {
            if self.escaped {
                self.escaped = false;
            } else if byte == b'\\' {
                self.escaped = true;
            } else if byte == b'"' {
                self.in_text = false;
            }
            return false;
        }
        match byte {
            b'"' => self.in_text = true,
            b'{' | b'[' => self.depth += 1,
            b',' | b']' if self.depth == 0 => return true,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        false
    }
}

impl<R: BufRead> Elements<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, number: 0, longest: MAX_RECORD_BYTES, place: ArrayPosition::Before }
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn next_record(&mut self, buffer: &mut Vec<u8>) -> io::Result<RecordOutcome> {
        buffer.clear();
        if self.place == ArrayPosition::Before {
            // Format detection saw this bracket.
            self.input.skip_until(b'[')?;
            self.place = ArrayPosition::Inside;
        }
        if self.place == ArrayPosition::Inside {
            return self.next_element(buffer);
        }
        if self.place == ArrayPosition::Behind {
            self.place = ArrayPosition::Done;
            if !self.rest_is_blank()? {
                return Ok(RecordOutcome::Trailing);
            }
        }
        Ok(RecordOutcome::End)
    }

    fn next_element(&mut self, buffer: &mut Vec<u8>) -> io::Result<RecordOutcome> {
        let mut scanner = ElementScanner::default();
        let mut too_long = false;
        let closing = loop {
            let chunk = match self.input.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            if chunk.is_empty() {
                self.number += 1;
                self.place = ArrayPosition::Done;
                return Ok(RecordOutcome::Unclosed);
            }
            let end = scanner.end_in(chunk);
            let taken = end.unwrap_or(chunk.len());
            let kept = taken.min(self.longest.saturating_sub(buffer.len()));
            too_long |= kept < taken;
            buffer.extend_from_slice(&chunk[..kept]);
            let ending = end.map(|place| chunk[place]);
            self.input.consume(taken + usize::from(end.is_some()));
            if let Some(byte) = ending {
                break byte == b']';
            }
        };
        if closing {
            self.place = ArrayPosition::Behind;
            if buffer.trim_ascii().is_empty() {
                // An empty array or a trailing comma.
                return self.next_record(buffer);
            }
        }
        self.number += 1;
        Ok(if too_long { RecordOutcome::TooLong } else { RecordOutcome::Record })
    }

    fn rest_is_blank(&mut self) -> io::Result<bool> {
        for byte in (&mut self.input).bytes() {
            if !byte?.is_ascii_whitespace() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn lines(text: &str, longest: usize) -> Vec<(u64, RecordOutcome, String)> {
        let mut lines = Lines { input: text.as_bytes(), number: 0, longest };
        let mut buffer = Vec::new();
        std::iter::from_fn(|| {
            let found = lines.next_record(&mut buffer).unwrap();
            (found != RecordOutcome::End).then(|| {
                (lines.number(), found, String::from_utf8(buffer.clone()).unwrap().trim().to_owned())
            })
        })
        .collect()
    }

    fn elements(text: &str, longest: usize, capacity: usize) -> Vec<(u64, RecordOutcome, String)> {
        let input = BufReader::with_capacity(capacity, text.as_bytes());
        let mut elements = Elements { input, number: 0, longest, place: ArrayPosition::Before };
        let mut buffer = Vec::new();
        std::iter::from_fn(|| {
            let found = elements.next_record(&mut buffer).unwrap();
            (found != RecordOutcome::End).then(|| {
                (elements.number(), found, String::from_utf8(buffer.clone()).unwrap().trim().to_owned())
            })
        })
        .collect()
    }

    fn record(number: u64, text: &str) -> (u64, RecordOutcome, String) {
        (number, RecordOutcome::Record, text.to_owned())
    }

    #[test]
    fn blank_lines_are_counted_and_skipped() {
        assert_eq!(lines("{}\r\n\n  \n[1]", 100), [record(1, "{}"), record(4, "[1]")]);
        assert_eq!(lines("", 100), []);
    }

    #[test]
    fn oversized_line_costs_only_itself() {
        let found = lines("{\"a\":\"0123456789\"}\n{}\n", 8);
        assert_eq!(found[0].0, 1);
        assert_eq!(found[0].1, RecordOutcome::TooLong);
        assert_eq!(found[1], record(2, "{}"));
        assert_eq!(lines("12345678\n{}", 8), [record(1, "12345678"), record(2, "{}")]);
    }

    #[test]
    fn broken_elements_cost_only_themselves() {
        let found = elements(r#" [ {"a":1} {"b":2}, nonsense,, {"c":"],[\"}"} ] "#, 100, 4);
        let texts: Vec<_> = found.iter().map(|(_, _, text)| text.as_str()).collect();
        assert_eq!(texts, [r#"{"a":1} {"b":2}"#, "nonsense", "", r#"{"c":"],[\"}"}"#]);
        assert_eq!(elements("[]", 100, 4), []);
        assert_eq!(elements("[1,]", 100, 4), [record(1, "1")]);
    }

    #[test]
    fn oversized_element_costs_only_itself() {
        let found = elements(r#"[{"a":"0123456789"},{}]"#, 8, 3);
        assert_eq!((found[0].0, found[0].1), (1, RecordOutcome::TooLong));
        assert_eq!(found[1], record(2, "{}"));
    }

    #[test]
    fn unclosed_array_and_trailing_text_are_detected() {
        assert_eq!(elements(r#"[{},{"a":"#, 100, 4).last().unwrap().1, RecordOutcome::Unclosed);
        assert_eq!(elements("[{},", 100, 4).last().unwrap().1, RecordOutcome::Unclosed);
        assert_eq!(elements("[{}] {}", 100, 4).last().unwrap().1, RecordOutcome::Trailing);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            r#"[a-z"\\\[\]{},: 中]{0,8}"#.prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::hash_map(r#"[a-z"\\]{0,4}"#, inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        #[test]
        fn array_is_split_into_its_elements(
            values in prop::collection::vec(any_json(), 0..8),
            pretty in any::<bool>(),
            capacity in 1_usize..40,
        ) {
            let text = if pretty { serde_json::to_string_pretty(&values) } else { serde_json::to_string(&values) };
            let found = elements(&text.unwrap(), 1 << 20, capacity);
            let parsed: Vec<Value> = found.iter().map(|(_, _, text)| serde_json::from_str(text).unwrap()).collect();
            prop_assert_eq!(parsed, values);
        }

        #[test]
        fn no_input_makes_it_fail_or_loop(text in r#"\[[\[\]{},"\\a1 ]{0,40}"#, capacity in 1_usize..8) {
            let found = elements(&text, 16, capacity);
            prop_assert!(found.len() <= text.len() + 1);
        }
    }
}
