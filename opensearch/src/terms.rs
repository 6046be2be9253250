//! Words as texts that the analyser of the indexes splits.
//!
//! A space leads to the next position, `|` to the same, and `_` skips one. Each word has the scope's prefix.

use trawl_engine::text::encoded_words;
use trawl_engine::{SCOPE_END, Scope};

/// Longest term of Lucene; longer ones would fail their document.
pub(crate) const MAX_TERM_BYTES: usize = 32_766;

const NEXT: &str = " ";
const SAME: &str = "|";
const GAP: &str = " _ ";
const HOLE: &str = "_ ";
/// Neither words nor codes of modules contain it, and it needs no escape in JSON.
const PREFIX_END: &str = ":";
/// A space in a whole name.
const SPACE: &str = "\u{1}";

/// Beginning of every term of a scope.
#[derive(Debug, Clone)]
pub(crate) struct TermPrefix(String);

impl TermPrefix {
    pub(crate) fn new(scope: &Scope) -> Self {
        Self(scope.prefix().replace(SCOPE_END, PREFIX_END))
    }

    /// The term of all documents of the scope's half.
    pub(crate) fn marker(&self) -> &str {
        &self.0
    }

    pub(crate) fn term(&self, word: &str) -> String {
        format!("{}{}", self.0, word.replace(' ', SPACE))
    }

    /// The word of a term of this scope.
    pub(crate) fn word_of(&self, term: &str) -> Option<String> {
        Some(term.strip_prefix(&self.0)?.replace(SPACE, " "))
    }

    /// Words at offsets from the first, for a phrase query.
    pub(crate) fn phrase(&self, words: &[(usize, String)]) -> String {
        let mut text = String::new();
        let mut position = 0;
        for (offset, word) in words {
            for _ in position..*offset {
                text.push_str(HOLE);
            }
            text.push_str(&self.term(word));
            text.push(' ');
            position = offset + 1;
        }
        text
    }
}

/// A field of an analysed document.
#[derive(Debug, Default)]
pub(crate) struct TermText {
    /// To be analysed, with the prefix at each word.
    pub(crate) text: String,
    /// Number of terms.
    pub(crate) length: u32,
}

impl TermText {
    /// Reads encoded words.
    pub(crate) fn new(encoded: &str) -> Self {
        let (prefix, words) = encoded_words(encoded);
        let prefix = prefix.replace(SCOPE_END, PREFIX_END);
        let mut written = Self { text: String::with_capacity(encoded.len() * 2), ..Self::default() };
        for word in words {
            if prefix.len() + word.word.len() > MAX_TERM_BYTES {
                continue;
            }
            written.text.push_str(match word.distance {
                0 => SAME,
                2 => GAP,
                _ => NEXT,
            });
            written.text.push_str(&prefix);
            written.text.push_str(&word.word.replace(' ', SPACE));
            written.length += 1;
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use trawl_engine::Scope;
    use trawl_engine::text::EncodedWords;

    use super::{TermPrefix, TermText};

    #[test]
    fn fields_become_texts_with_positions() {
        let prefix = Scope::new(7, "news").prefix();
        let mut words = EncodedWords::new(&prefix);
        words.add_marker();
        words.add_text("Cats 中国");
        words.add_text("dog");
        let text = TermText::new(&words.finish().unwrap());
        assert_eq!(
            text.text,
            " 7.news: _ 7.news:cat|7.news:cats 7.news:中|7.news:中国 7.news:国 _ 7.news:dog"
        );
        assert_eq!(text.length, 7);
    }

    #[test]
    fn phrase_has_a_hole_for_each_skipped_position() {
        let prefix = TermPrefix::new(&Scope::new(7, "news"));
        let words = [(0, "heat".to_owned()), (3, "flow".to_owned())];
        assert_eq!(prefix.phrase(&words), "7.news:heat _ _ 7.news:flow ");
    }
}
