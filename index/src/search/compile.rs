//! From a parsed query to the engine's queries: one for what the whole tenant sees, one for what the viewer's
//! principals let him see. No document matches both.

use tantivy::query::{
    BooleanQuery, BoostQuery, ConstScoreQuery, Occur, PhraseQuery, Query as EngineQuery, TermQuery,
};
use tantivy::schema::{Field, IndexRecordOption, Term};

use super::{Request, expansion};
use crate::Error;
use crate::query::{Clause, Piece, Target, author_pieces};
use crate::schema::TextFields;
use crate::view::View;

/// What a match in the title adds, relative to the same match in the whole text.
const TITLE_WEIGHT: f32 = 0.8;
/// What a word that only begins with the last word adds: less than any word that is really meant.
const PREFIX_SCORE: f32 = 0.2;

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
    pub(super) fn compile(&self, scored: bool) -> Result<Vec<Compiled>, Error> {
        let fields = self.view.fields;
        let author = self.request.author.map(author_pieces);
        if author.as_ref().is_some_and(Vec::is_empty) {
            return Ok(Vec::new());
        }
        let mut branches = Vec::with_capacity(2);
        for texts in [fields.open, fields.restricted] {
            let restricted = texts.body == fields.restricted.body;
            if restricted && !self.may_see_restricted()? {
                continue;
            }
            let mut clauses = Clauses::default();
            for clause in &self.request.query.clauses {
                self.add_clause(clause, texts, scored, &mut clauses)?;
            }
            for piece in author.iter().flatten() {
                clauses.filters.push(self.piece(piece, fields.author, false)?);
            }
            if restricted {
                let seen: Vec<Term> = self
                    .request
                    .principals
                    .iter()
                    .map(|principal| self.term(fields.principals, principal))
                    .collect();
                clauses.filters.push(any_of(seen));
            }
            branches.push(clauses.finish(scored, || Compiled::Term(self.term(texts.body, ""))));
        }
        Ok(branches)
    }

    /// Whether the viewer has principals and the scope has anything that needs them.
    pub(super) fn may_see_restricted(&self) -> Result<bool, Error> {
        if self.request.principals.is_empty() {
            return Ok(false);
        }
        let marker = self.term(self.view.fields.restricted.body, "");
        Ok(self.view.document_frequency(&marker)? > 0)
    }

    fn add_clause(
        &self,
        clause: &Clause,
        texts: TextFields,
        scored: bool,
        clauses: &mut Clauses,
    ) -> Result<(), Error> {
        let field = match clause.target {
            Target::Text => texts.body,
            Target::Author => self.view.fields.author,
        };
        if clause.exclude {
            let mut pieces = clause
                .pieces
                .iter()
                .map(|piece| self.piece(piece, field, false))
                .collect::<Result<Vec<_>, _>>()?;
            let only = if pieces.len() == 1 { pieces.pop() } else { None };
            clauses.excluded.push(match only {
                Some(Compiled::Query(query)) => query,
                Some(Compiled::Term(term)) => term_query(term, false),
                None => {
                    Box::new(BooleanQuery::intersection(pieces.into_iter().map(Compiled::query).collect()))
                }
            });
            return Ok(());
        }
        for piece in &clause.pieces {
            match clause.target {
                Target::Author => clauses.filters.push(self.piece(piece, field, false)?),
                Target::Text => {
                    clauses.required.push(self.piece(piece, field, scored)?);
                    if scored {
                        clauses.wished.extend(self.title_terms(piece, texts.title));
                    }
                }
            }
        }
        Ok(())
    }

    fn piece(&self, piece: &Piece, field: Field, scored: bool) -> Result<Compiled, Error> {
        Ok(match piece {
            Piece::Term(word) if scored => Compiled::Query(term_query(self.term(field, word), true)),
            Piece::Term(word) => Compiled::Term(self.term(field, word)),
            Piece::Phrase(words) => {
                let terms = words.iter().map(|(offset, word)| (*offset, self.term(field, word))).collect();
                Compiled::Query(Box::new(PhraseQuery::new_with_offset(terms)))
            }
            Piece::Prefix { stem, start } => {
                let own = self.term(field, stem);
                let mut terms = expansion::expand(self.view, field, &self.prefix, start, stem)?;
                if terms.is_empty() {
                    return self.piece(&Piece::Term(stem.clone()), field, scored);
                }
                if scored {
                    let begun = Box::new(ConstScoreQuery::new(any_of(terms).query(), PREFIX_SCORE));
                    Compiled::Query(Box::new(BooleanQuery::union(vec![term_query(own, true), begun])))
                } else {
                    terms.push(own);
                    any_of(terms)
                }
            }
        })
    }

    fn title_terms(&self, piece: &Piece, title: Field) -> Vec<Box<dyn EngineQuery>> {
        let words: Vec<&str> = match piece {
            Piece::Term(word) | Piece::Prefix { stem: word, .. } => vec![word],
            Piece::Phrase(words) => words.iter().map(|(_, word)| word.as_str()).collect(),
        };
        let boosted = |word| BoostQuery::new(term_query(self.term(title, word), true), TITLE_WEIGHT);
        words.into_iter().map(|word| Box::new(boosted(word)) as Box<dyn EngineQuery>).collect()
    }

    fn term(&self, field: Field, word: &str) -> Term {
        Term::from_field_text(field, &format!("{}{word}", self.prefix))
    }
}

impl Compiled {
    /// As a query that gives every document the same score.
    fn query(self) -> Box<dyn EngineQuery> {
        match self {
            Self::Term(term) => term_query(term, false),
            Self::Query(query) => query,
        }
    }
}

/// The clauses of one branch.
#[derive(Default)]
struct Clauses {
    /// Every one must match; they are what is scored.
    required: Vec<Compiled>,
    /// Every one must match; they are never scored.
    filters: Vec<Compiled>,
    /// None may match.
    excluded: Vec<Box<dyn EngineQuery>>,
    /// They add to the score only.
    wished: Vec<Box<dyn EngineQuery>>,
}

impl Clauses {
    fn finish(mut self, scored: bool, everything: impl FnOnce() -> Compiled) -> Compiled {
        // Only texts are kept apart by who may see them, so a branch without one holds itself to its half.
        if self.required.is_empty() {
            self.filters.push(everything());
        }
        let is_single = self.required.len() + self.filters.len() == 1 && self.excluded.is_empty();
        if is_single
            && !scored
            && let Some(single) = self.required.pop().or_else(|| self.filters.pop())
        {
            return single;
        }
        let mut clauses: Vec<(Occur, Box<dyn EngineQuery>)> = Vec::new();
        clauses.extend(self.required.into_iter().map(|clause| (Occur::Must, clause.query())));
        clauses.extend(self.filters.into_iter().map(|clause| {
            let query = clause.query();
            (Occur::Must, if scored { Box::new(ConstScoreQuery::new(query, 0.0)) } else { query })
        }));
        clauses.extend(self.excluded.into_iter().map(|query| (Occur::MustNot, query)));
        clauses.extend(self.wished.into_iter().map(|query| (Occur::Should, query)));
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
    Compiled::Query(Box::new(BooleanQuery::union(
        terms.into_iter().map(|term| term_query(term, false)).collect(),
    )))
}

fn term_query(term: Term, scored: bool) -> Box<dyn EngineQuery> {
    let record = if scored { IndexRecordOption::WithFreqs } else { IndexRecordOption::Basic };
    Box::new(TermQuery::new(term, record))
}
