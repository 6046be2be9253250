//! What several areas share: ids of the synchronising side, the null and empty-string rule, and failures of single rows.

use serde::Serialize;

/// Bytes of an id.
pub const ID_BYTES: usize = 512;

/// Checks an id that a caller gives to what is his.
///
/// # Errors
/// A message that names the field `id`.
pub fn check_id(id: &str) -> Result<(), String> {
    if id.is_empty() || id.len() > ID_BYTES || id.chars().any(char::is_control) {
        return Err(format!("id: must be 1 to {ID_BYTES} bytes of UTF-8 without control characters"));
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
