//! Cutting folded text into runs, and runs into words with positions.
//!
//! Positions run as one counter through the text: one for each ideograph or kana, one for each other word. A phrase is
//! then a sequence of offsets, whatever the scripts in it, and any stretch of ideographs is found exactly, however
//! the dictionary segments it.

use std::ops::Range;
use std::sync::LazyLock;

use jieba_rs::Jieba;
use unicode_normalization::char::is_combining_mark;

use super::{cut_to_length, stem};

static DICTIONARY: LazyLock<Jieba> = LazyLock::new(Jieba::new);

/// A stretch of folded text without separators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Run<'a> {
    /// Ideographs and kana, which are written without spaces.
    Ideographs(&'a str),
    /// One word of any other script, cut to its longest length.
    Word(&'a str),
}

impl<'a> Run<'a> {
    /// What stands in it.
    pub(crate) fn text(self) -> &'a str {
        match self {
            Self::Ideographs(text) | Self::Word(text) => text,
        }
    }
}

/// The runs of a folded text; whatever is not alphanumeric separates them and is dropped.
pub(crate) fn runs(folded: &str) -> impl Iterator<Item = Run<'_>> {
    placed_runs(folded).map(|(_, run)| run)
}

/// The same, each with the bytes that it takes; of a word that is cut, those of the whole.
pub(crate) fn placed_runs(folded: &str) -> impl Iterator<Item = (Range<usize>, Run<'_>)> {
    let mut end = 0;
    std::iter::from_fn(move || {
        let start = end + folded[end..].find(char::is_alphanumeric)?;
        let rest = &folded[start..];
        let ideographs = rest.starts_with(is_ideograph);
        let belongs = |character: char| {
            if ideographs {
                is_ideograph(character)
            } else {
                !is_ideograph(character) && (character.is_alphanumeric() || is_combining_mark(character))
            }
        };
        let run = &rest[..rest.find(|character| !belongs(character)).unwrap_or(rest.len())];
        end = start + run.len();
        let place = start..end;
        Some((place, if ideographs { Run::Ideographs(run) } else { Run::Word(cut_to_length(run)) }))
    })
}

/// Where a document's word stands relative to the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spot {
    /// One position further.
    Next,
    /// At the same position.
    Same,
}

/// Hands every word that a document with this folded text is found by to `emit`, with the byte at which it begins.
///
/// For ideographs: each of them, and every word of the dictionary that occurs. For others: the stem, and the word
/// itself where it differs, which prefixes need.
pub(crate) fn document_words(folded: &str, mut emit: impl FnMut(Spot, usize, &str)) {
    for (bytes, run) in placed_runs(folded) {
        match run {
            Run::Word(word) => {
                let stem = stem(word);
                emit(Spot::Next, bytes.start, &stem);
                if stem != word {
                    emit(Spot::Same, bytes.start, word);
                }
            }
            Run::Ideographs(run) => {
                let words = DICTIONARY.cut_all(run);
                let mut words = words.iter().filter(|word| word.end - word.start > 1).peekable();
                for (position, (start, character)) in run.char_indices().enumerate() {
                    let place = bytes.start + start;
                    emit(Spot::Next, place, &run[start..start + character.len_utf8()]);
                    while let Some(word) = words.next_if(|word| word.start == position) {
                        emit(Spot::Same, place, cut_to_length(word.word));
                    }
                }
            }
        }
    }
}

/// The words of a query with this folded text, each with its position: a sequence without gaps or overlaps, the
/// ideographs segmented the likeliest way.
pub(crate) fn query_words(folded: &str) -> Vec<(usize, String)> {
    let mut words = Vec::new();
    let mut position = 0;
    for run in runs(folded) {
        match run {
            Run::Word(word) => {
                words.push((position, stem(word).into_owned()));
                position += 1;
            }
            Run::Ideographs(run) => {
                for word in DICTIONARY.cut(run, false) {
                    words.push((position + word.start, cut_to_length(word.word).to_owned()));
                }
                position += run.chars().count();
            }
        }
    }
    words
}

/// Han characters and kana, with the marks that are written among them.
pub(crate) fn is_ideograph(character: char) -> bool {
    matches!(character,
        '\u{4e00}'..='\u{9fff}' | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3134f}' | '々' | '〇')
        // The middle dot and the voicing marks stand in the kana block and separate.
        && character.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::{Spot, document_words, query_words};
    use crate::text::fold;

    fn words(text: &str) -> Vec<(usize, String)> {
        let mut words = Vec::new();
        let mut position = 0;
        document_words(&fold(text), |spot, _, word| {
            position += usize::from(spot == Spot::Next);
            words.push((position - 1, word.to_owned()));
        });
        words
    }

    fn pairs(expected: &[(usize, &str)]) -> Vec<(usize, String)> {
        expected.iter().map(|&(position, word)| (position, word.to_owned())).collect()
    }

    #[test]
    fn mixed_scripts_share_one_counter() {
        let expected =
            [(0, "run"), (0, "running"), (1, "中"), (1, "中国"), (2, "国"), (3, "2026"), (4, "年")];
        assert_eq!(words("Running中国2026年!"), pairs(&expected));
    }

    #[test]
    fn every_dictionary_word_of_a_run_is_there() {
        let found = words("中华人民共和国");
        for word in ["中华", "人民", "共和", "共和国", "中华人民共和国", "民"] {
            assert!(found.iter().any(|(_, found)| found == word), "{word} is missing from {found:?}");
        }
    }

    #[test]
    fn kana_are_single_and_emoji_separate() {
        assert_eq!(words("カナ🦀漢"), pairs(&[(0, "カ"), (1, "ナ"), (2, "汉")]));
        assert_eq!(words("🦀 !? —"), pairs(&[]));
    }

    #[test]
    fn accents_are_folded_before_stemming() {
        assert_eq!(words("Cafés"), pairs(&[(0, "cafe"), (0, "cafes")]));
    }

    #[test]
    fn long_words_are_cut_alike_on_both_sides() {
        let long = "é1".repeat(500);
        let indexed = words(&long);
        assert_eq!(indexed.len(), 1);
        assert_eq!(indexed[0].1.chars().count(), 64);
        assert_eq!(query_words(&fold(&long)), indexed);
    }

    #[test]
    fn queries_are_segmented_without_overlap() {
        assert_eq!(
            query_words("中华人民共和国万岁 abc"),
            pairs(&[(0, "中华人民共和国"), (7, "万岁"), (9, "abc")])
        );
    }
}
