//! Times that databases write.

use jiff::{
    civil::{DateTime, Time, date},
    fmt::temporal::Pieces,
};

const EPOCH: DateTime = date(1970, 1, 1).at(0, 0, 0, 0);

/// Digits of a date, and of a date and a time of day to the second.
const DATE_DIGITS: usize = 8;
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

/// Whether a text begins like a date, which may be none of the calendar.
pub(super) fn is_dated(text: &str) -> bool {
    dashed(text).is_some()
}

impl Moment {
    /// Reads a time: ISO 8601 and SQL, also with other separators of the date or none.
    ///
    /// Columns of times also hold infinity and years outside of the calendar.
    pub(super) fn read(text: &str, data_type: &str) -> Option<Self> {
        let is_time = ["TIMESTAMP", "TIMESTAMPTZ", "DATE", "DATETIME"].contains(&data_type);
        let is_long_ago = text.starts_with('-') || text.ends_with("BC") || text.starts_with("0000");
        if is_time && is_long_ago {
            return Some(Self::Instant(i64::MIN));
        }
        Self::parse(text, data_type).or(is_time.then_some(Self::Instant(i64::MAX)))
    }

    fn parse(text: &str, data_type: &str) -> Option<Self> {
        let (date, time) = match text.bytes().all(|byte| byte.is_ascii_digit()) {
            // Numbers in a sequence look like dates.
            true if text.len() < SECOND_DIGITS && is_number(data_type) => return None,
            true => spread(text)?,
            false => dashed(text)?,
        };
        let whole = format!("{date}{time}");
        // Of a time of day in other words, such as `11:00 pm`, the date counts.
        let pieces = Pieces::parse(&whole).or_else(|_| Pieces::parse(&date)).ok()?;
        let local = pieces.date().to_datetime(pieces.time().unwrap_or(Time::midnight()));
        let millis = i64::try_from(local.duration_since(EPOCH).as_millis()).ok()?;
        Some(match pieces.to_numeric_offset() {
            Some(offset) => Self::Instant(millis - i64::from(offset.seconds()) * 1_000),
            None => Self::Local(millis),
        })
    }
}

/// Reads digits without separators as a date, perhaps with a time.
fn spread(digits: &str) -> Option<(String, String)> {
    let (date, time) = digits.split_at_checked(DATE_DIGITS)?;
    let time = match time.len() {
        0 => String::new(),
        4 | 6 => format!("T{time}"),
        9 => format!("T{}.{}", &time[..6], &time[6..]),
        _ => return None,
    };
    let is_of_our_age = ["19", "20", "21", "9999"].iter().any(|begin| date.starts_with(begin));
    is_of_our_age.then(|| (date.to_owned(), time))
}

/// A date with dashes, which begins with its year, and what follows.
fn dashed(text: &str) -> Option<(String, String)> {
    let (date, time) = text.split_at_checked(10)?;
    let is_right = |(place, byte): (usize, u8)| match place {
        4 | 7 => matches!(byte, b'-' | b'/' | b'.'),
        _ => byte.is_ascii_digit(),
    };
    date.bytes().enumerate().all(is_right).then(|| (date.replace(['/', '.'], "-"), time.to_owned()))
}
