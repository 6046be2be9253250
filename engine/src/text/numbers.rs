//! Telephone numbers in a text, and numbers with spaces in a query.

use std::ops::{Range, RangeInclusive};

use super::dates::{Date, spaced_date};
use super::segmentation::{PlacedRun, digits_of, placed_runs};

/// Shorter numbers are extensions; longer ones are accounts and cards.
const NUMBER_DIGITS: RangeInclusive<usize> = 7..=19;
/// Digits of each group between dots; versions have fewer.
const MIN_DOTTED_DIGITS: usize = 3;
/// Numbers of more groups are a table.
const MAX_GROUPS: usize = 5;

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
    if let Some(end) = spaced_date(query) {
        return Some(end);
    }
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
            ("15 March 2026 report", Some("15 March 2026")),
            ("March 15, 2026", Some("March 15, 2026")),
            ("march 2026", Some("march 2026")),
            ("15 march", None),
            ("may 15 people", None),
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
