//! Text analysis, the same for documents and queries.
//!
//! Three steps. `folding` normalises characters and keeps their places (`folded`). `segmentation` splits into words:
//! English by stem and in full, ideographs as dictionary words and single characters, `syllables` of Hangul, Thai and
//! others alone and in pairs, so any substring of these matches. `variants` adds other spellings of words.

mod amounts;
mod compounds;
mod dates;
mod encoding;
mod folded;
mod folding;
mod german;
mod letters;
mod names;
mod numbers;
mod pinyin;
mod segmentation;
mod signs;
mod stemming;
mod stop_words;
mod syllables;
mod tokens;
mod traditional;
mod variants;

pub use encoding::{
    EncodedWord, EncodedWordReader, EncodedWords, HEADING, WHOLE_NAME, WHOLE_TITLE, encoded_words,
};
pub(crate) use folded::Folded;
pub use folding::fold;
pub use names::whole_name;
pub(crate) use names::{VariantBudget, indexed_forms, name_variants, names_as_words};
pub(crate) use numbers::spaced_number;
use pinyin::spoken_forms;
pub(crate) use pinyin::{
    PinyinReadings, PinyinWord, WordVariant, are_homophones, homophones_of, is_syllable, parts_syllables,
    title_readings,
};
pub(crate) use segmentation::{
    PlacedRun, TypedTerm, dictionary_words, is_ideograph, parts_of_word, placed_runs, positions, query_terms,
    query_words, runs,
};
pub use segmentation::{PositionStep, ScriptRun, document_words};
pub use signs::written_signs;
pub(crate) use stemming::cut_to_length;
pub use stemming::stem;
pub(crate) use stop_words::is_acronym;
pub use stop_words::is_stop_word;
pub use syllables::written_syllables;
pub(crate) use syllables::{SyllableWord, is_syllabic, syllable_term, syllables};
pub(crate) use tokens::{JoinedToken, QueryToken, query_tokens};
pub(crate) use variants::compound_variants;

/// Loads the dictionaries, which otherwise the first text does that needs them.
pub fn load_dictionaries() {
    fold("国際");
    document_words("国际", |_, _, _| {});
    query_terms("ไทย");
    german::parts_of_compound("datenschutz");
    is_stop_word("the");
    PinyinWord::read("pinyin").map(|word| word.readings());
}
