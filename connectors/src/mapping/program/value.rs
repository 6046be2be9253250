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

/// Where people open what is found.
pub(super) struct Site {
    /// What relative addresses are relative to.
    base: Option<Url>,
    /// The address that is called and the public one, if they differ.
    moved: Option<(String, String)>,
}

impl Site {
    pub(super) fn new(address: &str, site: Option<&str>) -> Self {
        let trimmed = |address: &str| address.trim_end_matches('/').to_owned();
        let moved = site.map(|site| (trimmed(address), trimmed(site)));
        let mut base = Url::parse(site.unwrap_or(address)).ok();
        // A public address is a directory, with a slash at its end or without.
        if let (Some(base), Some(_)) = (&mut base, site)
            && let Ok(mut segments) = base.path_segments_mut()
        {
            segments.pop_if_empty().push("");
        }
        Self { base, moved }
    }

    pub(super) fn read_address(&self, value: &Val) -> Result<String, String> {
        let text = as_text(value).ok_or_else(|| format!("yields {}, not an address", kind(value)))?;
        self.open(&text).ok_or_else(|| format!("yields {}, which is no address", shorten(text)))
    }

    /// The public address of one below the address that is called.
    fn open(&self, text: &str) -> Option<String> {
        let joined = match &self.base {
            Some(base) => base.join(text),
            None => Url::parse(text),
        };
        let address = String::from(joined.ok()?);
        let moved = self.moved.as_ref().and_then(|(from, to)| {
            let rest = address.strip_prefix(from)?;
            (rest.is_empty() || rest.starts_with(['/', '?', '#'])).then(|| format!("{to}{rest}"))
        });
        Some(moved.unwrap_or(address))
    }
}

/// An address becomes an action of all clients; an object is one already.
pub(super) fn read_action(value: &Val, site: &Site) -> Result<Value, String> {
    if let Val::Obj(_) = value {
        return to_json(value, "answer.action")
            .map(|action| action.to_string().into())
            .map_err(|error| error.message);
    }
    let address = site.read_address(value)?;
    Ok(json!({"web": format!("[OpenUrl]\nurl={address}")}).to_string().into())
}

pub(super) fn to_json(value: &Val, field: &str) -> Result<Value, MappingError> {
    serde_json::from_str(&value.to_string())
        .map_err(|error| MappingError::new(field, format!("yields what JSON cannot hold: {error}")))
}
