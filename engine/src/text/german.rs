//! Parts of German compounds: `Datenschutz` and `Richtlinie` of `Datenschutzrichtlinie`.

use std::collections::HashSet;
use std::iter;
use std::ops::{Range, RangeInclusive};
use std::sync::LazyLock;

const TABLE: &str = include_str!("german.txt");

static WORDS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| TABLE.lines().filter(|line| !line.starts_with('#')).collect());

/// Letters of compounds; longer words are none.
const COMPOUND_CHARS: RangeInclusive<usize> = 9..=48;
/// Letters of the words of the table.
const PART_CHARS: RangeInclusive<usize> = 4..=13;
/// Letters between two parts.
const LINKS: [&str; 6] = ["", "s", "es", "n", "en", "er"];

/// Beginnings and ends of a compound that are made of words.
///
/// `urlaub` and `antrag` of `urlaubsantrag`; the word is folded.
pub(super) fn parts_of_compound(word: &str) -> Vec<Range<usize>> {
    let is_long = COMPOUND_CHARS.contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_lowercase());
    let may_be_one = is_long && !WORDS.contains(word);
    let Some(parts) = may_be_one.then(|| fewest_parts(word)).flatten() else { return Vec::new() };
    let ends = parts.iter().rev().skip(1).map(|part| 0..part.end);
    let starts = parts.iter().skip(1).map(|part| part.start..word.len());
    ends.chain(starts).collect()
}

/// The fewest words of the table that make it up, long ones first.
fn fewest_parts(word: &str) -> Option<Vec<Range<usize>>> {
    let mut parts_to: Vec<Option<Vec<Range<usize>>>> = vec![None; word.len() + 1];
    parts_to[0] = Some(Vec::new());
    for start in 0..word.len() {
        let Some(before) = parts_to[start].take() else { continue };
        for end in (start + PART_CHARS.start()..=word.len().min(start + PART_CHARS.end())).rev() {
            if !WORDS.contains(&word[start..end]) {
                continue;
            }
            for link in LINKS {
                let next = end + link.len();
                // A word ends with a part.
                let is_linked = word[end..].starts_with(link) && (link.is_empty() || next < word.len());
                if is_linked && parts_to[next].as_ref().is_none_or(|known| known.len() > before.len() + 1) {
                    parts_to[next] = Some(before.iter().cloned().chain(iter::once(start..end)).collect());
                }
            }
        }
    }
    parts_to.pop().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(word: &str) -> Vec<&str> {
        parts_of_compound(word).into_iter().map(|part| &word[part]).collect()
    }

    #[test]
    fn compound_has_its_beginnings_and_ends() {
        for (word, expected) in [
            ("datenschutzrichtlinie", &["datenschutz", "daten", "schutzrichtlinie", "richtlinie"][..]),
            ("urlaubsantrag", &["urlaub", "antrag"]),
            ("arbeitsvertrag", &["arbeit", "vertrag"]),
            ("reisekostenabrechnung", &["reisekosten", "reise", "kostenabrechnung", "abrechnung"]),
            ("strassenverkehr", &["strassen", "verkehr"]),
        ] {
            assert_eq!(parts(word), expected);
        }
    }

    #[test]
    fn other_word_has_no_parts() {
        for word in [
            "richtlinie",
            "haus",
            "transport",
            "international",
            "interaction",
            "parameter",
            "management",
            "x",
        ] {
            assert_eq!(parts(word), [""; 0], "{word}");
        }
        assert!(parts_of_compound(&"haus".repeat(12)).len() <= 22);
        assert_eq!(parts(&"haus".repeat(13)), [""; 0]);
    }
}
