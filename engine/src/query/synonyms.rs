//! An operator's synonyms.
//!
//! A term stands for typed words side by side, outside quotes, exclusions and authors. Its synonyms are alternatives of these
//! words, never of each other's synonyms.

use std::collections::HashMap;
use std::sync::Arc;

use super::clauses::{plain_pieces, single_piece};
use super::{Clause, MAX_TERMS, Piece, Query, Target};
use crate::text::{is_acronym, is_ideograph};

/// Terms of a tenant and their synonyms.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Synonyms {
    /// Terms by their first word.
    terms: HashMap<String, Vec<Term>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    units: Vec<Piece>,
    synonyms: Vec<Arc<Synonym>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Synonym {
    piece: Piece,
    /// At offsets from the first.
    words: Vec<(usize, String)>,
}

/// Typed words, and the synonyms beside them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SynonymMatch {
    /// Terms.
    pub typed: Vec<String>,
    /// Words of each synonym, at offsets from its first.
    pub synonyms: Vec<Vec<(usize, String)>>,
}

impl Synonyms {
    /// Terms of a group stand for each other; those of `one_way` for what follows them.
    pub fn new(groups: &[Vec<String>], one_way: &[(String, Vec<String>)]) -> Self {
        let mut synonyms = Self::default();
        let read = |terms: &[String]| -> Vec<Option<Arc<Synonym>>> {
            terms.iter().map(|term| Synonym::read(term).map(Arc::new)).collect()
        };
        for group in groups {
            let read = read(group);
            for (number, term) in group.iter().enumerate() {
                let others = read.iter().enumerate().filter(|(other, _)| *other != number);
                synonyms.add(term, others.filter_map(|(_, synonym)| synonym.clone()));
            }
        }
        for (from, to) in one_way {
            synonyms.add(from, read(to).into_iter().flatten());
        }
        synonyms
    }

    fn add(&mut self, term: &str, to: impl IntoIterator<Item = Arc<Synonym>>) {
        let units = units_of(&plain_pieces(&as_acronym(term)));
        let Some(first) = units.first().and_then(first_word) else { return };
        let terms = self.terms.entry(first.to_owned()).or_default();
        let place = terms.iter().position(|known| known.units == units).unwrap_or_else(|| {
            terms.push(Term { units, synonyms: Vec::new() });
            terms.len() - 1
        });
        let known = &mut terms[place];
        for synonym in to {
            if !known.synonyms.contains(&synonym) && known.units != [synonym.piece.clone()] {
                known.synonyms.push(synonym);
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The longest term at the beginning of these units.
    fn find(&self, units: &[Unit]) -> Option<&Term> {
        let terms = self.terms.get(first_word(&units.first()?.piece)?)?;
        let begins = |term: &&Term| {
            let typed = units.iter().map(|unit| unit.piece.finished());
            term.units.len() <= units.len() && typed.zip(&term.units).all(|(typed, unit)| typed == *unit)
        };
        terms.iter().filter(begins).max_by_key(|term| term.units.len())
    }
}

impl Synonym {
    fn read(term: &str) -> Option<Self> {
        let (piece, words) = single_piece(&as_acronym(term))?;
        Some(Self { piece, words })
    }
}

/// A lone stop word, such as `it`, is meant as `IT`.
fn as_acronym(term: &str) -> String {
    let capitals = term.trim().to_uppercase();
    if is_acronym(&capitals) { capitals } else { term.to_owned() }
}

/// A piece that a term may hold, or one character of a phrase.
#[derive(Clone)]
struct Unit {
    /// Number of its clause.
    clause: usize,
    piece: Piece,
    /// Goes on the phrase of the unit before.
    is_joined: bool,
}

fn units_of(pieces: &[Piece]) -> Vec<Piece> {
    pieces.iter().flat_map(|piece| split(piece).into_iter().map(|(unit, _)| unit.finished())).collect()
}

/// Characters of a phrase, each with whether it goes on one; other pieces are whole.
fn split(piece: &Piece) -> Vec<(Piece, bool)> {
    match piece {
        Piece::Phrase(words) if words.iter().enumerate().all(|(place, (offset, _))| place == *offset) => {
            let unit = |(place, (_, word)): (usize, &(usize, String))| (Piece::Term(word.clone()), place > 0);
            words.iter().enumerate().map(unit).collect()
        }
        whole => vec![(whole.clone(), false)],
    }
}

fn first_word(piece: &Piece) -> Option<&str> {
    match piece {
        Piece::Term(word) | Piece::Prefix { stem: word, .. } => Some(word),
        Piece::Phrase(words) => words.first().map(|(_, word)| word.as_str()),
        Piece::Either(alternatives) => first_word(alternatives.first()?.first()?),
    }
}

impl Clause {
    /// Plain words, or ideographs outside the dictionary.
    fn may_hold_term(&self) -> bool {
        let begins_with_ideograph =
            || self.pieces.first().and_then(first_word).is_some_and(|word| word.starts_with(is_ideograph));
        let is_word = !self.quoted || self.exact && begins_with_ideograph();
        is_word && !self.exclude && self.target == Target::Text
    }
}

impl Query {
    /// Adds synonyms as alternatives of the typed words.
    #[must_use]
    pub fn with_synonyms(self, synonyms: &Synonyms) -> Self {
        if synonyms.is_empty() {
            return self;
        }
        let terms = self.clauses.iter().flat_map(|clause| &clause.pieces).map(Piece::terms).sum::<usize>();
        let mut expansion =
            Expansion { synonyms, terms_left: MAX_TERMS.saturating_sub(terms), matches: Vec::new() };
        let mut clauses: Vec<Clause> = Vec::with_capacity(self.clauses.len());
        for run in self.clauses.chunk_by(|left, right| left.may_hold_term() && right.may_hold_term()) {
            match run {
                [first, ..] if first.may_hold_term() => clauses.extend(expansion.expand(run)),
                [token] if token.exact && !token.exclude => clauses.push(expansion.expand_whole(token)),
                others => clauses.extend_from_slice(others),
            }
        }
        Self { clauses, synonyms: expansion.matches, ..self }
    }
}

struct Expansion<'a> {
    synonyms: &'a Synonyms,
    terms_left: usize,
    matches: Vec<SynonymMatch>,
}

impl Expansion<'_> {
    /// Plain clauses side by side; a term may go over several.
    fn expand(&mut self, clauses: &[Clause]) -> Vec<Clause> {
        if let [alone] = clauses
            && let Some(expanded) = self.expand_stop_word(alone)
        {
            return vec![expanded];
        }
        let mut units = Vec::new();
        for (clause, pieces) in clauses.iter().map(|clause| &clause.pieces).enumerate() {
            for (piece, is_joined) in pieces.iter().flat_map(split) {
                units.push(Unit { clause, piece, is_joined });
            }
        }
        let mut expanded: Vec<Unit> = Vec::with_capacity(units.len());
        let mut rest = units.as_mut_slice();
        while let Some(mut unit) = rest.first().cloned() {
            let term = self.synonyms.find(rest);
            let either =
                term.and_then(|term| Some((self.either(&rest[..term.units.len()], &term.synonyms)?, term)));
            let mut taken = 1;
            if let Some((piece, term)) = either {
                taken = term.units.len();
                unit = Unit { piece, is_joined: false, ..unit };
                if let Some(next) = rest.get_mut(taken) {
                    next.is_joined = false;
                }
            }
            expanded.push(unit);
            rest = &mut rest[taken..];
        }
        let in_clause = |(number, clause): (usize, &Clause)| {
            let units: Vec<Unit> = expanded.iter().filter(|unit| unit.clause == number).cloned().collect();
            Clause { pieces: joined(&units), ..clause.clone() }
        };
        let clauses = clauses.iter().enumerate().map(in_clause);
        clauses.filter(|clause| !clause.pieces.is_empty()).collect()
    }

    /// A lone stop word, such as `it`, may mean the acronym.
    fn expand_stop_word(&mut self, clause: &Clause) -> Option<Clause> {
        let [piece] = clause.pieces.as_slice() else { return None };
        let acronym = first_word(piece).map(str::to_uppercase).filter(|capitals| is_acronym(capitals))?;
        let acronym = Synonym { piece: Piece::Term(acronym.clone()), words: vec![(0, acronym)] };
        let unit = |piece: Piece| Unit { clause: 0, piece, is_joined: false };
        let term = self.synonyms.find(&[unit(acronym.piece.clone())])?;
        let synonyms = [&[Arc::new(acronym)], term.synonyms.as_slice()].concat();
        let pieces = vec![self.either(&[unit(piece.clone())], &synonyms)?];
        Some(Clause { pieces, ..clause.clone() })
    }

    /// An exact token is a term or no part of one.
    fn expand_whole(&mut self, token: &Clause) -> Clause {
        let pieces = token.pieces.iter().flat_map(split);
        let units: Vec<Unit> =
            pieces.map(|(piece, is_joined)| Unit { clause: 0, piece, is_joined }).collect();
        let term = self.synonyms.find(&units).filter(|term| term.units.len() == units.len());
        let pieces = term.and_then(|term| Some(vec![self.either(&units, &term.synonyms)?]));
        Clause { pieces: pieces.unwrap_or_else(|| token.pieces.clone()), ..token.clone() }
    }

    /// The typed words or a synonym; `None` if the query has no room.
    fn either(&mut self, typed: &[Unit], synonyms: &[Arc<Synonym>]) -> Option<Piece> {
        let mut alternatives = vec![joined(typed)];
        let mut words = Vec::new();
        for synonym in synonyms {
            let Some(left) = self.terms_left.checked_sub(synonym.piece.terms()) else { break };
            self.terms_left = left;
            alternatives.push(vec![synonym.piece.clone()]);
            words.push(synonym.words.clone());
        }
        if words.is_empty() {
            return None;
        }
        let typed = typed.iter().flat_map(|unit| unit.piece.words()).map(str::to_owned).collect();
        self.matches.push(SynonymMatch { typed, synonyms: words });
        Some(Piece::Either(alternatives))
    }
}

/// Pieces of units; characters side by side become a phrase again.
fn joined(units: &[Unit]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for phrase in units.chunk_by(|_, next| next.is_joined) {
        let words = phrase.iter().filter_map(|unit| first_word(&unit.piece)).map(str::to_owned);
        let piece =
            if let [only] = phrase { only.piece.clone() } else { Piece::Phrase(words.enumerate().collect()) };
        if !pieces.contains(&piece) {
            pieces.push(piece);
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn synonyms() -> Synonyms {
        let terms = |terms: &[&str]| terms.iter().map(|&term| term.to_owned()).collect::<Vec<String>>();
        let groups = [
            terms(&["IT", "信息技术"]),
            terms(&["annual leave", "vacation"]),
            terms(&["信技部", "IT department"]),
            terms(&["XK-7702", "mainframe"]),
            terms(&["岚科 系统", "ERP"]),
        ];
        Synonyms::new(&groups, &[("computer".to_owned(), terms(&["laptop", "desktop pc"]))])
    }

    fn term(word: &str) -> Piece {
        Piece::Term(word.to_owned())
    }

    fn phrase(words: &[&str]) -> Piece {
        Piece::Phrase(words.iter().map(|&word| word.to_owned()).enumerate().collect())
    }

    fn pieces(keyword: &str) -> Vec<Piece> {
        let query = Query::parse(&format!("{keyword} ")).with_synonyms(&synonyms());
        query.clauses.into_iter().flat_map(|clause| clause.pieces).collect()
    }

    fn is_unchanged(keyword: &str) -> bool {
        Query::parse(keyword).with_synonyms(&synonyms()) == Query::parse(keyword)
    }

    #[test]
    fn terms_of_a_group_stand_for_each_other() {
        let either = |first: Vec<Piece>, second: Piece| Piece::Either(vec![first, vec![second]]);
        assert_eq!(pieces("IT budget"), [either(vec![term("IT")], term("信息技术")), term("budget")]);
        assert_eq!(pieces("信息技术预算"), [either(vec![term("信息技术")], term("IT")), term("预算")]);
        assert_eq!(pieces("vacation"), [either(vec![term("vacat")], phrase(&["annual", "leav"]))]);
        let leave = either(vec![term("annual"), term("leav")], term("vacat"));
        assert_eq!(pieces("my Annual leave form"), [term("my"), leave, term("form")]);
    }

    #[test]
    fn one_way_synonyms_do_not_stand_for_their_term() {
        let alternatives = vec![vec![term("comput")], vec![term("laptop")], vec![phrase(&["desktop", "pc"])]];
        assert_eq!(pieces("computer"), [Piece::Either(alternatives)]);
        assert!(is_unchanged("laptop"));
    }

    #[test]
    fn term_outside_the_dictionary_is_found_among_characters() {
        let found = pieces("信技部的流程");
        let alternatives = vec![vec![phrase(&["信", "技", "部"])], vec![phrase(&["IT", "depart"])]];
        assert_eq!(found, [Piece::Either(alternatives), term("的"), term("流程")]);
        assert!(pieces("岚科 系统")[0].has("erp"), "a term may go on after a space");
    }

    #[test]
    fn exact_token_stays_exact_beside_its_synonyms() {
        let clauses = Query::parse("xk7702 ").with_synonyms(&synonyms()).clauses;
        assert!(clauses.iter().all(|clause| !clause.exact));
        let clauses = Query::parse("XK-7702 ").with_synonyms(&synonyms()).clauses;
        assert!(matches!(&clauses[..], [Clause { exact: true, pieces, .. }] if pieces[0].has("mainfram")));
    }

    #[test]
    fn quoted_excluded_and_partial_terms_have_no_synonyms() {
        for keyword in
            ["\"annual leave\"", "-vacation", "author:vacation", "annual", "annual -x leave", "leave it"]
        {
            assert!(is_unchanged(keyword), "{keyword}");
        }
        let alternatives = [vec![term("it")], vec![term("IT")], vec![term("信息技术")]];
        assert_eq!(pieces("it"), [Piece::Either(alternatives.to_vec())], "alone it may be the acronym");
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        #[test]
        fn any_keyword_stays_bounded(
            parts in prop::collection::vec(
                prop::sample::select(vec!["IT", "信息技术", "annual", "leave", "vacation", "信技部", "的", "XK-7702", "x", "\""]),
                0..200,
            ),
            separator in prop::sample::select(vec!["", " ", "-"]),
        ) {
            let query = Query::parse(&parts.join(separator)).with_synonyms(&synonyms());
            super::super::tests::check_bounds(&query)?;
        }
    }
}
