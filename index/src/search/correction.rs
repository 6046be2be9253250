//! Corrects words that find nothing by one edit (decisions 5.7).

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use levenshtein_automata::{DFA, Distance, LevenshteinAutomatonBuilder, SINK_STATE};
use tantivy_fst::Automaton;
use trawl_engine::text::{Run, stem};
use trawl_engine::{Query, Request, Scope, Start};

use super::execute::search;
use super::viewer_scope::ViewerScope;
use crate::Error;
use crate::view::IndexView;

const MAX_WORDS: usize = 16;
const MAX_CANDIDATES: usize = 1_024;
const MAX_TRIED: usize = 8;
/// One edit turns shorter words into others.
const MIN_CHARS: usize = 4;
/// Ideographs tell more.
const MIN_IDEOGRAPHS: usize = 3;

/// Swaps count as one edit.
static ONE_EDIT: LazyLock<LevenshteinAutomatonBuilder> =
    LazyLock::new(|| LevenshteinAutomatonBuilder::new(1, true));

/// `None` if nothing changes.
pub(crate) fn correct(
    view: &IndexView,
    scope: &Arc<Scope>,
    principals: &Arc<[String]>,
    keyword: &str,
) -> Result<Option<String>, Error> {
    let viewer_scope = ViewerScope::new(view, scope, principals)?;
    let finds = |word: &str| -> Result<bool, Error> {
        let request = Request {
            scope: Arc::clone(scope),
            query: Arc::new(Query::parse(word)),
            principals: Arc::clone(principals),
            from: None,
            to: None,
            author: None,
            start: Start::Time { after: None, whole_ties: None },
            limit: 0,
        };
        Ok(search(view, &request)?.total > 0)
    };
    Query::with_words_replaced(keyword, MAX_WORDS, |run, may_go_on| {
        let as_typed = if may_go_on { run.text().to_owned() } else { format!("{} ", run.text()) };
        if !is_long_enough(run) || finds(&as_typed)? {
            return Ok(None);
        }
        // They may occur in invisible or deleted documents only.
        for candidate in candidates(&viewer_scope, run.text())? {
            if finds(&format!("{candidate} "))? {
                return Ok(Some(candidate));
            }
        }
        Ok(None)
    })
}

fn is_long_enough(run: Run<'_>) -> bool {
    match run {
        Run::Word(word) => word.chars().nth(MIN_CHARS - 1).is_some() && !word.chars().all(char::is_numeric),
        Run::Ideographs(run) => run.chars().nth(MIN_IDEOGRAPHS - 1).is_some(),
    }
}

/// Words one edit away, likeliest first.
fn candidates(scope: &ViewerScope<'_>, word: &str) -> Result<Vec<String>, Error> {
    let (view, prefix) = (scope.view, scope.prefix.as_str());
    let automaton = OneEdit(ONE_EDIT.build_dfa(&format!("{prefix}{word}")));
    let mut candidates: BTreeMap<String, u64> = BTreeMap::new();
    for texts in scope.halves() {
        for segment in &view.segments {
            let index = segment.inverted_index(texts.body, view.fields)?;
            let mut terms = index.terms().search(&automaton).ge(prefix).into_stream()?;
            while candidates.len() < MAX_CANDIDATES && terms.advance() {
                let candidate = terms.key().strip_prefix(prefix.as_bytes());
                let candidate = candidate.and_then(|candidate| std::str::from_utf8(candidate).ok());
                // Skips the scope's marker and whole names.
                if let Some(candidate) = candidate.filter(|word| word.starts_with(char::is_alphanumeric)) {
                    *candidates.entry(candidate.to_owned()).or_insert(0) += u64::from(terms.value().doc_freq);
                }
            }
        }
    }
    Ok(by_likelihood(word, &candidates))
}

/// Sorts by equal first letter, then by document frequency.
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

struct OneEdit(DFA);

impl Automaton for &OneEdit {
    type State = u32;

    fn start(&self) -> u32 {
        self.0.initial_state()
    }

    fn is_match(&self, state: &u32) -> bool {
        matches!(self.0.distance(*state), Distance::Exact(_))
    }

    fn can_match(&self, state: &u32) -> bool {
        *state != SINK_STATE
    }

    fn accept(&self, state: &u32, byte: u8) -> u32 {
        self.0.transition(*state, byte)
    }
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
