//! Times as other systems write them, as epoch milliseconds.

mod compact;
mod loose;
mod names;
mod ranges;
mod tokens;
mod units;

use std::ops::RangeInclusive;

use jiff::civil::DateTime;
use jiff::fmt::temporal::Pieces;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use self::compact::date_of_digits;
pub(crate) use self::units::USUAL_SECONDS;
pub use self::units::{TimeUnit, millis_of_display_time, millis_of_size};

/// Longer texts are no times.
const MAX_BYTES: usize = 120;
/// Shorter texts of digits are dates without separators.
const MIN_DIGITS: usize = 9;
/// The years 1000 to 9999: systems write earlier ones for a time that was never set.
pub const BOUNDS: RangeInclusive<i64> = -30_610_224_000_000..=253_402_300_799_999;

/// Reads digits as a date, or an epoch number by its size.
pub fn from_number(number: f64) -> Option<i64> {
    let date = date_of_digits(&number.to_string()).and_then(in_utc);
    let millis = match date {
        Some(date) => date.as_millisecond(),
        None => millis_of_size(number)?.0,
    };
    Some(millis).filter(|millis| BOUNDS.contains(millis))
}

fn in_utc(time: DateTime) -> Option<Timestamp> {
    Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

/// Reads a date, or an epoch number of nine digits or more.
///
/// ISO 8601, RFC 2822 and RFC 850, and what people and programs make of them: wrong or foreign weekdays, names of months in
/// other languages, zones by letters, AM and PM. A time without a zone is in UTC. A date that could be two, such as
/// `01/02/2024`, is none unless its weekday tells. Digits alone that are a date are no epoch number.
pub fn from_text(text: &str) -> Option<i64> {
    let text = text.trim();
    if text.len() > MAX_BYTES {
        return None;
    }
    let digits = text.trim_start_matches('-').bytes().take_while(u8::is_ascii_digit).count();
    if digits >= MIN_DIGITS
        && text.get(..digits).and_then(date_of_digits).is_none()
        && let Ok(number) = text.parse()
    {
        return from_number(number);
    }
    from_json_date(text)
        .or_else(|| from_iso(text))
        .or_else(|| loose::read(text))
        .map(Timestamp::as_millisecond)
        .filter(|millis| BOUNDS.contains(millis))
}

/// ISO 8601, also with a zone in brackets (RFC 9557).
fn from_iso(text: &str) -> Option<Timestamp> {
    // No program writes an offset behind a space and minutes alone; people write ranges of times so.
    if matches!(text.as_bytes(), [_, _, _, _, b'-', _, _, b'-', _, _, b' ', _, _, b':', _, _, b'-', ..]) {
        return None;
    }
    let pieces = Pieces::parse(text).ok()?;
    match pieces.to_numeric_offset() {
        Some(offset) => text.parse().ok().filter(|_| loose::is_offset(offset)),
        None if pieces.time_zone_annotation().is_some() => Some(text.parse::<Zoned>().ok()?.timestamp()),
        None => in_utc(text.parse().ok()?),
    }
}

/// `/Date(1704067200000+0100)/` of .NET: milliseconds, whatever the offset.
fn from_json_date(text: &str) -> Option<Timestamp> {
    let inner = text.trim_matches(['/', '\\']).strip_prefix("Date(")?.strip_suffix(')')?;
    let end = inner.rfind(['+', '-']).filter(|place| *place > 0).unwrap_or(inner.len());
    Timestamp::from_millisecond(inner[..end].parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// One time a line: a text, a tab, and the time in RFC 3339 or `-`.
    const TIMES: &str = include_str!("../../tests/wild/times/times.tsv");

    #[test]
    fn written_times_are_read_as_the_table_says() {
        let rows: Vec<_> = TIMES.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        assert!(rows.len() > 100, "the table is cut off");
        for row in rows {
            let (text, expected) = row.split_once('\t').unwrap();
            let expected = (expected != "-").then(|| expected.parse::<Timestamp>().unwrap().as_millisecond());
            assert_eq!(from_text(text), expected, "{text}");
        }
    }

    #[test]
    fn epoch_numbers_are_told_apart_by_size() {
        for number in [1_704_067_200.0, 1.704_067_2e12, 1.704_067_2e15, 1.704_067_2e18, 1_704_067_200.000_4] {
            assert_eq!(from_number(number), Some(1_704_067_200_000), "{number}");
        }
        assert_eq!(from_number(-86_400.0), Some(-86_400_000));
        for number in [
            20_240_101.0,
            2_024_010_100.0,
            202_401_010_000.0,
            20_240_101_000_000.0,
            133_485_408e9,
            638_396_640e9,
        ] {
            assert_eq!(from_number(number), Some(1_704_067_200_000), "{number}");
        }
        for number in [f64::NAN, f64::INFINITY, 1e30, -62_135_596_800.0] {
            assert_eq!(from_number(number), None, "{number}");
        }
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        #[test]
        fn any_text_is_read_or_refused(text in "([0-9]{1,4}|[-:/., +(]|[A-Za-z年月日é]{1,5}){0,14}") {
            from_text(&text);
        }

        #[test]
        fn time_of_each_notation_reads_back(seconds in -1_000_000_000_i64..4_000_000_000) {
            let time = Timestamp::from_second(seconds).unwrap();
            for format in ["%a, %d %b %Y %H:%M:%S %z", "%A, %d-%b-%Y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y",
                "%Y/%m/%d %H:%M:%S", "%d.%m.%Y %H:%M:%S", "%B %d, %Y %I:%M:%S %p UTC", "%Y年%m月%d日 %H:%M:%S"] {
                let text = time.to_zoned(TimeZone::UTC).strftime(format).to_string();
                prop_assert_eq!(from_text(&text), Some(seconds * 1000), "{}", text);
            }
        }
    }
}
