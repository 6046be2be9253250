//! What a person typed, understood: a query language for people, in which nothing is a syntax error (decisions 5.7).
//!
//! Every word must be there in time order, and is weighed in relevance order; `"quoted phrase"` (an open quote closes at
//! the end) must be there in either; `-word` and `-"phrase"` exclude; `author:NAME` and `author:"A B"`. A word that
//! holds several (such as `state-of-the-art`) is all of them. The full-width forms of quotes, minus and colon are the
//! same. The last word also matches as a prefix.

use crate::text::{Run, cut_to_length, fold, is_idle, query_words, runs, stem};

/// The words and phrases of one query that count; what is typed beyond them is ignored.
pub const MAX_CLAUSES: usize = 64;
/// The terms of one query that count, over all its words and phrases; what is typed beyond them is ignored.
pub const MAX_TERMS: usize = 128;

/// The shortest word, in characters, that also matches as a prefix.
const MIN_PREFIX_CHARS: usize = 2;

/// A parsed query.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Query {
    pub(crate) clauses: Vec<Clause>,
    /// The words that are looked for in texts, in the order they were typed, repeated ones included.
    pub(crate) words: Vec<AskedWord>,
}

/// One word as it was typed among others.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct AskedWord {
    /// Its position, counted as positions of documents are.
    pub(crate) position: usize,
    pub(crate) term: String,
    /// It is one of a quoted phrase.
    pub(crate) quoted: bool,
}

/// One word or phrase that a document must or must not have.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Clause {
    pub(crate) exclude: bool,
    pub(crate) target: Target,
    /// It was typed in quotes, so it is required whatever the order.
    pub(crate) quoted: bool,
    /// All of them are asked for; never empty.
    pub(crate) pieces: Vec<Piece>,
}

/// Where a clause looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Target {
    Text,
    Author,
}

/// What is looked up.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Piece {
    /// A term.
    Term(String),
    /// Terms at these offsets from each other; always two or more.
    Phrase(Vec<(usize, String)>),
    /// A term, or any word that begins with `start`.
    Prefix { stem: String, start: String },
}

impl Query {
    /// About how many bytes it holds.
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
        let of_word = |word: &AskedWord| size_of::<AskedWord>() + word.term.len();
        self.clauses.iter().map(of_clause).chain(self.words.iter().map(of_word)).sum()
    }

    /// Understands any string.
    pub fn parse(keyword: &str) -> Self {
        let mut clauses: Vec<Clause> = Vec::new();
        let mut words: Vec<AskedWord> = Vec::new();
        let mut position = 0;
        let mut terms_left = MAX_TERMS;
        let mut rest = keyword.trim_start();
        while !rest.is_empty() && clauses.len() < MAX_CLAUSES && terms_left > 0 {
            let (raw, after) = RawClause::read(rest);
            let is_last = after.is_empty() && !raw.quoted && !keyword.ends_with(char::is_whitespace);
            if raw.target == Target::Text && !raw.exclude {
                position += raw.add_words(position, MAX_TERMS.saturating_sub(words.len()), &mut words);
            }
            if let Some(clause) = raw.understand(is_last, &mut terms_left)
                && !clauses.contains(&clause)
            {
                clauses.push(clause);
            }
            rest = after.trim_start();
        }
        Self { clauses, words }
    }

    /// The keyword with some of the words that are looked for in texts replaced. `replace` is given each as it is looked up
    /// (folded, not stemmed), with whether it may be unfinished, until as many as `most` were given.
    pub(crate) fn with_words_replaced<E>(
        keyword: &str,
        mut most: usize,
        mut replace: impl FnMut(Run<'_>, bool) -> Result<Option<String>, E>,
    ) -> Result<Option<String>, E> {
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
            let is_last = after.is_empty() && !raw.quoted && !keyword.ends_with(char::is_whitespace);
            let consumed = &clause[..clause.len() - after.len()];
            let is_looked_for = raw.target == Target::Text && !raw.exclude && !raw.text.is_empty();
            // At its end but for what closes it, so the last place that reads so is its own.
            let inside = consumed.rfind(raw.text).filter(|_| is_looked_for).map(|start| (start, raw.text));
            let (start, text) = inside.unwrap_or((consumed.len(), ""));
            replaced.push_str(&consumed[..start]);
            let mut unread = text;
            for run in runs(text) {
                let original = run.text();
                let Some((between, behind)) = unread.split_once(original) else { break };
                replaced.push_str(between);
                unread = behind;
                let folded = fold(original);
                let is_single = runs(&folded).nth(1).is_none();
                let instead = match runs(&folded).next() {
                    Some(run) if is_single && most > 0 => {
                        most -= 1;
                        replace(run, is_last && behind.is_empty())?
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
        Ok(changed.then_some(replaced))
    }

    /// The same without the words that relevance order leaves out: those that only make a question of the others.
    #[must_use]
    pub fn telling(&self) -> Self {
        let mut telling = self.clone();
        for clause in &mut telling.clauses {
            if clause.target == Target::Text && !clause.exclude && !clause.quoted {
                clause.pieces.retain(|piece| match piece {
                    Piece::Term(term) | Piece::Prefix { stem: term, .. } => !is_idle(term),
                    Piece::Phrase(_) => true,
                });
            }
        }
        telling.clauses.retain(|clause| !clause.pieces.is_empty());
        telling.words.retain(|word| word.quoted || !is_idle(&word.term));
        if telling.words.is_empty() { self.clone() } else { telling }
    }

    /// Whether nothing is asked for: only punctuation was typed. Such a query matches nothing.
    pub fn is_empty(&self) -> bool {
        self.clauses.is_empty()
    }
}

/// The terms of a name, as `author:NAME` asks for them.
pub(crate) fn author_pieces(name: &str) -> Vec<Piece> {
    word_pieces(&fold(name), &mut MAX_TERMS.clone())
}

/// A clause as it is typed.
struct RawClause<'a> {
    exclude: bool,
    target: Target,
    quoted: bool,
    text: &'a str,
}

impl<'a> RawClause<'a> {
    /// Reads one clause from a text that does not begin with white space; also gives what follows it.
    fn read(text: &'a str) -> (Self, &'a str) {
        let (exclude, text) = match text.strip_prefix(is_minus) {
            // A minus alone is punctuation.
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

    /// Adds its words, `most` at the most, the first of which would stand at `position`; gives how many positions it takes.
    fn add_words(&self, position: usize, most: usize, words: &mut Vec<AskedWord>) -> usize {
        let folded = fold(self.text);
        let found = query_words(&folded).into_iter().take(most);
        words.extend(found.map(|(offset, term)| AskedWord {
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

    fn understand(self, is_last: bool, terms_left: &mut usize) -> Option<Clause> {
        let folded = fold(self.text);
        let mut pieces = if self.quoted && self.target == Target::Text {
            phrase(query_words(&folded), terms_left).into_iter().collect()
        } else {
            word_pieces(&folded, terms_left)
        };
        if is_last && !self.exclude && self.target == Target::Text {
            widen_last(&folded, &mut pieces);
        }
        let Self { exclude, target, quoted, .. } = self;
        (!pieces.is_empty()).then_some(Clause { exclude, target, quoted, pieces })
    }
}

/// The pieces of an unquoted word: each word of it, and single ideographs beside each other as a phrase.
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

/// Words beside each other, as many as may still be asked for; their first offset becomes 0.
fn phrase(mut words: Vec<(usize, String)>, terms_left: &mut usize) -> Option<Piece> {
    words.truncate(*terms_left);
    *terms_left -= words.len();
    let first = words.first()?.0;
    for (offset, _) in &mut words {
        *offset -= first;
    }
    if words.len() == 1 { words.pop().map(|(_, word)| Piece::Term(word)) } else { Some(Piece::Phrase(words)) }
}

/// Lets the last word match as a prefix. Ideographs need none: every word and character of them is a term.
fn widen_last(folded: &str, pieces: &mut [Piece]) {
    let Some(Run::Word(word)) = runs(folded).last() else { return };
    let start = cut_to_length(word);
    if start.chars().nth(MIN_PREFIX_CHARS - 1).is_none() {
        return;
    }
    let term = Piece::Term(stem(start).into_owned());
    // The same word may stand earlier in it, or be beyond the terms that count.
    if let Some(piece) = pieces.iter_mut().rfind(|piece| **piece == term)
        && let Piece::Term(stem) = std::mem::replace(piece, Piece::Phrase(Vec::new()))
    {
        *piece = Piece::Prefix { stem, start: start.to_owned() };
    }
}

fn is_minus(character: char) -> bool {
    matches!(character, '-' | '－' | '−')
}

/// What closes the quote that the character opens. Any of the double quotes closes any other, as people mix them.
fn closing_quotes(opening: char) -> Option<&'static [char]> {
    match opening {
        '"' | '“' | '”' | '„' | '＂' => Some(&['"', '“', '”', '＂']),
        '「' => Some(&['」']),
        '『' => Some(&['』']),
        _ => None,
    }
}

/// What follows `author:`, where the text begins with it and something does follow.
fn strip_author(text: &str) -> Option<&str> {
    const FIELD: &str = "author";
    let (name, after) = text.split_at_checked(FIELD.len())?;
    let after = name.eq_ignore_ascii_case(FIELD).then_some(after)?.strip_prefix([':', '：'])?;
    (!after.is_empty() && !after.starts_with(char::is_whitespace)).then_some(after)
}

#[cfg(test)]
mod tests;
