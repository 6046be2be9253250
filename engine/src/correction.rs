//! Words that are found nowhere, and the likeliest words one edit away.

mod homophones;
mod lookup;
mod pinyin;
mod words;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};

pub use self::homophones::WordPart;
pub use self::lookup::{Lookup, unknown_words};
pub use self::words::CorrectableWord;
use self::words::replace_words;
use crate::Query;
use crate::query::{Piece, Target, reads_acronyms};
use crate::text::{ScriptRun, fold, is_ideograph, is_stop_word, query_words, runs, stem};

/// Words one edit away that an engine collects for each word.
pub const MAX_CANDIDATES: usize = 1_024;
/// Candidates from restricted documents, counted as the viewer sees them.
pub const MAX_RESTRICTED_CANDIDATES: usize = 256;
/// Hits of each scope whose titles tell what a word of pinyin spells.
pub const MAX_SPELLED: usize = 64;

const MAX_TRIED: usize = 16;
/// Words that tell which candidate is meant.
const MAX_NEIGHBOURS: usize = 5;
/// Documents added to those of a word, and their share with a neighbour.
const SMOOTHING: f64 = 10.0;
const SMOOTHING_SHARE: f64 = 0.02;
/// Logarithm of how much rarer a wrong first letter is.
const FIRST_LETTER: f64 = 1.5;
/// Longest known part of ideographs.
const MAX_KNOWN_CHARS: usize = 8;

/// A keyword with corrected words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Correction {
    /// To be searched for.
    pub keyword: String,
    /// Never empty.
    pub words: Vec<CorrectedWord>,
}

/// A word and the one in its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CorrectedWord {
    /// The word as typed.
    pub from: String,
    /// The word in its place, folded.
    pub to: String,
}

/// Words of a keyword that nothing shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnknownWords {
    /// `None` if none of them is replaced.
    pub correction: Option<Correction>,
    /// Single words without a correction or parts that are searched instead, as typed.
    pub uncorrected: Vec<String>,
}

impl UnknownWords {
    /// `unknown` are places among the correctable words, of which each has its correction.
    fn new(keyword: &str, unknown: &[usize], corrections: &[Option<String>]) -> Self {
        let (mut place, mut uncorrected) = (0, Vec::new());
        replace_words(keyword, |typed, word| {
            let correction = corrections.get(place).cloned().flatten();
            let is_replaced = correction.is_some() || word.has_parts();
            if !is_replaced && unknown.contains(&place) && !uncorrected.iter().any(|known| known == typed) {
                uncorrected.push(typed.to_owned());
            }
            place = word.next_place(place, correction.is_some());
            correction
        });
        Self { correction: Correction::new(keyword, corrections), uncorrected }
    }
}

impl Correction {
    /// Replaces correctable words by their corrections; `None` if nothing changes.
    fn new(keyword: &str, corrections: &[Option<String>]) -> Option<Self> {
        let mut place = 0;
        Self::replacing(keyword, |_, word| {
            let correction = corrections.get(place).cloned().flatten();
            place = word.next_place(place, correction.is_some());
            correction
        })
    }

    /// Keeps the words that are known after all; `None` if nothing changes.
    #[must_use]
    pub fn without(&self, keyword: &str, is_known: impl Fn(&str) -> bool) -> Option<Self> {
        let unknown: Vec<&CorrectedWord> = self.words.iter().filter(|word| !is_known(&word.from)).collect();
        Self::replacing(keyword, |typed, _| {
            unknown.iter().find(|word| word.from == typed).map(|word| word.to.clone())
        })
    }

    fn replacing(
        keyword: &str,
        mut correction: impl FnMut(&str, &CorrectableWord) -> Option<String>,
    ) -> Option<Self> {
        let mut words = Vec::new();
        // A word in small letters would make acronyms of the others.
        let is_in_capitals = !reads_acronyms(keyword);
        let keyword = replace_words(keyword, |typed, word| {
            let to = correction(typed, &word)?;
            let word = CorrectedWord { from: typed.to_owned(), to };
            if !words.contains(&word) {
                words.push(word.clone());
            }
            Some(if is_in_capitals { word.to.to_uppercase() } else { word.to })
        })?;
        Some(Self { keyword, words })
    }
}

/// Words that are never corrected, although nothing holds them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownWords {
    /// Folded, and their stems.
    words: HashSet<String>,
    /// Ideographs that are known within longer runs, too.
    parts: HashSet<String>,
}

impl KnownWords {
    /// The words of `texts`, and those of `terms` that are one word.
    pub fn new<'a>(
        texts: impl IntoIterator<Item = &'a String>,
        terms: impl IntoIterator<Item = &'a String>,
    ) -> Self {
        let mut known = Self::default();
        for folded in texts.into_iter().map(|text| fold(text)) {
            for run in runs(&folded) {
                known.add(run.text());
                if let ScriptRun::Ideographs(run) = run {
                    known.parts.insert(run.to_owned());
                }
            }
        }
        for folded in terms.into_iter().map(|term| fold(term)) {
            let mut runs = runs(&folded);
            if let (Some(only), None) = (runs.next(), runs.next()) {
                known.add(only.text());
            }
        }
        known
    }

    fn add(&mut self, word: &str) {
        self.words.insert(stem(word).into_owned());
        self.words.insert(word.to_owned());
    }

    /// Whether a word, its stem, or a part of ideographs is known.
    pub fn contains(&self, word: &str) -> bool {
        let word = fold(word);
        let has_known_part = || {
            word.char_indices().any(|(start, _)| {
                let rest = &word[start..];
                let ends = rest.char_indices().map(|(at, last)| at + last.len_utf8());
                ends.take(MAX_KNOWN_CHARS).skip(1).any(|end| self.parts.contains(&rest[..end]))
            })
        };
        self.words.contains(&*stem(&word))
            || self.words.contains(&*word)
            || !self.parts.is_empty() && word.starts_with(is_ideograph) && has_known_part()
    }

    /// The keyword without its known words, so that an engine corrects the others.
    pub fn left_out_of(&self, keyword: &str) -> String {
        if self.words.is_empty() {
            return keyword.to_owned();
        }
        let without = replace_words(keyword, |_, word| self.contains(&word.word).then(String::new));
        without.unwrap_or_else(|| keyword.to_owned())
    }
}

/// The words around one that is found nowhere.
#[derive(Debug)]
struct Context<'a> {
    keyword: &'a str,
    corrections: Vec<Option<String>>,
    place: usize,
    /// Stems, the nearest first.
    neighbours: Vec<String>,
}

impl<'a> Context<'a> {
    /// `unknown` are the places of words that are found nowhere, `place` one of them.
    fn new(
        keyword: &'a str,
        words: &[CorrectableWord],
        unknown: &[usize],
        place: usize,
        corrections: &[Option<String>],
    ) -> Self {
        let stems_of = |place: &usize| query_words(&words[*place].word).into_iter().map(|(_, word)| word);
        let own: Vec<String> = stems_of(&place).collect();
        let unknown = unknown.iter().filter(|place| corrections[**place].is_none());
        let unknown: Vec<String> = unknown.flat_map(stems_of).collect();
        let corrected = Correction::new(keyword, corrections);
        let typed = Query::parse(corrected.as_ref().map_or(keyword, |corrected| &corrected.keyword)).words;
        let own = typed.iter().find(|word| own.contains(&word.term)).map_or(0, |word| word.position);
        let mut neighbours: Vec<_> = typed
            .into_iter()
            .filter(|word| !is_stop_word(&word.term) && !unknown.contains(&word.term))
            .collect();
        neighbours.sort_by_key(|word| word.position.abs_diff(own));
        let mut neighbours: Vec<String> = neighbours.into_iter().map(|word| word.term).collect();
        neighbours.truncate(MAX_NEIGHBOURS);
        Self { keyword, corrections: corrections.to_vec(), place, neighbours }
    }

    /// Finds the words around it; `None` without any.
    fn neighbour_pieces(&self) -> Option<Vec<Piece>> {
        let pieces: Vec<Piece> = self.neighbours.iter().cloned().map(Piece::Term).collect();
        (!pieces.is_empty()).then_some(pieces)
    }

    /// Finds a candidate alone, with all other words, and with each neighbour.
    fn queries(&self, candidate: &str) -> Vec<Query> {
        let mut corrections = self.corrections.clone();
        corrections[self.place] = Some(candidate.to_owned());
        let together = Correction::new(self.keyword, &corrections);
        let together = together.map_or(self.keyword.to_owned(), |together| together.keyword);
        // A word with a space behind is no prefix.
        let [alone, together] = [candidate, &together].map(|text| Query::parse(&format!("{text} ")));
        let beside = |neighbour: &String| {
            let mut query = Target::Text.query(vec![Piece::Term(neighbour.clone())]);
            query.clauses.extend_from_slice(&alone.clauses);
            query
        };
        let beside: Vec<Query> = self.neighbours.iter().map(beside).collect();
        [vec![alone, together.without_question_words()], beside].concat()
    }
}

/// A word in the place of another.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LikeliestWord {
    /// Folded.
    word: String,
    /// Whether some document holds it beside all other words.
    is_together: bool,
}

impl LikeliestWord {
    /// The first one that stands beside all other words, else the first.
    fn better_of(first: Option<Self>, second: Option<Self>) -> Option<Self> {
        match (first, second) {
            (Some(first), Some(second)) if second.is_together && !first.is_together => Some(second),
            (first, second) => first.or(second),
        }
    }
}

/// Chooses by what [`Context::queries`] of each candidate found: a word beside all others, then the likeliest.
///
/// The likelihood is that of a naive Bayes classifier over the neighbours.
#[expect(clippy::cast_precision_loss, reason = "counts of documents")]
fn likeliest(word: &str, candidates: Vec<String>, found: &[Vec<u64>]) -> Option<LikeliestWord> {
    let first = word.chars().next();
    let score = |candidate: &str, counts: &[u64]| {
        let [alone, together, beside @ ..] = counts else { return None };
        if *alone == 0 {
            return None;
        }
        let alone = *alone as f64;
        let beside = beside.iter().map(|count| *count as f64 + SMOOTHING * SMOOTHING_SHARE);
        let context: f64 = beside.map(|beside| (beside / (alone + SMOOTHING)).ln()).sum();
        let begins_alike = candidate.chars().next() == first;
        let prior = alone.ln() + if begins_alike { FIRST_LETTER } else { 0.0 };
        Some((*together > 0, prior + context))
    };
    let scored = candidates.into_iter().zip(found);
    let scored = scored.filter_map(|(candidate, counts)| Some((score(&candidate, counts)?, candidate)));
    // The first of equal candidates stays.
    let best = scored.reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.map(|((is_together, _), word)| LikeliestWord { word, is_together })
}

/// Words to try: those with an equal first letter, then by document frequency.
fn by_likelihood(word: &str, candidates: &BTreeMap<String, u64>) -> Vec<String> {
    // Forms of a stem are one word. A stem like `compani` yields to a word.
    let mut by_stem: BTreeMap<Cow<'_, str>, Vec<(&str, u64)>> = BTreeMap::new();
    for (candidate, &documents) in candidates {
        by_stem.entry(stem(candidate)).or_default().push((candidate, documents));
    }
    let first = word.chars().next();
    let mut by_stem: Vec<_> = by_stem.into_iter().collect();
    by_stem.sort_by_key(|(_, forms)| {
        let begins_alike = forms.iter().any(|(form, _)| form.chars().next() == first);
        Reverse((begins_alike, forms.iter().map(|(_, documents)| *documents).max()))
    });
    let best = |(stem, forms): (Cow<'_, str>, Vec<(&str, u64)>)| {
        let best = forms.into_iter().max_by_key(|(form, documents)| (*form != stem, *documents));
        best.map(|(form, _)| form.to_owned())
    };
    by_stem.into_iter().filter_map(best).take(MAX_TRIED).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::by_likelihood;

    fn of(word: &str, candidates: &[(&str, u64)]) -> Option<String> {
        let candidates: BTreeMap<String, u64> =
            candidates.iter().map(|(word, documents)| ((*word).to_owned(), *documents)).collect();
        by_likelihood(word, &candidates).into_iter().next()
    }

    #[test]
    fn frequent_candidate_with_the_same_first_letter_wins() {
        assert_eq!(of("budgt", &[("budge", 1), ("budget", 9)]).as_deref(), Some("budget"));
        assert_eq!(of("serch", &[("perch", 90), ("search", 2)]).as_deref(), Some("search"));
        assert_eq!(of("word", &[]), None);
    }

    #[test]
    fn correction_offers_words_and_not_stems() {
        assert_eq!(of("companx", &[("compani", 9), ("company", 4)]).as_deref(), Some("company"));
        assert_eq!(of("flowz", &[("flow", 9), ("plow", 4)]).as_deref(), Some("flow"));
    }
}
