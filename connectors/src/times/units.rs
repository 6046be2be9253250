//! Units of times, told apart by size.

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
}

/// 1973 in milliseconds, and the year 5138 in seconds. Each further unit begins a thousand times later.
const FIRST_MILLISECONDS: f64 = 1e11;
const FIRST_MICROSECONDS: f64 = 1e14;
const FIRST_NANOSECONDS: f64 = 1e17;

/// Largest time in milliseconds that is kept.
const FURTHEST: f64 = 9e15;

/// Milliseconds of a time since 1970, in the unit that makes it a usual one; `None` beyond all years.
pub fn millis_of_size(time: f64) -> Option<(i64, TimeUnit)> {
    let (millis, unit) = match time.abs() {
        size if size < FIRST_MILLISECONDS => (time * 1e3, TimeUnit::Seconds),
        size if size < FIRST_MICROSECONDS => (time, TimeUnit::Milliseconds),
        size if size < FIRST_NANOSECONDS => (time / 1e3, TimeUnit::Microseconds),
        _ => (time / 1e6, TimeUnit::Nanoseconds),
    };
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
    (millis.abs() < FURTHEST).then_some((millis.round() as i64, unit))
}
