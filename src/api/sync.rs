//! What the directory's synchronisations share.

use serde::de::DeserializeOwned;
use serde_json::{Value, value::RawValue};

use crate::{
    error::{Error, Result},
    json,
    platform::users::model::SyncFailure,
};

/// Reads the rows of a synchronisation; a row that cannot be read is a failure of its own.
///
/// # Errors
/// 400 when there are more than `most`.
pub fn read_rows<T: DeserializeOwned>(
    rows: &[Box<RawValue>],
    id_field: &str,
    most: usize,
) -> Result<(Vec<T>, Vec<SyncFailure>)> {
    if rows.len() > most {
        return Err(Error::bad_request(format!("body: must hold at most {most} rows, not {}", rows.len())));
    }
    let mut read = Vec::with_capacity(rows.len());
    let mut failures = Vec::new();
    for raw in rows {
        match json::read_object(raw.get().as_bytes()) {
            Ok(row) => read.push(row),
            Err(message) => failures.push(SyncFailure { id: id_of(raw, id_field), message }),
        }
    }
    Ok((read, failures))
}

fn id_of(raw: &RawValue, id_field: &str) -> String {
    let row: Value = serde_json::from_str(raw.get()).unwrap_or_default();
    match &row[id_field] {
        Value::String(id) => id.clone(),
        Value::Number(id) => id.to_string(),
        _ => String::new(),
    }
}
