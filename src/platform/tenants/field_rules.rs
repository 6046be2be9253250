//! Checks of fields; the message names the field and its bounds.

use std::ops::RangeInclusive;

use crate::error::{Error, Result};

pub(super) fn text(
    field: &str,
    text: Option<String>,
    most_bytes: usize,
    lines: bool,
) -> Result<Option<String>> {
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else { return Ok(None) };
    if text.len() > most_bytes {
        return Err(Error::bad_request(format!("{field}: must be at most {most_bytes} bytes of UTF-8")));
    }
    let is_allowed = |c: char| !c.is_control() || (lines && matches!(c, '\n' | '\r' | '\t'));
    if !text.chars().all(is_allowed) {
        return Err(Error::bad_request(format!("{field}: must hold no control characters")));
    }
    Ok(Some(text))
}

pub(super) fn number(field: &str, number: i64, bounds: &RangeInclusive<i64>) -> Result<i64> {
    if bounds.contains(&number) {
        return Ok(number);
    }
    let (least, most) = (bounds.start(), bounds.end());
    Err(Error::bad_request(format!("{field}: must be {least} to {most}, not {number}")))
}
