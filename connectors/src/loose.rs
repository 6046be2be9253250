//! Reading of loosely typed JSON, and counting of the slips met, so that a source's author is told each kind once.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::mem;

use serde_json_borrow::{ObjectAsVec, Value};

/// The fields of a JSON object, whose texts stay where they came where that can be.
#[derive(Debug, Default)]
pub(crate) struct Fields<'a>(Vec<(Cow<'a, str>, Value<'a>)>);

impl<'a> From<ObjectAsVec<'a>> for Fields<'a> {
    fn from(object: ObjectAsVec<'a>) -> Self {
        Self(object.into_vec())
    }
}

impl<'a> Fields<'a> {
    /// The field of this name; the last one, where there are several.
    pub(crate) fn get(&self, name: &str) -> Option<&Value<'a>> {
        self.place_of(name).map(|place| &self.0[place].1)
    }

    /// The same, which is null from then on.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value<'a>> {
        self.place_of(name).map(|place| mem::take(&mut self.0[place].1))
    }

    fn place_of(&self, name: &str) -> Option<usize> {
        self.0.iter().rposition(|(field, _)| field == name)
    }
}

/// A number as a source sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Integer {
    /// A JSON number without a fraction.
    Exact(i64),
    /// Text that holds a whole number.
    Text(i64),
}

impl Integer {
    /// The whole number in `value`: a JSON number (`5`, `5.0`, `5e0`) or text that holds one.
    pub(crate) fn read(value: &Value<'_>) -> Option<Self> {
        match value {
            Value::Number(number) => {
                number.as_i64().or_else(|| number.as_f64().and_then(whole)).map(Self::Exact)
            }
            Value::Str(text) => text.trim().parse().ok().map(Self::Text),
            _ => None,
        }
    }

    /// The number itself.
    pub(crate) fn value(self) -> i64 {
        match self {
            Self::Exact(value) | Self::Text(value) => value,
        }
    }
}

/// The integer that a floating-point number stands for, within the range where that is exact (2^53).
fn whole(number: f64) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[expect(clippy::cast_possible_truncation, reason = "whole and within 2^53, so nothing is lost")]
    (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i64)
}

/// The most values that a body may hold: each costs much more memory than it has bytes, up to a hundred times.
pub(crate) const MOST_VALUES: usize = 100_000;

/// Whether `json` holds more than [`MOST_VALUES`], as told by what begins and divides them.
pub(crate) fn holds_too_many_values(json: &[u8]) -> bool {
    // Most bodies are too small for that.
    if json.len() <= MOST_VALUES {
        return false;
    }
    let (mut values, mut in_text) = (0, false);
    let mut bytes = json.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => in_text = !in_text,
            b'\\' if in_text => {
                bytes.next();
            }
            b'{' | b'[' | b',' if !in_text => values += 1,
            _ => {}
        }
    }
    values > MOST_VALUES
}

/// `json` with each half of a surrogate pair that stands alone (`\\ud83d`) replaced by U+FFFD, or `None` where there
/// is none. Sources that cut texts between UTF-16 units write them, and no JSON parser takes them.
pub(crate) fn mend_surrogates(json: &[u8]) -> Option<Vec<u8>> {
    let mut mended: Option<Vec<u8>> = None;
    let mut place = 0;
    while let Some(found) = json[place..].iter().position(|byte| *byte == b'\\') {
        place += found;
        place += match (read_escape(json, place), read_escape(json, place + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                mended.get_or_insert_with(|| json.to_vec())[place + 2..place + 6].copy_from_slice(b"fffd");
                6
            }
            // Any other escape, `\\\\` among them: its second byte begins none.
            _ => 2,
        };
        place = place.min(json.len());
    }
    mended
}

/// The UTF-16 unit of the escape `\uXXXX` that begins at `place`.
fn read_escape(json: &[u8], place: usize) -> Option<u16> {
    let digits = json.get(place..place + 6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |unit, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        Some(unit << 4 | u16::try_from(digit).ok()?)
    })
}

/// Slips of one kind met on a page.
#[derive(Debug)]
struct Slip {
    subject: &'static str,
    what: &'static str,
    /// What was done about it; ends the sentence.
    then: &'static str,
    times: usize,
    first: usize,
}

/// The slips met while reading a page: kind, how often, and the first item that has it.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    slips: Vec<Slip>,
    /// The item being read, as its place in `data`.
    pub(crate) place: usize,
}

impl Tally {
    /// Counts one slip of the kind `subject what` (`id`, `is a number`) at the present place.
    pub(crate) fn add(&mut self, subject: &'static str, what: &'static str) {
        self.count(subject, what, "");
    }

    /// The same for something that was left out for what is wrong with it.
    pub(crate) fn add_left_out(&mut self, subject: &'static str, what: &'static str) {
        self.count(subject, what, " and was left out");
    }

    fn count(&mut self, subject: &'static str, what: &'static str, then: &'static str) {
        match self.slips.iter_mut().find(|slip| (slip.subject, slip.what) == (subject, what)) {
            Some(slip) => slip.times += 1,
            None => self.slips.push(Slip { subject, what, then, times: 1, first: self.place }),
        }
    }

    /// How many slips were counted.
    pub(crate) fn total(&self) -> usize {
        self.slips.iter().map(|slip| slip.times).sum()
    }

    /// One sentence for each kind, in the order in which they were met.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let sentence = |slip: &Slip| {
            let mut text = format!("`{}` {}{}", slip.subject, slip.what, slip.then);
            // Writing to a String cannot fail.
            let _ = write!(text, " ({} ×, first in data[{}])", slip.times, slip.first);
            text
        };
        self.slips.iter().map(sentence).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whole_numbers_are_read_however_they_are_written() {
        for value in
            [json!(1_700_000_000_000_i64), json!("1700000000000"), json!(1.7e12), json!(" 1700000000000 ")]
        {
            let read = Integer::read(&Value::from(&value));
            assert_eq!(read.map(Integer::value), Some(1_700_000_000_000), "{value}");
        }
    }

    #[test]
    fn what_is_no_whole_number_is_not_guessed() {
        for value in [json!(1.5), json!("2024-01-01"), json!(""), json!(1e300), json!(u64::MAX), json!(true)]
        {
            assert_eq!(Integer::read(&Value::from(&value)), None, "{value}");
        }
    }

    #[test]
    fn of_fields_with_one_name_the_last_one_counts() {
        let object = serde_json::from_str(r#"{"id": 1, "i\u0064": 2, "title": 3}"#).unwrap();
        let Value::Object(object) = object else { panic!("an object") };
        let mut fields = Fields::from(object);
        assert_eq!(fields.get("id").and_then(Value::as_i64), Some(2));
        assert_eq!(fields.take("id").and_then(|id| id.as_i64()), Some(2));
        assert_eq!(fields.take("brief"), None);
    }

    #[test]
    fn only_lone_surrogates_are_mended() {
        let mend = |json: &str| mend_surrogates(json.as_bytes()).map(|json| String::from_utf8(json).unwrap());
        let mended = |json: &str| Some(json.to_owned());
        assert_eq!(mend(r#""a\ud83d""#), mended(r#""a\ufffd""#));
        assert_eq!(mend(r#""\uDE00\ud83d\uD83D\ude00""#), mended(r#""\ufffd\ufffd\uD83D\ude00""#));
        for sound in [r#""\ud83d\ude00""#, r#""\\ud83d""#, r#""\n\u00e4""#, r#""\ud8"#, r#""\"#, ""] {
            assert_eq!(mend(sound), None, "{sound}");
        }
    }

    #[test]
    fn values_are_counted_outside_of_texts() {
        let array = |value: &str, times: usize| format!("[{}]", vec![value; times].join(",")).into_bytes();
        for value in ["0", "{\"a\":0}", "[]", "\"\\\"\""] {
            assert!(holds_too_many_values(&array(value, MOST_VALUES + 1)), "{value}");
            assert!(!holds_too_many_values(&array(value, MOST_VALUES / 3)), "{value}");
        }
        assert!(!holds_too_many_values(&array("\"[,{\\\",,,,,,,,,,,,,,,,,,,,\"", MOST_VALUES / 3)));
    }

    #[test]
    fn slips_are_counted_by_kind() {
        let mut tally = Tally::default();
        for place in [2, 5] {
            tally.place = place;
            tally.add("id", "is a number");
        }
        tally.add_left_out("action", "is odd");
        assert_eq!(
            tally.sentences(),
            [
                "`id` is a number (2 ×, first in data[2])",
                "`action` is odd and was left out (1 ×, first in data[5])"
            ]
        );
        assert_eq!(tally.total(), 3);
    }
}
