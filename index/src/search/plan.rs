//! What a request asks for, before any segment is looked into: one branch for what the whole tenant sees, one for what the
//! viewer's principals let him see. No document matches both. Nothing here is scored.

use std::sync::Arc;

use tantivy::query::{EnableScoring, PhraseQuery, Query as EngineQuery, Weight};
use tantivy::schema::{Field, Term};

use super::Request;
use super::expansion::{self, Expansion};
use super::words::Words;
use super::work::{Stop, Work};
use crate::query::{Clause, Piece, Target, author_pieces};
use crate::remembered::{Places, Viewer};
use crate::schema::{Fields, TextFields};
use crate::view::View;
use crate::{Error, Scope};

/// The steps of finding where a term is in a segment, which most segments are remembered of.
const LOOK_UP: u64 = 8;

/// The branches of a request; none where nothing can match.
pub(super) struct Plan {
    pub(super) branches: Vec<Branch>,
}

/// What a document must and must not have.
#[derive(Default)]
pub(super) struct Branch {
    pub(super) required: Vec<Need>,
    pub(super) excluded: Vec<Need>,
}

/// One thing that a document has or has not.
pub(super) enum Need {
    /// A term, and where it is.
    Term(Term, Arc<Places>),
    /// Any of the terms, and where they are.
    AnyTerm(Arc<[Term]>, Vec<Arc<Places>>),
    /// Terms at their offsets, and where they are; the weight finds them.
    Phrase(Arc<[(usize, Term)]>, Vec<Arc<Places>>, Box<dyn Weight>),
    /// Any of the words that a beginning stands for.
    Words(Arc<Expansion>),
    /// Any of the viewer's principals, in the scope whose terms begin so.
    Seen(Viewer, Arc<str>),
    /// All of them.
    Every(Vec<Need>),
}

/// A scope as its viewer sees it.
pub(super) struct Sight<'a> {
    pub(super) view: &'a View,
    /// What the terms of the scope begin with.
    pub(super) prefix: String,
    /// The viewer with his principals, where the scope has anything that only some may see and he has principals.
    pub(super) viewer: Option<Viewer>,
}

impl<'a> Sight<'a> {
    pub(super) fn new(view: &'a View, scope: &Scope, principals: &[String]) -> Result<Self, Error> {
        let mut sight = Self { view, prefix: scope.prefix(), viewer: None };
        let marker = sight.term(view.fields.restricted.body, "");
        if !principals.is_empty() && view.document_frequency(&marker)? > 0 {
            sight.viewer = Some(view.remembered.viewer(principals));
        }
        Ok(sight)
    }

    /// The halves of the scope that may hold something for the viewer.
    pub(super) fn halves(&self) -> impl Iterator<Item = TextFields> {
        let Fields { open, restricted, .. } = self.view.fields;
        std::iter::once(open).chain(self.viewer.is_some().then_some(restricted))
    }

    /// The word as a term of this scope.
    pub(super) fn term(&self, field: Field, word: &str) -> Term {
        Term::from_field_text(field, &format!("{}{word}", self.prefix))
    }
}

impl Plan {
    /// Understands the request. In relevance order, `words` are what of the typed words finds documents; in time order all of
    /// them are required.
    pub(super) fn new(
        sight: &Sight<'_>,
        request: &Request<'_>,
        words: Option<&Words>,
        work: &mut Work,
    ) -> Result<Self, Stop> {
        let mut branches = Vec::with_capacity(2);
        if words.is_none_or(|words| !words.is_nothing()) {
            let mut planner = Planner { sight, work };
            for texts in sight.halves() {
                let Some(mut branch) = planner.filters(request, texts, words)? else { break };
                planner.add_words(request, texts.body, words, &mut branch)?;
                branches.push(planner.finish(texts.body, branch)?);
            }
        }
        Ok(Self { branches })
    }

    /// By half of the scope, all that its documents must have or not have but for the words that are weighed in relevance
    /// order: a branch each, or `None` where that is nothing at all. No half where nothing can match.
    pub(super) fn filters(
        sight: &Sight<'_>,
        request: &Request<'_>,
        words: &Words,
        work: &mut Work,
    ) -> Result<Vec<(TextFields, Option<Branch>)>, Stop> {
        let mut planner = Planner { sight, work };
        let mut halves = Vec::with_capacity(2);
        for texts in sight.halves() {
            let Some(branch) = planner.filters(request, texts, Some(words))? else { break };
            let is_nothing = branch.required.is_empty() && branch.excluded.is_empty();
            let branch = if is_nothing { None } else { Some(planner.finish(texts.body, branch)?) };
            halves.push((texts, branch));
        }
        Ok(halves)
    }
}

struct Planner<'a> {
    sight: &'a Sight<'a>,
    work: &'a mut Work,
}

impl Planner<'_> {
    /// What a document of this half must have or not have besides unquoted words; `None` where nothing has it.
    fn filters(
        &mut self,
        request: &Request<'_>,
        texts: TextFields,
        words: Option<&Words>,
    ) -> Result<Option<Branch>, Stop> {
        let fields = self.sight.view.fields;
        let author = request.author.map(author_pieces).unwrap_or_default();
        if author.is_empty() && request.author.is_some() {
            return Ok(None);
        }
        let are_quotes_required = words.is_none_or(Words::are_quoted);
        let mut branch = Branch::default();
        for clause in &request.query.clauses {
            let field = match clause.target {
                Target::Text => texts.body,
                Target::Author => fields.author,
            };
            if clause.exclude {
                let mut needs = self.needs(&clause.pieces, field)?;
                match needs.len() {
                    1 => branch.excluded.append(&mut needs),
                    _ => branch.excluded.push(Need::Every(needs)),
                }
            } else if clause.target == Target::Author || clause.quoted && are_quotes_required {
                branch.required.append(&mut self.needs(&clause.pieces, field)?);
            }
        }
        branch.required.append(&mut self.needs(&author, fields.author)?);
        if texts.body == fields.restricted.body
            && let Some(viewer) = &self.sight.viewer
        {
            branch.required.push(Need::Seen(viewer.clone(), self.sight.prefix.as_str().into()));
        }
        Ok(Some(branch))
    }

    /// Adds what makes a match among the unquoted words.
    fn add_words(
        &mut self,
        request: &Request<'_>,
        text: Field,
        words: Option<&Words>,
        branch: &mut Branch,
    ) -> Result<(), Stop> {
        match words {
            // What is quoted is required already, and then the other words only weigh.
            Some(words) if words.are_none() || words.are_quoted() => {}
            Some(words) => {
                let terms: Vec<Term> = words.finding().map(|word| self.sight.term(text, word)).collect();
                branch.required.push(self.any_term(terms)?);
            }
            None => {
                let is_word =
                    |clause: &&Clause| !clause.exclude && clause.target == Target::Text && !clause.quoted;
                for clause in request.query.clauses.iter().filter(is_word) {
                    branch.required.append(&mut self.needs(&clause.pieces, text)?);
                }
            }
        }
        Ok(())
    }

    fn finish(&mut self, text: Field, mut branch: Branch) -> Result<Branch, Stop> {
        // Only texts are kept apart by who may see them, so a branch without one holds itself to its half.
        if !branch.required.iter().any(|need| need.is_of(text)) {
            branch.required.push(self.whole_term(text, "")?);
        }
        // What costs least to look for first: where it is not in a segment, the rest need not be looked for.
        branch.required.sort_by_key(Need::rank);
        Ok(branch)
    }

    /// Any of the terms, be it one: which they are may change from commit to commit, and stands in the fingerprint of totals.
    fn any_term(&mut self, terms: Vec<Term>) -> Result<Need, Stop> {
        self.work.take(terms.len() as u64 * self.sight.view.segments.len() as u64 * LOOK_UP)?;
        let places = terms.iter().map(|term| self.sight.view.places(term)).collect::<Result<_, _>>()?;
        Ok(Need::AnyTerm(terms.into(), places))
    }

    fn needs(&mut self, pieces: &[Piece], field: Field) -> Result<Vec<Need>, Stop> {
        pieces.iter().map(|piece| self.need(piece, field)).collect()
    }

    fn need(&mut self, piece: &Piece, field: Field) -> Result<Need, Stop> {
        Ok(match piece {
            Piece::Term(word) => self.whole_term(field, word)?,
            Piece::Phrase(words) => {
                self.work.take((words.len() * self.sight.view.segments.len()) as u64 * LOOK_UP)?;
                let terms: Vec<(usize, Term)> =
                    words.iter().map(|(offset, word)| (*offset, self.sight.term(field, word))).collect();
                let places =
                    terms.iter().map(|(_, term)| self.sight.view.places(term)).collect::<Result<_, _>>()?;
                let scoring = EnableScoring::disabled_from_searcher(&self.sight.view.searcher);
                let weight = PhraseQuery::new_with_offset(terms.clone()).weight(scoring)?;
                Need::Phrase(terms.into(), places, weight)
            }
            Piece::Prefix { stem, start } => {
                let words =
                    expansion::words(self.sight.view, field, &self.sight.prefix, start, stem, self.work)?;
                if words.is_one() { self.whole_term(field, stem)? } else { Need::Words(words) }
            }
        })
    }

    fn whole_term(&mut self, field: Field, word: &str) -> Result<Need, Stop> {
        self.term(self.sight.term(field, word))
    }

    fn term(&mut self, term: Term) -> Result<Need, Stop> {
        self.work.take(self.sight.view.segments.len() as u64 * LOOK_UP)?;
        let places = self.sight.view.places(&term)?;
        Ok(Need::Term(term, places))
    }
}

impl Need {
    /// Whether what has it is in this field.
    fn is_of(&self, field: Field) -> bool {
        match self {
            Self::Term(term, _) => term.field() == field,
            Self::AnyTerm(terms, _) => terms.iter().all(|term| term.field() == field),
            Self::Phrase(terms, ..) => terms.iter().all(|(_, term)| term.field() == field),
            Self::Words(expansion) => expansion.is_of(field),
            Self::Seen(..) => false,
            Self::Every(needs) => needs.iter().any(|need| need.is_of(field)),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Term(..) => 0,
            Self::AnyTerm(..) | Self::Phrase(..) | Self::Every(_) => 1,
            Self::Words(_) => 2,
            Self::Seen(..) => 3,
        }
    }
}
