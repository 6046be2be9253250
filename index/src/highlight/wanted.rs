//! What a query asks of a text, ready to be looked for in many.

use std::collections::HashMap;

use super::marks::{Mark, Matched};
use crate::Query;
use crate::query::{MAX_TERMS, Piece, Target};
use crate::text::{Run, Sound, is_ideograph, placed_runs, stem};

// Each term has a bit.
const _: () = assert!(MAX_TERMS <= u128::BITS as usize && MAX_TERMS / 2 <= u64::BITS as usize);

/// What a query asks of a text.
#[derive(Debug, Clone, Default)]
pub(super) struct Wanted {
    /// Words, by themselves: their stems and the terms' bits.
    words: HashMap<String, u128>,
    /// What a word may begin with.
    beginnings: Vec<(String, u128)>,
    /// Words of ideographs, by their first character.
    ideographs: HashMap<char, Vec<(String, u128)>>,
    /// The letters (the first bytes) that words begin with.
    initials: Vec<u8>,
    /// So many terms have a bit.
    count: u32,
    /// The terms that are asked for by themselves.
    alone: u128,
    /// Terms at offsets from the first one.
    phrases: Vec<Vec<(usize, u128)>>,
}

/// A place of a folded text where terms stand.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// As phrases count.
    position: usize,
    /// In bytes.
    start: usize,
    end: usize,
    terms: u128,
}

impl Wanted {
    pub(super) fn of(query: &Query) -> Self {
        let mut wanted = Self::default();
        let clauses = query.clauses.iter().filter(|clause| !clause.exclude && clause.target == Target::Text);
        for piece in clauses.flat_map(|clause| &clause.pieces) {
            match piece {
                Piece::Term(term) => wanted.alone |= wanted.term(term),
                Piece::Prefix { stem, start } => {
                    let term = wanted.term(stem);
                    wanted.alone |= term;
                    wanted.add_initial(start);
                    wanted.beginnings.push((start.clone(), term));
                }
                Piece::Phrase(terms) => {
                    let phrase = terms.iter().map(|(offset, term)| (*offset, wanted.term(term))).collect();
                    wanted.phrases.push(phrase);
                }
            }
        }
        wanted
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The bit of a term.
    fn term(&mut self, term: &str) -> u128 {
        let new = 1_u128.checked_shl(self.count).unwrap_or_default();
        let bit = if let Some(first) = term.chars().next().filter(|first| is_ideograph(*first)) {
            let begun = self.ideographs.entry(first).or_default();
            let known = begun.iter().find(|(other, _)| other == term).map(|(_, bit)| *bit);
            known.unwrap_or_else(|| {
                begun.push((term.to_owned(), new));
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

    /// Where terms stand, in order; of a name also where it is typed so, by its `sounds`.
    pub(super) fn places(&self, folded: &str, sounds: &[Sound]) -> Vec<Place> {
        let mut places = Vec::new();
        let mut sounds = sounds;
        let mut position = 0;
        for (bytes, run) in placed_runs(folded) {
            match run {
                Run::Word(word) => {
                    let terms = self.terms_of(word);
                    if terms != 0 {
                        places.push(Place { position, start: bytes.start, end: bytes.end, terms });
                    }
                    let here = sounds.partition_point(|sound| sound.place.start <= bytes.start);
                    self.add_sounding(position, &sounds[..here], &mut places);
                    sounds = &sounds[here..];
                    position += 1;
                }
                Run::Ideographs(run) => {
                    for (offset, character) in run.char_indices() {
                        let begun = self.ideographs.get(&character).map_or(&[][..], Vec::as_slice);
                        let start = bytes.start + offset;
                        let stands =
                            begun.iter().filter(|(term, _)| run[offset..].starts_with(term.as_str()));
                        places.extend(stands.map(|(term, bit)| Place {
                            position,
                            start,
                            end: start + term.len(),
                            terms: *bit,
                        }));
                        let here = sounds.partition_point(|sound| sound.place.start <= start);
                        self.add_sounding(position, &sounds[..here], &mut places);
                        sounds = &sounds[here..];
                        position += 1;
                    }
                }
            }
        }
        places
    }

    /// The places of terms that are typed as these stretches sound, all of which begin at the same character: each term at the
    /// shortest of them.
    fn add_sounding(&self, position: usize, sounds: &[Sound], places: &mut Vec<Place>) {
        let mut found = 0;
        let mut add = |terms_of: &dyn Fn(&str) -> u128| {
            for Sound { place, word } in sounds {
                let terms = terms_of(word) & !found;
                if terms != 0 {
                    places.push(Place { position, start: place.start, end: place.end, terms });
                    found |= terms;
                }
            }
        };
        // Who types `zhangs` means 张三 before all who are called `zhang`, which is its stem.
        add(&|word| self.begun_by(word));
        add(&|word| self.terms_of(word));
    }

    /// The terms that a word is found by: a document is indexed under the word and its stem.
    fn terms_of(&self, word: &str) -> u128 {
        // Stemming leaves the first letter as it is, and takes longer than all else.
        if !word.bytes().next().is_some_and(|first| self.initials.contains(&first)) {
            return 0;
        }
        let of = |word: &str| self.words.get(word).copied().unwrap_or(0);
        let stem = stem(word);
        of(&stem) | of(word) | self.begun_by(&stem) | self.begun_by(word)
    }

    /// The terms that are the beginning of a word.
    fn begun_by(&self, word: &str) -> u128 {
        let begun = self.beginnings.iter().filter(|(start, _)| word.starts_with(start.as_str()));
        begun.fold(0, |terms, (_, bit)| terms | bit)
    }

    /// What matches, phrases where they stand as a whole; in bytes of the folded text.
    pub(super) fn matches(&self, places: &[Place]) -> Vec<Mark> {
        let alone = places.iter().filter(|place| place.terms & self.alone != 0).map(|place| Mark {
            start: place.start,
            end: place.end,
            matched: Matched { terms: place.terms & self.alone, phrases: 0 },
        });
        let mut marks: Vec<Mark> = alone.collect();
        for (number, phrase) in self.phrases.iter().enumerate() {
            let matched = Matched { terms: 0, phrases: 1 << number };
            for (first, place) in places.iter().enumerate() {
                if let Some(end) = end_of_phrase(phrase, &places[first..]) {
                    marks.push(Mark { start: place.start, end, matched });
                }
            }
        }
        marks
    }
}

/// Where the phrase ends that begins at the first of the places, if it does.
fn end_of_phrase(phrase: &[(usize, u128)], places: &[Place]) -> Option<usize> {
    let first = places.first()?;
    let mut rest = places;
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
