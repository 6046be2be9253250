//! Query language, in which nothing is a syntax error (decisions 5.7).
//!
//! Words are required in time order and weighed in relevance order. `"quoted phrase"` is required in both; an open quote ends with the
//! text. `-word` and `-"phrase"` exclude, `author:NAME` and `author:"A B"` filter. Full-width quotes, minus and colon are the same. The
//! last word also matches as a prefix.
//!
//! A compound such as `follow-up` is one word or all its parts. An exact token, such as `C-2052` or an e-mail address, is one word or
//! its parts side by side. Relevance order requires it like a quote, unless nothing holds it.

mod expansion;
mod relaxation;

pub use self::expansion::{max_scanned_words, select_expansion};
pub use self::relaxation::RelaxableKeyword;

use crate::text::{
    JoinedToken, Run, cut_to_length, fold, is_stop_word, query_tokens, query_words, runs, spaced_number, stem,
};

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
    /// In quotes, or of an exact token.
    pub quoted: bool,
    /// Another spelling of the words before it.
    pub joined: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Clause {
    pub exclude: bool,
    pub target: Target,
    /// Required in either order.
    pub quoted: bool,
    /// An exact token; relevance order requires it only if something holds it.
    pub exact: bool,
    /// All required; never empty.
    pub pieces: Vec<Piece>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// All texts, title included.
    Text,
    /// In time order; no piece is a phrase.
    Title,
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
    /// One word, or all parts.
    Compound {
        joined: Box<Piece>,
        parts: Vec<Piece>,
    },
}

impl Piece {
    /// Stem and start of an unfinished word.
    pub(crate) fn prefix(&self) -> Option<(&str, &str)> {
        match self {
            Self::Prefix { stem, start } => Some((stem, start)),
            Self::Compound { joined, parts } => {
                parts.last().and_then(Self::prefix).or_else(|| joined.prefix())
            }
            Self::Term(_) | Self::Phrase(_) => None,
        }
    }

    fn has(&self, word: &str) -> bool {
        match self {
            Self::Term(term) | Self::Prefix { stem: term, .. } => term == word,
            Self::Phrase(terms) => terms.iter().any(|(_, term)| term == word),
            Self::Compound { joined, parts } => joined.has(word) || parts.iter().any(|part| part.has(word)),
        }
    }

    fn bytes(&self) -> usize {
        let held = match self {
            Self::Term(term) => term.len(),
            Self::Phrase(terms) => {
                terms.iter().map(|(_, term)| size_of::<(usize, String)>() + term.len()).sum()
            }
            Self::Prefix { stem, start } => stem.len() + start.len(),
            Self::Compound { joined, parts } => joined.bytes() + parts.iter().map(Self::bytes).sum::<usize>(),
        };
        size_of::<Self>() + held
    }
}

impl Query {
    /// Estimates its size in memory.
    pub fn bytes(&self) -> usize {
        let of_clause =
            |clause: &Clause| size_of::<Clause>() + clause.pieces.iter().map(Piece::bytes).sum::<usize>();
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
            for clause in raw.into_clauses(is_last, &mut terms_left) {
                if clauses.len() < MAX_CLAUSES && !clauses.contains(&clause) {
                    clauses.push(clause);
                }
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
            let exact: Vec<_> = relaxation::exact_tokens(text).collect();
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
                    Piece::Phrase(_) | Piece::Compound { .. } => true,
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

    /// A query for each exact token.
    pub fn exact_tokens(&self) -> impl Iterator<Item = Self> {
        let clauses = self.clauses.iter().filter(|clause| clause.exact && !clause.exclude);
        clauses.map(|clause| Self { clauses: vec![clause.clone()], words: Vec::new() })
    }

    /// Leaves [`Self::exact_tokens`] that nothing holds to their words.
    #[must_use]
    pub fn with_words_of(&self, missing: &[Self]) -> Self {
        let mut query = self.clone();
        query.clauses.retain(|clause| !missing.iter().any(|token| token.clauses.contains(clause)));
        let quoted = query.clauses.iter().filter(|clause| clause.quoted && !clause.exclude);
        let quoted: Vec<&Piece> = quoted.flat_map(|clause| &clause.pieces).collect();
        query.words.retain_mut(|word| {
            let was_quoted = word.quoted;
            word.quoted &= quoted.iter().any(|piece| piece.has(&word.term));
            !(word.joined && was_quoted && !word.quoted)
        });
        query
    }

    /// Whether nothing is searched; such a query matches nothing.
    pub fn is_empty(&self) -> bool {
        self.clauses.is_empty() && self.words.is_empty()
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
            let end = || text.find(ends).unwrap_or(text.len());
            let spaced = if exclude || target == Target::Author { None } else { spaced_number(text) };
            let (word, after) = text.split_at(spaced.unwrap_or_else(end));
            (false, word, after)
        };
        (Self { exclude, target, quoted, text: inside }, after)
    }

    /// Adds up to `limit` words; returns the number of positions taken.
    fn add_words(&self, position: usize, limit: usize, words: &mut Vec<QueryWord>) -> usize {
        let folded = fold(self.text);
        let mut found: Vec<QueryWord> = Vec::new();
        let mut add = |at: usize, quoted: bool, joined: bool, words: Vec<(usize, String)>| {
            let word = |(offset, term)| QueryWord { position: position + at + offset, term, quoted, joined };
            found.extend(words.into_iter().map(word));
        };
        let mut taken = 0;
        if self.quoted {
            add(0, true, false, query_words(&folded));
            taken = positions(&folded);
        } else {
            for token in query_tokens(&folded) {
                let text = &folded[token.place];
                let is_exact = token.joined.as_ref().is_some_and(|joined| joined.is_exact);
                // Overlapping words only tell what the parts side by side tell.
                let joined = token.joined.map(|joined| joined.words).filter(|words| words.len() == 1);
                let joined =
                    joined.into_iter().flatten().map(|(at, word)| (at, stem(&word).into_owned())).collect();
                add(taken, is_exact, false, query_words(text));
                add(taken, is_exact, true, joined);
                taken += positions(text);
            }
        }
        words.extend(found.into_iter().take(limit));
        taken
    }

    /// One clause, and one for each exact token.
    fn into_clauses(self, is_last: bool, terms_left: &mut usize) -> Vec<Clause> {
        let folded = fold(self.text);
        let Self { exclude, target, quoted, .. } = self;
        let is_open = is_last && !exclude;
        let mut clauses = Vec::new();
        let mut pieces: Vec<Piece> = Vec::new();
        if target == Target::Author {
            pieces = word_pieces(&folded, terms_left);
        } else if quoted {
            pieces.extend(phrase(query_words(&folded), terms_left));
        } else {
            let tokens = query_tokens(&folded);
            let last = tokens.len().checked_sub(1);
            for (number, token) in tokens.into_iter().enumerate() {
                let is_open = is_open && Some(number) == last;
                let is_exact = token.joined.as_ref().is_some_and(|joined| joined.is_exact);
                let found = token_pieces(&folded[token.place], token.joined, is_open, terms_left);
                if is_exact && !exclude {
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

/// Positions that a folded text takes.
fn positions(folded: &str) -> usize {
    let of_run = |run| match run {
        Run::Word(_) => 1,
        Run::Ideographs(run) => run.chars().count(),
    };
    runs(folded).map(of_run).sum()
}

fn token_pieces(
    text: &str,
    joined: Option<JoinedToken>,
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
    let apart: Vec<(usize, String)> =
        joined.apart.iter().map(|(at, word)| (*at, stem(word).into_owned())).collect();
    let last = joined.words.last().map(|(_, start)| (start, stem(start).into_owned()));
    if joined.is_exact && joined.words.len() > 1 {
        // Too long for one word: its parts, the last of which may be unfinished.
        let before = apart[..apart.len() - 1].to_vec();
        let Some(all) = phrase(apart, terms_left) else { return Vec::new() };
        let Some((start, stem)) = last.filter(|_| is_open && *terms_left > 0) else { return vec![all] };
        let unfinished = Box::new(Piece::Prefix { stem, start: start.clone() });
        let ending = Piece::Compound { joined: unfinished, parts: vec![all] };
        return phrase(before, terms_left).into_iter().chain([ending]).collect();
    }
    let Some((start, stem)) = last.filter(|_| *terms_left > 0) else { return of_parts(terms_left) };
    *terms_left -= 1;
    let whole = if is_open { Piece::Prefix { stem, start: start.clone() } } else { Piece::Term(stem) };
    let parts = if joined.is_exact {
        phrase(apart, terms_left).into_iter().filter(|part| *part != whole).collect()
    } else {
        of_parts(terms_left)
    };
    if parts.is_empty() {
        return vec![whole];
    }
    vec![Piece::Compound { joined: Box::new(whole), parts }]
}

fn add_piece(piece: Piece, pieces: &mut Vec<Piece>) {
    if !pieces.contains(&piece) {
        pieces.push(piece);
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
            add_piece(piece, &mut pieces);
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
