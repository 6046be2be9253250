//! A word that finds nothing, and the word of the scope that was meant: one edit away (decisions 5.7).

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use levenshtein_automata::{DFA, Distance, LevenshteinAutomatonBuilder, SINK_STATE};
use tantivy_fst::Automaton;

use super::plan::Sight;
use super::{Request, Start, search};
use crate::text::{Run, stem};
use crate::view::View;
use crate::{Error, Query, Scope};

/// Words of a keyword that are looked at.
const MAX_WORDS: usize = 16;
/// Words of the scope that are looked at for one of them.
const MAX_CANDIDATES: usize = 1_024;
/// Words that are tried for one of them.
const MAX_TRIED: usize = 8;
/// The shortest word that is corrected, in characters; one edit makes another word of most shorter ones.
const MIN_CHARS: usize = 4;
/// The same for ideographs, each of which says more.
const MIN_IDEOGRAPHS: usize = 3;

/// One edit, an exchange of neighbours counting as one.
static ONE_EDIT: LazyLock<LevenshteinAutomatonBuilder> =
    LazyLock::new(|| LevenshteinAutomatonBuilder::new(1, true));

/// The keyword with words replaced, where that was of use.
pub(crate) fn correct(
    view: &View,
    scope: &Scope,
    principals: &[String],
    keyword: &str,
) -> Result<Option<String>, Error> {
    let sight = Sight::new(view, scope, principals)?;
    let finds = |word: &str| -> Result<bool, Error> {
        let query = Query::parse(word);
        let request = Request {
            scope,
            query: &query,
            principals,
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
        // The scope knows words of documents that this viewer does not see, and of some that are deleted by now.
        for candidate in candidates(&sight, run.text())? {
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

/// The words of the scope that are one edit away and may have been meant, the likeliest first.
fn candidates(sight: &Sight<'_>, word: &str) -> Result<Vec<String>, Error> {
    let (view, prefix) = (sight.view, sight.prefix.as_str());
    let automaton = OneEdit(ONE_EDIT.build_dfa(&format!("{prefix}{word}")));
    let mut candidates: BTreeMap<String, u64> = BTreeMap::new();
    for texts in sight.halves() {
        for segment in &view.segments {
            let index = segment.inverted_index(texts.body, view.fields)?;
            let mut terms = index.terms().search(&automaton).ge(prefix).into_stream()?;
            while candidates.len() < MAX_CANDIDATES && terms.advance() {
                let candidate = terms.key().strip_prefix(prefix.as_bytes());
                let candidate = candidate.and_then(|candidate| std::str::from_utf8(candidate).ok());
                // What is no word is the marker of the scope, or the whole of a name.
                if let Some(candidate) = candidate.filter(|word| word.starts_with(char::is_alphanumeric)) {
                    *candidates.entry(candidate.to_owned()).or_insert(0) += u64::from(terms.value().doc_freq);
                }
            }
        }
    }
    Ok(by_likelihood(word, &candidates))
}

/// The candidates, of words and in how many documents each stands: those that begin alike first, since few people mistake
/// the first letter, then those in more documents.
fn by_likelihood(word: &str, candidates: &BTreeMap<String, u64>) -> Vec<String> {
    // What shares a stem is one word. A stem that is none itself, such as `compani`, yields to a word of that stem.
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

/// Accepts what is one edit away.
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
    fn the_frequent_one_that_begins_alike_is_meant() {
        assert_eq!(of("budgt", &[("budge", 1), ("budget", 9)]).as_deref(), Some("budget"));
        assert_eq!(of("serch", &[("perch", 90), ("search", 2)]).as_deref(), Some("search"));
        assert_eq!(of("word", &[]), None);
    }

    #[test]
    fn words_are_offered_and_not_their_stems() {
        assert_eq!(of("companx", &[("compani", 9), ("company", 4)]).as_deref(), Some("company"));
        assert_eq!(of("flowz", &[("flow", 9), ("plow", 4)]).as_deref(), Some("flow"));
    }
}
