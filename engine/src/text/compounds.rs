//! Words of letters, digits and signs in every spelling: `ISO-27001`, `getUserName`, `1,200.50`, `2026-03-15`.
//!
//! Documents have parts and joined forms as further words. Queries look for one joined form. Between two numbers it
//! has a dot, so that `2.13` is not `21.3`.

use std::borrow::Cow;
use std::ops::Range;

use super::amounts::Amount;
use super::numbers::{Date, PhoneNumber, is_digits};
use super::segmentation::{PlacedRun, placed_runs};
use super::{Folded, ScriptRun, WordVariant, cut_to_length, is_acronym, is_stop_word, query_words, stem};

/// Longer compounds are joined in overlapping spans.
const MAX_JOINED_PARTS: usize = 3;
/// Longer compounds are cut.
const MAX_PARTS: usize = 16;
/// Words of more parts, such as hashes, stay whole.
const MAX_WORD_PARTS: usize = 4;
/// Names of more words stay whole.
const MAX_CAPITALISED_WORDS: usize = 8;
/// Letters of each part of a code or a version.
const MAX_CODE_LETTERS: usize = 5;
/// Numbers with signs that have fewer digits are ranges and times.
const MIN_NUMBER_DIGITS: usize = 5;
/// Letters of a unit, such as `GB` in `16 GB`.
const MAX_UNIT_CHARS: usize = 3;

/// Letters or digits of a compound.
#[derive(Debug)]
struct CompoundPart<'a> {
    place: Range<usize>,
    /// The text without signs between thousands.
    text: Cow<'a, str>,
    is_number: bool,
    /// Index of its run.
    run: usize,
    begins_run: bool,
    ends_run: bool,
}

/// Words that single signs join.
#[derive(Debug, Default)]
struct Compound<'a> {
    parts: Vec<CompoundPart<'a>>,
    joints: Vec<char>,
    /// Runs before this belong to it.
    end: usize,
}

impl<'a> Compound<'a> {
    /// The compound of the word at this run.
    fn at(folded: &str, runs: &[PlacedRun<'a>], first: usize) -> Self {
        let mut compound = Self::default();
        compound.read(folded, runs, first);
        compound
    }

    /// Becomes the compound of the word at this run.
    fn read(&mut self, folded: &str, runs: &[PlacedRun<'a>], first: usize) {
        self.parts.clear();
        self.joints.clear();
        self.end = first;
        while let Some((place, ScriptRun::Word(word))) = runs.get(self.end) {
            if self.end > first {
                let between = &folded[runs[self.end - 1].0.end..place.start];
                if self.joins_thousands(between, word) {
                    if let Some(last) = self.parts.last_mut() {
                        last.text.to_mut().push_str(word);
                        last.place.end = place.end;
                    }
                    self.end += 1;
                    continue;
                }
                let Some(joint) = joint(between, word) else { break };
                if self.parts.len() + part_ends(word).count() > MAX_PARTS {
                    break;
                }
                self.joints.push(joint);
            }
            self.add_run(place, word);
            self.end += 1;
            if word.len() < place.len() {
                break;
            }
        }
    }

    fn add_run(&mut self, place: &Range<usize>, word: &'a str) {
        let mut start = 0;
        for end in part_ends(word) {
            self.parts.push(CompoundPart {
                place: place.start + start..if end == word.len() { place.end } else { place.start + end },
                text: Cow::Borrowed(&word[start..end]),
                is_number: is_digits(&word[start..end]),
                run: self.end,
                begins_run: start == 0,
                ends_run: end == word.len(),
            });
            start = end;
        }
    }

    fn joins_thousands(&self, between: &str, word: &str) -> bool {
        let Some(last) = self.parts.last() else { return false };
        let is_grouped = matches!(last.text, Cow::Owned(_)) || last.text.len() <= 3;
        between == "," && word.len() == 3 && is_digits(word) && last.is_run() && last.is_number && is_grouped
    }

    /// Spans of parts that documents have as words, unless they are words already.
    fn spans(&self) -> impl Iterator<Item = &[CompoundPart<'a>]> {
        let spans = (0..self.parts.len()).flat_map(move |start| {
            let longest = MAX_JOINED_PARTS.min(self.parts.len() - start);
            (1..=longest).map(move |length| &self.parts[start..start + length])
        });
        spans.filter(|span| !is_indexed(span))
    }

    /// The parts that a query looks for: of a version, those without `v`.
    fn searched(&self) -> &[CompoundPart<'a>] {
        match self.parts.as_slice() {
            [sign, parts @ ..]
                if sign.text == "v"
                    && matches!(parts, [first, next, ..] if first.is_number && next.is_number) =>
            {
                parts
            }
            parts => parts,
        }
    }

    /// All parts in one word, or in overlapping words if they are many.
    fn joined(&self) -> Vec<(usize, String)> {
        let parts = self.searched();
        let spans = parts.windows(MAX_JOINED_PARTS.min(parts.len()).max(1));
        spans.map(|span| (span[0].run - self.parts[0].run, joined(span))).collect()
    }

    /// Its words in order, if they are many.
    fn apart(&self) -> Vec<(usize, String)> {
        let words = self.searched().chunk_by(|left, right| left.run == right.run);
        words.map(|word| (word[0].run - self.parts[0].run, joined(word))).collect()
    }

    /// An address, a path, a host, a code, a version or a number.
    fn is_exact(&self) -> bool {
        let has_digits = self.parts.iter().any(|part| part.is_number);
        let has_letters = self.parts.iter().any(|part| !part.is_number);
        let digits: usize = self.parts.iter().filter(|part| part.is_number).map(|part| part.text.len()).sum();
        let is_code = || self.parts.iter().all(|part| part.is_number || part.has_chars_to(MAX_CODE_LETTERS));
        let has = |signs: &[char]| self.joints.iter().any(|joint| signs.contains(joint));
        let is_path = has(&['@'])
            || self.joints.iter().filter(|joint| "./\\_:#".contains(**joint)).count() >= 2
                // `HR/IT/Finance` is a list.
                && (has_digits || has(&['.', '\\', '_', ':', '#']));
        let is_version = || !has_letters && self.joints.iter().all(|joint| *joint == '.');
        is_path
            || has_digits && has_letters && is_code()
            || !has_letters && digits >= MIN_NUMBER_DIGITS
            || is_version()
    }

    /// An unfinished version or amount is another one; an unfinished telephone number or date is not.
    fn may_be_unfinished(&self) -> bool {
        let ends_with_numbers =
            matches!(self.parts.as_slice(), [.., before, last] if before.is_number && last.is_number);
        !ends_with_numbers || !self.joints.contains(&'.') && !matches!(self.parts[0].text, Cow::Owned(_))
    }
}

impl CompoundPart<'_> {
    fn is_run(&self) -> bool {
        self.begins_run && self.ends_run
    }

    fn has_chars_to(&self, most: usize) -> bool {
        self.text.chars().nth(most).is_none()
    }
}

/// Whether a span is one word of the text.
fn is_indexed(span: &[CompoundPart<'_>]) -> bool {
    let [first, .., last] = span else {
        return span.iter().all(|part| part.is_run() && matches!(part.text, Cow::Borrowed(_)));
    };
    first.run == last.run && first.begins_run && last.ends_run
}

fn joined<'a>(span: impl IntoIterator<Item = &'a CompoundPart<'a>>) -> String {
    let mut joined = String::new();
    let mut is_after_number = false;
    for part in span {
        if is_after_number && part.is_number {
            joined.push('.');
        }
        joined.push_str(&part.text);
        is_after_number = part.is_number;
    }
    joined.truncate(cut_to_length(&joined).len());
    joined
}

/// The sign between two words, if it joins them. Endings as in `it's` stay apart.
fn joint(between: &str, next: &str) -> Option<char> {
    let mut characters = between.chars();
    let (sign, None) = (characters.next()?, characters.next()) else { return None };
    match sign {
        '\'' | '’' | 'ʼ' | '`' => next.chars().nth(2).map(|_| sign),
        '-' | '‐' | '–' | '−' | '.' | '_' | '·' | '@' | '/' | '\\' | '+' | '#' | ':' | '&' => {
            Some(sign)
        }
        _ => None,
    }
}

/// Ends of the letters and digits of a word.
fn part_ends(word: &str) -> impl Iterator<Item = usize> {
    let bytes = word.as_bytes();
    let is_border = |place: &usize| bytes[place - 1].is_ascii_digit() != bytes[*place].is_ascii_digit();
    let is_split = bytes.iter().any(u8::is_ascii_digit)
        && (1..bytes.len()).filter(is_border).nth(MAX_WORD_PARTS - 1).is_none();
    (1..if is_split { bytes.len() } else { 1 }).filter(is_border).chain([bytes.len()])
}

/// Further words of a text, by start and length.
pub(crate) fn compound_variants(source: &str, folded: &Folded, runs: &[PlacedRun<'_>]) -> Vec<WordVariant> {
    let text = folded.text.as_str();
    let mut variants = Vec::new();
    let mut add = |place: Range<usize>, word: String| variants.push(WordVariant { place, word });
    let has_capitals = source.as_bytes().windows(2).any(is_capitalised);
    let mut compound = Compound::default();
    let mut before: Option<CompoundPart<'_>> = None;
    let mut next = 0;
    while let Some((_, run)) = runs.get(next) {
        if matches!(run, ScriptRun::Ideographs(_)) {
            next += 1;
            before = None;
            continue;
        }
        compound.read(text, runs, next);
        for span in compound.spans() {
            add(place_of(span), joined(span));
        }
        if let Some(before) = &before {
            for span in spaced_spans(text, before, &compound.parts) {
                let all = || std::iter::once(before).chain(span);
                add(before.place.start..span.last().map_or(0, |part| part.place.end), joined(all()));
            }
        }
        for part in compound.parts.iter().filter(|part| part.is_run() && !part.is_number) {
            let written = &source[folded.source_start(part.place.start)..folded.source_end(part.place.end)];
            if is_acronym(written) {
                add(part.place.clone(), written.to_owned());
            }
        }
        if has_capitals {
            for part in compound.parts.iter().filter(|part| !part.is_number) {
                add_capitalised(source, folded, part, &mut add);
            }
        }
        next = compound.end;
        before = compound.parts.pop();
    }
    for first in 0..runs.len() {
        if let Some(date) = Date::at(text, runs, first) {
            date.words().for_each(|word| add(date.place.clone(), word));
        }
        for amount in Amount::beginning_in(text, runs, first) {
            amount.words.into_iter().for_each(|word| add(amount.place.clone(), word));
        }
        if let Some(number) = PhoneNumber::beginning_at(text, runs, first) {
            number.indexed_forms().for_each(|(place, word)| add(place, word));
        }
    }
    variants.sort_by(WordVariant::in_order);
    variants.dedup();
    variants
}

fn place_of(span: &[CompoundPart<'_>]) -> Range<usize> {
    span.first().map_or(0, |part| part.place.start)..span.last().map_or(0, |part| part.place.end)
}

/// Parts that go on a word before a space, as in `iPhone 15` or `16 GB`.
fn spaced_spans<'p, 'a>(
    text: &str,
    before: &CompoundPart<'a>,
    parts: &'p [CompoundPart<'a>],
) -> impl Iterator<Item = &'p [CompoundPart<'a>]> {
    let is_word =
        |part: &CompoundPart<'_>| !part.is_number && part.is_run() && !is_stop_word(&stem(&part.text));
    let length = match parts.first() {
        Some(first) if before.is_run() && &text[before.place.end..first.place.start] == " " => {
            let is_unit = || first.text.chars().nth(MAX_UNIT_CHARS).is_none() && is_word(first);
            match (before.is_number, first.is_number) {
                (false, true) if is_word(before) => parts.len().min(MAX_JOINED_PARTS - 1),
                (true, false) if is_unit() => 1,
                _ => 0,
            }
        }
        _ => 0,
    };
    (1..=length).map(|length| &parts[..length])
}

fn is_capitalised(pair: &[u8]) -> bool {
    matches!(pair, [before, at] if before.is_ascii_lowercase() && at.is_ascii_uppercase())
}

/// Adds `user`, `username` and so on of `getUserName`.
fn add_capitalised(
    source: &str,
    folded: &Folded,
    part: &CompoundPart<'_>,
    add: &mut impl FnMut(Range<usize>, String),
) {
    let written = &source[folded.source_start(part.place.start)..folded.source_end(part.place.end)];
    if written.len() != part.place.len() || !written.is_ascii() || part.text.len() != written.len() {
        return;
    }
    let bytes = written.as_bytes();
    let mut borders: Vec<usize> =
        (1..bytes.len()).filter(|place| is_capitalised(&bytes[place - 1..=*place])).collect();
    if borders.is_empty() || borders.len() >= MAX_CAPITALISED_WORDS {
        return;
    }
    borders.insert(0, 0);
    borders.push(bytes.len());
    for (number, start) in borders.iter().enumerate() {
        for end in borders.iter().skip(number + 1).take(MAX_JOINED_PARTS) {
            // The `i` of `iPhone` is no word.
            if (2..bytes.len()).contains(&(end - start)) {
                add(part.place.start + start..part.place.start + end, part.text[*start..*end].to_owned());
            }
        }
    }
}

/// Words that stand together in a query.
#[derive(Debug)]
pub(crate) struct QueryToken {
    /// Bytes of the folded text.
    pub(crate) place: Range<usize>,
    pub(crate) joined: Option<JoinedToken>,
}

/// The one spelling of a compound, number or date.
#[derive(Debug)]
pub(crate) struct JoinedToken {
    /// Words at their positions in the token, not stemmed; several overlap.
    pub(crate) words: Vec<(usize, String)>,
    /// The token's own words, which stand side by side in another spelling.
    pub(crate) apart: Vec<(usize, String)>,
    /// Its words alone are something else.
    pub(crate) is_exact: bool,
    /// Whether the last word may go on.
    pub(crate) may_be_unfinished: bool,
}

/// Tokens of a folded query, in order.
pub(crate) fn query_tokens(folded: &str) -> Vec<QueryToken> {
    let mut runs: Vec<PlacedRun<'_>> = placed_runs(folded).collect();
    let mut tokens = Vec::new();
    let mut next = 0;
    while next < runs.len() {
        let (token, end) = token_at(folded, &runs, next);
        next = end;
        // A date or an amount ends within a run of ideographs.
        if let Some((place, ScriptRun::Ideographs(run))) = runs.get_mut(end - 1)
            && token.place.end < place.end
        {
            *run = &run[token.place.end - place.start..];
            place.start = token.place.end;
            next -= 1;
        }
        tokens.push(token);
    }
    tokens
}

/// The token at a run, and the number of the run after it.
fn token_at(folded: &str, runs: &[PlacedRun<'_>], first: usize) -> (QueryToken, usize) {
    let to = |end: usize, joined: Option<JoinedToken>| {
        (QueryToken { place: runs[first].0.start..runs[end - 1].0.end, joined }, end)
    };
    let of_number = |word: String, place: Range<usize>, is_exact: bool, may_be_unfinished: bool| {
        let apart = query_words(&folded[place]);
        JoinedToken { words: vec![(0, word)], apart, is_exact, may_be_unfinished }
    };
    let start = runs[first].0.start;
    if let Some(Amount { place, words, is_exact, end }) =
        Amount::beginning_in(folded, runs, first).into_iter().next()
    {
        if place.start > start {
            return (QueryToken { place: start..place.start, joined: None }, first + 1);
        }
        let word = words.into_iter().next().unwrap_or_default();
        let joined = of_number(word, place.clone(), is_exact, false);
        return (QueryToken { place, joined: Some(joined) }, end);
    }
    if matches!(runs[first].1, ScriptRun::Ideographs(_)) {
        return to(first + 1, None);
    }
    let compound = Compound::at(folded, runs, first);
    if let Some(date) = Date::at(folded, runs, first)
        && date.end >= compound.end
        && (date.place.end == runs[date.end - 1].0.end || date.end > compound.end)
    {
        let word = date.words().next().unwrap_or_default();
        let joined = of_number(word, date.place.clone(), date.day.is_some(), false);
        return (QueryToken { place: date.place, joined: Some(joined) }, date.end);
    }
    if let Some(number) = PhoneNumber::beginning_at(folded, runs, first)
        && number.end >= compound.end
        && let Some(word) = number.searched_form()
    {
        let place = runs[first].0.start..runs[number.end - 1].0.end;
        return to(number.end, Some(of_number(word, place, true, true)));
    }
    if compound.end == first + 1 {
        return to(compound.end, None);
    }
    let (words, is_exact) = (compound.joined(), compound.is_exact());
    let is_joined = match words.as_slice() {
        [(_, word)] => !is_stop_word(&stem(word)),
        _ => is_exact,
    };
    let may_be_unfinished = compound.may_be_unfinished();
    let joined =
        is_joined.then(|| JoinedToken { words, apart: compound.apart(), is_exact, may_be_unfinished });
    to(compound.end, joined)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::fold;
    use crate::text::folding::tests::odd_text;

    fn variants(text: &str) -> Vec<WordVariant> {
        let folded = Folded::new(text);
        let runs: Vec<_> = placed_runs(&folded.text).collect();
        compound_variants(text, &folded, &runs)
    }

    #[test]
    fn documents_have_parts_and_joined_forms() {
        for (text, expected) in [
            ("ISO27001", &["27001", "iso"][..]),
            ("ISO-27001", &["iso27001"]),
            ("ISO 27001", &["iso27001"]),
            ("in 27001", &[]),
            ("16 GB", &["16gb"]),
            ("16 cats", &[]),
            ("v2.13", &["2", "2.13", "v", "v2.13"]),
            ("1,200.50", &["1200", "1200.50"]),
            ("1,20 and 1, 200", &[]),
            ("getUserName", &["get", "getuser", "name", "user", "username"]),
            ("URL PDFs Word", &[]),
            ("it's O'Brien", &["obrien"]),
            ("Ask IT, it helps US or us", &["IT", "US"]),
            ("a1b2c3d4", &[]),
            ("plain words, and 中文", &[]),
        ] {
            let mut words: Vec<String> = variants(text).into_iter().map(|variant| variant.word).collect();
            words.sort_unstable();
            words.dedup();
            assert_eq!(words, expected, "{text}");
        }
    }

    #[test]
    fn queries_have_one_form_of_exact_things() {
        let exact = |text: &str| -> Vec<String> {
            let joined = query_tokens(&fold(text)).into_iter().filter_map(|token| token.joined);
            joined
                .filter(|joined| joined.is_exact)
                .flat_map(|joined| joined.words)
                .map(|(_, word)| word)
                .collect()
        };
        for (text, expected) in [
            ("C-2052", &["c2052"][..]),
            ("2.13.1", &["2.13.1"]),
            ("v2.13.1", &["2.13.1"]),
            ("mei@acme.example", &["meiacmeexample"]),
            ("mei.chen@acme.example", &["meichenacme", "chenacmeexample"]),
            ("1,200", &["1200"]),
            ("2026年3月15日会议", &["20260315"]),
            ("follow-up", &[]),
            ("24/7", &[]),
            ("report.docx", &[]),
            ("wiki.acme.example", &["wikiacmeexample"]),
            ("U.K", &[]),
            ("HR/IT/Finance", &[]),
            ("2026-03", &[]),
            ("mp3-player", &[]),
            ("2026-03-15t10", &["2026.03.15", "03.15t", "15t10"]),
            ("ISO27001", &[]),
        ] {
            assert_eq!(exact(text), expected, "{text}");
        }
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        #[test]
        fn variants_are_bounded_and_within_the_text(
            text in prop_oneof![odd_text(), "[a-cA-C0-9.,@/ 年月三百万点元-]{0,60}", "[0-9 +()-]{0,60}"],
        ) {
            let folded = Folded::new(&text);
            let runs: Vec<_> = placed_runs(&folded.text).collect();
            let variants = compound_variants(&text, &folded, &runs);
            prop_assert!(variants.len() <= 8 * folded.text.len());
            prop_assert!(variants.is_sorted_by_key(|variant| variant.place.start));
            for WordVariant { place, word } in variants {
                prop_assert!(!word.is_empty() && word.chars().count() <= 64);
                prop_assert!(runs.iter().any(|(run, _)| run.contains(&place.start)));
                prop_assert!(folded.text.get(place).is_some_and(|text| !text.is_empty()));
            }
        }

        #[test]
        fn query_tokens_cover_all_words(text in prop_oneof![odd_text(), "[a-c0-9.,@/ 年月日三百万点元-]{0,60}"]) {
            let folded = fold(&text);
            let in_tokens: String = query_tokens(&folded).into_iter().map(|token| folded[token.place].to_owned()).collect();
            let words = |text: &str| text.chars().filter(|character| character.is_alphanumeric()).collect::<String>();
            prop_assert_eq!(words(&in_tokens), words(&folded));
        }
    }
}
