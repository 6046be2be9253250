//! Times that databases write.

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};

/// Digits of a date and a time of day.
const SECOND_DIGITS: usize = 14;

/// A time, in epoch milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// With a zone.
    Instant(i64),
    /// Without a zone, as if in UTC.
    Local(i64),
}

/// Whether a column of this type holds numbers.
pub(super) fn is_number(data_type: &str) -> bool {
    ["INT", "NUMERIC", "DECIMAL", "FLOAT", "DOUBLE"].iter().any(|kind| data_type.contains(kind))
}

impl Moment {
    /// Reads a time: ISO 8601 and SQL, also with other separators of the date or none.
    ///
    /// Columns of times also hold infinity and years outside of the calendar.
    pub(super) fn read(text: &str, data_type: &str) -> Option<Self> {
        let is_time = ["TIMESTAMP", "TIMESTAMPTZ", "DATE", "DATETIME"].contains(&data_type);
        let is_long_ago = || text.starts_with('-') || text.ends_with("BC") || text.starts_with("0000");
        let outside = || is_time.then(|| Self::Instant(if is_long_ago() { i64::MIN } else { i64::MAX }));
        Self::parse(text, data_type).or_else(outside)
    }

    fn parse(text: &str, data_type: &str) -> Option<Self> {
        let text = match text.bytes().all(|byte| byte.is_ascii_digit()) {
            // Numbers in a sequence look like dates.
            true if text.len() < SECOND_DIGITS && is_number(data_type) => return None,
            true => spread(text)?,
            false => dashed(text)?,
        };
        // Without the Temporal proposal's annotations.
        let text = text.split('[').next()?;
        if let Ok(instant) = text.parse::<Timestamp>() {
            return Some(Self::Instant(instant.as_millisecond()));
        }
        let local = text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok()?;
        Some(Self::Local(local.timestamp().as_millisecond()))
    }
}

/// Digits without separators: a date, or a date and a time.
fn spread(digits: &str) -> Option<String> {
    let (date, time) = match digits.len() {
        8 | SECOND_DIGITS => digits.split_at(8),
        _ => return None,
    };
    let is_of_this_age =
        ["19", "20", "21"].iter().any(|century| date.starts_with(century)) || date.starts_with("9999");
    is_of_this_age.then(|| if time.is_empty() { date.to_owned() } else { format!("{date}T{time}") })
}

/// A date with dashes, which begins with its year.
fn dashed(text: &str) -> Option<String> {
    let (date, time) = text.split_at_checked(10)?;
    let is_separator = |place: usize| matches!(date.as_bytes().get(place), Some(b'-' | b'/' | b'.'));
    let is_dated = is_separator(4) && is_separator(7) && date[..4].bytes().all(|byte| byte.is_ascii_digit());
    is_dated.then(|| format!("{}{time}", date.replace(['/', '.'], "-")))
}
