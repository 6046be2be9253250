//! Search results by segment, in 172 MiB at most.
//!
//! Segments change only by deletions, so results stay valid across commits. Cached are term infos, totals, document sets, words of a prefix,
//! lengths and stored rows. Viewers are keyed by a number for their principals.

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
use trawl_engine::{Query, Scope};

use crate::document_set::DocumentSet;

const MAX_TOTALS_BYTES: u64 = 8 << 20;
const MAX_SETS_BYTES: u64 = 96 << 20;
/// Largest share for a set.
const MAX_SET_SHARE: u64 = 16;
const MAX_TERM_INFOS_BYTES: u64 = 16 << 20;
const MAX_PREFIXES_BYTES: u64 = 16 << 20;
const MAX_VIEWERS_BYTES: u64 = 16 << 20;
const MAX_LENGTHS_BYTES: u64 = 4 << 20;
const MAX_ROWS_BYTES: u64 = 8 << 20;
/// Largest share for a row.
const MAX_ROW_SHARE: u64 = 128;
/// Estimated overhead of an entry.
const ENTRY_OVERHEAD_BYTES: usize = 128;

pub(crate) struct SegmentCache {
    totals: WeightedCache<TotalKey, Arc<CachedTotal>>,
    /// Frequencies of single words, whose query is empty.
    frequencies: WeightedCache<TotalKey, Arc<CachedTotal>>,
    pub(crate) sets: WeightedCache<SetKey, Arc<DocumentSet>>,
    /// Postings as cached in any view.
    pub(crate) term_infos: WeightedCache<Term, Arc<TermInfos>>,
    pub(crate) prefixes: WeightedCache<PrefixKey, Arc<Vec<DictionaryTerm>>>,
    viewers: WeightedCache<Arc<[String]>, NumberedViewer>,
    pub(crate) lengths: WeightedCache<ScopeLengthsKey, ScopeLengths>,
    pub(crate) rows: WeightedCache<RowKey, Arc<StoredRow>>,
    next_viewer: AtomicU64,
}

pub(crate) type WeightedCache<K, V> = Cache<K, V, EntryWeight>;

/// All that a total depends on besides segments.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct TotalKey {
    scope: Scope,
    query: Query,
    any_of: u64,
    viewer: u64,
    from: Option<i64>,
    to: Option<i64>,
    author: Option<String>,
}

#[derive(Debug, Clone, Copy, Hash)]
pub(crate) struct TotalKeyRef<'a> {
    pub(crate) scope: &'a Scope,
    pub(crate) query: &'a Query,
    /// Hash of the terms of which a match has one, in relevance order; else 0.
    pub(crate) any_of: u64,
    /// 0 without principals.
    pub(crate) viewer: u64,
    pub(crate) from: Option<i64>,
    pub(crate) to: Option<i64>,
    pub(crate) author: Option<&'a str>,
}

impl Equivalent<TotalKey> for TotalKeyRef<'_> {
    fn equivalent(&self, key: &TotalKey) -> bool {
        self.viewer == key.viewer
            && self.any_of == key.any_of
            && self.from == key.from
            && self.to == key.to
            && self.author == key.author.as_deref()
            && *self.query == key.query
            && *self.scope == key.scope
    }
}

impl TotalKeyRef<'_> {
    fn into_owned(self) -> TotalKey {
        TotalKey {
            scope: self.scope.clone(),
            query: self.query.clone(),
            any_of: self.any_of,
            viewer: self.viewer,
            from: self.from,
            to: self.to,
            author: self.author.map(str::to_owned),
        }
    }
}

#[derive(Debug)]
pub(crate) struct CachedTotal {
    pub(crate) generation: u64,
    pub(crate) sum: u64,
    pub(crate) parts: Vec<SegmentTotal>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SegmentTotal {
    pub(crate) segment: SegmentId,
    pub(crate) branch: usize,
    pub(crate) range: Range<DocId>,
    /// Hash of the words of expanded prefixes.
    pub(crate) fingerprint: u64,
    pub(crate) deleted: u32,
    pub(crate) count: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum SetSource {
    Term(Term),
    AnyTerm(Arc<[Term]>),
    Phrase(Arc<[(usize, Term)]>),
    /// Prefix, and fingerprint of its words.
    Words(Arc<Term>, u64),
    /// Under the scope's prefix.
    Viewer(u64, Arc<str>),
}

pub(crate) type SetKey = (SegmentId, SetSource);
/// Includes field and scope.
pub(crate) type PrefixKey = (SegmentId, Arc<Term>);

/// Half's marker, and the viewer of restricted documents.
pub(crate) type ScopeLengthsKey = (SegmentId, Term, u64);

pub(crate) type RowKey = (SegmentId, DocId);

/// Stored fields of a document.
#[derive(Debug, Default)]
pub(crate) struct StoredRow {
    pub(crate) id: String,
    pub(crate) item: String,
    pub(crate) title_is_name: bool,
}

/// Estimated number of words of a scope in a segment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ScopeLengths {
    pub(crate) body: u64,
    pub(crate) title: u64,
}

#[derive(Debug)]
pub(crate) struct TermInfos {
    pub(crate) generation: u64,
    /// Places of the term, in view order.
    pub(crate) by_segment: Vec<(SegmentId, Option<TermInfo>)>,
}

impl TermInfos {
    /// Includes deleted documents until merged.
    pub(crate) fn document_frequency(&self) -> u64 {
        self.by_segment
            .iter()
            .filter_map(|(_, info)| info.as_ref())
            .map(|info| u64::from(info.doc_freq))
            .sum()
    }
}

#[derive(Debug, Clone)]
pub(crate) struct DictionaryTerm {
    pub(crate) term: Vec<u8>,
    pub(crate) info: TermInfo,
}

#[derive(Debug, Clone)]
pub(crate) struct NumberedViewer {
    pub(crate) number: u64,
    /// Ascending.
    pub(crate) principals: Arc<[String]>,
}

impl SegmentCache {
    pub(crate) fn new() -> Self {
        Self {
            totals: weighted_cache(MAX_TOTALS_BYTES),
            frequencies: weighted_cache(MAX_TOTALS_BYTES),
            sets: weighted_cache(MAX_SETS_BYTES),
            term_infos: weighted_cache(MAX_TERM_INFOS_BYTES),
            prefixes: weighted_cache(MAX_PREFIXES_BYTES),
            viewers: weighted_cache(MAX_VIEWERS_BYTES),
            lengths: weighted_cache(MAX_LENGTHS_BYTES),
            rows: weighted_cache(MAX_ROWS_BYTES),
            next_viewer: AtomicU64::new(1),
        }
    }

    pub(crate) fn total(&self, key: &TotalKeyRef<'_>) -> Option<Arc<CachedTotal>> {
        self.totals_like(key).get(key)
    }

    pub(crate) fn insert_total(&self, key: &TotalKeyRef<'_>, total: CachedTotal) {
        self.totals_like(key).insert(key.into_owned(), Arc::new(total));
    }

    /// Words of a few viewers are many; they must not displace totals of searches.
    fn totals_like(&self, key: &TotalKeyRef<'_>) -> &WeightedCache<TotalKey, Arc<CachedTotal>> {
        if key.query.is_empty() { &self.frequencies } else { &self.totals }
    }

    /// Caches a set, unless it is large.
    pub(crate) fn insert_set(&self, key: SetKey, set: &Arc<DocumentSet>) {
        if set.bytes() as u64 <= MAX_SETS_BYTES / MAX_SET_SHARE {
            self.sets.insert(key, Arc::clone(set));
        }
    }

    pub(crate) fn viewer(&self, principals: &[String]) -> NumberedViewer {
        if let Some(viewer) = self.viewers.get(principals) {
            return viewer;
        }
        let mut sorted = principals.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        // Concurrent calls may create two numbers; both are valid.
        let number = self.next_viewer.fetch_add(1, Ordering::Relaxed);
        let viewer = NumberedViewer { number, principals: sorted.into() };
        self.viewers.insert(principals.into(), viewer.clone());
        viewer
    }

    /// Caches a row, unless it is large.
    pub(crate) fn insert_row(&self, key: RowKey, row: &Arc<StoredRow>) {
        if row.item.len() as u64 <= MAX_ROWS_BYTES / MAX_ROW_SHARE {
            self.rows.insert(key, Arc::clone(row));
        }
    }

    pub(crate) fn retain_segments(&self, exists: impl Fn(SegmentId) -> bool) {
        self.sets.retain(|(segment, _), _| exists(*segment));
        self.prefixes.retain(|(segment, _), _| exists(*segment));
        self.lengths.retain(|(segment, ..), _| exists(*segment));
        self.rows.retain(|(segment, _), _| exists(*segment));
    }

    pub(crate) fn clear(&self) {
        self.totals.clear();
        self.frequencies.clear();
        self.sets.clear();
        self.term_infos.clear();
        self.prefixes.clear();
        self.viewers.clear();
        self.lengths.clear();
        self.rows.clear();
    }
}

fn weighted_cache<K: Eq + Hash, V: Clone>(bytes: u64) -> WeightedCache<K, V>
where
    EntryWeight: Weighter<K, V>,
{
    Cache::with_weighter(usize::try_from(bytes >> 14).unwrap_or(1_024), bytes, EntryWeight)
}

#[derive(Clone)]
pub(crate) struct EntryWeight;

impl Weighter<TotalKey, Arc<CachedTotal>> for EntryWeight {
    fn weight(&self, key: &TotalKey, total: &Arc<CachedTotal>) -> u64 {
        let author = key.author.as_ref().map_or(0, String::len);
        let parts = total.parts.len() * size_of::<SegmentTotal>();
        (ENTRY_OVERHEAD_BYTES
            + size_of::<TotalKey>()
            + key.scope.module.len()
            + key.query.bytes()
            + author
            + parts) as u64
    }
}

impl Weighter<SetKey, Arc<DocumentSet>> for EntryWeight {
    fn weight(&self, (_, of): &SetKey, set: &Arc<DocumentSet>) -> u64 {
        let each = |term: &Term| size_of::<Term>() + term.serialized_value_bytes().len();
        let named: usize = match of {
            SetSource::AnyTerm(terms) => terms.iter().map(each).sum(),
            SetSource::Phrase(terms) => terms.iter().map(|(_, term)| each(term)).sum(),
            SetSource::Term(_) | SetSource::Words(..) | SetSource::Viewer(..) => 0,
        };
        (ENTRY_OVERHEAD_BYTES + size_of::<SetKey>() + named + set.bytes()) as u64
    }
}

impl Weighter<Term, Arc<TermInfos>> for EntryWeight {
    fn weight(&self, term: &Term, term_infos: &Arc<TermInfos>) -> u64 {
        let infos = term_infos.by_segment.len() * size_of::<(SegmentId, Option<TermInfo>)>();
        (ENTRY_OVERHEAD_BYTES + term.serialized_value_bytes().len() + infos) as u64
    }
}

impl Weighter<ScopeLengthsKey, ScopeLengths> for EntryWeight {
    fn weight(&self, (_, marker, _): &ScopeLengthsKey, _: &ScopeLengths) -> u64 {
        (ENTRY_OVERHEAD_BYTES + size_of::<ScopeLengths>() + marker.serialized_value_bytes().len()) as u64
    }
}

impl Weighter<RowKey, Arc<StoredRow>> for EntryWeight {
    fn weight(&self, _: &RowKey, row: &Arc<StoredRow>) -> u64 {
        (ENTRY_OVERHEAD_BYTES + size_of::<StoredRow>() + row.id.len() + row.item.len()) as u64
    }
}

impl Weighter<PrefixKey, Arc<Vec<DictionaryTerm>>> for EntryWeight {
    fn weight(&self, _: &PrefixKey, terms: &Arc<Vec<DictionaryTerm>>) -> u64 {
        let terms: usize = terms.iter().map(|entry| size_of::<DictionaryTerm>() + entry.term.len()).sum();
        (ENTRY_OVERHEAD_BYTES + terms) as u64
    }
}

impl Weighter<Arc<[String]>, NumberedViewer> for EntryWeight {
    fn weight(&self, principals: &Arc<[String]>, _: &NumberedViewer) -> u64 {
        let each = |principal: &String| 2 * (size_of::<String>() + principal.len());
        (ENTRY_OVERHEAD_BYTES + principals.iter().map(each).sum::<usize>()) as u64
    }
}

pub(crate) fn fingerprint<'a>(terms: impl Iterator<Item = &'a [u8]>) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    terms.for_each(|term| term.hash(&mut hasher));
    hasher.finish()
}
