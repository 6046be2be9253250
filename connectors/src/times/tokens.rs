//! Words and numbers of a written time.

use std::iter::from_fn;
use std::ops::{Range, RangeInclusive};
use std::str::FromStr;

use super::names::{UNITS, day_period};

/// A run of digits, a run of letters, or another character.
#[derive(Clone, Copy)]
pub(super) struct TimeToken<'t> {
    pub(super) text: &'t str,
    pub(super) follows_space: bool,
}

pub(super) fn tokens(text: &str) -> impl Iterator<Item = TimeToken<'_>> {
    let mut rest = text;
    from_fn(move || {
        let trimmed = rest.trim_start();
        let follows_space = trimmed.len() < rest.len();
        let first = trimmed.chars().next()?;
        let is_same: fn(char) -> bool = match first {
            '0'..='9' => |other| other.is_ascii_digit(),
            _ if UNITS.contains(&first) => |_| false,
            _ if first.is_alphabetic() => |other| other.is_alphabetic() && !UNITS.contains(&other),
            _ => |_| false,
        };
        let behind = &trimmed[first.len_utf8()..];
        let end = trimmed.len() - behind.trim_start_matches(is_same).len();
        let (text, behind) = trimmed.split_at(end);
        rest = behind;
        Some(TimeToken { text, follows_space })
    })
}

/// A number of as many digits as are allowed.
pub(super) fn number<T: FromStr>(text: &str, digits: RangeInclusive<usize>) -> Option<T> {
    (digits.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

/// Hours of the part of the day that begins here, and the number of its tokens.
///
/// It is `pm`, `p. m.` or `下午`, for example.
pub(super) fn period_of_day(tokens: &[TimeToken]) -> Option<(Range<i32>, usize)> {
    let text = |place: usize| tokens.get(place).map_or("", |token| token.text);
    let last = if text(1) == "." { 2 } else { 1 };
    if matches!(text(last), "m" | "μ") {
        return Some((day_period(&[text(0), text(last)].concat())?, last + 1));
    }
    Some((day_period(text(0))?, 1))
}
