//! The words of a keyword that may be corrected.

use crate::Query;
use crate::query::{Piece, Replaceable, Target, open_pieces, plain_pieces};
use crate::text::{ScriptRun, fold, is_stop_word, is_syllable, parts_of_word, parts_syllables};

const MAX_WORDS: usize = 64;
/// Longer runs of ideographs are sentences, of which no edit makes a word.
const MAX_EDITED_CHARS: usize = 64;
/// One edit turns shorter words into others.
const MIN_CHARS: usize = 4;
/// Ideographs tell more.
const MIN_IDEOGRAPHS: usize = 3;

/// A word of a keyword that may be corrected, or several of syllables.
#[derive(Debug)]
pub struct CorrectableWord {
    /// Folded; a blank is between syllables.
    pub word: String,
    /// Dictionary words of ideographs, whole words of two syllables, or the beginning of others.
    pub pieces: Vec<Piece>,
    /// Number of the correctable words that follow and that it consists of.
    parts_behind: usize,
}

impl CorrectableWord {
    /// The words of a keyword, in typed order.
    ///
    /// Words of syllables side by side come first as one word, then each by itself.
    pub fn all_of(keyword: &str) -> Vec<Self> {
        let mut words = Vec::new();
        replace_words(keyword, |_, word| {
            words.push(word);
            None
        });
        words
    }

    /// Whether words one edit away are looked for.
    pub(super) fn is_short_enough_to_edit(&self) -> bool {
        self.word.chars().nth(MAX_EDITED_CHARS).is_none()
    }

    /// Whether it is found by parts, too: several words, or smaller ones.
    pub(super) fn has_parts(&self) -> bool {
        self.pieces.len() > 1 || !parts_of_word(&self.word).is_empty()
    }

    /// Whether it is several words of syllables.
    pub fn is_syllables(&self) -> bool {
        self.word.contains(' ')
    }

    /// Queries that find it: some query of each list does.
    ///
    /// More than two syllables are found together, other words part by part. Two may begin words of any English texts and names.
    pub(super) fn places(&self) -> Vec<Vec<Query>> {
        match self.word.matches(' ').count() {
            0 => self.pieces.chunks(1).map(places_of).collect(),
            1 => self.pieces.iter().map(|piece| vec![Target::Text.query(vec![piece.clone()])]).collect(),
            _ => vec![places_of(&self.pieces)],
        }
    }

    /// The place of the next word, if this one is at `place`.
    ///
    /// The parts of a settled one are passed.
    pub(super) fn next_place(&self, place: usize, is_settled: bool) -> usize {
        place + 1 + if is_settled { self.parts_behind } else { 0 }
    }

    /// Whether the word at a place is one syllable beside others.
    ///
    /// An edit would turn it into another syllable.
    pub(super) fn is_among_syllables(words: &[Self], place: usize) -> bool {
        let has_it = |(start, run): (usize, &Self)| place <= start + run.parts_behind;
        is_syllable(&words[place].word) && words[..place].iter().enumerate().any(has_it)
    }

    fn read_syllables(typed: &str) -> Option<Self> {
        let folded = fold(typed);
        let words: Vec<&str> = folded.split(parts_syllables).filter(|word| !word.is_empty()).collect();
        let pieces_of = if words.len() == 2 { plain_pieces } else { open_pieces };
        let pieces: Vec<Piece> = words.iter().flat_map(|word| pieces_of(word)).filter(is_content).collect();
        let parts_behind = words.iter().filter_map(|word| Self::read(ScriptRun::Word(word))).count();
        (!pieces.is_empty()).then(|| Self { word: words.join(" "), pieces, parts_behind })
    }

    /// `None` for stop words, numbers, codes and short words.
    fn read(run: ScriptRun<'_>) -> Option<Self> {
        let word = run.text();
        let is_long_enough = match run {
            ScriptRun::Word(word) => {
                word.chars().nth(MIN_CHARS - 1).is_some() && !word.chars().any(char::is_numeric)
            }
            ScriptRun::Ideographs(run) => run.chars().nth(MIN_IDEOGRAPHS - 1).is_some(),
            // Any part of them is found, so no word is unknown.
            ScriptRun::Syllables(_) => false,
        };
        if !is_long_enough {
            return None;
        }
        let pieces: Vec<Piece> = open_pieces(word).into_iter().filter(is_content).collect();
        (!pieces.is_empty()).then(|| Self { word: word.to_owned(), pieces, parts_behind: 0 })
    }
}

pub(super) fn replace_words(
    keyword: &str,
    mut replace: impl FnMut(&str, CorrectableWord) -> Option<String>,
) -> Option<String> {
    Query::with_words_replaced(keyword, MAX_WORDS, |typed, part| {
        let word = match part {
            Replaceable::Word(run) => CorrectableWord::read(run),
            Replaceable::Syllables => CorrectableWord::read_syllables(typed),
        };
        replace(typed, word?)
    })
}

fn is_content(piece: &Piece) -> bool {
    match piece {
        Piece::Term(word) | Piece::Prefix { stem: word, .. } => !is_stop_word(word),
        Piece::Phrase(_) | Piece::Either(_) => true,
    }
}

/// Finds pieces together in texts, or in authors' names.
pub(super) fn places_of(pieces: &[Piece]) -> Vec<Query> {
    [Target::Text, Target::Author].map(|target| target.query(pieces.to_vec())).to_vec()
}
