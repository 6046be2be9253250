//! Ranges of days and times, of which the beginning counts.

use super::tokens::{TimeToken, number, period_of_day};

/// Tokens of a range of days, such as `15-17`, `15.-17.` or `15th-17th`.
pub(super) fn length_of_range(tokens: &[TimeToken]) -> Option<usize> {
    let text = |place: usize| tokens.get(place).map_or("", |token| token.text);
    let mark = if matches!(text(1), "." | "st" | "nd" | "rd" | "th") { 2 } else { 1 };
    let [first, last]: [i8; 2] = [number(text(0), 1..=2)?, number(text(mark + 1), 1..=2)?];
    (text(mark) == "-" && first < last).then_some(mark + 2)
}

/// Counts the tokens of a range of times, such as `14:00-16:00`.
///
/// An offset is no later time, or has a space before it alone.
pub(super) fn length_of_times(tokens: &[TimeToken]) -> Option<usize> {
    let [hour, mark, minute, dash, last_hour, last_mark, last_minute, ..] = tokens else { return None };
    let time =
        |hour: &TimeToken, minute: &TimeToken| Some((number(hour.text, 1..=2)?, number(minute.text, 2..=2)?));
    let [first, last]: [(i32, i32); 2] = [time(hour, minute)?, time(last_hour, last_minute)?];
    let is_range = dash.text == "-"
        && dash.follows_space == last_hour.follows_space
        && mark.text == last_mark.text
        && first < last
        && last <= (24, 0);
    is_range.then_some(7)
}

/// Counts tokens that end a range of times, as `- 10:05 PM`.
pub(super) fn length_of_end(tokens: &[TimeToken]) -> Option<usize> {
    let [mark, hour, rest @ ..] = tokens else { return None };
    number::<i8>(hour.text, 1..=2).filter(|_| matches!(mark.text, "-" | "to" | "until"))?;
    let minute = match rest {
        [colon, minute, ..] if colon.text == ":" => number::<i8>(minute.text, 2..=2).map(|_| 2)?,
        _ => 0,
    };
    let (_, taken) = period_of_day(rest.get(minute..)?)?;
    Some(2 + minute + taken)
}
