//! Dates and telephone numbers in a text.

use std::ops::{Range, RangeInclusive};

use super::ScriptRun;
use super::segmentation::{PlacedRun, placed_runs};

/// Shorter numbers are extensions; longer ones are accounts and cards.
const NUMBER_DIGITS: RangeInclusive<usize> = 7..=19;
/// Digits of each group between dots; versions have fewer.
const MIN_DOTTED_DIGITS: usize = 3;
/// Numbers of more groups are a table.
const MAX_GROUPS: usize = 5;
const YEARS: RangeInclusive<u32> = 1900..=2100;

pub(super) fn is_digits(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

pub(super) fn digits_of<'a>(runs: &[PlacedRun<'a>], number: usize) -> Option<&'a str> {
    match runs.get(number)? {
        (place, ScriptRun::Word(word)) if is_digits(word) && word.len() == place.len() => Some(word),
        _ => None,
    }
}

fn number_of(word: &str, lengths: RangeInclusive<usize>, within: RangeInclusive<u32>) -> Option<u32> {
    let number = word.parse().ok().filter(|number| within.contains(number))?;
    (is_digits(word) && lengths.contains(&word.len())).then_some(number)
}

/// A date, or a month.
#[derive(Debug)]
pub(super) struct Date {
    year: u32,
    month: u32,
    pub(super) day: Option<u32>,
    pub(super) place: Range<usize>,
    /// Runs before this belong to it.
    pub(super) end: usize,
}

impl Date {
    /// Year and month, and day if known; `None` outside of the calendar.
    pub(super) fn new(
        [year, month]: [u64; 2],
        day: Option<u64>,
        place: Range<usize>,
        end: usize,
    ) -> Option<Self> {
        let within = |number: u64, range: RangeInclusive<u32>| {
            u32::try_from(number).ok().filter(|number| range.contains(number))
        };
        let day = match day {
            Some(day) => Some(within(day, 1..=31)?),
            None => None,
        };
        Some(Self { year: within(year, YEARS)?, month: within(month, 1..=12)?, day, place, end })
    }

    /// `2026-03-15`, `2026/3/15`, `2026.3.15`, `2026年3月15日`, or without the day.
    pub(super) fn at(folded: &str, runs: &[PlacedRun<'_>], first: usize) -> Option<Self> {
        let year = number_of(digits_of(runs, first)?, 4..=4, YEARS)?;
        let start = runs[first].0.start;
        Self::with_signs(folded, runs, first, year, start)
            .or_else(|| Self::with_units(folded, runs, first, year, start))
    }

    fn with_signs(
        folded: &str,
        runs: &[PlacedRun<'_>],
        first: usize,
        year: u32,
        start: usize,
    ) -> Option<Self> {
        let sign = |after: usize| {
            let sign = &folded[runs[after].0.end..runs.get(after + 1)?.0.start];
            matches!(sign, "-" | "/" | ".").then_some(sign)
        };
        let between = sign(first)?;
        let month = number_of(digits_of(runs, first + 1)?, 1..=2, 1..=12)?;
        let month = Self { year, month, day: None, place: start..runs[first + 1].0.end, end: first + 2 };
        if sign(first + 1) != Some(between) {
            return Some(month);
        }
        let (place, ScriptRun::Word(word)) = &runs[first + 2] else { return Some(month) };
        // A time may follow, as in `15T10`.
        let length = word.find(|character: char| !character.is_ascii_digit()).unwrap_or(word.len());
        Some(match number_of(&word[..length], 1..=2, 1..=31) {
            Some(day) => Self { day: Some(day), place: start..place.start + length, end: first + 3, ..month },
            None if length == 0 => month,
            None => return None,
        })
    }

    fn with_units(
        folded: &str,
        runs: &[PlacedRun<'_>],
        first: usize,
        year: u32,
        start: usize,
    ) -> Option<Self> {
        let unit = |after: usize, units: &[char], is_whole: bool| {
            let (place, ScriptRun::Ideographs(run)) = runs.get(after + 1)? else { return None };
            let unit = run.chars().next().filter(|unit| units.contains(unit))?;
            let is_near = folded[runs[after].0.end..place.start].trim().is_empty();
            (is_near && (!is_whole || run.len() == unit.len_utf8())).then_some(place.start + unit.len_utf8())
        };
        let is_near = |after: usize| folded[runs[after].0.end..runs[after + 1].0.start].trim().is_empty();
        unit(first, &['年'], true)?;
        let month = number_of(digits_of(runs, first + 2).filter(|_| is_near(first + 1))?, 1..=2, 1..=12)?;
        let end = unit(first + 2, &['月'], false)?;
        let month = Self { year, month, day: None, place: start..end, end: first + 4 };
        let day = || {
            unit(first + 2, &['月'], true)?;
            let day = number_of(digits_of(runs, first + 4).filter(|_| is_near(first + 3))?, 1..=2, 1..=31)?;
            Some((day, unit(first + 4, &['日', '号'], false)?))
        };
        Some(match day() {
            Some((day, end)) => Self { day: Some(day), place: start..end, end: first + 6, ..month },
            None => month,
        })
    }

    /// `20260315` and the month; documents have all, queries look for the first.
    pub(super) fn words(&self) -> impl Iterator<Item = String> + use<> {
        let Self { year, month, day, .. } = *self;
        let date = day.map(|day| format!("{year}{month:02}{day:02}"));
        date.into_iter().chain([format!("{year}.{month:02}")])
    }
}

/// Groups of digits that may be a telephone number.
#[derive(Debug)]
pub(super) struct PhoneNumber<'a> {
    groups: Vec<(Range<usize>, &'a str)>,
    has_plus: bool,
    /// Other numbers have these signs, too.
    is_dotted: bool,
    /// Runs before this belong to it.
    pub(super) end: usize,
}

impl<'a> PhoneNumber<'a> {
    /// `None` within a number.
    pub(super) fn beginning_at(folded: &str, runs: &[PlacedRun<'a>], first: usize) -> Option<Self> {
        let joins = |after: usize| {
            let between = &folded[runs[after].0.end..runs[after + 1].0.start];
            (1..=2).contains(&between.chars().count())
                && between.chars().all(|sign| " -‐–().:/".contains(sign))
        };
        digits_of(runs, first)?;
        if first.checked_sub(1).is_some_and(|before| digits_of(runs, before).is_some() && joins(before)) {
            return None;
        }
        let mut number = Self { groups: Vec::new(), has_plus: false, is_dotted: false, end: first };
        while let Some(digits) = digits_of(runs, number.end) {
            if number.end > first && !joins(number.end - 1) {
                break;
            }
            if number.groups.len() == MAX_GROUPS {
                return None;
            }
            number.groups.push((runs[number.end].0.clone(), digits));
            number.end += 1;
        }
        let place = runs[first].0.start..runs[number.end - 1].0.end;
        number.has_plus = folded[..place.start].trim_end_matches('(').ends_with('+');
        number.is_dotted = folded[place].contains(['.', ':', '/']);
        (digits_of_all(&number.groups).len() >= *NUMBER_DIGITS.start()).then_some(number)
    }

    /// Groups side by side in one word, also without country code and zeros.
    pub(super) fn indexed_forms(&self) -> impl Iterator<Item = (Range<usize>, String)> + use<'_> {
        let first_to_last = (0..self.groups.len())
            .flat_map(|first| (first + 1..=self.groups.len()).map(move |end| first..end));
        first_to_last.flat_map(move |span| {
            let groups = &self.groups[span.clone()];
            let digits = digits_of_all(groups);
            let is_one = groups.len() == 1;
            let national = national(&digits, self.has_plus && span.start == 0).to_owned();
            let place = groups.first().map_or(0, |(place, _)| place.start)
                ..groups.last().map_or(0, |(place, _)| place.end);
            let forms = [(national != digits).then_some(national), (!is_one).then_some(digits)];
            let forms = forms.into_iter().flatten().filter(|digits| NUMBER_DIGITS.contains(&digits.len()));
            forms.map(move |digits| (place.clone(), digits))
        })
    }

    /// `None` for a word that is searched as it is.
    pub(super) fn searched_form(&self) -> Option<String> {
        let (_, first) = self.groups.first()?;
        if self.is_dotted && self.groups.iter().any(|(_, digits)| digits.len() < MIN_DOTTED_DIGITS) {
            return None;
        }
        let has_country = self.groups.len() > 1 && (self.has_plus || first.starts_with("00"));
        let of_all = digits_of_all(&self.groups);
        let digits = Some(digits_of_all(&self.groups[usize::from(has_country)..]));
        let digits = digits.filter(|digits| NUMBER_DIGITS.contains(&digits.len())).unwrap_or(of_all);
        let searched = national(&digits, self.has_plus && !has_country);
        (searched != *first && NUMBER_DIGITS.contains(&searched.len())).then(|| searched.to_owned())
    }

    /// Whether groups with spaces are one number, and not several.
    fn is_one(&self) -> bool {
        let (_, first) = &self.groups[0];
        self.groups.len() > 2 || self.has_plus || first.starts_with('0')
    }
}

fn digits_of_all(groups: &[(Range<usize>, &str)]) -> String {
    groups.iter().map(|(_, digits)| *digits).collect()
}

/// Digits without leading zeros and country code, if that is known.
pub(super) fn national(digits: &str, has_plus: bool) -> &str {
    // `0012345678` is no telephone number.
    let stripped = digits.strip_prefix("00").filter(|rest| rest.len() > 10).unwrap_or(digits);
    let stripped = stripped.strip_prefix('0').filter(|rest| !rest.starts_with('0')).unwrap_or(stripped);
    let stripped = if NUMBER_DIGITS.contains(&stripped.len()) { stripped } else { digits };
    let without = |code: &str, length: usize| stripped.strip_prefix(code).filter(|rest| rest.len() == length);
    let chinese = without("86", 11).filter(|rest| rest.starts_with('1'));
    chinese.or_else(|| without("1", 10).filter(|_| has_plus)).unwrap_or(stripped)
}

/// End of a telephone number or date with spaces at the beginning of a query.
pub(crate) fn spaced_number(query: &str) -> Option<usize> {
    if !query.starts_with(|first: char| first.is_ascii_digit() || first == '+' || first == '(') {
        return None;
    }
    let is_of_number = |character: char| character.is_ascii_digit() || "+ -‐–()年月日号".contains(character);
    let end = query.find(|character| !is_of_number(character)).unwrap_or(query.len());
    // A minus after a space excludes what follows.
    let end = query[..end].find(" -").unwrap_or(end);
    let text = query[..end].trim_end_matches([' ', '-', '‐', '–', '(', ')']);
    let runs: Vec<PlacedRun<'_>> = placed_runs(text).collect();
    let is_number = || {
        let number = PhoneNumber::beginning_at(text, &runs, 0).filter(|number| number.end == runs.len());
        number.is_some_and(|number| number.is_one() || query.starts_with('('))
    };
    let is_date = || Date::at(text, &runs, 0).is_some_and(|date| date.place.end == text.len());
    let is_ended = query[text.len()..].chars().next().is_none_or(|next| !next.is_alphanumeric());
    (text.contains(' ') && is_ended && (is_number() || is_date())).then_some(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_in_every_form() {
        let words = |text: &str| -> Vec<String> {
            let runs: Vec<PlacedRun<'_>> = placed_runs(text).collect();
            Date::at(text, &runs, 0).map_or_else(Vec::new, |date| date.words().collect())
        };
        for text in
            ["2026-03-15", "2026/3/15", "2026.3.15", "2026年3月15日", "2026 年 03 月 15 号", "2026-03-15t10"]
        {
            assert_eq!(words(text), ["20260315", "2026.03"], "{text}");
        }
        for text in ["2026-03", "2026/3", "2026年3月", "2026年3月会议", "2026-3/15"] {
            assert_eq!(words(text), ["2026.03"], "{text}");
        }
        for text in
            ["2026", "2026-13", "2026-3-32", "1026-03-15", "2026 03 15", "2026年", "2026年13月", "202-03"]
        {
            assert_eq!(words(text), [""; 0], "{text}");
        }
    }

    fn number(text: &str) -> Option<(Vec<String>, Option<String>)> {
        let runs: Vec<PlacedRun<'_>> = placed_runs(text).collect();
        let number = PhoneNumber::beginning_at(text, &runs, 0)?;
        let mut indexed: Vec<String> = number.indexed_forms().map(|(_, word)| word).collect();
        indexed.sort_unstable();
        Some((indexed, number.searched_form()))
    }

    #[test]
    fn telephone_numbers_have_one_searched_form() {
        for (text, indexed, searched) in [
            ("13800138000", &[][..], None),
            ("138 0013 8000", &["1380013", "13800138000", "00138000"], Some("13800138000")),
            (
                "+86 138-0013-8000",
                &["861380013", "13800138000", "8613800138000", "1380013", "13800138000", "00138000"],
                Some("13800138000"),
            ),
            ("+8613800138000", &["13800138000"], Some("13800138000")),
            ("(010) 5550142", &["0105550142", "105550142"], Some("105550142")),
            (
                "+1 (415) 555-0100",
                &["1415555", "14155550100", "4155550100", "4155550100", "5550100"],
                Some("4155550100"),
            ),
            ("192.168.10.12", &["19216810", "1921681012", "1681012"], None),
        ] {
            let (mut indexed, searched): (Vec<String>, _) =
                (indexed.iter().map(|word| (*word).to_owned()).collect(), searched.map(str::to_owned));
            indexed.sort_unstable();
            assert_eq!(number(text), Some((indexed, searched)), "{text}");
        }
        for text in ["8012", "12 34", "1 2 3 4 5 6 7 8", "v1234567"] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn number_with_spaces_is_one_token_of_a_query() {
        for (query, expected) in [
            ("138 0013 8000", Some("138 0013 8000")),
            ("+86 138-0013-8000 budget", Some("+86 138-0013-8000")),
            ("2026 年 3 月 15 日", Some("2026 年 3 月 15 日")),
            ("12 monkeys", None),
            ("138 0013 8000b", None),
            ("13800138000", None),
            ("budget 2026", None),
            ("2024 2025", None),
            ("2026 -2025", None),
        ] {
            assert_eq!(spaced_number(query), expected.map(str::len), "{query}");
        }
    }
}
