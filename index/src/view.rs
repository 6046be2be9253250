//! Consistent view of all segments.
//!
//! Opened columns and indexes of a segment never change and are passed from view to view. Opening the time column costs six times a query.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tantivy::columnar::{Column, ColumnIndex, ColumnValues, StrColumn};
use tantivy::index::{InvertedIndexReader, SegmentId, SegmentReader};
use tantivy::postings::TermInfo;
use tantivy::schema::{Field, Term};
use tantivy::store::StoreReader;
use tantivy::{DocId, Searcher};
use trawl_engine::correction::UnknownWords;
use trawl_engine::{Scope, next_generation};

use crate::Error;
use crate::deletion_log::{DeletionLog, deleted_words, push_bits};
use crate::expansion::PrefixExpansion;
use crate::schema::{Fields, ID_COLUMN, TIME_COLUMN};
use crate::segment_cache::{SegmentCache, TermInfos};

/// 1 MiB of short items; a long item takes a block.
const STORE_CACHE_BLOCKS: usize = 256;

const MAX_CACHED_LOOKUPS: usize = 256;

/// Results that hold for one view only.
#[derive(Debug)]
pub(crate) struct LookupCache<K, V>(Mutex<HashMap<K, V>>);

impl<K, V> Default for LookupCache<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash, V: Clone> LookupCache<K, V> {
    pub(crate) fn get(&self, key: &K) -> Option<V> {
        self.lock().get(key).cloned()
    }

    pub(crate) fn put(&self, key: K, value: V) {
        let mut known = self.lock();
        // Rare, so no eviction policy is needed.
        if known.len() >= MAX_CACHED_LOOKUPS {
            known.clear();
        }
        known.insert(key, value);
    }

    fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, V>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Scopes, principals and keyword.
type KeywordOfViewer = (Vec<Arc<Scope>>, Arc<[String]>, String);

pub(crate) struct IndexView {
    pub(crate) searcher: Searcher,
    pub(crate) segments: Vec<Segment>,
    pub(crate) fields: Fields,
    /// Unique in the process; ascending.
    pub(crate) generation: u64,
    /// Shared with earlier views.
    pub(crate) cache: Arc<SegmentCache>,
    pub(crate) expansions: LookupCache<Arc<Term>, Arc<PrefixExpansion>>,
    /// Looking them up takes milliseconds.
    pub(crate) unknown_words: LookupCache<KeywordOfViewer, UnknownWords>,
}

pub(crate) struct Segment {
    pub(crate) reader: SegmentReader,
    pub(crate) opened: Arc<OpenedSegment>,
    deleted: OnceLock<Vec<DocId>>,
    deleted_words: OnceLock<Vec<u64>>,
}

pub(crate) struct OpenedSegment {
    /// `display_time` by document, descending.
    pub(crate) times: Arc<dyn ColumnValues<i64>>,
    /// Dictionary and ordinals.
    pub(crate) ids: StrColumn,
    pub(crate) id_ordinals: Arc<dyn ColumnValues<u64>>,
    pub(crate) store: StoreReader,
    keys: Arc<InvertedIndexReader>,
    open: Arc<InvertedIndexReader>,
    restricted: Arc<InvertedIndexReader>,
    deletion_log: DeletionLog,
}

impl IndexView {
    /// Reuses segments of the previous view.
    pub(crate) fn new(searcher: Searcher, fields: Fields, before: Option<&Self>) -> Result<Self, Error> {
        let cached: HashMap<SegmentId, &Arc<OpenedSegment>> = before
            .into_iter()
            .flat_map(|view| &view.segments)
            .map(|segment| (segment.reader.segment_id(), &segment.opened))
            .collect();
        let segments: Vec<Segment> = searcher
            .segment_readers()
            .iter()
            .map(|reader| {
                let opened = match cached.get(&reader.segment_id()) {
                    Some(&opened) => {
                        opened.deletion_log.follow(reader);
                        Arc::clone(opened)
                    }
                    None => Arc::new(OpenedSegment::open(reader, fields)?),
                };
                Ok(Segment {
                    reader: reader.clone(),
                    opened,
                    deleted: OnceLock::new(),
                    deleted_words: OnceLock::new(),
                })
            })
            .collect::<Result<_, Error>>()?;
        let cache = match before {
            None => Arc::new(SegmentCache::new()),
            Some(before) => {
                let present: HashSet<SegmentId> =
                    segments.iter().map(|segment| segment.reader.segment_id()).collect();
                if before.segments.iter().any(|segment| !present.contains(&segment.reader.segment_id())) {
                    before.cache.retain_segments(|segment| present.contains(&segment));
                }
                Arc::clone(&before.cache)
            }
        };
        let generation = next_generation();
        let (expansions, unknown_words) = (LookupCache::default(), LookupCache::default());
        Ok(Self { searcher, segments, fields, generation, cache, expansions, unknown_words })
    }

    pub(crate) fn clear_caches(&self) {
        self.cache.clear();
        self.expansions.clear();
        self.unknown_words.clear();
    }

    /// Deleted documents count until merged.
    pub(crate) fn may_contain(&self, key: &str) -> Result<bool, Error> {
        for segment in &self.segments {
            if segment.opened.keys.terms().get(key)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Only new segments are looked up.
    pub(crate) fn term_infos(&self, term: &Term) -> io::Result<Arc<TermInfos>> {
        let cached = self.cache.term_infos.get(term);
        let generation = self.generation;
        if let Some(cached) = &cached
            && cached.generation == generation
        {
            return Ok(Arc::clone(cached));
        }
        let cached = cached.as_ref().map_or(&[][..], |cached| &cached.by_segment);
        let by_segment = self
            .segments
            .iter()
            .map(|segment| {
                let id = segment.reader.segment_id();
                let info = match cached.iter().find(|(cached, _)| *cached == id) {
                    Some((_, info)) => info.clone(),
                    None => segment.term_info(term, self.fields)?,
                };
                Ok((id, info))
            })
            .collect::<io::Result<_>>()?;
        let term_infos = Arc::new(TermInfos { generation, by_segment });
        self.cache.term_infos.insert(term.clone(), Arc::clone(&term_infos));
        Ok(term_infos)
    }

    /// Deleted documents count until merged.
    pub(crate) fn document_frequency(&self, term: &Term) -> io::Result<u64> {
        Ok(self.term_infos(term)?.document_frequency())
    }
}

impl Segment {
    pub(crate) fn inverted_index(
        &self,
        field: Field,
        fields: Fields,
    ) -> io::Result<Arc<InvertedIndexReader>> {
        if field == fields.open.body {
            Ok(Arc::clone(&self.opened.open))
        } else if field == fields.restricted.body {
            Ok(Arc::clone(&self.opened.restricted))
        } else if field == fields.key {
            Ok(Arc::clone(&self.opened.keys))
        } else {
            self.reader.inverted_index(field).map_err(io::Error::other)
        }
    }

    pub(crate) fn term_info(&self, term: &Term, fields: Fields) -> io::Result<Option<TermInfo>> {
        self.inverted_index(term.field(), fields)?.get_term_info(term)
    }

    /// First document from `time` backwards.
    pub(crate) fn first_at_or_below(&self, time: i64) -> DocId {
        self.partition_point(|document_time| document_time <= time)
    }

    /// First document before `time`.
    pub(crate) fn first_below(&self, time: i64) -> DocId {
        self.partition_point(|document_time| document_time < time)
    }

    /// First document that `holds`, as all later ones must.
    fn partition_point(&self, holds: impl Fn(i64) -> bool) -> DocId {
        let Range { mut start, mut end } = 0..self.reader.max_doc();
        while start < end {
            let middle = start + (end - start) / 2;
            if holds(self.opened.times.get_val(middle)) {
                end = middle;
            } else {
                start = middle + 1;
            }
        }
        start
    }

    /// Documents from `from` on and before `to`; `None` if empty.
    pub(crate) fn between(&self, from: Option<i64>, to: Option<i64>) -> Option<Range<DocId>> {
        // The newest come first.
        let start = to.map_or(0, |to| self.first_below(to));
        let end = from.map_or(self.reader.max_doc(), |from| self.first_below(from));
        (start < end).then_some(start..end)
    }

    pub(crate) fn is_alive(&self, document: DocId) -> bool {
        self.reader.alive_bitset().is_none_or(|alive| alive.is_alive(document))
    }

    pub(crate) fn deleted(&self) -> &[DocId] {
        self.deleted.get_or_init(|| {
            let mut deleted = Vec::new();
            for (place, &word) in (0..).zip(self.deleted_words()) {
                push_bits(place, word, &mut deleted);
            }
            deleted
        })
    }

    /// Empty without deletions.
    pub(crate) fn deleted_words(&self) -> &[u64] {
        self.deleted_words
            .get_or_init(|| if self.reader.has_deletes() { deleted_words(&self.reader) } else { Vec::new() })
    }

    /// Ascending; `None` if not recorded.
    pub(crate) fn deleted_since(&self, count: u32) -> Option<Vec<DocId>> {
        self.opened.deletion_log.since(count, &self.reader)
    }
}

impl OpenedSegment {
    fn open(reader: &SegmentReader, fields: Fields) -> Result<Self, Error> {
        let columns = reader.fast_fields();
        let ids = columns
            .str(ID_COLUMN)?
            .ok_or_else(|| Error::Unusable("a segment has no column of ids".to_owned()))?;
        Ok(Self {
            times: values(columns.i64(TIME_COLUMN)?, i64::MIN),
            id_ordinals: values(ids.ords().clone(), 0),
            ids,
            store: reader.get_store_reader(STORE_CACHE_BLOCKS)?,
            keys: reader.inverted_index(fields.key)?,
            open: reader.inverted_index(fields.open.body)?,
            restricted: reader.inverted_index(fields.restricted.body)?,
            deletion_log: DeletionLog::default(),
        })
    }
}

/// Values by document, directly from a full column.
fn values<T>(column: Column<T>, missing: T) -> Arc<dyn ColumnValues<T>>
where
    T: PartialOrd + Copy + Send + Sync + std::fmt::Debug + 'static,
{
    match column.index {
        ColumnIndex::Full => column.values,
        _ => column.first_or_default_col(missing),
    }
}
