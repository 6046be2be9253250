//! Lenient JSON, with a count of its violations.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::mem;

use serde_json_borrow::{ObjectAsVec, Value};

use crate::nesting::count_json_values;

#[derive(Debug, Default)]
pub(crate) struct ObjectFields<'a>(Vec<(Cow<'a, str>, Value<'a>)>);

impl<'a> From<ObjectAsVec<'a>> for ObjectFields<'a> {
    fn from(object: ObjectAsVec<'a>) -> Self {
        Self(object.into_vec())
    }
}

impl<'a> ObjectFields<'a> {
    /// Last field of this name.
    pub(crate) fn get(&self, name: &str) -> Option<&Value<'a>> {
        self.place_of(name).map(|place| &self.0[place].1)
    }

    /// Leaves null.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value<'a>> {
        self.place_of(name).map(|place| mem::take(&mut self.0[place].1))
    }

    fn place_of(&self, name: &str) -> Option<usize> {
        self.0.iter().rposition(|(field, _)| field == name)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Integer {
    Exact(i64),
    Text(i64),
}

impl Integer {
    /// `5`, `5.0` or `5e0`, also as text.
    pub(crate) fn read(value: &Value<'_>) -> Option<Self> {
        match value {
            Value::Number(number) => {
                number.as_i64().or_else(|| number.as_f64().and_then(whole)).map(Self::Exact)
            }
            Value::Str(text) => text.trim().parse().ok().map(Self::Text),
            _ => None,
        }
    }

    pub(crate) fn value(self) -> i64 {
        match self {
            Self::Exact(value) | Self::Text(value) => value,
        }
    }
}

fn whole(number: f64) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[expect(clippy::cast_possible_truncation, reason = "whole and within 2^53, so nothing is lost")]
    (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i64)
}

/// A parsed value costs up to a hundred times its bytes.
pub(crate) const MAX_JSON_VALUES: usize = 100_000;

pub(crate) fn holds_too_many_values(json: &[u8]) -> bool {
    json.len() > MAX_JSON_VALUES && count_json_values(json) > MAX_JSON_VALUES
}

/// Replaces lone surrogates (`\\ud83d`) by U+FFFD; `None` if there are none.
///
/// Sources that cut texts between UTF-16 units send them.
pub(crate) fn repair_surrogates(json: &[u8]) -> Option<Vec<u8>> {
    let mut repaired: Option<Vec<u8>> = None;
    let mut place = 0;
    while let Some(found) = json[place..].iter().position(|byte| *byte == b'\\') {
        place += found;
        place += match (read_escape(json, place), read_escape(json, place + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                repaired.get_or_insert_with(|| json.to_vec())[place + 2..place + 6].copy_from_slice(b"fffd");
                6
            }
            // Any other escape, even `\\\\`.
            _ => 2,
        };
        place = place.min(json.len());
    }
    repaired
}

fn read_escape(json: &[u8], place: usize) -> Option<u16> {
    let digits = json.get(place..place + 6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |unit, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        Some(unit << 4 | u16::try_from(digit).ok()?)
    })
}

#[derive(Debug)]
struct Violation {
    subject: &'static str,
    what: &'static str,
    /// Ends the sentence.
    then: &'static str,
    times: usize,
    first: usize,
}

#[derive(Debug, Default)]
pub(crate) struct ViolationCounter {
    violations: Vec<Violation>,
    pub(crate) place: usize,
}

impl ViolationCounter {
    /// Counts a violation of the kind `subject what` (`id`, `is a number`).
    pub(crate) fn add(&mut self, subject: &'static str, what: &'static str) {
        self.count(subject, what, "");
    }

    pub(crate) fn add_left_out(&mut self, subject: &'static str, what: &'static str) {
        self.count(subject, what, " and was left out");
    }

    fn count(&mut self, subject: &'static str, what: &'static str, then: &'static str) {
        match self.violations.iter_mut().find(|known| (known.subject, known.what) == (subject, what)) {
            Some(known) => known.times += 1,
            None => self.violations.push(Violation { subject, what, then, times: 1, first: self.place }),
        }
    }

    pub(crate) fn total(&self) -> usize {
        self.violations.iter().map(|violation| violation.times).sum()
    }

    pub(crate) fn sentences(&self) -> Vec<String> {
        let sentence = |violation: &Violation| {
            let mut text = format!("`{}` {}{}", violation.subject, violation.what, violation.then);
            let _ = write!(text, " ({} ×, first in data[{}])", violation.times, violation.first);
            text
        };
        self.violations.iter().map(sentence).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whole_numbers_are_read_in_every_spelling() {
        for value in
            [json!(1_700_000_000_000_i64), json!("1700000000000"), json!(1.7e12), json!(" 1700000000000 ")]
        {
            let read = Integer::read(&Value::from(&value));
            assert_eq!(read.map(Integer::value), Some(1_700_000_000_000), "{value}");
        }
    }

    #[test]
    fn other_values_are_no_whole_numbers() {
        for value in [json!(1.5), json!("2024-01-01"), json!(""), json!(1e300), json!(u64::MAX), json!(true)]
        {
            assert_eq!(Integer::read(&Value::from(&value)), None, "{value}");
        }
    }

    #[test]
    fn last_field_of_a_name_counts() {
        let object = serde_json::from_str(r#"{"id": 1, "i\u0064": 2, "title": 3}"#).unwrap();
        let Value::Object(object) = object else { panic!("an object") };
        let mut fields = ObjectFields::from(object);
        assert_eq!(fields.get("id").and_then(Value::as_i64), Some(2));
        assert_eq!(fields.take("id").and_then(|id| id.as_i64()), Some(2));
        assert_eq!(fields.take("brief"), None);
    }

    #[test]
    fn only_lone_surrogates_are_repaired() {
        let repair =
            |json: &str| repair_surrogates(json.as_bytes()).map(|json| String::from_utf8(json).unwrap());
        let repaired = |json: &str| Some(json.to_owned());
        assert_eq!(repair(r#""a\ud83d""#), repaired(r#""a\ufffd""#));
        assert_eq!(repair(r#""\uDE00\ud83d\uD83D\ude00""#), repaired(r#""\ufffd\ufffd\uD83D\ude00""#));
        for sound in [r#""\ud83d\ude00""#, r#""\\ud83d""#, r#""\n\u00e4""#, r#""\ud8"#, r#""\"#, ""] {
            assert_eq!(repair(sound), None, "{sound}");
        }
    }

    #[test]
    fn values_are_counted_outside_of_texts() {
        let array = |value: &str, times: usize| format!("[{}]", vec![value; times].join(",")).into_bytes();
        for value in ["0", "{\"a\":0}", "[]", "\"\\\"\""] {
            assert!(holds_too_many_values(&array(value, MAX_JSON_VALUES + 1)), "{value}");
            assert!(!holds_too_many_values(&array(value, MAX_JSON_VALUES / 3)), "{value}");
        }
        assert!(!holds_too_many_values(&array("\"[,{\\\",,,,,,,,,,,,,,,,,,,,\"", MAX_JSON_VALUES / 3)));
    }

    #[test]
    fn slips_are_counted_by_kind() {
        let mut violations = ViolationCounter::default();
        for place in [2, 5] {
            violations.place = place;
            violations.add("id", "is a number");
        }
        violations.add_left_out("action", "is odd");
        assert_eq!(
            violations.sentences(),
            [
                "`id` is a number (2 ×, first in data[2])",
                "`action` is odd and was left out (1 ×, first in data[5])"
            ]
        );
        assert_eq!(violations.total(), 3);
    }
}
