//! One consistent view of the index, with everything that a query would otherwise open anew kept open.
//!
//! Columns, stored items and inverted indexes of a segment never change, whatever is deleted from it; so they are
//! opened once per segment and handed from view to view. Opening the time column at each query was measured at six
//! times the cost of the query.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tantivy::columnar::{Column, ColumnIndex, ColumnValues, StrColumn};
use tantivy::index::{InvertedIndexReader, SegmentId, SegmentReader};
use tantivy::postings::TermInfo;
use tantivy::schema::{Field, Term};
use tantivy::store::StoreReader;
use tantivy::{BitSet, DocId, Searcher};

use crate::schema::{Fields, ID_COLUMN, TIME_COLUMN};
use crate::{Error, Query, Scope};

/// Blocks of stored items kept unpacked per segment: 4 MiB at most.
const STORE_CACHE_BLOCKS: usize = 1_024;

/// The generation of the next view.
static GENERATIONS: AtomicU64 = AtomicU64::new(0);

/// Totals remembered per view.
const MAX_REMEMBERED_TOTALS: usize = 1_024;
/// Documents in a word of a bit set.
const WORD_BITS: u32 = 64;

/// A view of all segments, as they were when the index was last reloaded.
pub(crate) struct View {
    pub(crate) searcher: Searcher,
    pub(crate) segments: Vec<Segment>,
    pub(crate) fields: Fields,
    /// Tells this view from every other one of this process, and is greater than those of the views before it.
    pub(crate) generation: u64,
    /// Totals that took some counting, for as long as this view stands.
    totals: Mutex<HashMap<TotalOf, u64>>,
}

/// All that a total depends on, in one view.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct TotalOf {
    pub(crate) scope: Scope,
    pub(crate) query: Query,
    pub(crate) principals: Vec<String>,
    pub(crate) from: Option<i64>,
    pub(crate) to: Option<i64>,
    pub(crate) author: Option<String>,
    /// Any of the words makes a match, as in relevance order.
    pub(crate) any_word: bool,
}

/// One segment of a view.
pub(crate) struct Segment {
    pub(crate) reader: SegmentReader,
    pub(crate) opened: Arc<OpenedSegment>,
    deleted: OnceLock<Vec<DocId>>,
}

/// What stays the same in a segment for as long as it exists.
pub(crate) struct OpenedSegment {
    /// `display_time` by document, descending.
    pub(crate) times: Arc<dyn ColumnValues<i64>>,
    /// The ids: their dictionary, and each document's place in it.
    pub(crate) ids: StrColumn,
    pub(crate) id_ordinals: Arc<dyn ColumnValues<u64>>,
    pub(crate) store: StoreReader,
    keys: Arc<InvertedIndexReader>,
    open: Arc<InvertedIndexReader>,
    restricted: Arc<InvertedIndexReader>,
}

impl View {
    /// Views what the searcher sees, taking over from the view before what still exists.
    pub(crate) fn new(searcher: Searcher, fields: Fields, before: Option<&Self>) -> Result<Self, Error> {
        let known: HashMap<SegmentId, &Arc<OpenedSegment>> = before
            .into_iter()
            .flat_map(|view| &view.segments)
            .map(|segment| (segment.reader.segment_id(), &segment.opened))
            .collect();
        let segments = searcher
            .segment_readers()
            .iter()
            .map(|reader| {
                let opened = match known.get(&reader.segment_id()) {
                    Some(&opened) => Arc::clone(opened),
                    None => Arc::new(OpenedSegment::open(reader, fields)?),
                };
                Ok(Segment { reader: reader.clone(), opened, deleted: OnceLock::new() })
            })
            .collect::<Result<_, Error>>()?;
        let generation = GENERATIONS.fetch_add(1, Ordering::Relaxed);
        Ok(Self { searcher, segments, fields, generation, totals: Mutex::default() })
    }

    /// Whether nothing is deleted that is not merged away.
    pub(crate) fn is_without_deletions(&self) -> bool {
        self.segments.iter().all(|segment| !segment.reader.has_deletes())
    }

    /// The total as it was counted before in this view, or as `count` counts it now.
    pub(crate) fn total(
        &self,
        of: TotalOf,
        count: impl FnOnce() -> Result<u64, Error>,
    ) -> Result<u64, Error> {
        let known = self.totals.lock().unwrap_or_else(PoisonError::into_inner).get(&of).copied();
        if let Some(total) = known {
            return Ok(total);
        }
        let total = count()?;
        let mut totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        // Rare enough that forgetting all is as good as choosing.
        if totals.len() >= MAX_REMEMBERED_TOTALS {
            totals.clear();
        }
        totals.insert(of, total);
        Ok(total)
    }

    /// Whether a document is indexed under this key; one that is deleted, but not merged away yet, still counts.
    pub(crate) fn may_hold(&self, key: &str) -> Result<bool, Error> {
        for segment in &self.segments {
            if segment.opened.keys.terms().get(key)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// In how many documents the term stands, deleted ones that are not merged away yet included.
    pub(crate) fn document_frequency(&self, term: &Term) -> io::Result<u64> {
        let mut frequency = 0;
        for segment in &self.segments {
            frequency += segment.term_info(term, self.fields)?.map_or(0, |info| u64::from(info.doc_freq));
        }
        Ok(frequency)
    }
}

impl Segment {
    /// The inverted index of a field; those of the texts are open already.
    pub(crate) fn inverted_index(
        &self,
        field: Field,
        fields: Fields,
    ) -> io::Result<Arc<InvertedIndexReader>> {
        if field == fields.open.body {
            Ok(Arc::clone(&self.opened.open))
        } else if field == fields.restricted.body {
            Ok(Arc::clone(&self.opened.restricted))
        } else {
            self.reader.inverted_index(field).map_err(io::Error::other)
        }
    }

    /// Where the term's postings are.
    pub(crate) fn term_info(&self, term: &Term, fields: Fields) -> io::Result<Option<TermInfo>> {
        self.inverted_index(term.field(), fields)?.get_term_info(term)
    }

    /// The first document whose time is `time` or below.
    pub(crate) fn first_at_or_below(&self, time: i64) -> DocId {
        self.first_where(|of_document| of_document <= time)
    }

    /// The first document whose time is below `time`.
    pub(crate) fn first_below(&self, time: i64) -> DocId {
        self.first_where(|of_document| of_document < time)
    }

    /// The first document whose time is so, given that all behind it are so too.
    fn first_where(&self, is_so: impl Fn(i64) -> bool) -> DocId {
        let Range { mut start, mut end } = 0..self.reader.max_doc();
        while start < end {
            let middle = start + (end - start) / 2;
            if is_so(self.opened.times.get_val(middle)) {
                end = middle;
            } else {
                start = middle + 1;
            }
        }
        start
    }

    /// The deleted documents, ascending.
    pub(crate) fn deleted(&self) -> &[DocId] {
        self.deleted.get_or_init(|| {
            let Some(alive) = self.reader.alive_bitset() else { return Vec::new() };
            let max_document = self.reader.max_doc();
            // By words of 64 documents, since nearly all are full, and every commit may ask anew.
            let mut documents = BitSet::with_max_value_and_full(max_document);
            documents.intersect_update(alive.bitset());
            let mut deleted = Vec::new();
            for word in 0..max_document.div_ceil(WORD_BITS) {
                let mut missing = !u64::from_le_bytes(documents.tinyset(word).into_bytes());
                while missing != 0 {
                    deleted.push(word * WORD_BITS + missing.trailing_zeros());
                    missing &= missing - 1;
                }
            }
            // The last word may reach beyond the last document.
            deleted.truncate(deleted.partition_point(|&document| document < max_document));
            deleted
        })
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
        })
    }
}

/// The values of a column by document. Every document has one, so the column is full and needs no detour.
fn values<T>(column: Column<T>, missing: T) -> Arc<dyn ColumnValues<T>>
where
    T: PartialOrd + Copy + Send + Sync + std::fmt::Debug + 'static,
{
    match column.index {
        ColumnIndex::Full => column.values,
        _ => column.first_or_default_col(missing),
    }
}
