//! Checks of form fields; each failure is a 400 that names its field (book: reference/errors.md).

use std::{fmt::Display, ops::RangeInclusive};

use trawl_connectors::grouped;
use trawl_search::{Duplicates, Weight};

use crate::error::{Error, Result};

const ID_CHARACTERS: RangeInclusive<usize> = 1..=64;

pub(crate) fn new_id(requested: Option<&str>) -> Result<String> {
    match requested {
        None => Ok(uuid::Uuid::new_v4().to_string()),
        Some(id) if is_id(id) => Ok(id.to_owned()),
        Some(_) => Err(Error::bad_request("id: must be 1 to 64 of A-Z, a-z, 0-9, _ and -")),
    }
}

pub(crate) fn check_same_id(id: &str, stated: Option<&str>) -> Result<()> {
    match stated {
        Some(other) if other != id => {
            Err(Error::bad_request("id: must equal the one in the path; ids cannot change"))
        }
        _ => Ok(()),
    }
}

fn is_id(text: &str) -> bool {
    ID_CHARACTERS.contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

pub(super) fn is_code(text: &str) -> bool {
    is_id(text) && !text.bytes().any(|byte| byte.is_ascii_uppercase())
}

pub(crate) fn required(field: &str, text: Option<String>, max_bytes: usize) -> Result<String> {
    let text = optional(field, text, max_bytes)?;
    text.ok_or_else(|| {
        Error::bad_request(format!("{field}: is required, at most {} bytes of UTF-8", grouped(max_bytes)))
    })
}

/// A blank text counts as absent.
pub(crate) fn optional(field: &str, text: Option<String>, max_bytes: usize) -> Result<Option<String>> {
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else { return Ok(None) };
    if text.len() > max_bytes {
        let most = grouped(max_bytes);
        return Err(Error::bad_request(format!("{field}: must be at most {most} bytes of UTF-8")));
    }
    if text.chars().any(char::is_control) {
        return Err(Error::bad_request(format!("{field}: must hold no control characters")));
    }
    Ok(Some(text))
}

pub(crate) fn number(
    field: &str,
    number: Option<i64>,
    default: i64,
    bounds: &RangeInclusive<i64>,
    unit: impl Display,
) -> Result<i64> {
    let number = number.unwrap_or(default);
    if bounds.contains(&number) {
        return Ok(number);
    }
    let (least, most) = (bounds.start(), bounds.end());
    Err(Error::bad_request(format!("{field}: must be {least} to {most} {unit}, not {number}")))
}

pub(super) fn weight(field: &str, weight: Option<f64>) -> Result<Weight> {
    let Some(value) = weight else { return Ok(Weight::ONE) };
    Weight::of(value).ok_or_else(|| {
        Error::bad_request(format!("{field}: must be 0.01 to 100 with at most three decimals, not {value}"))
    })
}

pub(super) fn duplicates(field: &str, name: Option<&str>) -> Result<Duplicates> {
    let Some(name) = name else { return Ok(Duplicates::Keep) };
    Duplicates::named(name)
        .ok_or_else(|| Error::bad_request(format!("{field}: must be keep, byId or byAction")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_codes_are_validated() {
        for id in ["a", "A-b_9", &"x".repeat(64)] {
            assert_eq!(new_id(Some(id)).unwrap(), id);
        }
        for wrong in ["", "a b", "builtin:a", "ä", &"x".repeat(65)] {
            assert!(new_id(Some(wrong)).unwrap_err().message.starts_with("id: "), "{wrong}");
        }
        assert!(is_id(&new_id(None).unwrap()));
        assert!(is_code("a-b_9") && !is_code("A") && !is_code(""));
    }
}
