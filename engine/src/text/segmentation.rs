//! Splits folded text into runs, and runs into words.
//!
//! Positions count ideographs, kana and other words alike. Phrases are offsets in any scripts, and any span
//! of ideographs is found exactly.

use std::ops::Range;
use std::sync::LazyLock;

use jieba_rs::{Jieba, Token};
use unicode_normalization::char::is_combining_mark;

use super::letters::{is_emoji, is_flag_letter};
use super::syllables::{SyllableScript, SyllableWord, syllable_term, syllables};
use super::{cut_to_length, stem};

static DICTIONARY: LazyLock<Jieba> = LazyLock::new(Jieba::new);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptRun<'a> {
    /// Ideographs and kana.
    Ideographs(&'a str),
    /// Letters of a script whose words no space or sign ends.
    Syllables(&'a str),
    /// Letters and digits, or one emoji; cut to the longest length.
    Word(&'a str),
}

impl<'a> ScriptRun<'a> {
    pub fn text(self) -> &'a str {
        match self {
            Self::Ideographs(text) | Self::Syllables(text) | Self::Word(text) => text,
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
        let (start, kind) = folded[end..].char_indices().find_map(|(place, character)| {
            let begins = is_ideograph(character)
                || character.is_alphanumeric()
                || !character.is_ascii() && is_emoji(character);
            begins.then(|| (end + place, RunKind::of(character)))
        })?;
        let rest = &folded[start..];
        let run = &rest[..kind.end_in(rest)];
        end = start + run.len();
        let of_kind = match kind {
            RunKind::Ideographs => ScriptRun::Ideographs(run),
            RunKind::Syllables(_) => ScriptRun::Syllables(run),
            RunKind::Letters | RunKind::Emoji => ScriptRun::Word(cut_to_length(run)),
        };
        Some((start..end, of_kind))
    })
}

pub(super) fn is_digits(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

pub(super) fn digits_of<'a>(runs: &[PlacedRun<'a>], number: usize) -> Option<&'a str> {
    match runs.get(number)? {
        (place, ScriptRun::Word(word)) if is_digits(word) && word.len() == place.len() => Some(word),
        _ => None,
    }
}

/// Kind of the characters of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RunKind {
    Ideographs,
    Syllables(SyllableScript),
    Letters,
    Emoji,
}

impl RunKind {
    /// The kind of the run that a character begins.
    fn of(character: char) -> Self {
        if character.is_ascii() {
            Self::Letters
        } else if is_ideograph(character) {
            Self::Ideographs
        } else if let Some(script) = SyllableScript::of(character) {
            Self::Syllables(script)
        } else if is_emoji(character) {
            Self::Emoji
        } else {
            Self::Letters
        }
    }

    /// End of the run at the beginning of a text.
    fn end_in(self, text: &str) -> usize {
        if self == Self::Emoji {
            let is_flag = text.chars().take_while(|letter| is_flag_letter(*letter)).nth(1).is_some();
            return text.char_indices().nth(if is_flag { 2 } else { 1 }).map_or(text.len(), |(end, _)| end);
        }
        let belongs = |character: char| match self {
            Self::Letters if character.is_ascii() => character.is_ascii_alphanumeric(),
            _ if character.is_ascii() => false,
            Self::Ideographs => is_ideograph(character),
            Self::Syllables(script) => SyllableScript::of(character) == Some(script),
            _ if is_combining_mark(character) => {
                self == Self::Letters && SyllableScript::of(character).is_none()
            }
            kind => character.is_alphanumeric() && Self::of(character) == kind,
        };
        text.find(|character| !belongs(character)).unwrap_or(text.len())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PositionStep {
    Next,
    Same,
}

/// Emits each indexed word with the bytes of its position.
///
/// Ideographs: each one and every dictionary word. Syllables: each one and every two. Others: the stem, and the word if
/// different.
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
            ScriptRun::Syllables(run) => {
                let mut syllables = syllables(run).peekable();
                while let Some((start, syllable)) = syllables.next() {
                    let end = start + syllable.len();
                    let place = bytes.start + start..bytes.start + end;
                    emit(PositionStep::Next, place.clone(), syllable_term(syllable));
                    if let Some((_, next)) = syllables.peek() {
                        emit(PositionStep::Same, place, syllable_term(&run[start..end + next.len()]));
                    }
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

/// A term of a query.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TypedTerm {
    pub(crate) position: usize,
    pub(crate) term: String,
    /// Position of the word that contains it; `None` if it is whole.
    pub(crate) part_of: Option<usize>,
    /// It only inflects the word before it.
    pub(crate) is_particle: bool,
}

impl TypedTerm {
    pub(crate) fn whole(position: usize, term: String) -> Self {
        Self { position, term, part_of: None, is_particle: false }
    }
}

/// Terms at gapless positions, in the likeliest segmentation.
pub(crate) fn query_terms(folded: &str) -> Vec<TypedTerm> {
    let mut terms = Vec::new();
    let mut position = 0;
    for run in runs(folded) {
        match run {
            ScriptRun::Word(word) => {
                terms.push(TypedTerm::whole(position, stem(word).into_owned()));
                position += 1;
            }
            ScriptRun::Syllables(run) => {
                for word in SyllableWord::all_of(run) {
                    let parts = word.terms();
                    let start = position + word.position;
                    let part_of = (parts.len() > 1).then_some(start);
                    terms.extend(parts.into_iter().map(|(offset, term)| TypedTerm {
                        position: start + offset,
                        term,
                        part_of,
                        is_particle: word.is_particle,
                    }));
                }
                position += syllables(run).count();
            }
            ScriptRun::Ideographs(run) => {
                for word in DICTIONARY.cut(run, false) {
                    terms.push(TypedTerm::whole(position + word.start, cut_to_length(word.word).to_owned()));
                }
                position += run.chars().count();
            }
        }
    }
    terms
}

/// Positions and words of [`query_terms`].
pub(crate) fn query_words(folded: &str) -> Vec<(usize, String)> {
    query_terms(folded).into_iter().map(|typed| (typed.position, typed.term)).collect()
}

/// Positions that a folded text takes.
pub(crate) fn positions(folded: &str) -> usize {
    let of_run = |run| match run {
        ScriptRun::Word(_) => 1,
        ScriptRun::Syllables(run) => syllables(run).count(),
        ScriptRun::Ideographs(run) => run.chars().count(),
    };
    runs(folded).map(of_run).sum()
}

/// Includes kana and marks.
pub(crate) fn is_ideograph(character: char) -> bool {
    matches!(character,
        '\u{4e00}'..='\u{9fff}' | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3134f}' | '々' | '〇')
        // The blocks of kana have separators, too.
        && (matches!(character, '\u{4e00}'..='\u{9fff}') || character.is_alphanumeric())
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
    fn kana_are_single_and_emoji_are_words() {
        assert_eq!(words("カナ🦀漢"), pairs(&[(0, "カ"), (1, "ナ"), (2, "🦀"), (3, "汉")]));
        assert_eq!(
            words("🇩🇪🇫🇷 👩🏽\u{200d}💻 ok❤\u{fe0f}"),
            pairs(&[(0, "🇩🇪"), (1, "🇫🇷"), (2, "👩"), (3, "💻"), (4, "ok"), (5, "❤")])
        );
        assert_eq!(words("© !? — ™"), pairs(&[(0, "tm")]));
    }

    #[test]
    fn syllables_are_emitted_alone_and_in_pairs() {
        assert_eq!(
            words("IT부서의 3월"),
            pairs(&[
                (0, "it"),
                (1, "부"),
                (1, "부서"),
                (2, "서"),
                (2, "서의"),
                (3, "의"),
                (4, "3"),
                (5, "월")
            ])
        );
        assert_eq!(words("ไทย"), pairs(&[(0, "ไ"), (0, "ไท"), (1, "ท"), (1, "ทย"), (2, "ย")]));
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
