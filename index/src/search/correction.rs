//! Looks words up for corrections.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use futures::executor::block_on;
use levenshtein_automata::{DFA, Distance, LevenshteinAutomatonBuilder, SINK_STATE};
use tantivy::InvertedIndexReader;
use tantivy::postings::TermInfo;
use tantivy::schema::Term;
use tantivy_fst::Automaton;
use tokio_util::sync::CancellationToken;
use trawl_engine::correction::{
    self, CorrectableWord, Lookup, MAX_CANDIDATES, MAX_RESTRICTED_CANDIDATES, MAX_SPELLED, UnknownWords,
    WordPart,
};
use trawl_engine::query::{Piece, Target};
use trawl_engine::{Hit, Query, Request, Scope};

use super::execute::{newest_hits, search};
use super::viewer_scope::ViewerScope;
use crate::Error;
use crate::view::{IndexView, Segment};

/// Swaps count as one edit.
static ONE_EDIT: LazyLock<LevenshteinAutomatonBuilder> =
    LazyLock::new(|| LevenshteinAutomatonBuilder::new(1, true));

/// Looks terms up only. Otherwise a word may still be found, by some viewers.
pub(crate) fn are_all_found(view: &IndexView, scopes: &[Arc<Scope>], keyword: &str) -> Result<bool, Error> {
    for word in &CorrectableWord::all_of(keyword) {
        // Terms do not tell whether words are found together.
        if word.is_syllables() {
            return Ok(false);
        }
        for piece in &word.pieces {
            if !is_found_by_all(view, scopes, piece)? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn is_found_by_all(view: &IndexView, scopes: &[Arc<Scope>], piece: &Piece) -> Result<bool, Error> {
    let (word, start) = match piece {
        Piece::Term(word) => (word, None),
        Piece::Prefix { stem, start } => (stem, Some(start)),
        Piece::Phrase(_) | Piece::Either(_) => return Ok(false),
    };
    let field = view.fields.open.body;
    // More documents than are deleted.
    let is_alive = |segment: &Segment, info: &TermInfo| info.doc_freq > segment.reader.num_deleted_docs();
    for scope in scopes {
        let infos = view.term_infos(&Term::from_field_text(field, &(scope.prefix() + word)))?;
        let mut infos = view.segments.iter().zip(&infos.by_segment);
        if infos.any(|(segment, (_, info))| info.as_ref().is_some_and(|info| is_alive(segment, info))) {
            return Ok(true);
        }
    }
    let Some(start) = start else { return Ok(false) };
    for scope in scopes {
        let start = scope.prefix() + start;
        for segment in &view.segments {
            let index = segment.inverted_index(field, view.fields)?;
            let mut terms = index.terms().range().ge(&start).into_stream()?;
            if terms.advance()
                && terms.key().starts_with(start.as_bytes())
                && is_alive(segment, terms.value())
            {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

pub(crate) fn unknown_words(
    view: &IndexView,
    scopes: &[Arc<Scope>],
    principals: &Arc<[String]>,
    keyword: &str,
    cancelled: &CancellationToken,
) -> Result<UnknownWords, Error> {
    let searched = SearchedView { view, scopes, principals, cancelled };
    // No lookup waits.
    block_on(correction::unknown_words(&searched, keyword))
}

struct SearchedView<'a> {
    view: &'a IndexView,
    scopes: &'a [Arc<Scope>],
    principals: &'a Arc<[String]>,
    cancelled: &'a CancellationToken,
}

impl SearchedView<'_> {
    fn finds(&self, query: Query) -> Result<bool, Error> {
        let query = Arc::new(query);
        for scope in self.scopes {
            if self.count(scope, &query)? > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn count(&self, scope: &Arc<Scope>, query: &Arc<Query>) -> Result<u64, Error> {
        let request = Request::total_of(scope, self.principals, Arc::clone(query));
        Ok(search(self.view, &request, self.cancelled)?.total)
    }

    fn count_all(&self, query: Query) -> Result<u64, Error> {
        let query = Arc::new(query);
        self.scopes.iter().map(|scope| self.count(scope, &query)).sum()
    }

    /// Terms that the viewer may see, with their document frequencies.
    fn visible(&self, terms: BTreeSet<String>) -> Result<BTreeMap<String, u64>, Error> {
        let mut visible = BTreeMap::new();
        for term in terms {
            let documents = self.count_all(Target::Text.query(vec![Piece::Term(term.clone())]))?;
            if documents > 0 {
                visible.insert(term, documents);
            }
        }
        Ok(visible)
    }

    /// Those of the words that the viewer may see, with their document frequencies.
    fn known(&self, words: &[String]) -> Result<BTreeMap<String, u64>, Error> {
        let mut candidates = Candidates::default();
        let (mut keys_prefix, mut keys) = (String::new(), words.to_vec());
        self.each_term_index(|prefix, is_open, index| {
            if prefix != keys_prefix {
                prefix.clone_into(&mut keys_prefix);
                keys = words.iter().map(|word| [prefix, word].concat()).collect();
            }
            for (word, key) in words.iter().zip(&keys) {
                if !candidates.has_room(is_open) {
                    break;
                }
                if let Some(info) = index.terms().get(key)? {
                    candidates.add(is_open, word, &info);
                }
            }
            Ok(())
        })?;
        self.visible_candidates(candidates)
    }

    /// Calls `read` for each index of terms of each scope.
    ///
    /// It gets the scope's prefix, whether the index is of open documents, and the index.
    fn each_term_index(
        &self,
        mut read: impl FnMut(&str, bool, &InvertedIndexReader) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let view = self.view;
        for scope in self.scopes {
            let scope = ViewerScope::new(view, scope, self.principals)?;
            for texts in scope.halves() {
                for segment in &view.segments {
                    if self.cancelled.is_cancelled() {
                        return Err(Error::Cancelled);
                    }
                    let index = segment.inverted_index(texts.body, view.fields)?;
                    read(&scope.prefix, texts.body == view.fields.open.body, &index)?;
                }
            }
        }
        Ok(())
    }

    fn visible_candidates(&self, candidates: Candidates) -> Result<BTreeMap<String, u64>, Error> {
        let Candidates { mut open, restricted } = candidates;
        open.extend(self.visible(restricted)?);
        Ok(open)
    }
}

impl Lookup for SearchedView<'_> {
    type Error = Error;

    async fn find(&self, lists: Vec<Vec<Query>>) -> Result<Vec<bool>, Error> {
        let finds_any = |list: Vec<Query>| {
            for query in list {
                if self.finds(query)? {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        lists.into_iter().map(finds_any).collect()
    }

    async fn count_each(&self, queries: Vec<Query>) -> Result<Vec<u64>, Error> {
        queries.into_iter().map(|query| self.count_all(query)).collect()
    }

    async fn newest(&self, query: Query) -> Result<Vec<Hit>, Error> {
        let (query, mut hits) = (Arc::new(query), Vec::new());
        for scope in self.scopes {
            let request = Request::total_of(scope, self.principals, Arc::clone(&query));
            let request = Request { limit: MAX_SPELLED, ..request };
            hits.extend(newest_hits(self.view, &request, self.cancelled)?);
        }
        Ok(hits)
    }

    async fn words_within_one_edit(&self, word: &str) -> Result<BTreeMap<String, u64>, Error> {
        let dfa = ONE_EDIT.build_dfa(word);
        let mut candidates = Candidates::default();
        self.each_term_index(|prefix, is_open, index| {
            let automaton = OneEdit { prefix: prefix.as_bytes(), dfa: &dfa, is_ascii: word.is_ascii() };
            let mut terms = index.terms().search(&automaton).ge(prefix).into_stream()?;
            while candidates.has_room(is_open) && terms.advance() {
                let candidate = std::str::from_utf8(&terms.key()[prefix.len()..]).ok();
                // Skips the scope's marker and whole names.
                if let Some(candidate) = candidate.filter(|word| word.starts_with(char::is_alphanumeric)) {
                    candidates.add(is_open, candidate, terms.value());
                }
            }
            Ok(())
        })?;
        self.visible_candidates(candidates)
    }

    async fn homophones(&self, part: &WordPart) -> Result<BTreeMap<String, u64>, Error> {
        self.known(&part.homophones())
    }
}

/// Words that may be meant.
#[derive(Default)]
struct Candidates {
    /// Words of documents that everybody may see, with their document frequencies.
    open: BTreeMap<String, u64>,
    restricted: BTreeSet<String>,
}

impl Candidates {
    fn has_room(&self, is_open: bool) -> bool {
        if is_open {
            self.open.len() < MAX_CANDIDATES
        } else {
            self.restricted.len() < MAX_RESTRICTED_CANDIDATES
        }
    }

    fn add(&mut self, is_open: bool, word: &str, info: &TermInfo) {
        if is_open {
            *self.open.entry(word.to_owned()).or_insert(0) += u64::from(info.doc_freq);
        } else {
            self.restricted.insert(word.to_owned());
        }
    }
}

/// Words one edit away behind a prefix.
struct OneEdit<'a> {
    prefix: &'a [u8],
    dfa: &'a DFA,
    /// Whether other words than ASCII ones are passed by; most words of a Chinese index are.
    is_ascii: bool,
}

/// Bytes of the prefix that were read, and the state in the word behind.
type OneEditState = (usize, u32);

impl Automaton for &OneEdit<'_> {
    type State = OneEditState;

    fn start(&self) -> OneEditState {
        (0, self.dfa.initial_state())
    }

    fn is_match(&self, (read, state): &OneEditState) -> bool {
        *read == self.prefix.len() && matches!(self.dfa.distance(*state), Distance::Exact(_))
    }

    fn can_match(&self, (_, state): &OneEditState) -> bool {
        *state != SINK_STATE
    }

    fn accept(&self, (read, state): &OneEditState, byte: u8) -> OneEditState {
        match self.prefix.get(*read) {
            Some(expected) if *expected == byte => (read + 1, *state),
            Some(_) => (*read, SINK_STATE),
            None if self.is_ascii && !byte.is_ascii() => (*read, SINK_STATE),
            None => (*read, self.dfa.transition(*state, byte)),
        }
    }
}
