//! A row of an input, converted or rejected.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use trawl_connectors::check_action_addresses;

/// Bytes of an id that a rejection shows.
const SHOWN_ID_BYTES: usize = 200;
/// Bytes of a reason, which may quote a value.
const SHOWN_REASON_BYTES: usize = 1_000;

#[derive(Debug, PartialEq)]
pub(crate) struct Row {
    /// Line, or index in an array or feed, from 1.
    pub(crate) number: u64,
    /// The line where an entry of a feed begins.
    pub(crate) line: Option<u64>,
    pub(crate) fields: Map<String, Value>,
    /// Whether its time cannot be read, and it stands as of 1970.
    pub(crate) undated: bool,
}

impl Row {
    /// Names an entry of a feed, before what is said of it.
    pub(crate) fn place(&self) -> String {
        place(self.number, self.line)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub(crate) struct Rejection {
    /// Line, or number in an array or feed, from 1; null for the whole file.
    #[serde(rename = "line")]
    pub(crate) number: Option<u64>,
    /// The row's id, if it has one.
    pub(crate) id: Option<String>,
    /// The wrong field and the expected value.
    pub(crate) reason: String,
}

impl Rejection {
    pub(crate) fn row(number: u64, id: Option<String>, reason: impl Into<String>) -> Self {
        let (id, reason) =
            (id.map(|id| shortened(id, SHOWN_ID_BYTES)), shortened(reason.into(), SHOWN_REASON_BYTES));
        Self { number: Some(number), id, reason }
    }

    pub(crate) fn file(reason: impl Into<String>) -> Self {
        Self { number: None, id: None, reason: shortened(reason.into(), SHOWN_REASON_BYTES) }
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PreparedRow {
    pub(crate) number: u64,
    /// The line where an entry of a feed begins.
    pub(crate) line: Option<u64>,
    pub(crate) id: String,
    pub(crate) json: Box<RawValue>,
    pub(crate) truncated: bool,
    pub(crate) undated: bool,
}

impl PreparedRow {
    /// Names an entry of a feed, before what is said of it.
    pub(crate) fn place(&self) -> String {
        place(self.number, self.line)
    }
}

fn place(number: u64, line: Option<u64>) -> String {
    line.map(|line| format!("entry {number} (line {line}): ")).unwrap_or_default()
}

pub(crate) struct RowFields(pub(crate) Map<String, Value>);

impl RowFields {
    /// Takes a string, number or boolean as text.
    ///
    /// Empty strings and nulls are absent.
    pub(crate) fn take_text(&mut self, names: &[&str]) -> Result<Option<String>, String> {
        self.take_as_text(names, "text", |value| value.is_number() || value.is_boolean())
    }

    pub(crate) fn take_id(&mut self, names: &[&str]) -> Result<String, String> {
        let is_integer = |value: &Value| value.is_i64() || value.is_u64();
        let id = self.take_as_text(names, "text or an integer", is_integer)?;
        id.ok_or_else(|| format!("{}: is required", names.join(" or ")))
    }

    /// Takes a string, or another value that `is_fit`.
    fn take_as_text(
        &mut self,
        names: &[&str],
        expected: &str,
        is_fit: impl Fn(&Value) -> bool,
    ) -> Result<Option<String>, String> {
        for name in names {
            match self.0.remove(*name) {
                None | Some(Value::Null) => {}
                Some(Value::String(text)) if text.is_empty() => {}
                Some(Value::String(text)) => return Ok(Some(text)),
                Some(value) if is_fit(&value) => return Ok(Some(value.to_string())),
                Some(other) => return Err(wrong_type(name, expected, &other)),
            }
        }
        Ok(None)
    }

    /// JSON in a string, also from an object or array.
    pub(crate) fn take_json_text(&mut self, name: &str) -> Result<Option<String>, String> {
        match self.0.remove(name) {
            Some(value @ (Value::Object(_) | Value::Array(_))) => Ok(Some(value.to_string())),
            Some(value) => {
                self.0.insert(name.to_owned(), value);
                self.take_text(&[name])
            }
            None => Ok(None),
        }
    }

    pub(crate) fn take_integer(&mut self, name: &str) -> Result<Option<i64>, String> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value.as_i64().map(Some).ok_or_else(|| wrong_type(name, "an integer", &value)),
        }
    }

    pub(crate) fn take_boolean(&mut self, name: &str) -> Result<Option<bool>, String> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(value)),
            Some(other) => Err(wrong_type(name, "true or false", &other)),
        }
    }

    /// Takes `action`, or makes one that opens `url` or `link`.
    ///
    /// Unsafe addresses are refused (book: explanation/security.md).
    pub(crate) fn take_action(&mut self) -> Result<Option<String>, String> {
        let action = self.take_any_action()?;
        match action.as_deref().map(check_action_addresses) {
            Some(Err(fault)) => Err(format!("action: {fault}")),
            _ => Ok(action),
        }
    }

    fn take_any_action(&mut self) -> Result<Option<String>, String> {
        if let Some(action) = self.take_json_text("action")? {
            return Ok(Some(action));
        }
        let Some(address) = self.take_text(&["url", "link"])? else { return Ok(None) };
        let address = address.trim();
        if address.contains(char::is_control) {
            return Err("url: must not contain control characters".to_owned());
        }
        Ok(Some(serde_json::json!({ "web": format!("[OpenUrl]\nurl={address}") }).to_string()))
    }
}

/// Sets a field that has a value.
pub(crate) fn set(item: &mut Map<String, Value>, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        item.insert(name.to_owned(), value.into());
    }
}

pub(crate) fn visible_id(fields: &Map<String, Value>, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| match fields.get(*name)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
}

fn shortened(mut text: String, bytes: usize) -> String {
    truncate(&mut text, bytes);
    text
}

/// Cuts at a character boundary; returns whether it cut.
pub(crate) fn truncate(text: &mut String, bytes: usize) -> bool {
    let cut = text.len() > bytes;
    if cut {
        text.truncate(text.floor_char_boundary(bytes));
    }
    cut
}

pub(crate) fn wrong_type(name: &str, expected: &str, found: &Value) -> String {
    let found = match found {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "another number",
        Value::String(_) => "text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    format!("{name}: must be {expected}, not {found}")
}
