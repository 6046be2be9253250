//! Values of filters as texts, counts, times and addresses.

use jaq_json::Val;
use serde_json::{Value, json};
use url::Url;

use crate::mapping::message::MappingError;
use crate::times;

const SHOWN_BYTES: usize = 200;

pub(super) fn shorten(mut text: String) -> String {
    if text.len() > SHOWN_BYTES {
        text.truncate(text.floor_char_boundary(SHOWN_BYTES));
        text.push('…');
    }
    text
}

pub(super) fn count(number: u64) -> Val {
    Val::from(isize::try_from(number).unwrap_or(isize::MAX))
}

pub(super) fn kind(value: &Val) -> &'static str {
    match value {
        Val::Null => "null",
        Val::Bool(_) => "a boolean",
        Val::Num(_) => "a number",
        Val::BStr(_) => "bytes",
        Val::TStr(_) => "text",
        Val::Arr(_) => "an array",
        Val::Obj(_) => "an object",
    }
}

/// Whether systems say by it that there is none.
pub(super) fn is_nothing(value: &Val) -> bool {
    match value {
        Val::Null | Val::Bool(false) => true,
        Val::TStr(text) => text.is_empty(),
        Val::Arr(values) => values.is_empty(),
        Val::Obj(fields) => fields.is_empty(),
        _ => false,
    }
}

/// The text of a scalar.
pub(super) fn as_text(value: &Val) -> Option<String> {
    match value {
        Val::TStr(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        Val::Num(_) | Val::Bool(_) => Some(value.to_string()),
        Val::Null | Val::BStr(_) | Val::Arr(_) | Val::Obj(_) => None,
    }
}

pub(super) fn as_count(value: &Val) -> Option<u64> {
    let text = as_text(value)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
    let of_float = |number: f64| (0.0..9e15).contains(&number).then_some(number as u64);
    text.parse().ok().or_else(|| of_float(text.parse().ok()?))
}

pub(super) fn read_time(value: &Val) -> Result<Value, String> {
    let read = match value {
        Val::Num(_) => value.to_string().parse().ok().and_then(times::from_number),
        value => as_text(value).and_then(|text| times::from_text(&text)),
    };
    let shown = || shorten(value.to_string());
    read.map(Value::from).ok_or_else(|| format!("yields {}, which is no time", shown()))
}

/// An address becomes an action of all clients; an object is one already.
pub(super) fn read_action(value: &Val, base: Option<&Url>) -> Result<Value, String> {
    if let Val::Obj(_) = value {
        return to_json(value, "answer.action")
            .map(|action| action.to_string().into())
            .map_err(|error| error.message);
    }
    let text = as_text(value).ok_or_else(|| format!("yields {}, not an address", kind(value)))?;
    let joined = match base {
        Some(base) => base.join(&text),
        None => Url::parse(&text),
    };
    let address = joined.map_err(|_| format!("yields {}, which is no address", shorten(text)))?;
    Ok(json!({"web": format!("[OpenUrl]\nurl={address}")}).to_string().into())
}

pub(super) fn to_json(value: &Val, field: &str) -> Result<Value, MappingError> {
    serde_json::from_str(&value.to_string())
        .map_err(|error| MappingError::new(field, format!("yields what JSON cannot hold: {error}")))
}
