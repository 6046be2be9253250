//! Words that the last word of a query stands for.

use std::cmp::Reverse;
use std::collections::HashSet;

use crate::text::{WHOLE_NAME, stem};

const MAX_SCANNED_WORDS: usize = 4_096;
/// Words looked at for one letter. A person hardly stops there.
const MAX_SCANNED_WORDS_OF_LETTER: usize = 256;
/// Words that are taken, the most frequent first.
const MAX_EXPANDED_WORDS: usize = 128;

/// Number of words beginning with `start` that are looked at, in lexicographic order.
pub fn max_scanned_words(start: &str) -> usize {
    let letters = start.trim_start_matches(WHOLE_NAME).chars().take(2).count();
    if letters < 2 { MAX_SCANNED_WORDS_OF_LETTER } else { MAX_SCANNED_WORDS }
}

/// Chooses from all words that begin with a prefix, whose stem is `own_stem`.
///
/// Skips words that `own_stem` or another word covers. `words` are ascending, with their document frequencies; so is the
/// choice.
pub fn select_expansion<'a>(mut words: Vec<(&'a str, u64)>, own_stem: &str) -> Vec<&'a str> {
    words.truncate(MAX_SCANNED_WORDS);
    if words.len() > MAX_EXPANDED_WORDS {
        // The stable sort keeps the lexicographic order.
        words.sort_by_key(|(_, documents)| Reverse(*documents));
        words.truncate(MAX_EXPANDED_WORDS);
        words.sort_unstable_by_key(|(word, _)| *word);
    }
    let found: HashSet<&str> = words.iter().map(|(word, _)| *word).collect();
    let is_covered = |word: &str| {
        let covering_stem = stem(word);
        word == own_stem
            || covering_stem == own_stem
            || covering_stem != word && found.contains(&*covering_stem)
    };
    words.into_iter().map(|(word, _)| word).filter(|word| !is_covered(word)).collect()
}

#[cfg(test)]
mod tests {
    use super::{MAX_EXPANDED_WORDS, select_expansion};

    #[test]
    fn covered_words_are_skipped() {
        let words =
            [("cat", 3), ("catalog", 1), ("catalogs", 1), ("categori", 2), ("category", 2), ("cats", 3)];
        assert_eq!(select_expansion(words.to_vec(), "cat"), ["catalog", "categori"]);
    }

    #[test]
    fn most_frequent_words_are_chosen_in_lexicographic_order() {
        let words: Vec<String> = (0..200).map(|number| format!("x{number:03}")).collect();
        let frequent = |number: u64| if number.is_multiple_of(2) { 9 } else { 1 };
        let words: Vec<(&str, u64)> =
            (0..).zip(&words).map(|(number, word)| (word.as_str(), frequent(number))).collect();
        let chosen = select_expansion(words.clone(), "x");
        assert_eq!(chosen.len(), MAX_EXPANDED_WORDS);
        assert!(chosen.is_sorted());
        assert!(words.iter().all(|(word, documents)| *documents == 1 || chosen.contains(word)));
    }
}
