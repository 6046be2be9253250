//! What several areas share: ids of the synchronising side, the null and empty-string rule, and failures of single rows.

use std::ops::{Deref, RangeInclusive};

use sea_orm::{ColIdx, DbErr, QueryResult, TryGetError, TryGetable};
use secrecy::SecretString;
use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned, de::Error as _};
use serde_json::Value;

/// Bytes of an id.
pub const ID_BYTES: usize = 512;

/// Whole numbers of which nothing more is asked: those that every reader of JSON takes exactly.
pub const WHOLE_NUMBERS: RangeInclusive<i64> = -((1 << 53) - 1)..=(1 << 53) - 1;

/// Checks an id that a caller gives to what is his.
///
/// # Errors
/// A message that names the field `id`.
pub fn check_id(id: &str) -> Result<(), String> {
    check_id_of("id", id)
}

/// Checks an id in the field of this name.
///
/// # Errors
/// A message that names the field.
pub fn check_id_of(field: &str, id: &str) -> Result<(), String> {
    if id.is_empty() || id.len() > ID_BYTES || id.chars().any(char::is_control) {
        return Err(format!("{field}: must be 1 to {ID_BYTES} bytes of UTF-8 without control characters"));
    }
    Ok(())
}

/// Why one row of a synchronisation failed (the document's "sync failure entry").
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct SyncFailure {
    /// Id on the synchronising party's side of the item that failed.
    pub id: String,
    /// Failure reason.
    pub message: String,
}

/// The text that a field of a write form leaves: absent keeps `known`, empty clears it.
pub fn written_text(field: Option<&String>, known: Option<&String>) -> Option<String> {
    match field {
        None => known.cloned(),
        Some(text) if text.is_empty() => None,
        Some(text) => Some(text.clone()),
    }
}

/// What a text of a write form may be.
#[derive(Clone, Copy, Debug)]
pub enum TextRule {
    /// One line: at most so many bytes of UTF-8 without control characters.
    Line(usize),
    /// Lines: at most so many bytes of UTF-8.
    Lines(usize),
}

impl TextRule {
    /// # Errors
    /// A message that names the field and does not repeat the text.
    pub fn check(self, field: &str, text: &str) -> Result<(), String> {
        match self {
            Self::Line(most) if text.len() > most || text.chars().any(char::is_control) => {
                Err(format!("{field}: must be at most {most} bytes of UTF-8 without control characters"))
            }
            Self::Lines(most) if text.len() > most => {
                Err(format!("{field}: must be at most {most} bytes of UTF-8"))
            }
            _ => Ok(()),
        }
    }
}

/// What a field of a write form says: absent and null keep what is known, an empty text sets it to null, which for what
/// has a default is the default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Written<T> {
    /// No change.
    #[default]
    Keep,
    /// Set to null.
    Clear,
    /// Set to this.
    Set(T),
}

impl<T: Clone> Written<T> {
    /// What the field leaves, where null is a value.
    pub fn over(&self, known: Option<&T>) -> Option<T> {
        match self {
            Self::Keep => known.cloned(),
            Self::Clear => None,
            Self::Set(value) => Some(value.clone()),
        }
    }

    /// What the field leaves, where null stands for `default`.
    pub fn over_default(&self, known: Option<&T>, default: T) -> T {
        self.over(known).unwrap_or(default)
    }

    /// This field, or where it keeps, another one.
    #[must_use]
    pub fn or<'a>(&'a self, other: &'a Self) -> &'a Self {
        if matches!(self, Self::Keep) { other } else { self }
    }
}

impl Written<i64> {
    /// # Errors
    /// A message that names the field: what is set is outside `range`, which `meaning` describes.
    pub fn check(&self, field: &str, range: &RangeInclusive<i64>, meaning: &str) -> Result<(), String> {
        match self {
            Self::Set(number) if !range.contains(number) => {
                Err(format!("{field}: must be {meaning}, not {number}"))
            }
            _ => Ok(()),
        }
    }
}

/// What a field of a write form may hold besides null and an empty text.
pub trait FieldValue: Sized {
    /// What it must be, for people.
    const EXPECTED: &'static str;

    /// The value, if it is one.
    fn from_json(value: Value) -> Option<Self>;
}

impl FieldValue for i64 {
    const EXPECTED: &'static str = "an integer";

    fn from_json(value: Value) -> Option<Self> {
        value.as_i64()
    }
}

impl FieldValue for bool {
    const EXPECTED: &'static str = "true or false";

    fn from_json(value: Value) -> Option<Self> {
        value.as_bool()
    }
}

impl FieldValue for SecretString {
    const EXPECTED: &'static str = "a text";

    fn from_json(value: Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(text.into()),
            _ => None,
        }
    }
}

impl FieldValue for Vec<String> {
    const EXPECTED: &'static str = "an array of texts";

    fn from_json(value: Value) -> Option<Self> {
        serde_json::from_value(value).ok()
    }
}

impl<'de, T: FieldValue> Deserialize<'de> for Written<T> {
    /// A failure does not repeat what was sent: it may be a secret.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Null => Ok(Self::Keep),
            Value::String(text) if text.is_empty() => Ok(Self::Clear),
            value => T::from_json(value)
                .map(Self::Set)
                .ok_or_else(|| D::Error::custom(format_args!("must be {}", T::EXPECTED))),
        }
    }
}

/// Rows of a page of changes when the caller names none, and at the most (decisions 9.6).
const PAGE_ROWS: i64 = 100;
const MOST_PAGE_ROWS: i64 = 1_000;

/// Which changes of the directory a page holds: those after the cursor, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangesAfter {
    /// The time of change after which it begins, epoch milliseconds.
    pub cursor: i64,
    /// Rows at the most.
    pub limit: i64,
}

impl ChangesAfter {
    /// What the parameters `cursor` and `limit` ask for (decisions 9.6).
    ///
    /// # Errors
    /// A message that names the parameter.
    pub fn new(cursor: Option<i64>, limit: Option<i64>) -> Result<Self, String> {
        let limit = limit.unwrap_or(PAGE_ROWS);
        if !(1..=MOST_PAGE_ROWS).contains(&limit) {
            return Err(format!("limit: must be 1 to {MOST_PAGE_ROWS}, not {limit}"));
        }
        Ok(Self { cursor: cursor.unwrap_or(i64::MIN), limit })
    }
}

/// A column that holds JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl<T> Deref for Json<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Serialize> Json<T> {
    /// What stands in the column.
    ///
    /// # Errors
    /// It cannot be written as JSON.
    pub fn to_text(&self) -> Result<String, DbErr> {
        serde_json::to_string(&self.0).map_err(|error| DbErr::Json(error.to_string()))
    }
}

impl<T: DeserializeOwned> TryGetable for Json<T> {
    fn try_get_by<I: ColIdx>(row: &QueryResult, index: I) -> Result<Self, TryGetError> {
        let text = String::try_get_by(row, index)?;
        let value = serde_json::from_str(&text).map_err(|error| DbErr::Json(error.to_string()))?;
        Ok(Self(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: FieldValue>(json: &str) -> Result<Written<T>, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn null_keeps_and_an_empty_text_clears() {
        assert_eq!(read::<i64>("null"), Ok(Written::Keep));
        assert_eq!(read::<i64>("\"\""), Ok(Written::Clear));
        assert_eq!(read::<bool>("false"), Ok(Written::Set(false)));
        assert_eq!(read::<Vec<String>>("[\"a\"]"), Ok(Written::Set(vec!["a".to_owned()])));
        assert_eq!(Written::Keep.over_default(Some(&7), 1), 7);
        assert_eq!(Written::Clear.over_default(Some(&7), 1), 1);
        assert_eq!(Written::<i64>::Clear.over(Some(&7)), None);
        assert_eq!(Written::Keep.or(&Written::Set(3)), &Written::Set(3));
        assert_eq!(Written::Clear.or(&Written::Set(3)), &Written::Clear);
    }

    #[test]
    fn another_type_is_refused_and_not_repeated() {
        for sent in ["\"hunter2\"", "1.5", "[3]", "{\"a\":1}", "99999999999999999999"] {
            let reason = read::<i64>(sent).unwrap_err();
            assert!(reason.starts_with("must be an integer"), "{reason}");
        }
        assert!(read::<bool>("1").unwrap_err().starts_with("must be true or false"));
        let secret = serde_json::from_str::<Written<SecretString>>("4711").unwrap_err().to_string();
        assert!(secret.starts_with("must be a text") && !secret.contains("4711"), "{secret}");
    }
}
