//! Rules of write forms.

use std::{borrow::Cow, ops::RangeInclusive};

use secrecy::SecretString;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::value::RawValue;
use trawl_connectors::grouped;

use crate::json::BoundedList;

/// Maximum bytes of an id.
pub const ID_BYTES: usize = 512;

/// Integers that JSON readers represent exactly.
pub const WHOLE_NUMBERS: RangeInclusive<i64> = -((1 << 53) - 1)..=(1 << 53) - 1;

/// Checks `id`.
pub fn check_id(id: &str) -> Result<(), String> {
    check_id_of("id", id)
}

/// Checks an id; errors name `field`.
pub fn check_id_of(field: &str, id: &str) -> Result<(), String> {
    if id.is_empty() || id.len() > ID_BYTES || id.chars().any(char::is_control) {
        return Err(format!("{field}: must be 1 to {ID_BYTES} bytes of UTF-8 without control characters"));
    }
    Ok(())
}

/// Failure of one row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct SyncFailure {
    /// Source id of the row, or empty.
    pub id: String,
    /// Failure reason.
    pub message: String,
}

/// Absent keeps `known`, empty clears it.
pub fn written_text(field: Option<&String>, known: Option<&String>) -> Option<String> {
    match field {
        None => known.cloned(),
        Some(text) if text.is_empty() => None,
        Some(text) => Some(text.clone()),
    }
}

/// Limit of a text.
#[derive(Clone, Copy, Debug)]
pub enum TextRule {
    /// One line of at most these bytes, without control characters.
    Line(usize),
    /// Lines of at most these bytes, without U+0000, which PostgreSQL does not take.
    Lines(usize),
}

impl TextRule {
    /// Checks a text; errors omit it.
    pub fn check(self, field: &str, text: &str) -> Result<(), String> {
        match self {
            Self::Line(most) if text.len() > most || text.chars().any(char::is_control) => {
                let most = grouped(most);
                Err(format!("{field}: must be at most {most} bytes of UTF-8 without control characters"))
            }
            Self::Lines(most) if text.len() > most || text.contains('\0') => {
                Err(format!("{field}: must be at most {} bytes of UTF-8 without U+0000", grouped(most)))
            }
            _ => Ok(()),
        }
    }
}

/// Field of a write form; empty text clears it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Written<T> {
    /// Absent or null.
    #[default]
    Keep,
    /// Null or the default.
    Clear,
    /// New value.
    Set(T),
}

impl<T: Clone> Written<T> {
    /// Resulting nullable value.
    pub fn over(&self, known: Option<&T>) -> Option<T> {
        match self {
            Self::Keep => known.cloned(),
            Self::Clear => None,
            Self::Set(value) => Some(value.clone()),
        }
    }

    /// Resulting value, with `default` for null.
    pub fn over_default(&self, known: Option<&T>, default: T) -> T {
        self.over(known).unwrap_or(default)
    }

    /// This field, or `other` if this one keeps.
    #[must_use]
    pub fn or<'a>(&'a self, other: &'a Self) -> &'a Self {
        if matches!(self, Self::Keep) { other } else { self }
    }
}

impl Written<i64> {
    /// Checks the range; errors name `meaning`.
    pub fn check(&self, field: &str, range: &RangeInclusive<i64>, meaning: &str) -> Result<(), String> {
        match self {
            Self::Set(number) if !range.contains(number) => {
                Err(format!("{field}: must be {meaning}, not {number}"))
            }
            _ => Ok(()),
        }
    }
}

/// Type of a field.
pub trait FieldValue: Sized {
    /// Expected type, for messages.
    fn expected() -> Cow<'static, str>;

    /// Reads a JSON value.
    fn from_json(json: &str) -> Option<Self>;
}

impl FieldValue for i64 {
    fn expected() -> Cow<'static, str> {
        "an integer".into()
    }

    fn from_json(json: &str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }
}

impl FieldValue for bool {
    fn expected() -> Cow<'static, str> {
        "true or false".into()
    }

    fn from_json(json: &str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }
}

impl FieldValue for SecretString {
    fn expected() -> Cow<'static, str> {
        "a text".into()
    }

    fn from_json(json: &str) -> Option<Self> {
        serde_json::from_str::<String>(json).ok().map(Self::from)
    }
}

impl<const MAX: usize> FieldValue for BoundedList<String, MAX> {
    fn expected() -> Cow<'static, str> {
        format!("an array of at most {} texts", grouped(MAX)).into()
    }

    fn from_json(json: &str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }
}

impl<'de, T: FieldValue> Deserialize<'de> for Written<T> {
    /// Errors omit the value, which may be secret.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Box::<RawValue>::deserialize(deserializer)?.get() {
            "null" => Ok(Self::Keep),
            "\"\"" => Ok(Self::Clear),
            json => T::from_json(json)
                .map(Self::Set)
                .ok_or_else(|| D::Error::custom(format_args!("must be {}", T::expected()))),
        }
    }
}

/// Default and maximum rows of a page (book: reference/directory.md).
const PAGE_ROWS: i64 = 100;
const MAX_PAGE_ROWS: i64 = 1_000;

/// Page of changes, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangesAfter {
    /// Exclusive start, epoch milliseconds.
    pub cursor: i64,
    /// Page size.
    pub limit: i64,
}

impl ChangesAfter {
    /// Validates the parameters; the error names the field.
    pub fn new(cursor: Option<i64>, limit: Option<i64>) -> Result<Self, String> {
        let limit = limit.unwrap_or(PAGE_ROWS);
        if !(1..=MAX_PAGE_ROWS).contains(&limit) {
            return Err(format!("limit: must be 1 to {MAX_PAGE_ROWS}, not {limit}"));
        }
        Ok(Self { cursor: cursor.unwrap_or(i64::MIN), limit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: FieldValue>(json: &str) -> Result<Written<T>, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn null_keeps_and_empty_text_clears() {
        assert_eq!(read::<i64>("null"), Ok(Written::Keep));
        assert_eq!(read::<i64>("\"\""), Ok(Written::Clear));
        assert_eq!(read::<bool>("false"), Ok(Written::Set(false)));
        assert_eq!(read::<BoundedList<String, 2>>("[\"a\"]"), Ok(Written::Set(["a".to_owned()].into())));
        assert_eq!(Written::Keep.over_default(Some(&7), 1), 7);
        assert_eq!(Written::Clear.over_default(Some(&7), 1), 1);
        assert_eq!(Written::<i64>::Clear.over(Some(&7)), None);
        assert_eq!(Written::Keep.or(&Written::Set(3)), &Written::Set(3));
        assert_eq!(Written::Clear.or(&Written::Set(3)), &Written::Clear);
    }

    #[test]
    fn wrong_type_is_refused_and_not_echoed() {
        for sent in ["\"hunter2\"", "1.5", "[3]", "{\"a\":1}", "99999999999999999999"] {
            let reason = read::<i64>(sent).unwrap_err();
            assert!(reason.starts_with("must be an integer"), "{reason}");
        }
        assert!(read::<bool>("1").unwrap_err().starts_with("must be true or false"));
        let secret = serde_json::from_str::<Written<SecretString>>("4711").unwrap_err().to_string();
        assert!(secret.starts_with("must be a text") && !secret.contains("4711"), "{secret}");
    }
}
