//! Plan of a request before segments are read.
//!
//! One branch covers open documents, the other restricted ones. They are disjoint, and nothing is scored.

use std::sync::Arc;

use tantivy::query::{EnableScoring, PhraseQuery, Query as EngineQuery, Weight};
use tantivy::schema::{Field, Term};
use trawl_engine::Request;
use trawl_engine::query::{Clause, Piece, Target, author_pieces};
use trawl_engine::relevance::WeightedWords;

use super::budget::{SearchError, StepBudget};
use super::prefix_expansion;
use super::viewer_scope::ViewerScope;
use crate::expansion::PrefixExpansion;
use crate::schema::TextFields;
use crate::segment_cache::{NumberedViewer, TermInfos};

/// Mostly cached.
const LOOK_UP: u64 = 8;

pub(super) struct Plan {
    pub(super) branches: Vec<Branch>,
}

#[derive(Default)]
pub(super) struct Branch {
    pub(super) required: Vec<Requirement>,
    pub(super) excluded: Vec<Requirement>,
}

pub(super) enum Requirement {
    Term(Term, Arc<TermInfos>),
    AnyTerm(Arc<[Term]>, Vec<Arc<TermInfos>>),
    Phrase(Arc<[(usize, Term)]>, Vec<Arc<TermInfos>>, Box<dyn Weight>),
    Prefix(Arc<PrefixExpansion>),
    VisibleTo(NumberedViewer, Arc<str>),
    All(Vec<Requirement>),
    Any(Vec<Requirement>),
}

impl Plan {
    /// Makes the plan; time order has no `words` and requires every word.
    pub(super) fn new(
        scope: &ViewerScope<'_>,
        request: &Request,
        words: Option<&WeightedWords>,
        budget: &mut StepBudget,
    ) -> Result<Self, SearchError> {
        let mut branches = Vec::with_capacity(2);
        if words.is_none_or(|words| !words.cannot_match()) {
            let mut planner = Planner { scope, budget };
            for texts in scope.halves() {
                let Some(mut branch) = planner.filters(request, texts, words)? else { break };
                planner.add_words(request, texts.body, words, &mut branch)?;
                branches.push(planner.finish(texts, branch)?);
            }
        }
        Ok(Self { branches })
    }

    /// Restricted documents that the viewer sees and that hold the term.
    pub(super) fn visible_with_term(
        scope: &ViewerScope<'_>,
        viewer: &NumberedViewer,
        term: Term,
        budget: &mut StepBudget,
    ) -> Result<Self, SearchError> {
        let visible = Requirement::VisibleTo(viewer.clone(), scope.prefix.as_str().into());
        let required = vec![Planner { scope, budget }.term(term)?, visible];
        Ok(Self { branches: vec![Branch { required, excluded: Vec::new() }] })
    }

    /// Filters of each half; `None` if empty, no half if nothing can match.
    pub(super) fn filters(
        scope: &ViewerScope<'_>,
        request: &Request,
        words: &WeightedWords,
        budget: &mut StepBudget,
    ) -> Result<Vec<(TextFields, Option<Branch>)>, SearchError> {
        let mut planner = Planner { scope, budget };
        let mut halves = Vec::with_capacity(2);
        for texts in scope.halves() {
            let Some(branch) = planner.filters(request, texts, Some(words))? else { break };
            let is_empty = branch.required.is_empty() && branch.excluded.is_empty();
            let branch = if is_empty { None } else { Some(planner.finish(texts, branch)?) };
            halves.push((texts, branch));
        }
        Ok(halves)
    }
}

struct Planner<'a> {
    scope: &'a ViewerScope<'a>,
    budget: &'a mut StepBudget,
}

impl Planner<'_> {
    /// Filters except unquoted words; `None` if nothing can match.
    fn filters(
        &mut self,
        request: &Request,
        texts: TextFields,
        words: Option<&WeightedWords>,
    ) -> Result<Option<Branch>, SearchError> {
        let fields = self.scope.view.fields;
        let author = request.author.as_deref().map(author_pieces).unwrap_or_default();
        if author.is_empty() && request.author.is_some() {
            return Ok(None);
        }
        let are_quotes_required = words.is_none_or(WeightedWords::requires_quotes);
        let mut branch = Branch::default();
        for clause in &request.query.clauses {
            let field = match clause.target {
                Target::Text => texts.body,
                Target::Title => texts.title,
                Target::Author => fields.author,
                Target::Reading => texts.readings,
                Target::Item => fields.key,
            };
            if clause.exclude {
                branch.excluded.push(self.all(&clause.pieces, field)?);
            } else if clause.target != Target::Text || clause.quoted && are_quotes_required {
                branch.required.append(&mut self.requirements(&clause.pieces, field)?);
            }
        }
        branch.required.append(&mut self.requirements(&author, fields.author)?);
        if texts.body == fields.restricted.body
            && let Some(viewer) = &self.scope.viewer
        {
            branch.required.push(Requirement::VisibleTo(viewer.clone(), self.scope.prefix.as_str().into()));
        }
        Ok(Some(branch))
    }

    fn add_words(
        &mut self,
        request: &Request,
        text: Field,
        words: Option<&WeightedWords>,
        branch: &mut Branch,
    ) -> Result<(), SearchError> {
        match words {
            // Quotes are required already.
            Some(words) if words.is_empty() || words.requires_quotes() => {}
            Some(words) => {
                let terms: Vec<Term> =
                    words.matching_terms().map(|word| self.scope.term(text, word)).collect();
                branch.required.push(self.any_term(terms)?);
            }
            None => {
                let is_word =
                    |clause: &&Clause| !clause.exclude && clause.target == Target::Text && !clause.quoted;
                for clause in request.query.clauses.iter().filter(is_word) {
                    branch.required.append(&mut self.requirements(&clause.pieces, text)?);
                }
            }
        }
        Ok(())
    }

    fn finish(&mut self, texts: TextFields, mut branch: Branch) -> Result<Branch, SearchError> {
        // A branch without text needs the half's marker.
        let is_of_half =
            |requirement: &Requirement| [texts.body, texts.title].iter().any(|text| requirement.is_in(*text));
        if !branch.required.iter().any(is_of_half) {
            branch.required.push(self.whole_term(texts.body, "")?);
        }
        // Cheap ones first: a failure spares the others.
        branch.required.sort_by_key(Requirement::rank);
        Ok(branch)
    }

    /// A single term is no exception: totals depend on the choice, by the fingerprint.
    fn any_term(&mut self, terms: Vec<Term>) -> Result<Requirement, SearchError> {
        self.budget.take(terms.len() as u64 * self.scope.view.segments.len() as u64 * LOOK_UP)?;
        let term_infos =
            terms.iter().map(|term| self.scope.view.term_infos(term)).collect::<Result<_, _>>()?;
        Ok(Requirement::AnyTerm(terms.into(), term_infos))
    }

    fn requirements(&mut self, pieces: &[Piece], field: Field) -> Result<Vec<Requirement>, SearchError> {
        pieces.iter().map(|piece| self.requirement(piece, field)).collect()
    }

    fn requirement(&mut self, piece: &Piece, field: Field) -> Result<Requirement, SearchError> {
        Ok(match piece {
            Piece::Term(word) => self.whole_term(field, word)?,
            Piece::Phrase(words) => {
                self.budget.take((words.len() * self.scope.view.segments.len()) as u64 * LOOK_UP)?;
                let terms: Vec<(usize, Term)> =
                    words.iter().map(|(offset, word)| (*offset, self.scope.term(field, word))).collect();
                let term_infos = terms
                    .iter()
                    .map(|(_, term)| self.scope.view.term_infos(term))
                    .collect::<Result<_, _>>()?;
                let scoring = EnableScoring::disabled_from_searcher(&self.scope.view.searcher);
                let weight = PhraseQuery::new_with_offset(terms.clone()).weight(scoring)?;
                Requirement::Phrase(terms.into(), term_infos, weight)
            }
            Piece::Either(alternatives) => {
                let any = alternatives.iter().map(|pieces| self.all(pieces, field));
                Requirement::Any(any.collect::<Result<_, _>>()?)
            }
            Piece::Prefix { stem, start } => {
                let expansion = prefix_expansion::expand(
                    self.scope.view,
                    field,
                    &self.scope.prefix,
                    start,
                    stem,
                    self.budget,
                )?;
                if expansion.has_only_stem() {
                    self.whole_term(field, stem)?
                } else {
                    Requirement::Prefix(expansion)
                }
            }
        })
    }

    fn all(&mut self, pieces: &[Piece], field: Field) -> Result<Requirement, SearchError> {
        let mut requirements = self.requirements(pieces, field)?;
        Ok(match (requirements.len(), requirements.pop()) {
            (1, Some(only)) => only,
            (_, last) => {
                requirements.extend(last);
                Requirement::All(requirements)
            }
        })
    }

    fn whole_term(&mut self, field: Field, word: &str) -> Result<Requirement, SearchError> {
        self.term(self.scope.term(field, word))
    }

    fn term(&mut self, term: Term) -> Result<Requirement, SearchError> {
        self.budget.take(self.scope.view.segments.len() as u64 * LOOK_UP)?;
        let term_infos = self.scope.view.term_infos(&term)?;
        Ok(Requirement::Term(term, term_infos))
    }
}

impl Requirement {
    fn is_in(&self, field: Field) -> bool {
        match self {
            Self::Term(term, _) => term.field() == field,
            Self::AnyTerm(terms, _) => terms.iter().all(|term| term.field() == field),
            Self::Phrase(terms, ..) => terms.iter().all(|(_, term)| term.field() == field),
            Self::Prefix(expansion) => expansion.is_in(field),
            Self::VisibleTo(..) => false,
            Self::All(requirements) | Self::Any(requirements) => {
                requirements.iter().any(|requirement| requirement.is_in(field))
            }
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Term(..) => 0,
            Self::AnyTerm(..) | Self::Phrase(..) | Self::All(_) | Self::Any(_) => 1,
            Self::Prefix(_) => 2,
            Self::VisibleTo(..) => 3,
        }
    }
}
