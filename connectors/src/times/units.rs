//! Units of times, told apart by size.

use std::ops::Range;

/// A unit that a time was counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds.
    Seconds,
    /// Milliseconds, the contract's unit.
    Milliseconds,
    /// Microseconds.
    Microseconds,
    /// Nanoseconds.
    Nanoseconds,
    /// 100 nanoseconds since 1601, `FILETIME` of Windows.
    FileTime,
    /// 100 nanoseconds since the year 1, ticks of .NET.
    Ticks,
}

/// 1973 in milliseconds, and the year 5138 in seconds.
///
/// Each further unit begins a thousand times later.
const FIRST_MILLISECONDS: f64 = 1e11;
const FIRST_MICROSECONDS: f64 = 1e14;
const FIRST_NANOSECONDS: f64 = 1e17;

/// 1970 and the years until 2100, in units of 100 nanoseconds.
///
/// As nanoseconds these times were of 1973 and 1974, or of 1989 and 1990, when no system counted so.
const FILE_TIME_OF_1970: f64 = 116_444_736e9;
const TICKS_OF_1970: f64 = 621_355_968e9;
const UNTIL_2100: f64 = 41_024_448e9;

/// Years 1973 to 2106. As milliseconds they are fifty days of 1970, where no document is.
pub(crate) const USUAL_SECONDS: Range<f64> = 1e8..4_294_967_296.0;

/// Largest time in milliseconds that is kept.
const FURTHEST: f64 = 9e15;

/// Milliseconds of a time since 1970; `None` beyond all years.
///
/// Its size tells the unit.
pub fn millis_of_size(time: f64) -> Option<(i64, TimeUnit)> {
    let is_near = |first: f64| (first..first + UNTIL_2100).contains(&time);
    let (millis, unit) = match time.abs() {
        size if size < FIRST_MILLISECONDS => (time * 1e3, TimeUnit::Seconds),
        size if size < FIRST_MICROSECONDS => (time, TimeUnit::Milliseconds),
        size if size < FIRST_NANOSECONDS => (time / 1e3, TimeUnit::Microseconds),
        _ if is_near(FILE_TIME_OF_1970) => ((time - FILE_TIME_OF_1970) / 1e4, TimeUnit::FileTime),
        _ if is_near(TICKS_OF_1970) => ((time - TICKS_OF_1970) / 1e4, TimeUnit::Ticks),
        _ => (time / 1e6, TimeUnit::Nanoseconds),
    };
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
    (millis.abs() < FURTHEST).then_some((millis.round() as i64, unit))
}

/// Milliseconds of a number where milliseconds are expected: smaller ones than usual seconds are such, too.
pub fn millis_of_display_time(time: f64) -> Option<(i64, TimeUnit)> {
    let (millis, unit) = millis_of_size(time)?;
    if unit != TimeUnit::Seconds || USUAL_SECONDS.contains(&time) {
        return Some((millis, unit));
    }
    #[expect(clippy::cast_possible_truncation, reason = "seconds are smaller than milliseconds")]
    Some((time.round() as i64, TimeUnit::Milliseconds))
}
