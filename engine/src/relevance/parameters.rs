//! Parameters of relevance order, the same for all languages.
//!
//! BM25 over whole text and title ranks all matches. The best are rescored: common words, adjacent words,
//! completeness, feedback and recency. `benches/results/relevance.md` shows the effect of each on public test
//! collections.

/// Saturation of occurrences, the same in both engines.
pub const BM25_K1: f32 = 1.2;
/// Effect of a text's length, the same in both engines.
pub const BM25_B: f32 = 0.75;
/// Weight of a match in the title, beside the whole text's.
pub const TITLE_WEIGHT: f32 = 0.5;
/// Weight of a title match in a document with a text.
///
/// It is above 1 + [`BM25_K1`], the limit for any number of matches.
pub const HEADING_WEIGHT: f32 = 3.0;
/// Weight of a whole name, in multiples of the highest idf.
///
/// It is less for a part of a question.
pub const WHOLE_NAME_WEIGHT: f32 = 3.0;
/// Saturation of repeated query words; 0 would count each once.
pub const REPETITION_SATURATION: f32 = 1.0;
/// Weight of another spelling, beside its parts.
pub const JOINED_WEIGHT: f32 = 0.3;
/// Weight of the typed spelling, beside all words of the query.
///
/// Other spellings come behind it, titles do not.
pub const TYPED_SPELLING_WEIGHT: f32 = 0.4;
/// Weight of an operator's synonym, beside the typed words.
pub const SYNONYM_WEIGHT: f32 = 0.8;
/// Weight of the prefix if the last word itself is indexed.
pub const PREFIX_WEIGHT: f32 = 0.1;

/// Words of a question; from here on, quotes are not required.
pub const MIN_QUESTION_WORDS: usize = 6;
pub const MAX_WEIGHTED_WORDS: usize = 32;
pub const MAX_PREFIX_WORDS: usize = 32;
/// More frequent words select nothing, if also in more than one of [`MIN_COMMON_SHARE`].
pub const MIN_COMMON_DOCUMENTS: u64 = 4_096;
/// See [`MIN_COMMON_DOCUMENTS`].
pub const MIN_COMMON_SHARE: u64 = 4;

pub const RESCORED_MATCHES: usize = 100;
/// Weight of two words at the typed distance.
pub const EXACT_PAIR_WEIGHT: f32 = 0.2;
pub const NEAR_PAIR_WEIGHT: f32 = 0.2;
pub const NEAR_POSITIONS: u32 = 8;
/// More frequent words are not checked for pairs.
pub const MAX_POSITIONS: u32 = 256;
/// Share of the score lost if all words are missing.
pub const COMPLETENESS: f32 = 0.4;

pub const FEEDBACK_DOCUMENTS: usize = 10;
/// Characters of each document that are read for feedback.
pub const FEEDBACK_CHARS: usize = 4_000;
/// Words looked up.
pub const FEEDBACK_CANDIDATES: usize = 60;
pub const FEEDBACK_WORDS: usize = 20;
/// Share of feedback in the score of a full match.
pub const FEEDBACK_SHARE: f32 = 0.3;
pub const MIN_FEEDBACK_WORDS: usize = 3;
/// More frequent words, one of this many documents, are not used.
pub const MAX_FEEDBACK_SHARE: u64 = 10;

/// Characters read of an item that is not in the index.
pub const ESTIMATED_CHARS: usize = 400;
/// Worth of a missing word, which may stand in an unsent text.
pub const UNSEEN_SHARE: f32 = 0.2;

/// Gain of a new document, if no operator sets another.
pub const RECENCY_PERCENT: u8 = 15;
/// See [`RECENCY_PERCENT`].
pub const RECENCY_HALF_LIFE_DAYS: u16 = 90;
