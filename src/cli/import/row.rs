//! One row of an input on its way to the server, and the refusal of one: what every part of the import speaks of.

use serde::Serialize;
use serde_json::{Map, Value};

/// One row as it was read.
#[derive(Debug, PartialEq)]
pub(super) struct Row {
    /// Line of a JSON Lines file, or place in an array or a feed, from 1.
    pub(super) number: u64,
    /// The row's fields, names as in the file.
    pub(super) fields: Map<String, Value>,
}

/// A row that was not imported, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Rejection {
    /// As [`Row::number`]; none when the file as a whole is meant, and reading ends there.
    #[serde(rename = "line")]
    pub(super) number: Option<u64>,
    /// The row's id, where it has one.
    pub(super) id: Option<String>,
    /// What is wrong and, where it helps, what would be right.
    pub(super) reason: String,
}

impl Rejection {
    /// The refusal of one row.
    pub(super) fn of_row(number: u64, id: Option<String>, reason: impl Into<String>) -> Self {
        Self { number: Some(number), id, reason: reason.into() }
    }

    /// The end of reading a file that cannot be read on.
    pub(super) fn of_file(reason: impl Into<String>) -> Self {
        Self { number: None, id: None, reason: reason.into() }
    }
}

/// A row as the server is to get it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Prepared {
    /// The id by which the server's answer names the row.
    pub(super) id: String,
    /// One JSON object.
    pub(super) json: Vec<u8>,
    /// A text was cut to the length that is sent at most.
    pub(super) truncated: bool,
}

/// Takes values out of a row by any of the names that a value goes by, the proper one first.
pub(super) struct Fields(pub(super) Map<String, Value>);

impl Fields {
    /// The first of `names` that holds a text, number or boolean, as text; empty texts and nulls count as absent.
    pub(super) fn take_text(&mut self, names: &[&str]) -> Result<Option<String>, String> {
        for name in names {
            match self.0.remove(*name) {
                None | Some(Value::Null) => {}
                Some(Value::String(text)) if text.is_empty() => {}
                Some(Value::String(text)) => return Ok(Some(text)),
                Some(value @ (Value::Number(_) | Value::Bool(_))) => return Ok(Some(value.to_string())),
                Some(other) => return Err(wrong_type(name, "text", &other)),
            }
        }
        Ok(None)
    }

    /// A field that is JSON kept in a text: such a text as it is, an object or array written as one.
    pub(super) fn take_json_text(&mut self, name: &str) -> Result<Option<String>, String> {
        match self.0.remove(name) {
            Some(value @ (Value::Object(_) | Value::Array(_))) => Ok(Some(value.to_string())),
            Some(value) => {
                self.0.insert(name.to_owned(), value);
                self.take_text(&[name])
            }
            None => Ok(None),
        }
    }

    /// A whole number.
    pub(super) fn take_integer(&mut self, name: &str) -> Result<Option<i64>, String> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value.as_i64().map(Some).ok_or_else(|| wrong_type(name, "a whole number", &value)),
        }
    }

    /// A boolean.
    pub(super) fn take_boolean(&mut self, name: &str) -> Result<Option<bool>, String> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(value)),
            Some(other) => Err(wrong_type(name, "true or false", &other)),
        }
    }

    /// The id: a text, or a whole number as text.
    pub(super) fn take_id(&mut self, names: &[&str]) -> Result<String, String> {
        for name in names {
            match self.0.remove(*name) {
                None | Some(Value::Null) => {}
                Some(Value::String(text)) if text.is_empty() => {}
                Some(Value::String(text)) => return Ok(text),
                Some(Value::Number(number)) if !number.is_f64() => return Ok(number.to_string()),
                Some(other) => return Err(wrong_type(name, "text or a whole number", &other)),
            }
        }
        Err(format!("no `{}`", names.join("` or `")))
    }

    /// `action`, or one made of `url` or `link` (open-interface "Task": an `[OpenUrl]` tag and a `url=` line).
    pub(super) fn take_action(&mut self) -> Result<Option<String>, String> {
        if let Some(action) = self.take_json_text("action")? {
            return Ok(Some(action));
        }
        let Some(address) = self.take_text(&["url", "link"])? else { return Ok(None) };
        let address = address.trim();
        if address.contains(char::is_control) {
            return Err("the address in `url` holds a line break or another control character".to_owned());
        }
        Ok(Some(serde_json::json!({ "web": format!("[OpenUrl]\nurl={address}") }).to_string()))
    }
}

/// The id that a row shows, for a message about it.
pub(super) fn visible_id(fields: &Map<String, Value>, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| match fields.get(*name)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
}

/// Cuts a text at a character's border to at most `bytes`; whether something was cut.
pub(super) fn truncate(text: &mut String, bytes: usize) -> bool {
    let cut = text.len() > bytes;
    if cut {
        text.truncate(text.floor_char_boundary(bytes));
    }
    cut
}

pub(super) fn wrong_type(name: &str, expected: &str, found: &Value) -> String {
    let found = match found {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "another number",
        Value::String(_) => "text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    format!("`{name}` must be {expected}, is {found}")
}
