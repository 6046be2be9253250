//! Reading JSON so that a failure names the field and says what would be right (decisions 2.3).

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error, IgnoredAny, MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::{Value, value::RawValue};

/// Reads a value.
///
/// # Errors
/// `field: reason` for a wrong field, `reason` alone for text that is not JSON or not of the shape.
pub fn read<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, String> {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        let reason = reason(error.inner());
        if matches!(path.as_str(), "." | "?") { reason } else { format!("{path}: {reason}") }
    })?;
    deserializer.end().map_err(|error| reason(&error))?;
    Ok(value)
}

/// Reads a value that is an object. Without this check a list would be taken for its fields, by their places.
///
/// # Errors
/// As [`read`].
pub fn read_object<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, String> {
    match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{') | None => read(text),
        Some(_) => read::<IgnoredAny>(text).and(Err("must be an object".to_owned())),
    }
}

/// Reads a value from query parameters or a form.
///
/// # Errors
/// `field: reason`.
pub fn read_form<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    let deserializer = serde_html_form::Deserializer::from_bytes(text);
    serde_path_to_error::deserialize(deserializer).map_err(|error| {
        let path = error.path().to_string();
        // What the decoder calls unsupported is a list where one value is wanted.
        let reason = error.inner().to_string().replace("unsupported value", "must be given only once");
        if matches!(path.as_str(), "." | "?") { reason } else { format!("{path}: {reason}") }
    })
}

/// Reads a field that is an object or null, for `deserialize_with`. As [`read_object`], it takes no list for one; and
/// what was sent in its place is not repeated in the failure.
pub fn object<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    deserializer.deserialize_any(Object(PhantomData))
}

struct Object<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Object<T> {
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

    fn visit_str<E: Error>(self, _text: &str) -> Result<Option<T>, E> {
        Err(E::custom("must be an object"))
    }
}

/// What stands in a field of an object that could not be read, as text, so that a failure can name its row; empty where
/// there is no text or number.
pub fn field_as_text(object: &RawValue, field: &str) -> String {
    let object: Value = serde_json::from_str(object.get()).unwrap_or_default();
    match &object[field] {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    }
}

/// What serde says, in words for callers: JSON types instead of Rust's, and no values that were sent.
fn reason(error: &serde_json::Error) -> String {
    if error.is_syntax() || error.is_eof() {
        return format!("malformed JSON at line {}, column {}", error.line(), error.column());
    }
    let text = error.to_string();
    let text = text.split(" at line ").next().unwrap_or(&text);
    let text = ["i64", "u64", "usize", "u32", "i32"]
        .iter()
        .fold(text.to_owned(), |text, rust| text.replace(&format!("expected {rust}"), "expected an integer"));
    [
        ("type: map", "type: object"),
        ("type: sequence", "type: array"),
        ("expected a sequence", "expected an array"),
    ]
    .iter()
    .fold(text, |text, (rust, json)| text.replace(rust, json))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Sample {
        display_time: i64,
    }

    #[test]
    fn a_failure_names_the_field() {
        let wrong = super::read::<Sample>(br#"{"displayTime":"x"}"#).unwrap_err();
        assert_eq!(wrong, "displayTime: invalid type: string \"x\", expected an integer");
        assert_eq!(super::read::<Sample>(b"{}").unwrap_err(), "missing field `displayTime`");
        assert_eq!(super::read::<Sample>(b"{").unwrap_err(), "malformed JSON at line 1, column 1");
        let trailing = super::read::<Sample>(br#"{"displayTime":1} x"#).unwrap_err();
        assert!(trailing.starts_with("malformed JSON"), "{trailing}");
    }

    #[test]
    fn a_list_is_no_object() {
        assert_eq!(super::read::<Vec<i64>>(b"{}").unwrap_err(), "invalid type: object, expected an array");
        assert_eq!(super::read_object::<Sample>(b"[1]").unwrap_err(), "must be an object");
        assert_eq!(super::read_object::<Sample>(b" 5").unwrap_err(), "must be an object");
        assert!(super::read_object::<Sample>(b"[1").unwrap_err().starts_with("malformed JSON"));
        assert!(super::read_object::<Sample>(b" ").unwrap_err().starts_with("malformed JSON"));
        assert_eq!(super::read_object::<Sample>(b"\n{\"displayTime\":1}").unwrap().display_time, 1);
    }

    #[test]
    fn a_parameter_that_is_given_twice_is_named() {
        let twice = super::read_form::<Sample>(b"displayTime=1&displayTime=2").unwrap_err();
        assert_eq!(twice, "displayTime: must be given only once");
    }
}
