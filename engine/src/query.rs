//! Query language, in which nothing is a syntax error (decisions 5.7).
//!
//! Words are required in time order and weighed in relevance order. `"quoted phrase"` is required in both; an open quote ends with the
//! text. `-word` and `-"phrase"` exclude, `author:NAME` and `author:"A B"` filter. A compound such as `state-of-the-art` requires all its
//! words. Full-width quotes, minus and colon are the same. The last word also matches as a prefix.

mod expansion;
mod relaxation;

pub use self::expansion::{MAX_SCANNED_WORDS, select_expansion};
pub use self::relaxation::RelaxableKeyword;

use crate::text::{Run, cut_to_length, fold, is_stop_word, query_words, runs, stem};

/// Further clauses are ignored.
pub const MAX_CLAUSES: usize = 64;
/// Of all clauses; further terms are ignored.
pub const MAX_TERMS: usize = 128;

const MIN_PREFIX_CHARS: usize = 2;

/// A parsed query.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Query {
    pub clauses: Vec<Clause>,
    /// In typed order, with repetitions.
    pub words: Vec<QueryWord>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct QueryWord {
    pub position: usize,
    pub term: String,
    pub quoted: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Clause {
    pub exclude: bool,
    pub target: Target,
    /// Required in either order.
    pub quoted: bool,
    /// All required; never empty.
    pub pieces: Vec<Piece>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    Text,
    Author,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Piece {
    Term(String),
    /// At offsets from the first.
    Phrase(Vec<(usize, String)>),
    /// Stem, or words that start with `start`.
    Prefix {
        stem: String,
        start: String,
    },
}

impl Query {
    /// Estimates its size in memory.
    pub fn bytes(&self) -> usize {
        let of_piece = |piece: &Piece| {
            size_of::<Piece>()
                + match piece {
                    Piece::Term(term) => term.len(),
                    Piece::Phrase(terms) => {
                        terms.iter().map(|(_, term)| size_of::<(usize, String)>() + term.len()).sum()
                    }
                    Piece::Prefix { stem, start } => stem.len() + start.len(),
                }
        };
        let of_clause =
            |clause: &Clause| size_of::<Clause>() + clause.pieces.iter().map(of_piece).sum::<usize>();
        let of_word = |word: &QueryWord| size_of::<QueryWord>() + word.term.len();
        self.clauses.iter().map(of_clause).chain(self.words.iter().map(of_word)).sum()
    }

    /// Parses any text.
    pub fn parse(keyword: &str) -> Self {
        let mut clauses: Vec<Clause> = Vec::new();
        let mut words: Vec<QueryWord> = Vec::new();
        let mut position = 0;
        let mut terms_left = MAX_TERMS;
        let mut rest = keyword.trim_start();
        while !rest.is_empty() && clauses.len() < MAX_CLAUSES && terms_left > 0 {
            let (raw, after) = RawClause::read(rest);
            let is_last = after.is_empty() && !raw.quoted && !keyword.ends_with(char::is_whitespace);
            if raw.target == Target::Text && !raw.exclude {
                position += raw.add_words(position, MAX_TERMS.saturating_sub(words.len()), &mut words);
            }
            if let Some(clause) = raw.into_clause(is_last, &mut terms_left)
                && !clauses.contains(&clause)
            {
                clauses.push(clause);
            }
            rest = after.trim_start();
        }
        Self { clauses, words }
    }

    /// The keyword with words replaced; `None` if unchanged.
    ///
    /// `replace` gets up to `limit` words, as typed and folded. None is in an exact token or an operator such as `type:file`.
    pub(crate) fn with_words_replaced(
        keyword: &str,
        mut limit: usize,
        mut replace: impl FnMut(&str, Run<'_>) -> Option<String>,
    ) -> Option<String> {
        let mut replaced = String::with_capacity(keyword.len());
        let mut changed = false;
        let mut rest = keyword;
        loop {
            let clause = rest.trim_start();
            replaced.push_str(&rest[..rest.len() - clause.len()]);
            if clause.is_empty() {
                break;
            }
            let (raw, after) = RawClause::read(clause);
            let consumed = &clause[..clause.len() - after.len()];
            let is_operator = !raw.quoted && is_operator(raw.text);
            let is_looked_for =
                raw.target == Target::Text && !raw.exclude && !raw.text.is_empty() && !is_operator;
            // Only a closing quote can follow.
            let inside = consumed.rfind(raw.text).filter(|_| is_looked_for).map(|start| (start, raw.text));
            let (start, text) = inside.unwrap_or((consumed.len(), ""));
            replaced.push_str(&consumed[..start]);
            let exact = relaxation::exact_tokens(text);
            let mut unread = text;
            for run in runs(text) {
                let original = run.text();
                let Some((separator, following)) = unread.split_once(original) else { break };
                replaced.push_str(separator);
                let place = text.len() - unread.len() + separator.len();
                unread = following;
                let folded = fold(original);
                let is_single = runs(&folded).nth(1).is_none();
                let is_exact = exact.iter().any(|token| token.contains(&place));
                let instead = match runs(&folded).next() {
                    Some(run) if is_single && !is_exact && limit > 0 => {
                        limit -= 1;
                        replace(original, run)
                    }
                    _ => None,
                };
                changed |= instead.is_some();
                replaced.push_str(instead.as_deref().unwrap_or(original));
            }
            replaced.push_str(unread);
            replaced.push_str(&consumed[start + text.len()..]);
            rest = after;
        }
        changed.then_some(replaced)
    }

    /// Drops unquoted stop words, unless nothing remains.
    #[must_use]
    pub fn without_stop_words(&self) -> Self {
        let mut query = self.clone();
        for clause in &mut query.clauses {
            if clause.target == Target::Text && !clause.exclude && !clause.quoted {
                clause.pieces.retain(|piece| match piece {
                    Piece::Term(term) | Piece::Prefix { stem: term, .. } => !is_stop_word(term),
                    Piece::Phrase(_) => true,
                });
            }
        }
        query.clauses.retain(|clause| !clause.pieces.is_empty());
        query.words.retain(|word| word.quoted || !is_stop_word(&word.term));
        if query.words.is_empty() { self.clone() } else { query }
    }

    /// Drops unquoted stop words, unless fewer than two words remain: `he wei` is a name.
    #[must_use]
    pub fn without_asking_words(&self) -> Self {
        let query = self.without_stop_words();
        if query.words.len() < 2 { self.clone() } else { query }
    }

    /// Whether nothing is searched; such a query matches nothing.
    pub fn is_empty(&self) -> bool {
        self.clauses.is_empty()
    }
}

/// Parses a name as in `author:NAME`.
pub fn author_pieces(name: &str) -> Vec<Piece> {
    word_pieces(&fold(name), &mut MAX_TERMS.clone())
}

struct RawClause<'a> {
    exclude: bool,
    target: Target,
    quoted: bool,
    text: &'a str,
}

impl<'a> RawClause<'a> {
    fn read(text: &'a str) -> (Self, &'a str) {
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
            let (word, after) = text.split_at(text.find(ends).unwrap_or(text.len()));
            (false, word, after)
        };
        (Self { exclude, target, quoted, text: inside }, after)
    }

    /// Adds up to `limit` words; returns the number of positions taken.
    fn add_words(&self, position: usize, limit: usize, words: &mut Vec<QueryWord>) -> usize {
        let folded = fold(self.text);
        let found = query_words(&folded).into_iter().take(limit);
        words.extend(found.map(|(offset, term)| QueryWord {
            position: position + offset,
            term,
            quoted: self.quoted,
        }));
        let positions = |run| match run {
            Run::Word(_) => 1,
            Run::Ideographs(run) => run.chars().count(),
        };
        runs(&folded).map(positions).sum()
    }

    fn into_clause(self, is_last: bool, terms_left: &mut usize) -> Option<Clause> {
        let folded = fold(self.text);
        let mut pieces = if self.quoted && self.target == Target::Text {
            phrase(query_words(&folded), terms_left).into_iter().collect()
        } else {
            word_pieces(&folded, terms_left)
        };
        if is_last && !self.exclude && self.target == Target::Text {
            make_last_prefix(&folded, &mut pieces);
        }
        let Self { exclude, target, quoted, .. } = self;
        (!pieces.is_empty()).then_some(Clause { exclude, target, quoted, pieces })
    }
}

fn word_pieces(folded: &str, terms_left: &mut usize) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for run in runs(folded) {
        let found = match run {
            Run::Word(word) => vec![phrase(vec![(0, stem(word).into_owned())], terms_left)],
            Run::Ideographs(run) => {
                let words = query_words(run);
                let is_single = |word: &str| word.chars().nth(1).is_none();
                words
                    .chunk_by(|(_, left), (_, right)| is_single(left) && is_single(right))
                    .map(|chunk| phrase(chunk.to_vec(), terms_left))
                    .collect()
            }
        };
        for piece in found.into_iter().flatten() {
            if !pieces.contains(&piece) {
                pieces.push(piece);
            }
        }
    }
    pieces
}

/// Builds a phrase within the terms left; its first offset becomes 0.
fn phrase(mut words: Vec<(usize, String)>, terms_left: &mut usize) -> Option<Piece> {
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
    let Some(Run::Word(word)) = runs(folded).last() else { return };
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

/// Whether a clause is like `type:file`.
fn is_operator(clause: &str) -> bool {
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

#[cfg(test)]
mod tests;
