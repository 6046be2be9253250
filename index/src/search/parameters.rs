//! Every parameter of relevance order, and what it is for. One set serves all languages and collections.
//!
//! A document's score is BM25 over its whole text and over its title, for the words that were asked for. That alone ranks all
//! matches. The best [`LOOKED_AT_CLOSELY`] are then looked at closely: words that are too common to find anything are added,
//! words that stand together as they were typed are rewarded, documents that lack much of the question are set back; what
//! the best ones have in common is added as a hint (feedback), and of equally good ones the newer comes first.
//!
//! What each of them gives is written down in `benches/README.md`, measured on public test collections.

/// BM25: how soon further occurrences of a word stop to count. The engine computes with the same.
pub(super) const SATURATION: f32 = 1.2;
/// BM25: how much longer documents are held against. The engine computes with the same.
pub(super) const LENGTH: f32 = 0.75;
/// What a word in the title adds to the same word in the whole text, of which the title is a part.
pub(super) const TITLE_WEIGHT: f32 = 0.5;
/// What a word adds in the title of a document that holds a text, however often it is said in the text of another: occurrences
/// that stop to count are worth 1 + [`SATURATION`] at the most.
pub(super) const HEADING_WEIGHT: f32 = 3.0;
/// What it is worth that a name is all of what was typed, and not a part of a longer one: as if the rarest word were there so
/// many times.
pub(super) const WHOLE_NAME_WEIGHT: f32 = 3.0;
/// How soon a word that is typed again stops to count; 0 would make every word count once.
pub(super) const REPETITION: f32 = 1.0;
/// What words weigh that the last word is only the beginning of, beside that word itself.
pub(super) const PREFIX_WEIGHT: f32 = 0.1;

/// So many words outside quotes make a question, in which quotes require nothing.
pub(super) const QUESTION_FROM_WORDS: usize = 6;
/// Words of a query that are weighed: the most telling ones.
pub(super) const MAX_WEIGHED: usize = 32;
/// Words that the last word is the beginning of, taken from the most frequent on.
pub(super) const MAX_BEGUN: usize = 32;
/// A word that stands in more documents than this, and in more than one of [`COMMON_FROM_SHARE`], makes none a match.
pub(super) const COMMON_FROM_DOCUMENTS: u64 = 4_096;
/// See [`COMMON_FROM_DOCUMENTS`].
pub(super) const COMMON_FROM_SHARE: u64 = 4;

/// The best matches that are looked at closely. The others follow as BM25 orders them.
pub(super) const LOOKED_AT_CLOSELY: usize = 100;
/// What two neighbours of the question are worth that stand as far from each other as they were typed, as a word would be.
pub(super) const EXACT_PAIR_WEIGHT: f32 = 0.2;
/// The same for neighbours that stand near each other in any order.
pub(super) const NEAR_PAIR_WEIGHT: f32 = 0.2;
/// How many positions apart is near.
pub(super) const NEAR: u32 = 8;
/// Occurrences of one word in one document whose places are looked at.
pub(super) const MAX_PLACES: u32 = 256;
/// The part of the score that is lost where all of the question is lacking, by the worth of its words.
pub(super) const COMPLETENESS: f32 = 0.4;

/// The best documents that feedback is taken from.
pub(super) const FEEDBACK_DOCUMENTS: usize = 10;
/// Characters of the texts of each that are read for it.
pub(super) const FEEDBACK_CHARS: usize = 4_000;
/// Words of these documents that are looked up, and the ones of them that are taken.
pub(super) const FEEDBACK_CANDIDATES: usize = 60;
/// See [`FEEDBACK_CANDIDATES`].
pub(super) const FEEDBACK_WORDS: usize = 20;
/// The share of feedback in a score, where all words of both would be there.
pub(super) const FEEDBACK_SHARE: f32 = 0.3;
/// Shorter questions say too little to be read between the lines of.
pub(super) const FEEDBACK_FROM_WORDS: usize = 3;
/// A word that stands in more than one of so many documents says nothing about these.
pub(super) const FEEDBACK_COMMON_SHARE: u64 = 10;

/// What a document of this moment gains, as a share of its score.
pub(super) const FRESHNESS_WEIGHT: f32 = 0.15;
/// The age, in milliseconds, at which half of that is left; it goes on falling with the age: 90 days.
pub(super) const FRESHNESS_HALVES_AFTER: f32 = 90.0 * 86_400_000.0;
