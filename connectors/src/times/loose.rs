//! Reads a date and a time from words and numbers in order.

use std::ops::Range;

use jiff::civil::{Date, Time, Weekday};
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, ToSpan};
use unicode_normalization::UnicodeNormalization;

use super::compact::date_of_digits;
use super::names::{is_filler, month, weekday, zone};
use super::ranges::{length_of_end, length_of_range, length_of_times};
use super::tokens::{TimeToken, number, period_of_day, tokens};

#[derive(Default)]
struct Parts {
    year: Option<i16>,
    month: Option<i8>,
    day: Option<i8>,
    time: Option<[i32; 4]>,
    day_period: Option<Range<i32>>,
    zone: Option<TimeZone>,
    weekday: Option<Weekday>,
    has_short_year: bool,
    may_be_tuesday: bool,
    /// Whether the numbers may stand in another order.
    is_order_open: bool,
}

pub(super) fn read(text: &str) -> Option<Timestamp> {
    let text = text.nfkc().collect::<String>().to_lowercase();
    let text = text.replace(['−', '–', '—', '~', '〜', '至'], "-").replace("z00'00'", "z");
    let tokens: Vec<TimeToken> = tokens(&text).collect();
    let (mut parts, mut at) = (Parts::default(), 0);
    while at < tokens.len() {
        let has_begun =
            tokens[..at].iter().any(|token| token.text.starts_with(|first: char| first.is_ascii_digit()));
        at += parts.take(&tokens[at..], has_begun)?;
    }
    parts.timestamp()
}

/// Two digits of a year (RFC 2822 §4.3), or four.
fn year(text: &str) -> Option<i16> {
    let year: i16 = number(text, 2..=4)?;
    match text.len() {
        2 if year < 50 => Some(year + 2000),
        2 => Some(year + 1900),
        4 => Some(year),
        _ => None,
    }
}

/// A zone of the tz database, such as `Europe/Berlin`.
fn named_zone(tokens: &[TimeToken]) -> Option<TimeZone> {
    let name: String = tokens.iter().map(|token| token.text).collect();
    TimeZone::get(&name).ok()
}

/// A zone by minutes east of UTC, if there is a place with such time.
fn fixed_zone(minutes: i32) -> Option<TimeZone> {
    let offset = Offset::from_seconds(minutes * 60).ok().filter(|offset| is_offset(*offset))?;
    Some(TimeZone::fixed(offset))
}

/// Offsets from UTC are between 12 hours west and 14 hours east.
pub(super) fn is_offset(offset: Offset) -> bool {
    (-12 * 3600..=14 * 3600).contains(&offset.seconds())
}

/// Tells whether an hour begins that may be of either half-day.
fn is_early(tokens: &[TimeToken]) -> bool {
    let [hour, mark, ..] = tokens else { return false };
    number::<i32>(hour.text, 1..=2).is_some_and(|hour| hour <= 12)
        && matches!(mark.text, ":" | "点" | "點" | "時" | "时" | "시")
}

/// Milliseconds of a fraction of a second.
fn fraction(mark: &str, digits: &str) -> Option<i32> {
    number::<i64>(digits, 1..=12).filter(|_| matches!(mark, "." | ","))?;
    format!("{digits:0<3}")[..3].parse().ok()
}

impl Parts {
    /// Takes what begins here; returns the number of tokens.
    fn take(&mut self, tokens: &[TimeToken], has_begun: bool) -> Option<usize> {
        let text = |place: usize| tokens.get(place).map_or("", |token| token.text);
        let first = text(0);
        if self.day_period.is_some()
            && let Some(taken) = length_of_end(tokens)
        {
            return Some(taken);
        }
        if first.starts_with(char::is_alphabetic) {
            return self.take_word(tokens, has_begun);
        }
        if first.starts_with(|character: char| character.is_ascii_digit()) {
            return self
                .take_date(tokens)
                .or_else(|| self.take_time(tokens))
                .or_else(|| self.take_number(tokens));
        }
        match first {
            "(" | "[" => {
                let end = tokens.iter().position(|token| matches!(token.text, ")" | "]"))?;
                self.take_brackets(&tokens[1..end])?;
                Some(end + 1)
            }
            "+" | "-" if self.time.is_some() && tokens.get(1).is_some_and(|next| !next.follows_space) => {
                self.take_offset(tokens)
            }
            _ => Some(1),
        }
    }

    /// Three numbers parted alike, or a year and a month alone.
    fn take_date(&mut self, tokens: &[TimeToken]) -> Option<usize> {
        if self.day.is_some() {
            return None;
        }
        let [one, mark, two, rest @ ..] = tokens else { return None };
        if rest.is_empty() && mark.text == "-" && one.text.len() == 4 {
            (self.year, self.month, self.day) = (year(one.text), number(two.text, 1..=2), Some(1));
            return Some(3);
        }
        let [second_mark, three, ..] = rest else { return None };
        if mark.text != second_mark.text || !matches!(mark.text, "-" | "/" | ".") {
            return None;
        }
        let two: i8 = number(two.text, 1..=2)?;
        if one.text.len() == 4 {
            (self.year, self.month, self.day) = (year(one.text), Some(two), number(three.text, 1..=2));
            return Some(5);
        }
        let (one, year): (i8, _) = (number(one.text, 1..=2)?, year(three.text));
        // Between points stands a day first; elsewhere only a number above 12 tells.
        let is_day_first = mark.text == "." || one > 12 || one == two;
        let (day, month) = if is_day_first { (one, two) } else { (two, one) };
        self.is_order_open = (!is_day_first && day <= 12) || (three.text.len() != 4 && mark.text != ".");
        (self.year, self.month, self.day) = (year, Some(month), Some(day));
        Some(5)
    }

    /// `14:00`, `14:00:30.5`, `14h30`, and `14.00` behind a date.
    fn take_time(&mut self, tokens: &[TimeToken]) -> Option<usize> {
        if self.time.is_some() {
            return None;
        }
        let text = |place: usize| tokens.get(place).map_or("", |token| token.text);
        let hour = number(text(0), 1..=2)?;
        if period_of_day(&tokens[1..]).is_some() {
            self.time = Some([hour, 0, 0, 0]);
            return Some(1);
        }
        let is_mark = match text(1) {
            ":" | "h" => true,
            "." => self.year.is_some() && self.day.is_some(),
            _ => false,
        };
        // Single digits stand in all places, as in `20:0:0`.
        let digits = if text(1) == ":" && text(3) == ":" { 1..=2 } else { 2..=2 };
        let minute = number(text(2), digits.clone()).filter(|_| is_mark)?;
        let second = (text(3) == text(1)).then(|| number(text(4), digits)).flatten();
        let Some(second) = second else {
            self.time = Some([hour, minute, 0, 0]);
            return Some(length_of_times(tokens).unwrap_or(3));
        };
        let millis = fraction(text(5), text(6));
        self.time = Some([hour, minute, second, millis.unwrap_or(0)]);
        Some(if millis.is_some() { 7 } else { 5 })
    }

    /// A year, a day, or digits without marks.
    fn take_number(&mut self, tokens: &[TimeToken]) -> Option<usize> {
        let (text, unit) = (tokens[0].text, tokens.get(1).map_or("", |token| token.text));
        let value: i8 = number(text, 1..=2).unwrap_or_default();
        match unit.chars().next() {
            Some('年' | '년') => self.year = Some(year(text)?),
            Some('月' | '월') => self.month = Some(value),
            Some('日' | '일' | '号') => self.day = Some(value),
            Some('时' | '時' | '点' | '시') => self.time = Some([value.into(), 0, 0, 0]),
            Some('分' | '분') => self.time.as_mut()?[1] = value.into(),
            Some('秒' | '초') => self.time.as_mut()?[2] = value.into(),
            _ => {
                if self.day.is_none()
                    && let Some(taken) = length_of_range(tokens)
                {
                    self.day = Some(value);
                    return Some(taken);
                }
                self.take_plain_number(text)?;
                let millis = fraction(unit, tokens.get(2).map_or("", |token| token.text));
                let (Some(millis), 14) = (millis, text.len()) else { return Some(1) };
                self.time.as_mut()?[3] = millis;
                return Some(3);
            }
        }
        Some(2)
    }

    fn take_plain_number(&mut self, text: &str) -> Option<()> {
        match text.len() {
            8.. if self.year.is_none() => {
                let date = date_of_digits(text)?;
                (self.year, self.month, self.day) = (Some(date.year()), Some(date.month()), Some(date.day()));
                if text.len() > 8 {
                    let [hour, minute, second] = [date.hour(), date.minute(), date.second()].map(i32::from);
                    self.time = Some([hour, minute, second, date.millisecond().into()]);
                }
            }
            4 if self.year.is_none() => self.year = year(text),
            // A year of four digits makes the number before it a month, or a day.
            4 if self.has_short_year && self.month.is_none() => {
                let (one, two) = (self.day?, self.year.and_then(|short| i8::try_from(short % 100).ok())?);
                let (day, month) = if two > 12 { (two, one) } else { (one, two) };
                self.is_order_open = day <= 12 && day != month;
                (self.day, self.month) = (Some(day), Some(month));
                (self.year, self.has_short_year) = (year(text), false);
            }
            4 | 6 if self.day.is_some() && self.time.is_none() => {
                // Behind `17` of days or years, 2024 is hardly 20:24.
                if self.has_short_year && matches!(&text[..2], "19" | "20") {
                    return None;
                }
                let second = text.get(4..6).map_or(Some(0), |digits| number(digits, 2..=2))?;
                self.time = Some([number(&text[..2], 2..=2)?, number(&text[2..4], 2..=2)?, second, 0]);
            }
            1 | 2 if self.day.is_none() => self.day = number(text, 1..=2),
            2 if self.year.is_none() => (self.year, self.has_short_year) = (year(text), true),
            _ => return None,
        }
        Some(())
    }

    fn take_word(&mut self, tokens: &[TimeToken], has_begun: bool) -> Option<usize> {
        let word = tokens[0].text;
        self.weekday = self.weekday.or(weekday(word));
        if self.time.is_some() && self.zone.is_none() && tokens.get(1).is_some_and(|next| next.text == "/") {
            self.zone = Some(named_zone(tokens)?);
            return Some(tokens.len());
        }
        if let Some((hours, taken)) = period_of_day(tokens) {
            // German `am` stands before a date.
            if self.time.is_some() || self.day.is_some() || word != "am" {
                self.day_period = Some(hours);
            }
            return Some(taken);
        }
        if let Some(month) = month(word) {
            self.take_month(month, word == "mar")?;
        } else if self.zone.is_none() && !is_filler(word) && (self.time.is_some() || self.ends_by_zone(word))
        {
            self.zone = Some(fixed_zone(zone(word)?)?);
        } else if !is_filler(word) {
            let is_harmless = if word.is_ascii() {
                !has_begun || self.zone.is_some()
            } else {
                self.time.is_some() || !is_early(&tokens[1..])
            };
            return is_harmless.then_some(1);
        }
        Some(1)
    }

    /// Whether a zone stands behind a date without a time.
    fn ends_by_zone(&self, word: &str) -> bool {
        let is_certain = word.len() > 1 || word == "z";
        is_certain && self.year.is_some() && self.day.is_some() && zone(word).is_some()
    }

    /// `mar` is also a Tuesday: another name counts more.
    fn take_month(&mut self, month: i8, may_be_tuesday: bool) -> Option<()> {
        if self.month.is_none() || self.may_be_tuesday {
            (self.month, self.may_be_tuesday) = (Some(month), may_be_tuesday);
        }
        (self.month == Some(month) || may_be_tuesday).then_some(())
    }

    /// `+01:00`, `+0100` or `+1`; it counts more than letters before it.
    fn take_offset(&mut self, tokens: &[TimeToken]) -> Option<usize> {
        let text = |place: usize| tokens.get(place).map_or("", |token| token.text);
        let digits = text(1);
        let (hours, minutes, taken): (i32, i32, _) = match digits.len() {
            1 | 2 if matches!(text(2), ":" | "'") => (number(digits, 1..=2)?, number(text(3), 1..=2)?, 4),
            1 | 2 => (number(digits, 1..=2)?, 0, 2),
            4 => (number(digits.get(..2)?, 2..=2)?, number(&digits[2..], 2..=2)?, 2),
            _ => return None,
        };
        let minutes = hours * 60 + Some(minutes).filter(|minutes| *minutes < 60)?;
        self.zone = Some(fixed_zone(if text(0) == "-" { -minutes } else { minutes })?);
        Some(taken)
    }

    /// A zone, where none stands yet, or a remark.
    fn take_brackets(&mut self, tokens: &[TimeToken]) -> Option<()> {
        let text = |place: usize| tokens.get(place).map_or("", |token| token.text);
        let first = text(0);
        if self.zone.is_some() || first.is_empty() {
            return Some(());
        }
        let letters = zone(first).filter(|_| first.len() > 1 || first == "z");
        let offset = usize::from(letters.is_some());
        if matches!(text(offset), "+" | "-") {
            self.take_offset(&tokens[offset..])?;
        } else if text(1) == "/" {
            self.zone = Some(named_zone(tokens)?);
        } else if let Some(minutes) = letters {
            self.zone = Some(fixed_zone(minutes)?);
        } else if self.time.is_some() && first.is_ascii() && !is_filler(first) {
            // Short letters, and words before `time`, may be a zone that is not known.
            let is_short = tokens.len() == 1 && matches!(first.len(), 2..=5);
            let is_named = tokens.last().is_some_and(|last| last.text == "time");
            return (!is_short && !is_named).then_some(());
        }
        Some(())
    }

    /// The date; its weekday tells which of two it is.
    fn date(&self) -> Option<Date> {
        let (year, month, day) = (self.year?, self.month?, self.day?);
        let date = Date::new(year, month, day).ok();
        if !self.is_order_open {
            return date;
        }
        let other = Date::new(year, day, month).ok();
        let is_right = |date: &Date| Some(date.weekday()) == self.weekday;
        match (date.filter(is_right), other.filter(is_right)) {
            (Some(one), None) | (None, Some(one)) => Some(one),
            _ => None,
        }
    }

    fn timestamp(self) -> Option<Timestamp> {
        let [hour, minute, second, millis] = self.time.unwrap_or_default();
        let hour = match &self.day_period {
            Some(hours) if hour <= 12 => {
                [hour % 12, hour % 12 + 12].into_iter().find(|hour| hours.contains(hour))?
            }
            _ => hour,
        };
        let (hour, days) = if hour == 24 { (0, 1) } else { (hour, 0) };
        let small = |number: i32| i8::try_from(number).ok();
        let second = small(second)?.min(if second == 60 { 59 } else { i8::MAX });
        let (hour, minute) = (small(hour)?, small(minute)?);
        let time = Time::new(hour, minute, second, millis * 1_000_000).ok()?.to_datetime(self.date()?);
        let time = time.checked_add(days.days()).ok()?;
        Some(time.to_zoned(self.zone.unwrap_or(TimeZone::UTC)).ok()?.timestamp())
    }
}
