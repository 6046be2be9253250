//! Terms of a query, prepared for many texts.

use std::collections::HashMap;

use super::marks::{Mark, MatchBits};
use crate::Query;
use crate::query::{MAX_TERMS, Piece, Target};
use crate::text::{PlacedRun, ScriptRun, WordVariant, is_ideograph, stem, syllable_term, syllables};

// Each term and each phrase has a bit.
const _: () = assert!(MAX_TERMS <= u128::BITS as usize && MAX_TERMS / 2 <= u64::BITS as usize);

#[derive(Debug, Clone, Default)]
pub(super) struct HighlightQuery {
    words: HashMap<String, u128>,
    prefixes: Vec<(String, u128)>,
    ideographs: HashMap<char, Vec<(String, u128)>>,
    /// First bytes of stems and prefixes.
    initials: Vec<u8>,
    count: u32,
    single_terms: u128,
    /// Terms at offsets.
    phrases: Vec<Vec<(usize, u128)>>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct TermPosition {
    position: usize,
    start: usize,
    end: usize,
    terms: u128,
}

impl HighlightQuery {
    pub(super) fn new(query: &Query) -> Self {
        let mut highlight = Self::default();
        let clauses = query.clauses.iter().filter(|clause| !clause.exclude && clause.target == Target::Text);
        clauses.flat_map(|clause| &clause.pieces).for_each(|piece| highlight.add(piece));
        highlight
    }

    fn add(&mut self, piece: &Piece) {
        match piece {
            Piece::Term(term) => self.single_terms |= self.term(term),
            Piece::Prefix { stem, start } => {
                let term = self.term(stem);
                self.single_terms |= term;
                self.add_initial(start);
                self.prefixes.push((start.clone(), term));
            }
            Piece::Phrase(terms) => {
                let phrase = terms.iter().map(|(offset, term)| (*offset, self.term(term))).collect();
                self.phrases.push(phrase);
            }
            Piece::Either(alternatives) => alternatives.iter().flatten().for_each(|piece| self.add(piece)),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn term(&mut self, term: &str) -> u128 {
        let new = 1_u128.checked_shl(self.count).unwrap_or_default();
        let bit = if let Some(first) = term.chars().next().filter(|first| is_ideograph(*first)) {
            let candidates = self.ideographs.entry(first).or_default();
            let existing = candidates.iter().find(|(other, _)| other == term).map(|(_, bit)| *bit);
            existing.unwrap_or_else(|| {
                candidates.push((term.to_owned(), new));
                new
            })
        } else {
            self.add_initial(term);
            *self.words.entry(term.to_owned()).or_insert(new)
        };
        self.count += u32::from(bit == new);
        bit
    }

    fn add_initial(&mut self, word: &str) {
        self.initials.extend(word.bytes().next().filter(|first| !self.initials.contains(first)));
    }

    /// Returns the positions of terms in order, also those by variants.
    pub(super) fn term_positions(
        &self,
        runs: &[PlacedRun<'_>],
        variants: &[WordVariant],
    ) -> Vec<TermPosition> {
        let mut positions = Vec::new();
        let mut variants = variants;
        let mut position = 0;
        for (bytes, run) in runs {
            match run {
                ScriptRun::Word(word) => {
                    let terms = self.terms_of(word);
                    if terms != 0 {
                        positions.push(TermPosition { position, start: bytes.start, end: bytes.end, terms });
                    }
                    let here = variants.partition_point(|variant| variant.place.start < bytes.end);
                    self.add_variants(position, terms, &variants[..here], &mut positions);
                    variants = &variants[here..];
                    position += 1;
                }
                ScriptRun::Syllables(run) => {
                    let ends = syllables(run).map(|(start, _)| start).skip(1).chain([run.len()]);
                    let ends: Vec<usize> = ends.collect();
                    for (number, (offset, _)) in syllables(run).enumerate() {
                        for end in ends.iter().skip(number).take(2) {
                            let term = syllable_term(&run[offset..*end]);
                            let terms = self.words.get(term).copied().unwrap_or(0);
                            if terms != 0 {
                                let (start, end) = (bytes.start + offset, bytes.start + end);
                                positions.push(TermPosition { position, start, end, terms });
                            }
                        }
                        position += 1;
                    }
                }
                ScriptRun::Ideographs(run) => {
                    for (offset, character) in run.char_indices() {
                        let candidates = self.ideographs.get(&character).map_or(&[][..], Vec::as_slice);
                        let start = bytes.start + offset;
                        let end = start + character.len_utf8();
                        let matching =
                            candidates.iter().filter(|(term, _)| run[offset..].starts_with(term.as_str()));
                        positions.extend(matching.map(|(term, bit)| TermPosition {
                            position,
                            start,
                            end: start + term.len(),
                            terms: *bit,
                        }));
                        let here = variants.partition_point(|variant| variant.place.start < end);
                        self.add_variants(position, 0, &variants[..here], &mut positions);
                        variants = &variants[here..];
                        position += 1;
                    }
                }
            }
        }
        positions
    }

    /// Adds the shortest variant for each term that was not found yet.
    fn add_variants(
        &self,
        position: usize,
        mut found: u128,
        variants: &[WordVariant],
        positions: &mut Vec<TermPosition>,
    ) {
        let mut add = |terms_of: &dyn Fn(&str) -> u128| {
            for WordVariant { place, word } in variants {
                let terms = terms_of(word) & !found;
                if terms != 0 {
                    positions.push(TermPosition { position, start: place.start, end: place.end, terms });
                    found |= terms;
                }
            }
        };
        // `zhangs` means 张三 before 张, whose stem it also is.
        add(&|word| self.prefix_terms(word));
        add(&|word| self.terms_of(word));
    }

    /// Terms that match a word or its stem.
    fn terms_of(&self, word: &str) -> u128 {
        // Stemming keeps the first letter, and is the slowest step.
        if !word.bytes().next().is_some_and(|first| self.initials.contains(&first)) {
            return 0;
        }
        let of = |word: &str| self.words.get(word).copied().unwrap_or(0);
        let stem = stem(word);
        of(&stem) | of(word) | self.prefix_terms(&stem) | self.prefix_terms(word)
    }

    fn prefix_terms(&self, word: &str) -> u128 {
        let candidates = self.prefixes.iter().filter(|(start, _)| word.starts_with(start.as_str()));
        candidates.fold(0, |terms, (_, bit)| terms | bit)
    }

    /// Returns the marks, in bytes of the folded text.
    pub(super) fn matches(&self, positions: &[TermPosition]) -> Vec<Mark> {
        let single_terms =
            positions.iter().filter(|place| place.terms & self.single_terms != 0).map(|place| Mark {
                start: place.start,
                end: place.end,
                matched: MatchBits { terms: place.terms & self.single_terms, phrases: 0 },
            });
        let mut marks: Vec<Mark> = single_terms.collect();
        for (number, phrase) in self.phrases.iter().enumerate() {
            let matched = MatchBits { terms: 0, phrases: 1 << number };
            for (first, place) in positions.iter().enumerate() {
                if let Some(end) = end_of_phrase(phrase, &positions[first..]) {
                    marks.push(Mark { start: place.start, end, matched });
                }
            }
        }
        marks
    }
}

/// End of the phrase, if it starts at the first position.
fn end_of_phrase(phrase: &[(usize, u128)], positions: &[TermPosition]) -> Option<usize> {
    let first = positions.first()?;
    let mut rest = positions;
    let mut end = None;
    for (offset, term) in phrase {
        let position = first.position + offset;
        let skipped = rest.iter().take_while(|place| place.position < position).count();
        rest = &rest[skipped..];
        let mut here = rest.iter().take_while(|place| place.position == position);
        let found = here.find(|place| place.terms & term != 0)?;
        end = end.max(Some(found.end));
    }
    end
}
