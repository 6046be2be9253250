//! Further words of a text, in every spelling: `ISO-27001`, `getUserName`, `1,200.50`, `2026-03-15`.
//!
//! Documents have parts and joined forms of compounds, and one spelling of numbers, dates and words with signs.

use std::ops::Range;

use super::amounts::Amount;
use super::compounds::{Compound, CompoundPart, MAX_JOINED_PARTS, joined};
use super::dates::Date;
use super::german::parts_of_compound;
use super::numbers::PhoneNumber;
use super::segmentation::PlacedRun;
use super::signs::SignedWord;
use super::{Folded, ScriptRun, WordVariant, is_acronym, is_stop_word, stem};

/// Names of more words stay whole.
const MAX_CAPITALISED_WORDS: usize = 8;
/// Letters of a unit, such as `GB` in `16 GB`.
const MAX_UNIT_CHARS: usize = 3;
/// Letters of words that are often joined with neighbours, as `wi fi`.
const MAX_JOINED_CHARS: usize = 2;

/// Further words of a text, by start and length.
pub(crate) fn compound_variants(source: &str, folded: &Folded, runs: &[PlacedRun<'_>]) -> Vec<WordVariant> {
    let text = folded.text.as_str();
    let mut variants = Vec::new();
    let mut add = |place: Range<usize>, word: String| variants.push(WordVariant { place, word });
    let has_capitals = source.as_bytes().windows(2).any(is_capitalised);
    let mut compound = Compound::default();
    let mut before: Option<CompoundPart<'_>> = None;
    let mut is_alone = false;
    let mut next = 0;
    while let Some((_, run)) = runs.get(next) {
        if !matches!(run, ScriptRun::Word(_)) {
            next += 1;
            before = None;
            continue;
        }
        compound.read(text, runs, next);
        for span in compound.spans() {
            add(place_of(span), joined(span));
        }
        if let Some(word) = compound.without_dots() {
            add(place_of(&compound.parts), word);
        }
        if let Some(before) = &before {
            is_alone &= compound.parts.len() == 1;
            for span in spaced_spans(text, before, &compound.parts, is_alone) {
                let all = || std::iter::once(before).chain(span);
                add(before.place.start..span.last().map_or(0, |part| part.place.end), joined(all()));
            }
        }
        for part in compound.parts.iter().filter(|part| part.is_run() && !part.is_number) {
            let written = &source[folded.source_start(part.place.start)..folded.source_end(part.place.end)];
            if is_acronym(written) {
                add(part.place.clone(), written.to_owned());
            }
            for Range { start, end } in parts_of_compound(&part.text) {
                add(part.place.start + start..part.place.start + end, part.text[start..end].to_owned());
            }
        }
        if has_capitals {
            for part in compound.parts.iter().filter(|part| !part.is_number) {
                add_capitalised(source, folded, part, &mut add);
            }
        }
        next = compound.end;
        is_alone = compound.parts.len() == 1;
        before = compound.parts.pop();
    }
    for (first, run) in runs.iter().enumerate() {
        if let Some(SignedWord { place, word }) = SignedWord::around(text, run) {
            add(place, word);
        }
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

/// Finds parts that continue a word, as in `iPhone 15`.
///
/// `is_alone`: neither word is part of a compound.
fn spaced_spans<'p, 'a>(
    text: &str,
    before: &CompoundPart<'a>,
    parts: &'p [CompoundPart<'a>],
    is_alone: bool,
) -> impl Iterator<Item = &'p [CompoundPart<'a>]> {
    let is_word =
        |part: &CompoundPart<'_>| !part.is_number && part.is_run() && !is_stop_word(&stem(&part.text));
    let lengths = match parts.first() {
        Some(first) if before.is_run() && &text[before.place.end..first.place.start] == " " => {
            let of_run = parts.iter().take_while(|part| part.run == first.run).count();
            let is_unit = || first.has_chars_to(MAX_UNIT_CHARS) && is_word(first);
            let is_short = || before.has_chars_to(MAX_JOINED_CHARS) || first.has_chars_to(MAX_JOINED_CHARS);
            match (before.is_number, first.is_number) {
                (false, true) if is_word(before) => Some(1..=parts.len().min(MAX_JOINED_PARTS - 1)),
                (true, false) if is_unit() => Some(1..=1),
                (false, false) if is_word(before) && of_run > 1 && first.has_chars_to(MAX_JOINED_CHARS) => {
                    Some(of_run..=of_run)
                }
                (false, false) if is_alone && is_word(before) && is_word(first) && is_short() => Some(1..=1),
                _ => None,
            }
        }
        _ => None,
    };
    lengths.into_iter().flatten().map(|length| &parts[..length])
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::folding::tests::odd_text;
    use crate::text::placed_runs;

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
            ("ThinkPad X1", &["1", "pad", "think", "thinkpadx1", "x"]),
            ("a wi fi, USB C", &["usbc", "wifi"]),
            ("HT-2026-118", &["2026.118", "2026118", "ht2026", "ht2026.118", "ht2026118"]),
            ("C++ or .NET", &["c++", "．net"]),
            ("plain words, and 中文", &[]),
        ] {
            let mut words: Vec<String> = variants(text).into_iter().map(|variant| variant.word).collect();
            words.sort_unstable();
            words.dedup();
            assert_eq!(words, expected, "{text}");
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
                prop_assert!(runs.iter().any(|(run, _)| run.start < place.end && place.start < run.end));
                prop_assert!(folded.text.get(place).is_some_and(|text| !text.is_empty()));
            }
        }
    }
}
