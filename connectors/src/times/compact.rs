//! Dates in digits alone, such as `20240615100000`.

use std::ops::{Range, RangeInclusive};

use jiff::civil::DateTime;

/// Digits of other years are no date.
const YEARS: RangeInclusive<i16> = 1900..=2100;

/// Reads digits as a date, and further ones as a time.
///
/// An epoch number of such digits is read as the date. With 8 digits it would be seconds of August 1970, with 12
/// milliseconds of 1976, with 14 or 17 a time after 2571: no document has them. With 10 digits it would be seconds of
/// March 2030 to July 2036, of which one in a hundred is also a date. Seconds before 2030 begin with no such year.
pub(super) fn date_of_digits(digits: &str) -> Option<DateTime> {
    if !matches!(digits.len(), 8 | 10 | 12 | 14 | 17) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number = |place: Range<usize>| digits.get(place).map_or(Some(0), |part| part.parse::<i16>().ok());
    let pair = |start| i8::try_from(number(start..start + 2)?).ok();
    let year = number(0..4).filter(|year| YEARS.contains(year))?;
    let nanoseconds = i32::from(number(14..17)?) * 1_000_000;
    DateTime::new(year, pair(4)?, pair(6)?, pair(8)?, pair(10)?, pair(12)?, nanoseconds).ok()
}
