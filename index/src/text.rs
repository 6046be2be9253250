//! From text to words, the same way for documents and for queries.

mod encoding;
mod folded;
mod folding;
mod idle;
mod names;
mod pinyin;
mod segmentation;
mod traditional;

pub(crate) use encoding::{EncodedTokenizer, EncodedWords, HEADING, TOKENIZER, WHOLE};
pub(crate) use folded::Folded;
pub use folding::fold;
pub(crate) use idle::is_idle;
pub(crate) use names::{SoundBudget, sounds, typed, whole};
pub(crate) use pinyin::{Readings, Sound};
pub(crate) use segmentation::{Run, Spot, document_words, is_ideograph, placed_runs, query_words, runs};

use std::borrow::Cow;
use std::sync::LazyLock;

use frostem::{Algorithm, Stemmer};

/// Words longer than this, in characters, are cut there, in documents and in queries alike.
const MAX_WORD_CHARS: usize = 64;

static ENGLISH: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::new(Algorithm::English));

/// A folded word, cut to [`MAX_WORD_CHARS`].
pub(crate) fn cut_to_length(word: &str) -> &str {
    // Bytes bound characters from above, and most words are short.
    if word.len() <= MAX_WORD_CHARS {
        return word;
    }
    word.char_indices().nth(MAX_WORD_CHARS).map_or(word, |(end, _)| &word[..end])
}

/// The stem of a folded word; words that are not plain letters of English are their own stem.
pub(crate) fn stem(word: &str) -> Cow<'_, str> {
    if word.bytes().all(|byte| byte.is_ascii_lowercase()) { ENGLISH.stem(word) } else { Cow::Borrowed(word) }
}
