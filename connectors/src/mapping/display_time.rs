//! Times as systems write them.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::fmt::rfc2822;
use jiff::tz::TimeZone;

/// Numbers from here on are milliseconds: 1973 in those, and the year 5138 in seconds.
const FIRST_MILLISECONDS: f64 = 1e11;

/// Shorter texts are dates without separators.
const MIN_DIGITS: usize = 9;

/// Seconds or milliseconds since 1970 as milliseconds.
pub(super) fn from_number(number: f64) -> Option<i64> {
    let millis = if number.abs() < FIRST_MILLISECONDS { number * 1_000.0 } else { number };
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
    (millis.abs() < 9e15).then_some(millis.round() as i64)
}

/// A date in ISO 8601 or RFC 2822, or a long number.
///
/// A date without a zone is in UTC. A number has nine digits or more.
pub(super) fn from_text(text: &str) -> Option<i64> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits >= MIN_DIGITS
        && let Ok(number) = text.parse()
    {
        return from_number(number);
    }
    let in_utc = |time: DateTime| time.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
    let read: Option<Timestamp> = text
        .parse::<Timestamp>()
        .ok()
        .or_else(|| with_colon_in_zone(text)?.parse().ok())
        .or_else(|| in_utc(text.parse::<DateTime>().ok()?))
        .or_else(|| in_utc(text.parse::<Date>().ok()?.into()))
        .or_else(|| rfc2822::parse(text).ok().map(|zoned| zoned.timestamp()));
    read.map(Timestamp::as_millisecond)
}

/// `+0100` as `+01:00`, as some systems leave the colon out.
fn with_colon_in_zone(text: &str) -> Option<String> {
    let (rest, minutes) = text.split_at_checked(text.len().checked_sub(2)?)?;
    let zone = rest.get(rest.len().checked_sub(3)?..)?;
    let is_zone = zone.starts_with(['+', '-']) && zone[1..].bytes().all(|byte| byte.is_ascii_digit());
    is_zone.then(|| format!("{rest}:{minutes}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW_YEAR: i64 = 1_704_067_200_000;

    #[test]
    fn dates_of_many_kinds_are_the_same_time() {
        for text in [
            "2024-01-01T00:00:00Z",
            "2024-01-01T00:00:00.000Z",
            "2024-01-01T01:00:00+01:00",
            "2024-01-01T01:00:00.000+0100",
            "2024-01-01T00:00:00",
            "2024-01-01 00:00:00",
            "2024-01-01",
            "20240101",
            "Mon, 1 Jan 2024 00:00:00 GMT",
            "Mon, 01 Jan 2024 01:00:00 +0100",
            "1704067200",
            "1704067200000",
            " 1704067200.000 ",
        ] {
            assert_eq!(from_text(text), Some(NEW_YEAR), "{text}");
        }
    }

    #[test]
    fn text_without_a_date_has_no_time() {
        for text in ["", "yesterday", "2024-13-01", "01/02/2024", "2024", "1e300", "NaN", "-", "+0100", "é0"]
        {
            assert_eq!(from_text(text), None, "{text}");
        }
    }
}
