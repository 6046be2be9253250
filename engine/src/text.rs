//! Text analysis, the same for documents and queries.
//!
//! Width, case, accents and traditional characters are folded. English words are indexed by stem and in full.
//! Ideographs are indexed as dictionary words and single characters, so any substring matches.

mod amounts;
mod compounds;
mod encoding;
mod folded;
mod folding;
mod names;
mod numbers;
mod pinyin;
mod segmentation;
mod stemming;
mod stop_words;
mod traditional;

pub(crate) use compounds::{JoinedToken, QueryToken, compound_variants, query_tokens};
pub use encoding::{
    EncodedWord, EncodedWordReader, EncodedWords, HEADING, WHOLE_NAME, WHOLE_TITLE, encoded_words,
};
pub(crate) use folded::Folded;
pub use folding::fold;
pub use names::whole_name;
pub(crate) use names::{VariantBudget, indexed_forms, name_variants, names_as_words};
pub(crate) use numbers::spaced_number;
use pinyin::spoken_forms;
pub(crate) use pinyin::{PinyinReadings, WordVariant, are_homophones, title_readings};
pub(crate) use segmentation::{
    PlacedRun, dictionary_words, is_ideograph, parts_of_word, placed_runs, query_words, runs,
};
pub use segmentation::{PositionStep, ScriptRun, document_words};
pub(crate) use stemming::cut_to_length;
pub use stemming::stem;
pub(crate) use stop_words::is_acronym;
pub use stop_words::is_stop_word;

/// Loads the dictionaries, which otherwise the first text does that needs them.
pub fn load_dictionaries() {
    fold("国際");
    document_words("国际", |_, _, _| {});
    is_stop_word("the");
}
