//! What the forms of modules and sources share: ids, texts and numbers within their bounds, each failure naming its
//! field (decisions 2.3).

use std::{fmt::Display, ops::RangeInclusive};

use crate::{
    error::{Error, Result},
    search::{Duplicates, Weight},
};

/// Characters of an id or a code.
const ID_CHARACTERS: RangeInclusive<usize> = 1..=64;

/// The id of something new: the one that is wished for, or a made one.
///
/// # Errors
/// 400 for one of another form.
pub(super) fn new_id(wished: Option<&str>) -> Result<String> {
    match wished {
        None => Ok(uuid::Uuid::new_v4().to_string()),
        Some(id) if is_id(id) => Ok(id.to_owned()),
        Some(_) => Err(Error::bad_request("id: must be 1 to 64 of A-Z, a-z, 0-9, _ and -")),
    }
}

/// # Errors
/// 400 when what replaces the thing of this id says that it has another one.
pub(super) fn check_same_id(id: &str, stated: Option<&str>) -> Result<()> {
    match stated {
        Some(other) if other != id => {
            Err(Error::bad_request("id: must be the one of the path; ids do not change"))
        }
        _ => Ok(()),
    }
}

fn is_id(text: &str) -> bool {
    ID_CHARACTERS.contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Whether a text has the form of a module's code.
pub(super) fn is_code(text: &str) -> bool {
    is_id(text) && !text.bytes().any(|byte| byte.is_ascii_uppercase())
}

/// A text that has to be there.
///
/// # Errors
/// 400 that names the field.
pub(super) fn required(field: &str, text: Option<String>, most_bytes: usize) -> Result<String> {
    let text = optional(field, text, most_bytes)?;
    text.ok_or_else(|| {
        Error::bad_request(format!("{field}: is required, at most {most_bytes} bytes of UTF-8"))
    })
}

/// A text that may be absent; a blank one is.
///
/// # Errors
/// 400 that names the field.
pub(super) fn optional(field: &str, text: Option<String>, most_bytes: usize) -> Result<Option<String>> {
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else { return Ok(None) };
    if text.len() > most_bytes {
        return Err(Error::bad_request(format!("{field}: must be at most {most_bytes} bytes of UTF-8")));
    }
    if text.chars().any(char::is_control) {
        return Err(Error::bad_request(format!("{field}: must hold no control characters")));
    }
    Ok(Some(text))
}

/// A number within its bounds.
///
/// # Errors
/// 400 that names the field.
pub(super) fn number(
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

/// How much a source counts; as much as a built-in one when nothing is said.
///
/// # Errors
/// 400 that names the field.
pub(super) fn weight(field: &str, weight: Option<f64>) -> Result<Weight> {
    let Some(value) = weight else { return Ok(Weight::ONE) };
    Weight::of(value).ok_or_else(|| {
        Error::bad_request(format!("{field}: must be 0.01 to 100 with at most three decimals, not {value}"))
    })
}

/// What a module does with items that several of its sources have; it keeps them when nothing is said.
///
/// # Errors
/// 400 that names the field.
pub(super) fn duplicates(field: &str, name: Option<&str>) -> Result<Duplicates> {
    let Some(name) = name else { return Ok(Duplicates::Keep) };
    Duplicates::named(name)
        .ok_or_else(|| Error::bad_request(format!("{field}: must be keep, byId or byAction")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_codes_have_their_forms() {
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
