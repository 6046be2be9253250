//! Words whose signs are part of them: `C++`, `C#`, `.NET`, `@home`, `#safety`.
//!
//! Each is one more word of a document, at the place of the word without its signs.

use std::ops::Range;

use super::ScriptRun;
use super::segmentation::{PlacedRun, is_ideograph};

/// A word with its signs.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SignedWord {
    /// Bytes of the folded text, with the signs.
    pub(super) place: Range<usize>,
    /// A sign before the word is full-width, as folded texts have none: `#…` begins other terms.
    pub(super) word: String,
}

impl SignedWord {
    /// The word of a run with the signs around it.
    pub(super) fn around(folded: &str, (place, run): &PlacedRun<'_>) -> Option<Self> {
        let ScriptRun::Word(word) = run else { return None };
        if word.len() < place.len() || !word.starts_with(char::is_alphabetic) {
            return None;
        }
        let (before, after) = (&folded[..place.start], &folded[place.end..]);
        if let Some(signs) = signs_behind(after) {
            let place = place.start..place.end + signs.len();
            return Some(Self { place, word: format!("{word}{signs}") });
        }
        let sign = sign_before(before)?;
        Some(Self { place: place.start - 1..place.end, word: format!("{sign}{word}") })
    }
}

/// A term as it is typed: `#safety`.
pub fn written_signs(term: &str) -> String {
    term.replace('．', ".").replace('＠', "@").replace('＃', "#")
}

/// `++`, `+` or `#` at the end of a word.
fn signs_behind(after: &str) -> Option<&str> {
    let is_ended = |signs: &&str| {
        let next = after[signs.len()..].chars().next();
        next.is_none_or(|next| {
            !matches!(next, '+' | '#') && (*signs == "++" || !next.is_alphanumeric() || is_ideograph(next))
        })
    };
    ["++", "+", "#"].into_iter().find(|signs| after.starts_with(signs)).filter(is_ended)
}

/// `.`, `@` or `#` before a word, and not after another.
fn sign_before(before: &str) -> Option<char> {
    let mut characters = before.chars().rev();
    let (sign, is_after_dot) = match characters.next()? {
        '.' => ('．', true),
        '@' => ('＠', false),
        '#' => ('＃', false),
        _ => return None,
    };
    let is_apart = |previous: char| match previous {
        '.' | '@' | '#' | '+' | ':' | '&' => false,
        ideograph if is_ideograph(ideograph) => !is_after_dot,
        previous => !previous.is_alphanumeric(),
    };
    characters.next().is_none_or(is_apart).then_some(sign)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{fold, placed_runs};

    fn signed(text: &str) -> Vec<String> {
        let folded = fold(text);
        let runs: Vec<_> = placed_runs(&folded).collect();
        let words = runs.iter().filter_map(|run| SignedWord::around(&folded, run));
        words.map(|SignedWord { place, word }| format!("{} {word}", &folded[place])).collect()
    }

    #[test]
    fn signs_around_a_word_are_part_of_it() {
        for (text, expected) in [
            ("C++ and C#, F#.", &["c++ c++", "c# c#", "f# f#"][..]),
            ("用C++开发，C#语言", &["c++ c++", "c# c#"]),
            ("C++17; notepad++; Disney+", &["c++ c++", "notepad++ notepad++", "disney+ disney+"]),
            ("(.NET) @home ＃Safety", &[".net ．net", "@home ＠home", "#safety ＃safety"]),
            ("联系@home", &["@home ＠home"]),
        ] {
            assert_eq!(signed(text), expected, "{text}");
        }
    }

    #[test]
    fn signs_between_words_are_no_part_of_them() {
        for text in [
            "A+B",
            "a#b",
            "3# 4+",
            "me@home",
            "end.Next",
            "...and",
            "合同.pdf",
            "C+++",
            "c##",
            "C & A",
            "http://x",
            "🚀#",
        ] {
            assert_eq!(signed(text), [""; 0], "{text}");
        }
    }
}
