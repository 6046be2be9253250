//! Clauses and pieces of a keyword.

use super::pieces::{add_piece, author_pieces, phrase, token_pieces};
use super::{Clause, MAX_TERMS, Piece, QueryWord, Target};
use crate::text::{
    Folded, QueryToken, ScriptRun, TypedTerm, dictionary_words, fold, is_acronym, is_ideograph, is_stop_word,
    positions, query_terms, query_tokens, query_words, runs, spaced_number, stem,
};

/// A clause as typed.
#[derive(Clone, Copy)]
pub(super) struct RawClause<'a> {
    pub(super) exclude: bool,
    pub(super) target: Target,
    pub(super) quoted: bool,
    pub(super) text: &'a str,
    /// Whether capitals tell `IT` from `it`.
    pub(super) reads_acronyms: bool,
}

impl<'a> RawClause<'a> {
    /// The first clause of a text, and the text after it.
    pub(super) fn read(text: &'a str) -> (Self, &'a str) {
        let (exclude, text) = match text.strip_prefix(is_minus) {
            // A single minus is punctuation.
            Some(after) if !after.is_empty() && !after.starts_with(char::is_whitespace) => (true, after),
            _ => (false, text),
        };
        let (target, text) = match strip_author(text) {
            Some(after) => (Target::Author, after),
            None => (Target::Text, text),
        };
        let mut characters = text.chars();
        let (quoted, inside, after) = if let Some(closing) = characters.next().and_then(closing_quotes) {
            let (inside, after) =
                characters.as_str().split_once(closing).unwrap_or((characters.as_str(), ""));
            (true, inside, after)
        } else {
            let ends = |character: char| character.is_whitespace() || closing_quotes(character).is_some();
            let end = || text.find(ends).unwrap_or(text.len());
            let spaced = if exclude || target == Target::Author { None } else { spaced_number(text) };
            let (word, after) = text.split_at(spaced.unwrap_or_else(end));
            (false, word, after)
        };
        (Self { exclude, target, quoted, text: inside, reads_acronyms: false }, after)
    }

    /// Folds the text, and parts it into tokens.
    pub(super) fn part(self) -> PartedClause<'a> {
        let folded = Folded::new(self.text);
        let is_plain = !self.quoted && self.target != Target::Author;
        let tokens = if is_plain { query_tokens(&folded.text) } else { Vec::new() };
        let is_unknown_word = is_plain && is_unknown_word(&folded.text);
        PartedClause { raw: self, folded, tokens, is_unknown_word }
    }
}

/// A clause and its tokens.
pub(super) struct PartedClause<'a> {
    raw: RawClause<'a>,
    folded: Folded,
    /// None of quotes and names.
    tokens: Vec<QueryToken>,
    /// Whether it is ideographs outside the dictionary.
    is_unknown_word: bool,
}

impl PartedClause<'_> {
    /// Adds up to `limit` words; returns the number of positions taken.
    pub(super) fn add_words(&self, position: usize, limit: usize, words: &mut Vec<QueryWord>) -> usize {
        let folded = &self.folded;
        let mut found: Vec<QueryWord> = Vec::new();
        let mut add = |at: usize, quoted: bool, joined: bool, terms: Vec<TypedTerm>| {
            // A text may lack a particle, so it is no word.
            let words = terms.into_iter().filter(|typed| quoted || !typed.is_particle);
            found.extend(words.map(|TypedTerm { position: offset, term, part_of, .. }| QueryWord {
                position: position + at + offset,
                term,
                quoted,
                joined,
                part_of: part_of.map(|start| position + at + start),
                written: None,
            }));
        };
        let mut taken = 0;
        if self.raw.quoted {
            add(0, true, false, query_terms(&folded.text));
            taken = positions(&folded.text);
        } else {
            for token in &self.tokens {
                let acronym = self.acronym(token);
                let text = &folded.text[token.place.clone()];
                let is_exact = self.is_exact(token);
                // Overlapping words only tell what the parts side by side tell.
                let joined = token.joined.as_ref().filter(|joined| joined.words.len() == 1);
                let joined = joined.into_iter().flat_map(|joined| {
                    let compact = joined.compact.iter().map(|word| (0, word));
                    joined.words.iter().map(|(at, word)| (*at, word)).chain(compact)
                });
                let joined = joined.map(|(at, word)| TypedTerm::whole(at, stem(word).into_owned())).collect();
                let typed =
                    acronym.map_or_else(|| query_terms(text), |acronym| vec![TypedTerm::whole(0, acronym)]);
                add(taken, is_exact, false, typed);
                add(taken, is_exact, true, joined);
                taken += positions(text);
            }
        }
        if let ([only], Some(written)) = (found.as_mut_slice(), self.plain_word()) {
            only.written = Some(written.to_owned());
        }
        words.extend(found.into_iter().take(limit));
        taken
    }

    /// Returns its only word, if that may be parted or joined.
    fn plain_word(&self) -> Option<&str> {
        let [QueryToken { place, joined: None }] = self.tokens.as_slice() else { return None };
        let mut runs = runs(&self.folded.text[place.clone()]);
        match (runs.next()?, runs.next()) {
            (ScriptRun::Word(word), None)
                if word.starts_with(char::is_alphanumeric) && !is_stop_word(&stem(word)) =>
            {
                Some(word)
            }
            _ => None,
        }
    }

    /// A token such as `IT`.
    fn acronym(&self, token: &QueryToken) -> Option<String> {
        let Self { raw, folded, .. } = self;
        if !raw.reads_acronyms || token.joined.is_some() {
            return None;
        }
        let place = folded.source_start(token.place.start)..folded.source_end(token.place.end);
        let written = raw.text.get(place)?;
        is_acronym(written).then(|| written.to_owned())
    }

    fn is_exact(&self, token: &QueryToken) -> bool {
        self.is_unknown_word || token.joined.as_ref().is_some_and(|joined| joined.is_exact)
    }

    /// One clause, and one for each exact token.
    pub(super) fn clauses(&self, is_last: bool, terms_left: &mut usize) -> Vec<Clause> {
        let folded = &self.folded;
        let RawClause { exclude, target, quoted, .. } = self.raw;
        let is_open = is_last && !exclude;
        let mut clauses = Vec::new();
        let mut pieces: Vec<Piece> = Vec::new();
        if target == Target::Author {
            pieces = author_pieces(&folded.text, terms_left);
        } else if quoted {
            pieces.extend(phrase(query_words(&folded.text), terms_left));
        } else {
            let last = self.tokens.len().checked_sub(1);
            for (number, token) in self.tokens.iter().enumerate() {
                if let Some(acronym) = self.acronym(token) {
                    if let Some(piece) = phrase(vec![(0, acronym)], terms_left) {
                        add_piece(piece, &mut pieces);
                    }
                    continue;
                }
                let is_open = is_open && Some(number) == last;
                let text = &folded.text[token.place.clone()];
                let found = token_pieces(text, token.joined.as_ref(), is_open, terms_left);
                if self.is_exact(token) && !exclude {
                    clauses.push(Clause { exclude, target, quoted: true, exact: true, pieces: found });
                } else {
                    for piece in found {
                        add_piece(piece, &mut pieces);
                    }
                }
            }
        }
        clauses.push(Clause { exclude, target, quoted, exact: false, pieces });
        clauses.retain(|clause| !clause.pieces.is_empty());
        clauses
    }
}

/// Whether capitals tell an acronym from a stop word.
///
/// They do not in a keyword of several words that is all in capitals.
pub(crate) fn reads_acronyms(keyword: &str) -> bool {
    keyword.chars().any(|character| character.is_lowercase() || is_ideograph(character))
        || runs(&fold(keyword)).nth(1).is_none()
}

/// Whether a text is ideographs outside the dictionary, such as a rare name.
fn is_unknown_word(folded: &str) -> bool {
    let mut runs = runs(folded);
    let (Some(ScriptRun::Ideographs(run)), None) = (runs.next(), runs.next()) else { return false };
    let words = dictionary_words(run);
    let is_unknown = |word: &&str| word.chars().nth(1).is_none() && !is_stop_word(word);
    words.len() > 1 && words.iter().all(is_unknown)
}

/// Pieces of a text in which nothing is an operator.
pub(crate) fn plain_pieces(text: &str) -> Vec<Piece> {
    pieces(text, false)
}

/// Like [`plain_pieces`]; the last word may be unfinished.
pub(crate) fn open_pieces(text: &str) -> Vec<Piece> {
    pieces(text, true)
}

fn pieces(text: &str, is_last: bool) -> Vec<Piece> {
    let clauses = plain(text).part().clauses(is_last, &mut MAX_TERMS.clone());
    clauses.into_iter().flat_map(|clause| clause.pieces).collect()
}

/// A piece that holds a whole text, and its words at offsets.
///
/// It is a word in any spelling, or words side by side.
pub(super) fn single_piece(text: &str) -> Option<(Piece, Vec<(usize, String)>)> {
    let mut words = Vec::new();
    plain(text).part().add_words(0, MAX_TERMS, &mut words);
    let words = words.into_iter().filter(|word| !word.joined).map(|word| (word.position, word.term));
    let words: Vec<(usize, String)> = words.collect();
    let mut pieces = plain_pieces(text);
    let piece = match pieces.pop() {
        Some(only) if pieces.is_empty() => Some(only),
        _ => phrase(words.clone(), &mut MAX_TERMS.clone()),
    };
    Some((piece?, words))
}

/// Words of a text in which nothing is an operator.
pub(crate) fn plain_words(text: &str) -> Vec<QueryWord> {
    let mut words = Vec::new();
    let text = RawClause { reads_acronyms: reads_acronyms(text), ..plain(text) };
    text.part().add_words(0, MAX_TERMS, &mut words);
    words
}

fn plain(text: &str) -> RawClause<'_> {
    RawClause { exclude: false, target: Target::Text, quoted: false, text, reads_acronyms: true }
}

/// Whether a clause is like `type:file`.
pub(super) fn is_operator(clause: &str) -> bool {
    clause.split_once([':', '：']).is_some_and(|(name, value)| {
        !name.is_empty() && !value.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic())
    })
}

fn is_minus(character: char) -> bool {
    matches!(character, '-' | '－' | '−')
}

/// Double quotes of all forms are interchangeable.
fn closing_quotes(opening: char) -> Option<&'static [char]> {
    match opening {
        '"' | '“' | '”' | '„' | '＂' => Some(&['"', '“', '”', '＂']),
        '「' => Some(&['」']),
        '『' => Some(&['』']),
        _ => None,
    }
}

fn strip_author(text: &str) -> Option<&str> {
    const FIELD: &str = "author";
    let (name, after) = text.split_at_checked(FIELD.len())?;
    let after = name.eq_ignore_ascii_case(FIELD).then_some(after)?.strip_prefix([':', '：'])?;
    (!after.is_empty() && !after.starts_with(char::is_whitespace)).then_some(after)
}
