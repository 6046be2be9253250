use std::borrow::Cow;
use std::sync::LazyLock;

use frostem::{Algorithm, Stemmer};

/// In documents and queries.
const MAX_WORD_CHARS: usize = 64;

static ENGLISH: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::new(Algorithm::English));

pub(crate) fn cut_to_length(word: &str) -> &str {
    // Characters are at most bytes.
    if word.len() <= MAX_WORD_CHARS {
        return word;
    }
    word.char_indices().nth(MAX_WORD_CHARS).map_or(word, |(end, _)| &word[..end])
}

/// Stems English words; others stay.
///
/// A stem is its own stem, so that `warehouse` and `warehousing` share one.
pub fn stem(word: &str) -> Cow<'_, str> {
    if !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return Cow::Borrowed(word);
    }
    let mut stem = Cow::Borrowed(word);
    loop {
        let next = ENGLISH.stem(&stem);
        if next == stem {
            return stem;
        }
        stem = Cow::Owned(next.into_owned());
    }
}
