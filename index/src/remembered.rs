//! What searches leave behind for the next ones, in bounded room: totals, sets of documents, beginnings of words.
//!
//! A segment never changes but for what is deleted from it, so what is found in one is remembered for as long as it
//! exists, across commits; only what a commit adds or deletes has to be looked at.

use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::sync::Cache;
use quick_cache::{Equivalent, Weighter};
use tantivy::DocId;
use tantivy::index::SegmentId;
use tantivy::postings::TermInfo;
use tantivy::schema::Term;

use crate::sets::DocumentSet;
use crate::{Query, Scope};

/// The bytes that totals may take.
const TOTALS_BYTES: u64 = 8 << 20;
/// The bytes that sets of documents may take.
const SETS_BYTES: u64 = 96 << 20;
/// A set takes at most this part of them, so that a few large ones do not drive all others out.
const LARGEST_SET: u64 = 16;
/// The bytes that the places of terms may take.
const PLACES_BYTES: u64 = 16 << 20;
/// The bytes that lists of words with one beginning may take.
const WORDS_BYTES: u64 = 16 << 20;
/// The bytes that lists of principals may take.
const VIEWERS_BYTES: u64 = 16 << 20;
/// The bytes that lengths of documents may take.
const LENGTHS_BYTES: u64 = 4 << 20;
/// What an entry takes beside what it holds.
const ENTRY_BYTES: usize = 128;

/// All that is remembered of one index.
pub(crate) struct Remembered {
    totals: Kept<Question, Arc<Total>>,
    sets: Kept<SetKey, Arc<DocumentSet>>,
    places: Kept<Term, Arc<Places>>,
    words: Kept<WordsKey, Arc<Vec<Word>>>,
    viewers: Kept<Arc<[String]>, Viewer>,
    lengths: Kept<LengthsKey, Lengths>,
    next_viewer: AtomicU64,
}

type Kept<K, V> = Cache<K, V, Weights>;

/// All that a total depends on, but for the segments.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Question {
    scope: Scope,
    query: Query,
    by_relevance: bool,
    viewer: u64,
    from: Option<i64>,
    to: Option<i64>,
    author: Option<String>,
}

/// The same, borrowed.
#[derive(Debug, Clone, Copy, Hash)]
pub(crate) struct Asked<'a> {
    pub(crate) scope: &'a Scope,
    pub(crate) query: &'a Query,
    /// Any word that tells something makes a match.
    pub(crate) by_relevance: bool,
    /// The number of the viewer; 0 of one who sees what everybody does.
    pub(crate) viewer: u64,
    pub(crate) from: Option<i64>,
    pub(crate) to: Option<i64>,
    pub(crate) author: Option<&'a str>,
}

impl Equivalent<Question> for Asked<'_> {
    fn equivalent(&self, key: &Question) -> bool {
        self.viewer == key.viewer
            && self.by_relevance == key.by_relevance
            && self.from == key.from
            && self.to == key.to
            && self.author == key.author.as_deref()
            && *self.query == key.query
            && *self.scope == key.scope
    }
}

impl Asked<'_> {
    fn into_question(self) -> Question {
        Question {
            scope: self.scope.clone(),
            query: self.query.clone(),
            by_relevance: self.by_relevance,
            viewer: self.viewer,
            from: self.from,
            to: self.to,
            author: self.author.map(str::to_owned),
        }
    }
}

/// A total, and what it is made of.
#[derive(Debug)]
pub(crate) struct Total {
    /// The generation of the view that it was counted in.
    pub(crate) generation: u64,
    pub(crate) sum: u64,
    pub(crate) parts: Vec<PartTotal>,
}

/// How many matches one branch has in one segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PartTotal {
    pub(crate) segment: SegmentId,
    pub(crate) branch: usize,
    pub(crate) range: Range<DocId>,
    /// Of the words that a beginning stood for.
    pub(crate) fingerprint: u64,
    /// How many documents of the segment were deleted.
    pub(crate) deleted: u32,
    pub(crate) count: u32,
}

/// Which documents of a segment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum SetOf {
    /// Those of a term.
    Term(Term),
    /// Those of any of these terms.
    AnyTerm(Arc<[Term]>),
    /// Those where terms stand at their offsets.
    Phrase(Arc<[(usize, Term)]>),
    /// Those of the words that a beginning stands for: the beginning, and the fingerprint of the words.
    Words(Arc<Term>, u64),
    /// Those that a viewer's principals let him see in a scope, named by the beginning of its terms.
    Viewer(u64, Arc<str>),
}

pub(crate) type SetKey = (SegmentId, SetOf);
/// The beginning, of the field and the scope.
pub(crate) type WordsKey = (SegmentId, Arc<Term>);

/// The term that every document of a half of a scope carries.
pub(crate) type LengthsKey = (SegmentId, Term);

/// How many words the documents of a half of a scope have in a segment, in all and about.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Lengths {
    pub(crate) body: u64,
    pub(crate) title: u64,
}

/// Where the postings of one term are, in each segment of a view.
#[derive(Debug)]
pub(crate) struct Places {
    /// Of the view.
    pub(crate) generation: u64,
    /// In the order of the view's segments.
    pub(crate) by_segment: Vec<(SegmentId, Option<TermInfo>)>,
}

impl Places {
    /// In how many documents the term stands, deleted ones that are not merged away yet included.
    pub(crate) fn documents(&self) -> u64 {
        self.by_segment
            .iter()
            .filter_map(|(_, info)| info.as_ref())
            .map(|info| u64::from(info.doc_freq))
            .sum()
    }
}

/// A word of a segment.
#[derive(Debug, Clone)]
pub(crate) struct Word {
    pub(crate) term: Vec<u8>,
    pub(crate) info: TermInfo,
}

/// Somebody's principals, by a number that no others have.
#[derive(Debug, Clone)]
pub(crate) struct Viewer {
    pub(crate) number: u64,
    /// Ascending.
    pub(crate) principals: Arc<[String]>,
}

impl Remembered {
    pub(crate) fn new() -> Self {
        Self {
            totals: kept(TOTALS_BYTES),
            sets: kept(SETS_BYTES),
            places: kept(PLACES_BYTES),
            words: kept(WORDS_BYTES),
            viewers: kept(VIEWERS_BYTES),
            lengths: kept(LENGTHS_BYTES),
            next_viewer: AtomicU64::new(1),
        }
    }

    pub(crate) fn total(&self, asked: &Asked<'_>) -> Option<Arc<Total>> {
        self.totals.get(asked)
    }

    /// Keeps a total; the last one that is kept stands.
    pub(crate) fn keep_total(&self, asked: &Asked<'_>, total: Total) {
        self.totals.insert(asked.into_question(), Arc::new(total));
    }

    /// The set as it is remembered.
    pub(crate) fn set(&self, key: &SetKey) -> Option<Arc<DocumentSet>> {
        self.sets.get(key)
    }

    /// Keeps a set, unless it is too large to.
    pub(crate) fn keep_set(&self, key: SetKey, set: &Arc<DocumentSet>) {
        if set.bytes() as u64 <= SETS_BYTES / LARGEST_SET {
            self.sets.insert(key, Arc::clone(set));
        }
    }

    /// Where a term is, as it is remembered, of whatever view.
    pub(crate) fn places(&self, term: &Term) -> Option<Arc<Places>> {
        self.places.get(term)
    }

    /// Keeps where a term is.
    pub(crate) fn keep_places(&self, term: Term, places: &Arc<Places>) {
        self.places.insert(term, Arc::clone(places));
    }

    /// The words of a segment with a beginning, as they are remembered.
    pub(crate) fn words(&self, key: &WordsKey) -> Option<Arc<Vec<Word>>> {
        self.words.get(key)
    }

    /// Keeps them.
    pub(crate) fn keep_words(&self, key: WordsKey, words: &Arc<Vec<Word>>) {
        self.words.insert(key, Arc::clone(words));
    }

    /// The viewer with these principals.
    pub(crate) fn viewer(&self, principals: &[String]) -> Viewer {
        if let Some(viewer) = self.viewers.get(principals) {
            return viewer;
        }
        let mut sorted = principals.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        // Two who come at once get two numbers, and what is remembered under either is right.
        let number = self.next_viewer.fetch_add(1, Ordering::Relaxed);
        let viewer = Viewer { number, principals: sorted.into() };
        self.viewers.insert(principals.into(), viewer.clone());
        viewer
    }

    /// How long the documents of a half of a scope are, as it is remembered.
    pub(crate) fn lengths(&self, key: &LengthsKey) -> Option<Lengths> {
        self.lengths.get(key)
    }

    /// Keeps how long they are.
    pub(crate) fn keep_lengths(&self, key: LengthsKey, lengths: Lengths) {
        self.lengths.insert(key, lengths);
    }

    /// Lets go of what is of segments that are gone.
    pub(crate) fn forget_segments(&self, is_there: impl Fn(SegmentId) -> bool) {
        self.sets.retain(|(segment, _), _| is_there(*segment));
        self.words.retain(|(segment, _), _| is_there(*segment));
        self.lengths.retain(|(segment, _), _| is_there(*segment));
    }

    /// Lets go of everything.
    pub(crate) fn clear(&self) {
        self.totals.clear();
        self.sets.clear();
        self.places.clear();
        self.words.clear();
        self.viewers.clear();
        self.lengths.clear();
    }
}

fn kept<K: Eq + Hash, V: Clone>(bytes: u64) -> Kept<K, V>
where
    Weights: Weighter<K, V>,
{
    Cache::with_weighter(usize::try_from(bytes >> 14).unwrap_or(1_024), bytes, Weights)
}

/// How many bytes an entry takes, about.
#[derive(Clone)]
struct Weights;

impl Weighter<Question, Arc<Total>> for Weights {
    fn weight(&self, key: &Question, total: &Arc<Total>) -> u64 {
        let author = key.author.as_ref().map_or(0, String::len);
        let parts = total.parts.len() * size_of::<PartTotal>();
        (ENTRY_BYTES + size_of::<Question>() + key.scope.module.len() + key.query.bytes() + author + parts)
            as u64
    }
}

impl Weighter<SetKey, Arc<DocumentSet>> for Weights {
    fn weight(&self, (_, of): &SetKey, set: &Arc<DocumentSet>) -> u64 {
        let each = |term: &Term| size_of::<Term>() + term.serialized_value_bytes().len();
        let named: usize = match of {
            SetOf::AnyTerm(terms) => terms.iter().map(each).sum(),
            SetOf::Phrase(terms) => terms.iter().map(|(_, term)| each(term)).sum(),
            SetOf::Term(_) | SetOf::Words(..) | SetOf::Viewer(..) => 0,
        };
        (ENTRY_BYTES + size_of::<SetKey>() + named + set.bytes()) as u64
    }
}

impl Weighter<Term, Arc<Places>> for Weights {
    fn weight(&self, term: &Term, places: &Arc<Places>) -> u64 {
        let places = places.by_segment.len() * size_of::<(SegmentId, Option<TermInfo>)>();
        (ENTRY_BYTES + term.serialized_value_bytes().len() + places) as u64
    }
}

impl Weighter<LengthsKey, Lengths> for Weights {
    fn weight(&self, (_, marker): &LengthsKey, _: &Lengths) -> u64 {
        (ENTRY_BYTES + size_of::<Lengths>() + marker.serialized_value_bytes().len()) as u64
    }
}

impl Weighter<WordsKey, Arc<Vec<Word>>> for Weights {
    fn weight(&self, _: &WordsKey, words: &Arc<Vec<Word>>) -> u64 {
        let words: usize = words.iter().map(|word| size_of::<Word>() + word.term.len()).sum();
        (ENTRY_BYTES + words) as u64
    }
}

impl Weighter<Arc<[String]>, Viewer> for Weights {
    fn weight(&self, principals: &Arc<[String]>, _: &Viewer) -> u64 {
        let each = |principal: &String| 2 * (size_of::<String>() + principal.len());
        (ENTRY_BYTES + principals.iter().map(each).sum::<usize>()) as u64
    }
}

/// A fingerprint of words in their order.
pub(crate) fn fingerprint<'a>(words: impl Iterator<Item = &'a [u8]>) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    words.for_each(|word| word.hash(&mut hasher));
    hasher.finish()
}
