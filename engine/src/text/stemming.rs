use std::borrow::Cow;
use std::sync::{LazyLock, OnceLock};

use frostem::{Algorithm, Stemmer};

/// Longest word in documents and queries.
const MAX_WORD_CHARS: usize = 64;

/// Slots of known stems: about 1 MiB once all are taken.
const KNOWN_STEMS: usize = 1 << 14;
/// Longest word whose stem is kept.
const MAX_KNOWN_BYTES: usize = 24;

static ENGLISH: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::new(Algorithm::English));

/// Stems of words by slot; stemming is a fifth of indexing.
///
/// The first word of a slot stays, and frequent words come first.
static KNOWN: [OnceLock<KnownStem>; KNOWN_STEMS] = [const { OnceLock::new() }; KNOWN_STEMS];

struct KnownStem {
    word: Box<str>,
    /// `None` if the word is its own stem.
    stem: Option<Box<str>>,
}

impl KnownStem {
    fn of(word: &str) -> Self {
        let stem = find_stem(word);
        Self { stem: (stem != word).then(|| stem.into()), word: word.into() }
    }
}

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
    if word.len() > MAX_KNOWN_BYTES {
        return find_stem(word);
    }
    let known = KNOWN[slot_of(word)].get_or_init(|| KnownStem::of(word));
    if *known.word != *word {
        return find_stem(word);
    }
    Cow::Borrowed(known.stem.as_deref().unwrap_or(word))
}

fn find_stem(word: &str) -> Cow<'_, str> {
    let mut stem = Cow::Borrowed(word);
    loop {
        let next = ENGLISH.stem(&stem);
        if next == stem {
            return stem;
        }
        stem = Cow::Owned(next.into_owned());
    }
}

/// Hashes a word by FNV-1a to its slot.
fn slot_of(word: &str) -> usize {
    let hash =
        word.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    (hash ^ (hash >> 15)) as usize % KNOWN_STEMS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{find_stem, stem};

    proptest! {
        #![proptest_config(trawl_seeds::cases(2_000))]

        #[test]
        fn known_stem_is_the_one_that_is_found(word in "[a-z]{1,6}(ing|ed|s|ly|ational|)") {
            for _ in 0..2 {
                prop_assert_eq!(stem(&word), find_stem(&word));
            }
            let found = find_stem(&word);
            prop_assert_eq!(stem(&found), found.as_ref());
        }
    }
}
