//! Order of suggestions, each text once.

use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
};

use trawl_engine::{PrefixPlace, fold};

use super::{Suggestion, SuggestionKind};

/// A suggestion before it is ranked.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) place: PrefixPlace,
    /// Epoch milliseconds; of a module 0.
    pub(super) display_time: i64,
    pub(super) suggestion: Suggestion,
}

/// Ranks candidates, and keeps the best of each folded text.
///
/// Texts that begin with the prefix come first. Then the kinds take turns, shorter and newer texts first. Otherwise the many
/// short names of people would leave no place for titles.
pub(super) fn rank(mut candidates: Vec<Candidate>, limit: usize) -> Vec<Suggestion> {
    candidates.sort_by_cached_key(|Candidate { place, display_time, suggestion }| {
        let Suggestion { text, kind, module, id } = suggestion.clone();
        (*place, text.chars().count(), kind, Reverse(*display_time), text, module, id)
    });
    let mut texts = HashSet::with_capacity(candidates.len());
    candidates.retain(|candidate| texts.insert(fold(candidate.suggestion.text.trim()).into_owned()));
    let mut turns: HashMap<(PrefixPlace, SuggestionKind), usize> = HashMap::new();
    candidates.sort_by_cached_key(|candidate| {
        let turn = turns.entry((candidate.place, candidate.suggestion.kind)).or_insert(0);
        *turn += 1;
        (candidate.place, *turn)
    });
    candidates.truncate(limit);
    candidates.into_iter().map(|candidate| candidate.suggestion).collect()
}

#[cfg(test)]
mod tests;
