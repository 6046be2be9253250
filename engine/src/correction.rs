//! Words that find nothing, and the likeliest words one edit away (decisions 5.7).

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::Query;
use crate::text::{Run, stem};

/// Words one edit away that an engine collects for each word.
pub const MAX_CANDIDATES: usize = 1_024;

const MAX_WORDS: usize = 16;
const MAX_TRIED: usize = 8;
/// One edit turns shorter words into others.
const MIN_CHARS: usize = 4;
/// Ideographs tell more.
const MIN_IDEOGRAPHS: usize = 3;

/// A word of a keyword that is long enough to be corrected.
#[derive(Debug)]
pub struct CorrectableWord {
    /// Folded.
    pub word: String,
    /// Finds the word as typed: what begins with the last word counts too.
    pub query: Query,
}

impl CorrectableWord {
    /// The words of a keyword, in typed order.
    pub fn all_of(keyword: &str) -> Vec<Self> {
        let mut words = Vec::new();
        replace_words(keyword, |word, may_go_on| {
            let query = if may_go_on { Query::parse(word) } else { whole_word(word) };
            words.push(Self { word: word.to_owned(), query });
            None
        });
        words
    }
}

/// The keyword with its correctable words replaced; `None` if unchanged.
pub fn with_corrections(
    keyword: &str,
    corrections: impl IntoIterator<Item = Option<String>>,
) -> Option<String> {
    let mut corrections = corrections.into_iter();
    replace_words(keyword, |_, _| corrections.next().flatten())
}

/// Finds one word, which is not a prefix.
pub fn whole_word(word: &str) -> Query {
    Query::parse(&format!("{word} "))
}

fn replace_words(keyword: &str, mut replace: impl FnMut(&str, bool) -> Option<String>) -> Option<String> {
    Query::with_words_replaced(keyword, MAX_WORDS, |run, may_go_on| {
        if is_long_enough(run) { replace(run.text(), may_go_on) } else { None }
    })
}

fn is_long_enough(run: Run<'_>) -> bool {
    match run {
        Run::Word(word) => word.chars().nth(MIN_CHARS - 1).is_some() && !word.chars().all(char::is_numeric),
        Run::Ideographs(run) => run.chars().nth(MIN_IDEOGRAPHS - 1).is_some(),
    }
}

/// Words to try: those with an equal first letter, then by document frequency.
pub fn by_likelihood(word: &str, candidates: &BTreeMap<String, u64>) -> Vec<String> {
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
