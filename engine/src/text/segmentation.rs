//! Splits folded text into runs, and runs into words.
//!
//! Positions count ideographs, kana and other words alike. Phrases are offsets in any scripts, and any span
//! of ideographs is found exactly.

use std::ops::Range;
use std::sync::LazyLock;

use jieba_rs::{Jieba, Token};
use unicode_normalization::char::is_combining_mark;

use super::{cut_to_length, stem};

static DICTIONARY: LazyLock<Jieba> = LazyLock::new(Jieba::new);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptRun<'a> {
    /// Ideographs and kana.
    Ideographs(&'a str),
    /// Cut to the longest length.
    Word(&'a str),
}

impl<'a> ScriptRun<'a> {
    pub fn text(self) -> &'a str {
        match self {
            Self::Ideographs(text) | Self::Word(text) => text,
        }
    }
}

/// A run and its bytes.
pub(crate) type PlacedRun<'a> = (Range<usize>, ScriptRun<'a>);

/// Other characters separate runs.
pub(crate) fn runs(folded: &str) -> impl Iterator<Item = ScriptRun<'_>> {
    placed_runs(folded).map(|(_, run)| run)
}

/// Byte ranges of cut words in full.
pub(crate) fn placed_runs(folded: &str) -> impl Iterator<Item = PlacedRun<'_>> {
    let mut end = 0;
    std::iter::from_fn(move || {
        let start = end + folded[end..].find(char::is_alphanumeric)?;
        let rest = &folded[start..];
        let ideographs = rest.starts_with(is_ideograph);
        let belongs = |character: char| {
            if character.is_ascii() {
                !ideographs && character.is_ascii_alphanumeric()
            } else if ideographs {
                is_ideograph(character)
            } else {
                !is_ideograph(character) && (character.is_alphanumeric() || is_combining_mark(character))
            }
        };
        let run = &rest[..rest.find(|character| !belongs(character)).unwrap_or(rest.len())];
        end = start + run.len();
        let place = start..end;
        Some((
            place,
            if ideographs { ScriptRun::Ideographs(run) } else { ScriptRun::Word(cut_to_length(run)) },
        ))
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PositionStep {
    Next,
    Same,
}

/// Emits each indexed word with the bytes of its position.
///
/// Ideographs: each one and every dictionary word. Others: the stem, and the word if different.
pub fn document_words(folded: &str, emit: impl FnMut(PositionStep, Range<usize>, &str)) {
    words_of_runs(placed_runs(folded), emit);
}

/// Emits the words of [`document_words`] from runs.
pub(super) fn words_of_runs<'a>(
    runs: impl Iterator<Item = PlacedRun<'a>>,
    mut emit: impl FnMut(PositionStep, Range<usize>, &str),
) {
    for (bytes, run) in runs {
        match run {
            ScriptRun::Word(word) => {
                let stem = stem(word);
                emit(PositionStep::Next, bytes.clone(), &stem);
                if stem != word {
                    emit(PositionStep::Same, bytes, word);
                }
            }
            ScriptRun::Ideographs(run) => {
                let words = DICTIONARY.cut_all(run);
                let mut words = words.iter().filter(|word| word.end - word.start > 1).peekable();
                for (position, (start, character)) in run.char_indices().enumerate() {
                    let end = start + character.len_utf8();
                    let place = bytes.start + start..bytes.start + end;
                    emit(PositionStep::Next, place.clone(), &run[start..end]);
                    while let Some(word) = words.next_if(|word| word.start == position) {
                        emit(PositionStep::Same, place.clone(), cut_to_length(word.word));
                    }
                }
            }
        }
    }
}

/// Words of a run of ideographs, in the likeliest segmentation.
pub(crate) fn dictionary_words(run: &str) -> Vec<&str> {
    DICTIONARY.cut(run, false).into_iter().map(|word| word.word).collect()
}

/// The fewest smaller dictionary words that make up a word, by position, if there are any.
pub(crate) fn parts_of_word(word: &str) -> Vec<(usize, &str)> {
    let length = word.chars().count();
    if length < 4 || !word.starts_with(is_ideograph) {
        return Vec::new();
    }
    let mut parts_to: Vec<Option<Vec<(usize, &str)>>> = vec![None; length + 1];
    parts_to[0] = Some(Vec::new());
    let is_part = |part: &Token<'_>| (2..length).contains(&(part.end - part.start));
    let mut parts: Vec<Token<'_>> = DICTIONARY.cut_all(word).into_iter().filter(is_part).collect();
    parts.sort_by_key(|part| part.start);
    for part in parts {
        let Some(before) = &parts_to[part.start] else { continue };
        if parts_to[part.end].as_ref().is_none_or(|known| known.len() > before.len() + 1) {
            parts_to[part.end] = Some([before.as_slice(), &[(part.start, part.word)]].concat());
        }
    }
    parts_to.pop().flatten().unwrap_or_default()
}

/// Gapless positions, in the likeliest segmentation.
pub(crate) fn query_words(folded: &str) -> Vec<(usize, String)> {
    let mut words = Vec::new();
    let mut position = 0;
    for run in runs(folded) {
        match run {
            ScriptRun::Word(word) => {
                words.push((position, stem(word).into_owned()));
                position += 1;
            }
            ScriptRun::Ideographs(run) => {
                for word in DICTIONARY.cut(run, false) {
                    words.push((position + word.start, cut_to_length(word.word).to_owned()));
                }
                position += run.chars().count();
            }
        }
    }
    words
}

/// Includes kana and marks.
pub(crate) fn is_ideograph(character: char) -> bool {
    matches!(character,
        '\u{4e00}'..='\u{9fff}' | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3134f}' | '々' | '〇')
        // The block's middle dot and voicing marks separate.
        && character.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::{PositionStep, document_words, parts_of_word, query_words};
    use crate::text::fold;

    fn words(text: &str) -> Vec<(usize, String)> {
        let mut words = Vec::new();
        let mut position = 0;
        document_words(&fold(text), |step, _, word| {
            position += usize::from(step == PositionStep::Next);
            words.push((position - 1, word.to_owned()));
        });
        words
    }

    fn pairs(expected: &[(usize, &str)]) -> Vec<(usize, String)> {
        expected.iter().map(|&(position, word)| (position, word.to_owned())).collect()
    }

    #[test]
    fn mixed_scripts_share_one_position_counter() {
        let expected =
            [(0, "run"), (0, "running"), (1, "中"), (1, "中国"), (2, "国"), (3, "2026"), (4, "年")];
        assert_eq!(words("Running中国2026年!"), pairs(&expected));
    }

    #[test]
    fn every_dictionary_word_of_a_run_is_emitted() {
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
    fn long_words_are_cut_in_documents_and_queries() {
        let long = "é1".repeat(500);
        let indexed = words(&long);
        assert_eq!(indexed.len(), 1);
        assert_eq!(indexed[0].1.chars().count(), 64);
        assert_eq!(query_words(&fold(&long)), indexed);
    }

    #[test]
    fn word_consists_of_the_fewest_smaller_words() {
        for (word, expected) in [
            ("联通公司", &[(0, "联通"), (2, "公司")][..]),
            ("中华人民共和国", &[(0, "中华"), (2, "人民共和国")]),
            ("差旅费", &[]),
            ("报销", &[]),
            ("", &[]),
        ] {
            assert_eq!(parts_of_word(word), expected, "{word}");
        }
    }

    #[test]
    fn queries_are_segmented_without_overlap() {
        assert_eq!(
            query_words("中华人民共和国万岁 abc"),
            pairs(&[(0, "中华人民共和国"), (7, "万岁"), (9, "abc")])
        );
    }
}
