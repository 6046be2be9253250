//! Corrects words that find nothing by one edit (decisions 5.7).

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use levenshtein_automata::{DFA, Distance, LevenshteinAutomatonBuilder, SINK_STATE};
use tantivy_fst::Automaton;
use trawl_engine::correction::{
    CorrectableWord, MAX_CANDIDATES, by_likelihood, whole_word, with_corrections,
};
use trawl_engine::{Query, Request, Scope};

use super::execute::search;
use super::viewer_scope::ViewerScope;
use crate::Error;
use crate::view::IndexView;

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
    let finds = |query: Query| -> Result<bool, Error> {
        Ok(search(view, &Request::total_of(scope, principals, query))?.total > 0)
    };
    let correction = |CorrectableWord { word, query }| -> Result<Option<String>, Error> {
        if finds(query)? {
            return Ok(None);
        }
        // They may occur in invisible or deleted documents only.
        for candidate in candidates(&viewer_scope, &word)? {
            if finds(whole_word(&candidate))? {
                return Ok(Some(candidate));
            }
        }
        Ok(None)
    };
    let corrections: Vec<Option<String>> =
        CorrectableWord::all_of(keyword).into_iter().map(correction).collect::<Result<_, _>>()?;
    Ok(with_corrections(keyword, corrections))
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
