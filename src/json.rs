//! Readers of JSON and forms; failures name field and right value.

mod list;

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{
        DeserializeOwned, DeserializeSeed, Error, IgnoredAny, MapAccess, Visitor,
        value::MapAccessDeserializer,
    },
};
use serde_json::{Value, value::RawValue};
use serde_path_to_error::Track;
use trawl_connectors::check_json_depth;
use url::form_urlencoded;

pub use self::list::{BATCH_SCHEMA, Batch, BoundedList, LIST_SCHEMA, read_list};

/// Omits a field from stored JSON.
///
/// `skip_serializing` would omit it from `/openapi.json`, too.
pub fn is_in_a_column<T>(_field: &T) -> bool {
    true
}

const SHOWN_CHARS: usize = 40;

/// Reads a JSON value.
///
/// # Errors
/// `path: reason`, or `reason` for the whole text.
pub fn read<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, String> {
    read_seed(text, PhantomData::<T>)
}

fn read_seed<'a, S: DeserializeSeed<'a>>(text: &'a [u8], seed: S) -> Result<S::Value, String> {
    check_json_depth(text).map_err(|refusal| refusal.to_string())?;
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let mut track = Track::new();
    let tracked = serde_path_to_error::Deserializer::new(&mut deserializer, &mut track);
    let value =
        seed.deserialize(tracked).map_err(|error| json_failure(&track.path().to_string(), &error, text))?;
    deserializer.end().map_err(|error| malformed(&error))?;
    Ok(value)
}

/// Reads a JSON object; serde alone reads an array as a struct.
///
/// # Errors
/// See [`read`].
pub fn read_object<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, String> {
    match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{') | None => read(text),
        Some(_) => read::<IgnoredAny>(text).and(Err("must be an object".to_owned())),
    }
}

/// Reads query parameters or a form.
///
/// # Errors
/// `field: reason`.
pub fn read_form<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    let deserializer = serde_html_form::Deserializer::from_bytes(text);
    serde_path_to_error::deserialize(deserializer).map_err(|error| {
        let path = error.path().to_string();
        let message = error.inner().to_string();
        let sent = form_urlencoded::parse(text).find(|(name, _)| *name == path).map(|(_, value)| value);
        match parse_failure(&message, sent.as_deref().unwrap_or_default()) {
            Some(reason) => at(&path, None, &reason),
            None => describe(&path, &message),
        }
    })
}

/// Reads an object or null, for `deserialize_with`.
///
/// Refuses arrays as [`read_object`] does and never repeats a wrong value, which may be a secret.
pub fn object<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    deserializer.deserialize_any(ObjectVisitor(PhantomData))
}

/// Reads a value, or the default for null, for `deserialize_with`.
pub fn or_default<'de, T: Deserialize<'de> + Default, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = Option<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Option<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Some)
    }

    fn visit_unit<E: Error>(self) -> Result<Option<T>, E> {
        Ok(None)
    }
}

/// Text or number in an unreadable object's field; empty if absent.
pub fn field_as_text(object: &RawValue, field: &str) -> String {
    let object: Value = serde_json::from_str(object.get()).unwrap_or_default();
    match &object[field] {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    }
}

fn json_failure(path: &str, error: &serde_json::Error, text: &[u8]) -> String {
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
    if !error.is_syntax() && !error.is_eof() {
        return describe(path, message);
    }
    // serde_json reports large numbers and enums of another type as syntax errors.
    if serde_json::from_slice::<IgnoredAny>(text).is_err() {
        return malformed(error);
    }
    let reason = match message {
        "number out of range" => "must be a smaller number",
        _ => "is of the wrong type",
    };
    at(path, None, reason)
}

fn malformed(error: &serde_json::Error) -> String {
    format!("malformed JSON at line {}, column {}", error.line(), error.column())
}

/// A failure in JSON's words and without the string that was sent.
pub(crate) fn describe(path: &str, message: &str) -> String {
    for (class, reason) in [
        ("missing field ", "is required"),
        ("duplicate field ", "must be given only once"),
        ("unknown field ", "is unknown"),
    ] {
        if let Some(field) = message.strip_prefix(class) {
            let field = field.split('`').nth(1);
            // The path of an unknown field has it already.
            let is_in_path = class.starts_with("unknown") && path.rsplit('.').next() == field;
            return at(path, field.filter(|_| !is_in_path), reason);
        }
    }
    let Some((found, expected)) = message.rsplit_once(", expected ") else {
        let is_untagged = message.starts_with("data did not match any variant of untagged enum");
        return at(path, None, if is_untagged { "is of the wrong type" } else { message });
    };
    let reason = if let Some(found) = found.strip_prefix("invalid type: ") {
        format!("must be {}, not {}", json_type(expected), found_type(found))
    } else if let Some(found) = found.strip_prefix("invalid value: ") {
        out_of_range(found, expected)
            .unwrap_or_else(|| format!("must be {}, not {}", json_type(expected), found_type(found)))
    } else if let Some(found) = found.strip_prefix("unknown variant ") {
        format!("must be {}, not {}", expected.replace('`', ""), found.trim_matches('`'))
    } else if let Some(length) = found.strip_prefix("invalid length ") {
        format!("must be {}, not of length {length}", json_type(expected))
    } else {
        message.to_owned()
    };
    at(path, None, &reason)
}

fn at(path: &str, field: Option<&str>, reason: &str) -> String {
    let path = if matches!(path, "." | "?") { "" } else { path };
    match (path, field) {
        ("", None) => reason.to_owned(),
        ("", Some(name)) | (name, None) => format!("{name}: {reason}"),
        (path, Some(field)) => format!("{path}.{field}: {reason}"),
    }
}

/// JSON's name of a type that serde expects.
pub(crate) fn json_type(expected: &str) -> &str {
    match expected {
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" | "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => {
            "an integer"
        }
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a borrowed string" | "string only" => "a string",
        "a sequence" => "an array",
        "a map" => "an object",
        "unit" => "null",
        "string or map" => "a string or an object",
        _ if expected.starts_with("struct ") => "an object",
        _ if expected.starts_with("tuple ") => "an array",
        _ => expected,
    }
}

/// JSON's name of the type that serde met; fractions in full.
fn found_type(found: &str) -> &str {
    match found.split_once(' ').map_or(found, |(class, _)| class) {
        "boolean" => "true or false",
        "integer" => "a number",
        "floating" => found.split('`').nth(1).unwrap_or("a number"),
        "string" => "a string",
        "sequence" => "an array",
        "map" => "an object",
        "unit" => "null",
        _ => found,
    }
}

/// The bound of an integer type that a value exceeds.
fn out_of_range(found: &str, expected: &str) -> Option<String> {
    let number: i128 = found.strip_prefix("integer `")?.trim_end_matches('`').parse().ok()?;
    let (least, most): (i128, i128) = match expected {
        "u8" => (0, u8::MAX.into()),
        "u16" => (0, u16::MAX.into()),
        "u32" => (0, u32::MAX.into()),
        "u64" | "usize" => (0, u64::MAX.into()),
        "i32" => (i32::MIN.into(), i32::MAX.into()),
        "i64" => (i64::MIN.into(), i64::MAX.into()),
        _ => return None,
    };
    Some(if number < least {
        format!("must be at least {least}, not {number}")
    } else {
        format!("must be at most {most}, not {number}")
    })
}

/// Failures of the standard library's parsers, which read forms.
fn parse_failure(message: &str, sent: &str) -> Option<String> {
    let right = match message {
        "unsupported value" => return Some("must be given only once".to_owned()),
        "invalid digit found in string" if sent.parse::<i64>().is_ok() => "at least 0",
        "invalid digit found in string" | "cannot parse integer from empty string" => "an integer",
        "number too large to fit in target type" => "a smaller integer",
        "number too small to fit in target type" => "a larger integer",
        "invalid float literal" | "cannot parse float from empty string" => "a number",
        "provided string was not `true` or `false`" => "true or false",
        _ => return None,
    };
    let shown: String = sent.chars().take(SHOWN_CHARS).collect();
    Some(format!("must be {right}, not {}", if shown.is_empty() { "empty" } else { &shown }))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "read by serde alone")]
    struct Sample {
        display_time: i64,
        #[serde(default)]
        limit: u32,
        #[serde(default)]
        sort: Option<Order>,
        #[serde(default)]
        inner: Vec<Sample>,
        #[serde(default, deserialize_with = "object")]
        auth: Option<Value>,
        #[serde(default)]
        is_new: bool,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Order {
        Time,
        Relevance,
    }

    #[test]
    fn json_failures_name_the_field_and_the_right_value() {
        for (text, failure) in [
            (r#"{"displayTime":"x"}"#, "displayTime: must be an integer, not a string"),
            (r#"{"displayTime":1.5}"#, "displayTime: must be an integer, not 1.5"),
            (r#"{"displayTime":null}"#, "displayTime: must be an integer, not null"),
            (
                r#"{"displayTime":9223372036854775808}"#,
                "displayTime: must be at most 9223372036854775807, not 9223372036854775808",
            ),
            (r#"{"displayTime":1e999}"#, "displayTime: must be a smaller number"),
            (r#"{"limit":-1}"#, "limit: must be at least 0, not -1"),
            (r#"{"limit":4294967296}"#, "limit: must be at most 4294967295, not 4294967296"),
            (
                r#"{"sort":"x at line 1, expected y"}"#,
                "sort: must be time or relevance, not x at line 1, expected y",
            ),
            (r#"{"sort":5}"#, "sort: is of the wrong type"),
            (r#"{"isNew":1}"#, "isNew: must be true or false, not a number"),
            (r#"{"inner":{}}"#, "inner: must be an array, not an object"),
            (r#"{"inner":[{"displayTime":1},{}]}"#, "inner[1].displayTime: is required"),
            (r#"{"auth":"secret"}"#, "auth: must be an object, not a string"),
            (r#"{"limit":1,"limit":2}"#, "limit: must be given only once"),
            ("{}", "displayTime: is required"),
            ("[]", "must be an object"),
            ("{", "malformed JSON at line 1, column 1"),
            (r#"{"displayTime":1} x"#, "malformed JSON at line 1, column 19"),
        ] {
            assert_eq!(read_object::<Sample>(text.as_bytes()).unwrap_err(), failure, "{text}");
        }
        assert_eq!(read::<Vec<i64>>(b"{}").unwrap_err(), "must be an array, not an object");
    }

    #[test]
    fn array_is_not_read_as_an_object() {
        assert_eq!(read_object::<Sample>(b" 5").unwrap_err(), "must be an object");
        assert!(read_object::<Sample>(b"[1").unwrap_err().starts_with("malformed JSON"));
        assert!(read_object::<Sample>(b" ").unwrap_err().starts_with("malformed JSON"));
        assert_eq!(read_object::<Sample>(b"\n{\"displayTime\":1}").unwrap().display_time, 1);
    }

    #[test]
    fn form_failures_name_the_field_and_the_right_value() {
        for (text, failure) in [
            ("displayTime=1&displayTime=2", "displayTime: must be given only once"),
            ("displayTime=x", "displayTime: must be an integer, not x"),
            ("displayTime=", "displayTime: must be an integer, not empty"),
            ("displayTime=1&limit=-1", "limit: must be at least 0, not -1"),
            ("displayTime=1&limit=4294967296", "limit: must be a smaller integer, not 4294967296"),
            ("displayTime=1&isNew=yes", "isNew: must be true or false, not yes"),
            ("displayTime=1&sort=best", "sort: must be time or relevance, not best"),
            ("limit=1", "displayTime: is required"),
        ] {
            assert_eq!(read_form::<Sample>(text.as_bytes()).unwrap_err(), failure, "{text}");
        }
    }
}
