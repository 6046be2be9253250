//! Pieces of tokens and names: words, phrases and spellings.

use super::Piece;
use crate::text::{
    JoinedToken, ScriptRun, SyllableWord, WHOLE_NAME, cut_to_length, is_ideograph, query_words, runs, stem,
};

const MIN_PREFIX_CHARS: usize = 2;

pub(super) fn token_pieces(
    text: &str,
    joined: Option<&JoinedToken>,
    is_open: bool,
    terms_left: &mut usize,
) -> Vec<Piece> {
    let of_parts = |terms_left: &mut usize| {
        let mut parts = word_pieces(text, terms_left);
        if is_open {
            make_last_prefix(text, &mut parts);
        }
        parts
    };
    let Some(joined) = joined else { return of_parts(terms_left) };
    let is_open = is_open && joined.may_be_unfinished;
    let one_word = |word: Option<&String>, terms_left: &mut usize| -> Vec<Piece> {
        let piece = word.filter(|_| *terms_left > 0).map(|word| word_piece(word, is_open));
        *terms_left -= usize::from(piece.is_some());
        piece.into_iter().collect()
    };
    let apart = || joined.apart.iter().map(|(at, word)| (*at, stem(word).into_owned())).collect();
    let mut alternatives = if joined.is_exact && joined.words.len() > 1 {
        vec![overlapping_pieces(joined, apart(), is_open, terms_left)]
    } else {
        let whole = one_word(joined.words.last().map(|(_, word)| word), terms_left);
        let parts = if joined.is_exact {
            phrase(apart(), terms_left).into_iter().filter(|part| !whole.contains(part)).collect()
        } else {
            of_parts(terms_left)
        };
        vec![whole, parts]
    };
    alternatives.push(one_word(joined.compact.as_ref(), terms_left));
    alternatives.retain(|pieces| !pieces.is_empty());
    match alternatives.len() {
        0 | 1 => alternatives.pop().unwrap_or_default(),
        _ => vec![Piece::Either(alternatives)],
    }
}

/// A token too long for one word: its parts, the last of which may be unfinished.
fn overlapping_pieces(
    joined: &JoinedToken,
    apart: Vec<(usize, String)>,
    is_open: bool,
    terms_left: &mut usize,
) -> Vec<Piece> {
    let before = apart[..apart.len() - 1].to_vec();
    let Some(all) = phrase(apart, terms_left) else { return Vec::new() };
    let last = joined.words.last().filter(|_| is_open && *terms_left > 0);
    let Some((_, last)) = last else { return vec![all] };
    let ending = Piece::Either(vec![vec![word_piece(last, true)], vec![all]]);
    phrase(before, terms_left).into_iter().chain([ending]).collect()
}

/// A word, or all that begin with it.
pub(super) fn word_piece(word: &str, is_open: bool) -> Piece {
    let stem = stem(word).into_owned();
    if is_open { Piece::Prefix { stem, start: word.to_owned() } } else { Piece::Term(stem) }
}

pub(super) fn add_piece(piece: Piece, pieces: &mut Vec<Piece>) {
    if !pieces.contains(&piece) {
        pieces.push(piece);
    }
}

/// The words of a name, which may also be one word for all of it.
pub(super) fn author_pieces(folded: &str, terms_left: &mut usize) -> Vec<Piece> {
    let pieces = word_pieces(folded, terms_left);
    match pieces.as_slice() {
        [Piece::Term(only)] if !only.starts_with(is_ideograph) && *terms_left > 0 => {
            *terms_left -= 1;
            let whole = Piece::Term(format!("{WHOLE_NAME}{only}"));
            vec![Piece::Either(vec![pieces, vec![whole]])]
        }
        _ => pieces,
    }
}

fn word_pieces(folded: &str, terms_left: &mut usize) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for run in runs(folded) {
        let found = match run {
            ScriptRun::Word(word) => vec![phrase(vec![(0, stem(word).into_owned())], terms_left)],
            ScriptRun::Syllables(run) => {
                let words = SyllableWord::all_of(run);
                let words = words.iter().filter(|word| !word.is_particle);
                words.map(|word| phrase(word.terms(), terms_left)).collect()
            }
            ScriptRun::Ideographs(run) => {
                let words = query_words(run);
                let is_single = |word: &str| word.chars().nth(1).is_none();
                words
                    .chunk_by(|(_, left), (_, right)| is_single(left) && is_single(right))
                    .map(|chunk| phrase(chunk.to_vec(), terms_left))
                    .collect()
            }
        };
        for piece in found.into_iter().flatten() {
            add_piece(piece, &mut pieces);
        }
    }
    pieces
}

/// Builds a phrase within the terms left; its first offset becomes 0.
pub(super) fn phrase(mut words: Vec<(usize, String)>, terms_left: &mut usize) -> Option<Piece> {
    words.truncate(*terms_left);
    *terms_left -= words.len();
    let first = words.first()?.0;
    for (offset, _) in &mut words {
        *offset -= first;
    }
    if words.len() == 1 { words.pop().map(|(_, word)| Piece::Term(word)) } else { Some(Piece::Phrase(words)) }
}

/// Turns the last word into a prefix, unless it is an ideograph.
fn make_last_prefix(folded: &str, pieces: &mut [Piece]) {
    let Some(ScriptRun::Word(word)) = runs(folded).last() else { return };
    let start = cut_to_length(word);
    if start.chars().nth(MIN_PREFIX_CHARS - 1).is_none() {
        return;
    }
    let term = Piece::Term(stem(start).into_owned());
    // It may occur earlier, or exceed the limit.
    if let Some(piece) = pieces.iter_mut().rfind(|piece| **piece == term)
        && let Piece::Term(stem) = std::mem::replace(piece, Piece::Phrase(Vec::new()))
    {
        *piece = Piece::Prefix { stem, start: start.to_owned() };
    }
}
