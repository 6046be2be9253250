//! From a parsed query to the engine's queries: one for what the whole tenant sees, one for what the viewer's
//! principals let him see. No document matches both.

use tantivy::query::{BooleanQuery, Occur, PhraseQuery, Query as EngineQuery, TermQuery};
use tantivy::schema::{Field, IndexRecordOption, Term};

use super::words::Words;
use super::{Request, expansion};
use crate::Error;
use crate::query::{Clause, Piece, Target, author_pieces};
use crate::schema::{Fields, TextFields};
use crate::view::View;

/// One branch of a request, ready to be looked up.
pub(super) enum Compiled {
    /// The documents of one term, unscored: a bare posting list.
    Term(Term),
    /// Anything else.
    Query(Box<dyn EngineQuery>),
}

/// Compiles one request.
pub(super) struct Compiler<'a> {
    view: &'a View,
    request: &'a Request<'a>,
    prefix: String,
}

impl<'a> Compiler<'a> {
    pub(super) fn new(view: &'a View, request: &'a Request<'a>) -> Self {
        Self { view, request, prefix: request.scope.prefix() }
    }

    /// The branches that can match something.
    ///
    /// In relevance order, `words` is what of the typed words finds documents; in time order all of them are required.
    pub(super) fn compile(&self, words: Option<&Words>) -> Result<Vec<Compiled>, Error> {
        let mut branches = Vec::with_capacity(2);
        for texts in self.halves()? {
            let mut clauses = self.filters(texts, words)?;
            match words {
                Some(words) if words.is_nothing() => continue,
                Some(words) => {
                    let finding: Vec<Term> =
                        words.finding().map(|word| self.term(texts.body, word)).collect();
                    // Quoted phrases are required already, and then the other words only weigh.
                    if !finding.is_empty() && !words.are_quoted() {
                        clauses.texts.push(any_of(finding));
                    }
                }
                None => {
                    for piece in self.pieces(|clause| clause.target == Target::Text && !clause.quoted) {
                        clauses.texts.push(self.piece(piece, texts.body)?);
                    }
                }
            }
            branches.push(clauses.finish(|| Compiled::Term(self.term(texts.body, ""))));
        }
        Ok(branches)
    }

    /// The halves of the scope that may hold something for the viewer.
    pub(super) fn halves(&self) -> Result<Vec<TextFields>, Error> {
        let Fields { open, restricted, .. } = self.view.fields;
        let names_nobody = self.request.author.is_some_and(|author| author_pieces(author).is_empty());
        Ok(match (names_nobody, self.may_see_restricted()?) {
            (true, _) => Vec::new(),
            (false, false) => vec![open],
            (false, true) => vec![open, restricted],
        })
    }

    /// What the words of the request's scope begin with.
    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// All that a document of one half must have or not have, but for the words that are weighed in relevance order.
    pub(super) fn filters(&self, texts: TextFields, words: Option<&Words>) -> Result<Clauses, Error> {
        let mut clauses = Clauses::default();
        if words.is_none_or(Words::are_quoted) {
            for piece in self.pieces(|clause| clause.target == Target::Text && clause.quoted) {
                clauses.texts.push(self.piece(piece, texts.body)?);
            }
        }
        for clause in self.request.query.clauses.iter().filter(|clause| clause.exclude) {
            clauses.excluded.push(self.excluded(clause, texts)?);
        }
        for piece in self.pieces(|clause| clause.target == Target::Author) {
            clauses.filters.push(self.piece(piece, self.view.fields.author)?);
        }
        for piece in self.request.author.map(author_pieces).iter().flatten() {
            clauses.filters.push(self.piece(piece, self.view.fields.author)?);
        }
        if texts.body == self.view.fields.restricted.body {
            let seen: Vec<Term> = self
                .request
                .principals
                .iter()
                .map(|principal| self.term(self.view.fields.principals, principal))
                .collect();
            clauses.filters.push(any_of(seen));
        }
        Ok(clauses)
    }

    /// The pieces of the clauses that are so, of those that do not exclude.
    fn pieces(&self, is_so: impl Fn(&Clause) -> bool) -> impl Iterator<Item = &'a Piece> {
        let clauses = self.request.query.clauses.iter();
        clauses.filter(move |clause| !clause.exclude && is_so(clause)).flat_map(|clause| &clause.pieces)
    }

    /// Whether the viewer has principals and the scope has anything that needs them.
    pub(super) fn may_see_restricted(&self) -> Result<bool, Error> {
        if self.request.principals.is_empty() {
            return Ok(false);
        }
        let marker = self.term(self.view.fields.restricted.body, "");
        Ok(self.view.document_frequency(&marker)? > 0)
    }

    /// What a document must not match.
    fn excluded(&self, clause: &Clause, texts: TextFields) -> Result<Box<dyn EngineQuery>, Error> {
        let field = match clause.target {
            Target::Text => texts.body,
            Target::Author => self.view.fields.author,
        };
        let pieces = clause.pieces.iter().map(|piece| Ok(self.piece(piece, field)?.query()));
        let mut pieces = pieces.collect::<Result<Vec<_>, Error>>()?;
        let only = if pieces.len() == 1 { pieces.pop() } else { None };
        Ok(only.unwrap_or_else(|| Box::new(BooleanQuery::intersection(pieces))))
    }

    fn piece(&self, piece: &Piece, field: Field) -> Result<Compiled, Error> {
        Ok(match piece {
            Piece::Term(word) => Compiled::Term(self.term(field, word)),
            Piece::Phrase(words) => {
                let terms = words.iter().map(|(offset, word)| (*offset, self.term(field, word))).collect();
                Compiled::Query(Box::new(PhraseQuery::new_with_offset(terms)))
            }
            Piece::Prefix { stem, start } => {
                let mut terms = expansion::expand(self.view, field, &self.prefix, start, stem)?;
                terms.push(self.term(field, stem));
                any_of(terms)
            }
        })
    }

    /// The word as a term of what the whole tenant sees.
    pub(super) fn open_term(&self, word: &str) -> Term {
        self.term(self.view.fields.open.body, word)
    }

    /// The words that the viewer may see and that begin so, but for those that `own_stem` holds.
    pub(super) fn words_that_begin(
        &self,
        start: &str,
        own_stem: &str,
        most: usize,
    ) -> Result<Vec<(String, u64)>, Error> {
        let fields: Vec<Field> = self.halves()?.into_iter().map(|texts| texts.body).collect();
        expansion::words(self.view, &fields, &self.prefix, start, own_stem, most)
    }

    pub(super) fn term(&self, field: Field, word: &str) -> Term {
        Term::from_field_text(field, &format!("{}{word}", self.prefix))
    }
}

impl Compiled {
    fn query(self) -> Box<dyn EngineQuery> {
        match self {
            Self::Term(term) => term_query(term),
            Self::Query(query) => query,
        }
    }
}

/// The clauses of one branch, or of what its documents are filtered by.
#[derive(Default)]
pub(super) struct Clauses {
    /// Every one must match. They hold the branch to its half of the scope: only texts are kept apart by who may see them.
    texts: Vec<Compiled>,
    /// Every one must match.
    filters: Vec<Compiled>,
    /// None may match.
    excluded: Vec<Box<dyn EngineQuery>>,
}

impl Clauses {
    /// Whether every document passes.
    pub(super) fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.filters.is_empty() && self.excluded.is_empty()
    }

    /// What matches all of it; `everything` is what every document of the half matches.
    pub(super) fn finish(mut self, everything: impl FnOnce() -> Compiled) -> Compiled {
        if self.texts.is_empty() {
            self.texts.push(everything());
        }
        let is_single = self.texts.len() == 1 && self.filters.is_empty() && self.excluded.is_empty();
        if is_single && let Some(only) = self.texts.pop() {
            return only;
        }
        let required = self.texts.into_iter().chain(self.filters);
        let mut clauses: Vec<(Occur, Box<dyn EngineQuery>)> =
            required.map(|clause| (Occur::Must, clause.query())).collect();
        clauses.extend(self.excluded.into_iter().map(|query| (Occur::MustNot, query)));
        Compiled::Query(Box::new(BooleanQuery::new(clauses)))
    }
}

/// The documents that have any of the terms.
fn any_of(mut terms: Vec<Term>) -> Compiled {
    if terms.len() == 1
        && let Some(term) = terms.pop()
    {
        return Compiled::Term(term);
    }
    Compiled::Query(Box::new(BooleanQuery::union(terms.into_iter().map(term_query).collect())))
}

fn term_query(term: Term) -> Box<dyn EngineQuery> {
    Box::new(TermQuery::new(term, IndexRecordOption::Basic))
}
