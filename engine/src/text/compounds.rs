//! Words that single signs join, and words of letters and digits: `ISO-27001`, `1,200.50`, `mei@acme.example`.
//!
//! Between two numbers a joined form has a dot, so that `2.13` is not `21.3`; codes have one without dots, too.

use std::borrow::Cow;
use std::ops::Range;

use super::segmentation::{PlacedRun, is_digits};
use super::{ScriptRun, cut_to_length};

/// Longer compounds are joined in overlapping spans.
pub(super) const MAX_JOINED_PARTS: usize = 3;
/// Longer compounds are cut.
const MAX_PARTS: usize = 16;
/// Words of more parts, such as hashes, stay whole.
const MAX_WORD_PARTS: usize = 4;
/// Parts of a code that is also written without signs.
const MAX_CODE_PARTS: usize = 6;
/// Letters of each part of a code or a version.
const MAX_CODE_LETTERS: usize = 5;
/// Numbers with signs that have fewer digits are ranges and times.
const MIN_NUMBER_DIGITS: usize = 5;

/// Letters or digits of a compound.
#[derive(Debug)]
pub(super) struct CompoundPart<'a> {
    pub(super) place: Range<usize>,
    /// The text without signs between thousands.
    pub(super) text: Cow<'a, str>,
    pub(super) is_number: bool,
    /// Index of its run.
    pub(super) run: usize,
    begins_run: bool,
    ends_run: bool,
}

/// Words that single signs join.
#[derive(Debug, Default)]
pub(super) struct Compound<'a> {
    pub(super) parts: Vec<CompoundPart<'a>>,
    joints: Vec<char>,
    /// Runs before this belong to it.
    pub(super) end: usize,
}

impl<'a> Compound<'a> {
    /// The compound of the word at this run.
    pub(super) fn at(folded: &str, runs: &[PlacedRun<'a>], first: usize) -> Self {
        let mut compound = Self::default();
        compound.read(folded, runs, first);
        compound
    }

    /// Becomes the compound of the word at this run.
    pub(super) fn read(&mut self, folded: &str, runs: &[PlacedRun<'a>], first: usize) {
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
    pub(super) fn spans(&self) -> impl Iterator<Item = &[CompoundPart<'a>]> {
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
    pub(super) fn joined(&self) -> Vec<(usize, String)> {
        let parts = self.searched();
        let spans = parts.windows(MAX_JOINED_PARTS.min(parts.len()).max(1));
        spans.map(|span| (span[0].run - self.parts[0].run, joined(span))).collect()
    }

    /// A code in one word without dots: `HT-2026-118` as `ht2026118`.
    pub(super) fn without_dots(&self) -> Option<String> {
        let numbers = self.parts.iter().filter(|part| part.is_number).count();
        let is_code = numbers > 1 && numbers < self.parts.len() && self.parts.len() <= MAX_CODE_PARTS;
        let is_joined = self.joints.iter().all(|joint| matches!(joint, '-' | '‐' | '–' | '_' | '/'));
        if !is_code || !is_joined || self.joints.is_empty() {
            return None;
        }
        let joined: String = self.parts.iter().map(|part| &*part.text).collect();
        (cut_to_length(&joined).len() == joined.len()).then_some(joined)
    }

    /// Its words in order, if they are many.
    pub(super) fn apart(&self) -> Vec<(usize, String)> {
        let words = self.searched().chunk_by(|left, right| left.run == right.run);
        words.map(|word| (word[0].run - self.parts[0].run, joined(word))).collect()
    }

    /// An address, a path, a host, a code, a version or a number.
    pub(super) fn is_exact(&self) -> bool {
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
    pub(super) fn may_be_unfinished(&self) -> bool {
        let ends_with_numbers =
            matches!(self.parts.as_slice(), [.., before, last] if before.is_number && last.is_number);
        !ends_with_numbers || !self.joints.contains(&'.') && !matches!(self.parts[0].text, Cow::Owned(_))
    }
}

impl CompoundPart<'_> {
    pub(super) fn is_run(&self) -> bool {
        self.begins_run && self.ends_run
    }

    pub(super) fn has_chars_to(&self, most: usize) -> bool {
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

pub(super) fn joined<'a>(span: impl IntoIterator<Item = &'a CompoundPart<'a>>) -> String {
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
