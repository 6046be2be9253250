//! Query language, in which nothing is a syntax error.
//!
//! Words are required in time order and weighed in relevance order. `"quoted phrase"` is required in both; an open quote ends with the
//! text. `-word` and `-"phrase"` exclude, `author:NAME` and `author:"A B"` filter. Full-width quotes, minus and colon are the same. The
//! last word also matches as a prefix.
//!
//! `*` alone finds everything.
//!
//! A stop word in capitals, such as `IT`, is an acronym. It is none in a keyword that is all in capitals.
//!
//! A compound such as `follow-up` is one word or all its parts. An exact token, such as `C-2052` or an e-mail address, is one word or
//! its parts side by side. Relevance order requires it like a quote, unless nothing holds it; ideographs that are no dictionary word,
//! such as the name 周海岚, too.

mod clauses;
mod expansion;
mod pieces;
mod relaxation;
mod replacement;
mod spellings;
mod synonyms;

use self::clauses::RawClause;
pub(crate) use self::clauses::{open_pieces, plain_pieces, plain_words, reads_acronyms};
pub use self::expansion::{max_scanned_words, select_expansion};
pub use self::relaxation::RelaxableKeyword;
pub(crate) use self::replacement::Replaceable;
use self::spellings::WordSplit;
pub use self::synonyms::{SynonymMatch, Synonyms};

use crate::text::{fold, is_stop_word, parts_of_word};

/// Further clauses are ignored.
pub const MAX_CLAUSES: usize = 64;
/// Exact tokens and words whose parts are searched if nothing holds them.
const MAX_WHOLE_QUERIES: usize = 16;
/// Terms of all clauses; further ones are ignored.
pub const MAX_TERMS: usize = 128;

/// A parsed query; finds nothing by default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Query {
    /// The keyword, folded.
    pub(crate) typed: String,
    pub clauses: Vec<Clause>,
    /// Words in typed order, with repetitions.
    pub words: Vec<QueryWord>,
    /// Alternatives of these words.
    pub synonyms: Vec<SynonymMatch>,
    /// Words that may also be written apart.
    splits: Vec<WordSplit>,
    /// Whether dictionary words have no parts.
    is_exact: bool,
    /// Whether all is found that the clauses do not rule out.
    is_everything: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct QueryWord {
    pub position: usize,
    pub term: String,
    /// Whether it is in quotes, or part of an exact token.
    pub quoted: bool,
    /// Another spelling of the words before it.
    pub joined: bool,
    /// Position of the word that contains it; `None` if it is whole.
    pub part_of: Option<usize>,
    /// Folded, if it is one word of letters and digits that its neighbours may belong to.
    pub written: Option<String>,
}

impl QueryWord {
    fn is_content(&self) -> bool {
        self.quoted || !self.joined && !is_stop_word(&self.term)
    }

    fn alone(&self) -> Query {
        Target::Text.query(vec![Piece::Term(self.term.clone())])
    }

    /// Smaller dictionary words at their offsets, such as those of 联通公司.
    fn parts(&self) -> Vec<(usize, String)> {
        let parts = if self.quoted || self.joined { Vec::new() } else { parts_of_word(&self.term) };
        parts.into_iter().map(|(offset, part)| (offset, part.to_owned())).collect()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Clause {
    pub exclude: bool,
    pub target: Target,
    /// Required in either order.
    pub quoted: bool,
    /// An exact token, or ideographs outside the dictionary.
    ///
    /// Relevance order requires it only if something holds it.
    pub exact: bool,
    /// All required; never empty.
    pub pieces: Vec<Piece>,
}

impl Clause {
    /// Whether it is plain words.
    fn is_plain(&self) -> bool {
        !self.exclude && !self.quoted && self.target == Target::Text
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// All texts, title included.
    Text,
    /// The title, in time order; no piece is a phrase.
    Title,
    Author,
    /// Pinyin of the title: pairs of syllables such as `bao xiao`, and threes of initials.
    Reading,
    /// The id; each piece is a whole one.
    Item,
}

impl Target {
    /// Requires pieces.
    pub fn query(self, pieces: Vec<Piece>) -> Query {
        Query::from(Clause { exclude: false, target: self, quoted: false, exact: false, pieces })
    }
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
    /// All pieces of any alternative, such as one word or its parts.
    Either(Vec<Vec<Piece>>),
}

impl Piece {
    /// Stem and start of an unfinished word.
    pub(crate) fn prefix(&self) -> Option<(&str, &str)> {
        match self {
            Self::Prefix { stem, start } => Some((stem, start)),
            Self::Either(alternatives) => {
                alternatives.iter().rev().filter_map(|pieces| pieces.last()).find_map(Self::prefix)
            }
            Self::Term(_) | Self::Phrase(_) => None,
        }
    }

    /// Its words, of all alternatives.
    fn words(&self) -> Vec<&str> {
        match self {
            Self::Term(term) | Self::Prefix { stem: term, .. } => vec![term],
            Self::Phrase(terms) => terms.iter().map(|(_, term)| term.as_str()).collect(),
            Self::Either(alternatives) => alternatives.iter().flatten().flat_map(Self::words).collect(),
        }
    }

    /// Whether it is this word, finished or not.
    fn is_word(&self, word: &str) -> bool {
        matches!(self, Self::Term(term) | Self::Prefix { stem: term, .. } if term == word)
    }

    fn has(&self, word: &str) -> bool {
        self.words().contains(&word)
    }

    /// Number of terms.
    fn terms(&self) -> usize {
        self.words().len()
    }

    /// The same with its last word finished.
    fn finished(&self) -> Self {
        match self {
            Self::Prefix { stem, .. } => Self::Term(stem.clone()),
            Self::Either(alternatives) => Self::Either(
                alternatives.iter().map(|pieces| pieces.iter().map(Self::finished).collect()).collect(),
            ),
            Self::Term(_) | Self::Phrase(_) => self.clone(),
        }
    }

    fn bytes(&self) -> usize {
        let held = match self {
            Self::Term(term) => term.len(),
            Self::Phrase(terms) => {
                terms.iter().map(|(_, term)| size_of::<(usize, String)>() + term.len()).sum()
            }
            Self::Prefix { stem, start } => stem.len() + start.len(),
            Self::Either(alternatives) => alternatives.iter().flatten().map(Self::bytes).sum(),
        };
        size_of::<Self>() + held
    }
}

impl Query {
    /// Estimates its size in memory.
    pub fn bytes(&self) -> usize {
        let of_clause =
            |clause: &Clause| size_of::<Clause>() + clause.pieces.iter().map(Piece::bytes).sum::<usize>();
        let of_word = |word: &QueryWord| {
            size_of::<QueryWord>() + word.term.len() + word.written.as_ref().map_or(0, String::len)
        };
        // Their words stand in clauses, too.
        let of_synonyms = |found: &SynonymMatch| size_of_val(&*found.typed) + size_of_val(&*found.synonyms);
        let words = self.words.iter().map(of_word).chain(self.synonyms.iter().map(of_synonyms));
        let splits = self.splits.iter().map(WordSplit::bytes);
        self.typed.len() + self.clauses.iter().map(of_clause).chain(words).chain(splits).sum::<usize>()
    }

    /// Parses any text.
    pub fn parse(keyword: &str) -> Self {
        if matches!(keyword.trim(), "*" | "＊") {
            return Self { is_everything: true, ..Self::default() };
        }
        let mut clauses: Vec<Clause> = Vec::new();
        let mut words: Vec<QueryWord> = Vec::new();
        let mut position = 0;
        let mut terms_left = MAX_TERMS;
        let reads_acronyms = reads_acronyms(keyword);
        let mut rest = keyword.trim_start();
        while !rest.is_empty() && clauses.len() < MAX_CLAUSES && terms_left > 0 {
            let (raw, after) = RawClause::read(rest);
            let raw = RawClause { reads_acronyms, ..raw };
            let is_last = after.is_empty() && !raw.quoted && !keyword.ends_with(char::is_whitespace);
            let parted = raw.part();
            if raw.target == Target::Text && !raw.exclude {
                position += parted.add_words(position, MAX_TERMS.saturating_sub(words.len()), &mut words);
            }
            for clause in parted.clauses(is_last, &mut terms_left) {
                if clauses.len() < MAX_CLAUSES && !clauses.contains(&clause) {
                    clauses.push(clause);
                }
            }
            rest = after.trim_start();
        }
        Self { typed: fold(keyword.trim()).into_owned(), clauses, words, ..Self::default() }
    }

    /// Finds the items whose author holds the words of a name.
    pub fn by_author(name: &str) -> Self {
        let mut query = Target::Author.query(author_pieces(name));
        query.clauses.retain(|clause| !clause.pieces.is_empty());
        query
    }

    /// The same query, which finds at most the item with this id.
    #[must_use]
    pub fn for_item(&self, id: &str) -> Self {
        let mut query = self.clone();
        query.clauses.extend(Target::Item.query(vec![Piece::Term(id.to_owned())]).clauses);
        query
    }

    /// Drops unquoted stop words, unless nothing remains.
    #[must_use]
    pub fn without_stop_words(&self) -> Self {
        let mut query = self.clone();
        for clause in &mut query.clauses {
            if clause.is_plain() {
                clause.pieces.retain(|piece| match piece {
                    Piece::Term(term) | Piece::Prefix { stem: term, .. } => !is_stop_word(term),
                    Piece::Phrase(_) | Piece::Either(_) => true,
                });
            }
        }
        query.clauses.retain(|clause| !clause.pieces.is_empty());
        query.words.retain(|word| word.quoted || !is_stop_word(&word.term));
        if query.words.is_empty() { self.clone() } else { query }
    }

    /// Drops unquoted stop words, unless fewer than two words remain: `he wei` is a name.
    #[must_use]
    pub fn without_question_words(&self) -> Self {
        let query = self.without_stop_words();
        if query.words.len() < 2 { self.clone() } else { query }
    }

    /// The same without parts of its dictionary words.
    #[must_use]
    pub fn exactly(self) -> Self {
        Self { is_exact: true, ..self }
    }

    /// A query for each exact token, for dictionary words with parts, and for words written apart.
    pub fn whole_token_queries(&self) -> Vec<Self> {
        let clauses = self.clauses.iter().filter(|clause| clause.exact && !clause.exclude);
        let mut queries: Vec<Self> = clauses.map(|clause| Self::from(clause.clone())).collect();
        for word in self.words.iter().filter(|_| !self.is_exact) {
            let whole = word.alone();
            if queries.len() < MAX_WHOLE_QUERIES && !word.parts().is_empty() && !queries.contains(&whole) {
                queries.push(whole);
            }
        }
        queries.extend(self.splits.iter().map(WordSplit::query));
        queries
    }

    /// Leaves [`Self::whole_token_queries`] that nothing holds to their words of several characters.
    ///
    /// Words that something holds written apart are searched so, too.
    /// Stop words alone are not searched instead.
    #[must_use]
    pub fn with_parts_of(&self, missing: &[Self]) -> Self {
        let held = self.splits.iter().filter(|split| !missing.contains(&split.query()));
        let apart: Vec<QueryWord> = held.flat_map(WordSplit::words).collect();
        if missing.is_empty() {
            let words = self.words.iter().cloned().chain(apart).collect();
            return Self { words, splits: Vec::new(), ..self.clone() };
        }
        let is_missing = |clause: &Clause| missing.iter().any(|whole| whole.clauses.contains(clause));
        let mut clauses = self.clauses.clone();
        clauses.retain(|clause| !clause.exact || !is_missing(clause));
        let quoted = clauses.iter().filter(|clause| clause.quoted && !clause.exclude);
        let quoted: Vec<&Piece> = quoted.flat_map(|clause| &clause.pieces).collect();
        let (mut words, mut released) = (Vec::with_capacity(self.words.len()), Vec::new());
        for word in &self.words {
            if word.quoted && !quoted.iter().any(|piece| piece.has(&word.term)) {
                if !word.joined && word.term.chars().nth(1).is_some() {
                    released.push(Piece::Term(word.term.clone()));
                    words.push(QueryWord { quoted: false, ..word.clone() });
                }
            } else if missing.contains(&word.alone()) {
                for (offset, term) in word.parts() {
                    released.push(Piece::Term(term.clone()));
                    words.push(QueryWord { position: word.position + offset, term, ..word.clone() });
                }
            } else {
                words.push(word.clone());
            }
        }
        if !released.is_empty() {
            clauses.extend(Target::Text.query(released).clauses);
        }
        let mut synonyms = self.synonyms.clone();
        synonyms.retain(|found| {
            let pieces = || clauses.iter().flat_map(|clause| &clause.pieces);
            found.synonyms.iter().flatten().any(|(_, word)| pieces().any(|piece| piece.has(word)))
        });
        words.extend(apart);
        let typed = self.typed.clone();
        let query = Self { typed, clauses, words, synonyms, splits: Vec::new(), ..*self };
        let has_content = |query: &Self| query.words.iter().any(QueryWord::is_content);
        if has_content(self) && !has_content(&query) { Self::default() } else { query }
    }

    /// Whether nothing is searched; such a query matches nothing.
    pub fn is_empty(&self) -> bool {
        self.clauses.is_empty() && self.words.is_empty() && !self.is_everything
    }
}

/// A query that only requires or excludes.
impl From<Clause> for Query {
    fn from(clause: Clause) -> Self {
        Self { clauses: vec![clause], ..Self::default() }
    }
}

/// Parses a name as in `author:NAME`.
pub fn author_pieces(name: &str) -> Vec<Piece> {
    pieces::author_pieces(&fold(name), &mut MAX_TERMS.clone())
}

#[cfg(test)]
mod tests;
