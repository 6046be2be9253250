//! Reads a date and a time from words and numbers in the order in which they stand.

use std::iter::from_fn;

use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, ToSpan};

/// Beginnings of the names of months: English, German, French, Spanish, Italian, Portuguese, Dutch, Scandinavian, Polish and
/// Russian.
const MONTHS: [&str; 12] = [
    "jan jän jen gen ene sty янв",
    "feb fév fev lut фев",
    "mar mär mae mrz mrt maa мар",
    "apr avr abr kwi апр",
    "may mai mei maj mag май мая",
    "jun juin giu cze июн",
    "jul juil lug lip июл",
    "aug aoû aou ago sie авг",
    "sep set wrz сен",
    "oct okt ott out paź paz окт",
    "nov lis ноя",
    "dec dez déc dic des gru дек",
];
/// Minutes east of UTC, and the zones by letters that are there (RFC 2822 §4.3 and what else is written).
const ZONES: [(i32, &str); 28] = [
    (-600, "hst"),
    (-540, "akst"),
    (-480, "pst pt"),
    (-420, "mst mt pdt"),
    (-360, "cst ct mdt"),
    (-300, "est et cdt"),
    (-240, "clt ast edt"),
    (-210, "nst"),
    (-180, "art brt adt"),
    (-150, "ndt"),
    (-120, "brst"),
    (0, "z ut utc gmt wet"),
    (60, "west bst cet met mez wat"),
    (120, "cest mest mesz eet sast cat"),
    (180, "eest msk trt eat"),
    (240, "msd gst"),
    (300, "pkt"),
    (330, "ist"),
    (345, "npt"),
    (420, "ict wib"),
    (480, "hkt sgt pht awst"),
    (540, "jst kst"),
    (570, "acst"),
    (600, "aest"),
    (630, "acdt"),
    (660, "aedt"),
    (720, "nzst"),
    (780, "nzdt"),
];
/// Words that say nothing, among them weekdays that stand behind the date.
const FILLERS: &str = "at um uhr of de du del le la el den der kl klo a à às alle à the on hrs h st nd rd th er mon monday tue \
                       tues tuesday wed wednesday thu thur thurs thursday fri friday sat saturday sun sunday";
const FORENOON: &str = "am 上午 午前 오전";
const AFTERNOON: &str = "pm 下午 午後 오후";
/// Characters behind a number that say what it counts.
const UNITS: [char; 15] =
    ['年', '년', '月', '월', '日', '일', '時', '时', '点', '시', '分', '분', '秒', '초', '号'];

/// A run of digits, a run of letters, or another character.
#[derive(Clone, Copy)]
struct Token<'t> {
    text: &'t str,
    follows_space: bool,
}

#[derive(Default)]
struct Parts {
    year: Option<i16>,
    month: Option<i8>,
    day: Option<i8>,
    time: Option<[i32; 4]>,
    is_afternoon: Option<bool>,
    zone: Option<TimeZone>,
    /// Whether numbers could be two dates, or none.
    is_unclear: bool,
}

pub(super) fn read(text: &str) -> Option<Timestamp> {
    let text = text.to_lowercase().replace(['−', '–'], "-").replace("a.m.", "am").replace("p.m.", "pm");
    let tokens: Vec<Token> = tokens(&text).collect();
    let (mut parts, mut at) = (Parts::default(), 0);
    while at < tokens.len() {
        let has_begun =
            tokens[..at].iter().any(|token| token.text.starts_with(|first: char| first.is_ascii_digit()));
        at += parts.take(&tokens[at..], has_begun)?;
    }
    parts.timestamp()
}

fn tokens(text: &str) -> impl Iterator<Item = Token<'_>> {
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
        Some(Token { text, follows_space })
    })
}

fn is_one_of(words: &str, word: &str) -> bool {
    words.split(' ').any(|other| other == word)
}

fn month(word: &str) -> Option<i8> {
    let found = MONTHS.iter().position(|names| names.split(' ').any(|name| word.starts_with(name)))?;
    i8::try_from(found + 1).ok()
}

/// A number of as many digits as are allowed.
fn number<T: std::str::FromStr>(text: &str, digits: std::ops::RangeInclusive<usize>) -> Option<T> {
    (digits.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
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

impl Parts {
    /// Takes what begins here; returns the number of tokens.
    fn take(&mut self, tokens: &[Token], has_begun: bool) -> Option<usize> {
        let text = |place: usize| tokens.get(place).map_or("", |token| token.text);
        let first = text(0);
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
            "(" | "[" => Some(1 + tokens.iter().position(|token| matches!(token.text, ")" | "]"))?),
            "+" | "-" if self.time.is_some() && tokens.get(1).is_some_and(|next| !next.follows_space) => {
                self.take_offset(tokens)
            }
            _ => Some(1),
        }
    }

    /// Three numbers parted alike, or a year and a month alone.
    fn take_date(&mut self, tokens: &[Token]) -> Option<usize> {
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
        self.is_unclear |=
            month > 12 || (!is_day_first && day <= 12) || (three.text.len() != 4 && mark.text != ".");
        (self.year, self.month, self.day) = (year, Some(month), Some(day));
        Some(5)
    }

    /// `14:00`, `14:00:30.5`, `14h30`, and `14.00` behind a date.
    fn take_time(&mut self, tokens: &[Token]) -> Option<usize> {
        if self.time.is_some() {
            return None;
        }
        let text = |place: usize| tokens.get(place).map_or("", |token| token.text);
        let hour = number(text(0), 1..=2)?;
        if is_one_of(FORENOON, text(1)) || is_one_of(AFTERNOON, text(1)) {
            self.time = Some([hour, 0, 0, 0]);
            return Some(1);
        }
        let is_mark = match text(1) {
            ":" | "h" => true,
            "." => self.year.is_some() && self.day.is_some(),
            _ => false,
        };
        let minute = number(text(2), 2..=2).filter(|_| is_mark)?;
        let second = (text(3) == text(1)).then(|| number(text(4), 2..=2)).flatten();
        let Some(second) = second else {
            self.time = Some([hour, minute, 0, 0]);
            return Some(3);
        };
        let fraction = Some(text(6)).filter(|_| matches!(text(5), "." | ","));
        let millis =
            fraction.and_then(|digits| number::<i64>(digits, 1..=12).map(|_| format!("{digits:0<3}")));
        let millis = millis.and_then(|digits| digits[..3].parse().ok());
        self.time = Some([hour, minute, second, millis.unwrap_or(0)]);
        Some(if millis.is_some() { 7 } else { 5 })
    }

    /// A year, a day, or digits without marks.
    fn take_number(&mut self, tokens: &[Token]) -> Option<usize> {
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
                self.take_plain_number(text)?;
                return Some(1);
            }
        }
        Some(2)
    }

    fn take_plain_number(&mut self, text: &str) -> Option<()> {
        match text.len() {
            8 if self.year.is_none() => {
                self.year = year(&text[..4]);
                (self.month, self.day) = (number(&text[4..6], 2..=2), number(&text[6..], 2..=2));
            }
            4 if self.year.is_none() => self.year = year(text),
            4 | 6 if self.day.is_some() && self.time.is_none() => {
                let second = text.get(4..6).map_or(Some(0), |digits| number(digits, 2..=2))?;
                self.time = Some([number(&text[..2], 2..=2)?, number(&text[2..4], 2..=2)?, second, 0]);
            }
            1 | 2 if self.day.is_none() => self.day = number(text, 1..=2),
            2 if self.year.is_none() => self.year = year(text),
            _ => return None,
        }
        Some(())
    }

    fn take_word(&mut self, tokens: &[Token], has_begun: bool) -> Option<usize> {
        let word = tokens[0].text;
        if self.time.is_some() && self.zone.is_none() && tokens.get(1).is_some_and(|next| next.text == "/") {
            let names: String = tokens.iter().map(|token| token.text).collect();
            self.zone = Some(TimeZone::get(&names).ok()?);
            return Some(tokens.len());
        }
        let noon =
            [(FORENOON, false), (AFTERNOON, true)].into_iter().find(|(words, _)| is_one_of(words, word));
        if let Some((_, is_afternoon)) = noon {
            // German `am` stands before a date.
            if self.time.is_some() || !word.is_ascii() {
                self.is_afternoon = Some(is_afternoon);
            }
        } else if let Some(month) = month(word) {
            // The last one counts: `mar` is also a Tuesday.
            self.month = Some(month);
        } else if self.time.is_some() && self.zone.is_none() && !is_one_of(FILLERS, word) {
            // Letters that are no known zone say nothing about it (RFC 2822 §4.3).
            let known = ZONES.iter().find(|(_, names)| is_one_of(names, word)).map(|(minutes, _)| *minutes);
            let minutes = known.or_else(|| (word.len() <= 5).then_some(0))?;
            self.zone = Some(TimeZone::fixed(Offset::from_seconds(minutes * 60).ok()?));
        } else if has_begun
            && word.is_ascii()
            && word != "t"
            && !is_one_of(FILLERS, word)
            && self.zone.is_none()
        {
            return None;
        }
        Some(1)
    }

    /// `+01:00`, `+0100` or `+1`; it counts more than letters before it.
    fn take_offset(&mut self, tokens: &[Token]) -> Option<usize> {
        let text = |place: usize| tokens.get(place).map_or("", |token| token.text);
        let digits = text(1);
        let (hours, minutes, taken): (i32, i32, _) = match digits.len() {
            1 | 2 if text(2) == ":" => (number(digits, 1..=2)?, number(text(3), 2..=2)?, 4),
            1 | 2 => (number(digits, 1..=2)?, 0, 2),
            4 => (number(digits.get(..2)?, 2..=2)?, number(&digits[2..], 2..=2)?, 2),
            _ => return None,
        };
        let seconds = (hours * 60 + minutes) * 60;
        let seconds = if text(0) == "-" { -seconds } else { seconds };
        self.zone = Some(TimeZone::fixed(Offset::from_seconds(seconds).ok()?));
        Some(taken)
    }

    fn timestamp(self) -> Option<Timestamp> {
        if self.is_unclear {
            return None;
        }
        let [hour, minute, second, millis] = self.time.unwrap_or_default();
        let hour = match self.is_afternoon {
            Some(is_afternoon) if hour <= 12 => hour % 12 + if is_afternoon { 12 } else { 0 },
            _ => hour,
        };
        let (hour, days) = if (hour, minute, second) == (24, 0, 0) { (0, 1) } else { (hour, 0) };
        let small = |number: i32| i8::try_from(number).ok();
        let second = small(second)?.min(if second == 60 { 59 } else { i8::MAX });
        let (hour, minute) = (small(hour)?, small(minute)?);
        let time =
            DateTime::new(self.year?, self.month?, self.day?, hour, minute, second, millis * 1_000_000)
                .ok()?;
        let time = time.checked_add(days.days()).ok()?;
        Some(time.to_zoned(self.zone.unwrap_or(TimeZone::UTC)).ok()?.timestamp())
    }
}
