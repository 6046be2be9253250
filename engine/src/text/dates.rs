//! Dates in a text: `2026-03-15`, `15.03.2026`, `15 March 2026`, `2026年3月15日`.

use std::ops::{Range, RangeInclusive};

use super::fold;
use super::segmentation::{PlacedRun, ScriptRun, digits_of, is_digits, placed_runs};

const YEARS: RangeInclusive<u32> = 1900..=2100;
/// Words and bytes of a date in a query.
const MAX_SPACED_WORDS: usize = 5;
const MAX_SPACED_BYTES: usize = 40;
const YEAR_DIGITS: usize = 4;

/// Folded names of months in English, German, French, Spanish, Portuguese, Italian and Dutch.
const MONTHS: [&str; 12] = [
    "jan january januar janvier enero janeiro gennaio januari",
    "feb february februar fevrier febrero fevereiro febbraio februari",
    "mar march marz maerz mars marzo marco maart",
    "apr april avril abril aprile",
    "may mai mayo maio maggio mei",
    "jun june juni juin junio junho giugno",
    "jul july juli juillet julio julho luglio",
    "aug august aout agosto augustus",
    "sep sept september septembre septiembre setembro settembre",
    "oct okt october oktober octobre octubre outubro ottobre",
    "nov november novembre noviembre novembro",
    "dec dez december dezember decembre diciembre dezembro dicembre",
];

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

    /// `2026-03-15`, `2026/3/15`, `2026.3.15`, `2026年3月15日`, or without the day; or with the name of the month.
    pub(super) fn at(folded: &str, runs: &[PlacedRun<'_>], first: usize) -> Option<Self> {
        if let Some(date) = Self::with_name(folded, runs, first) {
            return Some(date);
        }
        let year = number_of(digits_of(runs, first)?, 4..=4, YEARS)?;
        let start = runs[first].0.start;
        Self::with_signs(folded, runs, first, year, start)
            .or_else(|| Self::with_units(folded, runs, first, year, start))
    }

    /// A date whose year comes last.
    fn with_name(folded: &str, runs: &[PlacedRun<'_>], first: usize) -> Option<Self> {
        Self::by_day(folded, runs, first).or_else(|| Self::by_month(folded, runs, first))
    }

    /// `15 March 2026`, `15-Mar-2026`, `15th of March, 2026`, `15. März 2026` or `15.03.2026`.
    fn by_day(folded: &str, runs: &[PlacedRun<'_>], first: usize) -> Option<Self> {
        let day = day_of(runs, first)?;
        let month_at = behind_of(runs, first + 1);
        let month = match between(folded, runs, first)? {
            "." if between(folded, runs, month_at)? == "." => {
                number_of(digits_of(runs, month_at)?, 1..=2, 1..=12)?
            }
            " " | "-" | ". " | "." => month_of(runs, month_at)?,
            _ => return None,
        };
        let year_at = behind_of(runs, month_at + 1);
        let is_near = matches!(between(folded, runs, month_at)?, " " | "-" | ", " | ". " | ".");
        let year = year_of(runs, year_at).filter(|_| is_near)?;
        let place = runs[first].0.start..runs[year_at].0.end;
        Some(Self { year, month, day: Some(day), place, end: year_at + 1 })
    }

    /// `March 15, 2026`, or `March 2026`.
    fn by_month(folded: &str, runs: &[PlacedRun<'_>], first: usize) -> Option<Self> {
        let ScriptRun::Word(next) = runs.get(first + 1)?.1 else { return None };
        if !next.starts_with(|digit: char| digit.is_ascii_digit()) {
            return None;
        }
        let month = month_of(runs, first)?;
        let is_near = |after: usize| {
            between(folded, runs, after).is_some_and(|sign| matches!(sign, " " | ". " | "-" | ", "))
        };
        let place = |last: usize| runs[first].0.start..runs[last].0.end;
        if !is_near(first) {
            return None;
        }
        if let Some(year) = year_of(runs, first + 1) {
            return Some(Self { year, month, day: None, place: place(first + 1), end: first + 2 });
        }
        let day = day_of(runs, first + 1).filter(|_| is_near(first + 1))?;
        let year = year_of(runs, first + 2)?;
        Some(Self { year, month, day: Some(day), place: place(first + 2), end: first + 3 })
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

/// A day such as `15` or `15th`.
fn day_of(runs: &[PlacedRun<'_>], number: usize) -> Option<u32> {
    let (_, ScriptRun::Word(word)) = runs.get(number)? else { return None };
    let digits = word.strip_suffix("st").or_else(|| word.strip_suffix("nd"));
    let digits =
        digits.or_else(|| word.strip_suffix("rd")).or_else(|| word.strip_suffix("th")).unwrap_or(word);
    number_of(digits, 1..=2, 1..=31)
}

fn month_of(runs: &[PlacedRun<'_>], number: usize) -> Option<u32> {
    let (_, ScriptRun::Word(word)) = runs.get(number)? else { return None };
    let month = MONTHS.iter().position(|names| names.split(' ').any(|name| name == *word))?;
    u32::try_from(month + 1).ok()
}

fn year_of(runs: &[PlacedRun<'_>], number: usize) -> Option<u32> {
    number_of(digits_of(runs, number)?, 4..=4, YEARS)
}

/// Signs between a run and the next.
fn between<'t>(folded: &'t str, runs: &[PlacedRun<'_>], after: usize) -> Option<&'t str> {
    folded.get(runs.get(after)?.0.end..runs.get(after + 1)?.0.start)
}

/// The run, or the one behind it if it is `of`.
fn behind_of(runs: &[PlacedRun<'_>], number: usize) -> usize {
    number + usize::from(matches!(runs.get(number), Some((_, ScriptRun::Word("of" | "de")))))
}

/// End of a date, with its month's name, that begins a query.
pub(super) fn spaced_date(query: &str) -> Option<usize> {
    let digits = query.bytes().take(MAX_SPACED_BYTES).filter(u8::is_ascii_digit).count();
    if digits < YEAR_DIGITS {
        return None;
    }
    let ends = query.match_indices(char::is_whitespace).map(|(end, _)| end).chain([query.len()]);
    let ends = ends.take(MAX_SPACED_WORDS).take_while(|end| *end <= MAX_SPACED_BYTES);
    let ends: Vec<usize> = ends.collect();
    let is_date = |end: &usize| {
        let folded = fold(&query[..*end]);
        let runs: Vec<PlacedRun<'_>> = placed_runs(&folded).collect();
        Date::with_name(&folded, &runs, 0).is_some_and(|date| date.place.end == folded.len())
    };
    ends.into_iter().skip(1).rev().find(is_date)
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
        for text in [
            "15 march 2026",
            "15 mar 2026",
            "15-mar-2026",
            "15th march 2026",
            "15 of march 2026",
            "15. marz 2026",
            "march 15, 2026",
            "mar 15 2026",
            "15.03.2026",
            "15.3.2026",
            "15 mars 2026",
            "15 de marzo de 2026",
        ] {
            assert_eq!(words(text), ["20260315", "2026.03"], "{text}");
        }
        for text in [
            "march 2026",
            "mar. 2026",
            "mar-2026",
            "2026-03",
            "2026/3",
            "2026年3月",
            "2026年3月会议",
            "2026-3/15",
        ] {
            assert_eq!(words(text), ["2026.03"], "{text}");
        }
        for text in [
            "2026",
            "2026-13",
            "2026-3-32",
            "1026-03-15",
            "2026 03 15",
            "2026年",
            "2026年13月",
            "202-03",
            "32 march 2026",
            "march",
            "15 march",
            "may 15",
            "march 15 people",
            "2.13.2026",
        ] {
            assert_eq!(words(text), [""; 0], "{text}");
        }
    }
}
