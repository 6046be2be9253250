//! One consistent view of the index, with everything that a query would otherwise open anew kept open.
//!
//! Columns, stored items and inverted indexes of a segment never change, whatever is deleted from it; so they are
//! opened once per segment and handed from view to view. Opening the time column at each query was measured at six
//! times the cost of the query.

use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tantivy::columnar::{Column, ColumnIndex, ColumnValues, StrColumn};
use tantivy::index::{InvertedIndexReader, SegmentId, SegmentReader};
use tantivy::postings::TermInfo;
use tantivy::schema::{Field, Term};
use tantivy::store::StoreReader;
use tantivy::{DocId, Searcher};

use crate::Error;
use crate::deletions::{Deletions, deleted_words, push_bits};
use crate::remembered::{Places, Remembered};
use crate::schema::{Fields, ID_COLUMN, TIME_COLUMN};
use crate::search::Expansion;

/// Blocks of stored items kept unpacked per segment: 1 MiB where items are short; a block holds one long item, of 64 KiB and more.
const STORE_CACHE_BLOCKS: usize = 256;

/// The generation of the next view.
static GENERATIONS: AtomicU64 = AtomicU64::new(0);

/// Beginnings of words whose words are kept with a view.
const MAX_EXPANSIONS: usize = 256;

/// A view of all segments, as they were when the index was last reloaded.
pub(crate) struct View {
    pub(crate) searcher: Searcher,
    pub(crate) segments: Vec<Segment>,
    pub(crate) fields: Fields,
    /// Tells this view from every other one of this process, and is greater than those of the views before it.
    pub(crate) generation: u64,
    /// What searches left behind, in this view and those before it.
    pub(crate) remembered: Arc<Remembered>,
    /// What beginnings of words stand for, in this view.
    expansions: Mutex<HashMap<Arc<Term>, Arc<Expansion>>>,
}

/// One segment of a view.
pub(crate) struct Segment {
    pub(crate) reader: SegmentReader,
    pub(crate) opened: Arc<OpenedSegment>,
    deleted: OnceLock<Vec<DocId>>,
    deleted_words: OnceLock<Vec<u64>>,
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
    deletions: Deletions,
}

impl View {
    /// Views what the searcher sees, taking over from the view before what still exists.
    pub(crate) fn new(searcher: Searcher, fields: Fields, before: Option<&Self>) -> Result<Self, Error> {
        let known: HashMap<SegmentId, &Arc<OpenedSegment>> = before
            .into_iter()
            .flat_map(|view| &view.segments)
            .map(|segment| (segment.reader.segment_id(), &segment.opened))
            .collect();
        let segments: Vec<Segment> = searcher
            .segment_readers()
            .iter()
            .map(|reader| {
                let opened = match known.get(&reader.segment_id()) {
                    Some(&opened) => {
                        opened.deletions.follow(reader);
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
        let remembered = match before {
            None => Arc::new(Remembered::new()),
            Some(before) => {
                let there: HashSet<SegmentId> =
                    segments.iter().map(|segment| segment.reader.segment_id()).collect();
                if before.segments.iter().any(|segment| !there.contains(&segment.reader.segment_id())) {
                    before.remembered.forget_segments(|segment| there.contains(&segment));
                }
                Arc::clone(&before.remembered)
            }
        };
        let generation = GENERATIONS.fetch_add(1, Ordering::Relaxed);
        Ok(Self { searcher, segments, fields, generation, remembered, expansions: Mutex::default() })
    }

    /// What a beginning stands for, as it was found before in this view.
    pub(crate) fn expansion(&self, beginning: &Arc<Term>) -> Option<Arc<Expansion>> {
        self.expansions.lock().unwrap_or_else(PoisonError::into_inner).get(beginning).map(Arc::clone)
    }

    /// Keeps what was found.
    pub(crate) fn keep_expansion(&self, beginning: Arc<Term>, expansion: &Arc<Expansion>) {
        let mut expansions = self.expansions.lock().unwrap_or_else(PoisonError::into_inner);
        // Rare enough that forgetting all is as good as choosing.
        if expansions.len() >= MAX_EXPANSIONS {
            expansions.clear();
        }
        expansions.insert(beginning, Arc::clone(expansion));
    }

    /// Forgets all that searches left behind.
    pub(crate) fn forget(&self) {
        self.remembered.clear();
        self.expansions.lock().unwrap_or_else(PoisonError::into_inner).clear();
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

    /// Where the term is: looked up in the segments that are new since it was last asked for.
    pub(crate) fn places(&self, term: &Term) -> io::Result<Arc<Places>> {
        let known = self.remembered.places(term);
        let generation = self.generation;
        if let Some(known) = &known
            && known.generation == generation
        {
            return Ok(Arc::clone(known));
        }
        let known = known.as_ref().map_or(&[][..], |known| &known.by_segment);
        let by_segment = self
            .segments
            .iter()
            .map(|segment| {
                let id = segment.reader.segment_id();
                let info = match known.iter().find(|(known, _)| *known == id) {
                    Some((_, info)) => info.clone(),
                    None => segment.term_info(term, self.fields)?,
                };
                Ok((id, info))
            })
            .collect::<io::Result<_>>()?;
        let places = Arc::new(Places { generation, by_segment });
        self.remembered.keep_places(term.clone(), &places);
        Ok(places)
    }

    /// In how many documents the term stands, deleted ones that are not merged away yet included.
    pub(crate) fn document_frequency(&self, term: &Term) -> io::Result<u64> {
        Ok(self.places(term)?.documents())
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

    /// The documents from `from` on and before `to`; `None` where there are none.
    pub(crate) fn between(&self, from: Option<i64>, to: Option<i64>) -> Option<Range<DocId>> {
        // Newest first: what is not before `to` comes before the range, what is before `from` behind it.
        let start = to.map_or(0, |to| self.first_below(to));
        let end = from.map_or(self.reader.max_doc(), |from| self.first_below(from));
        (start < end).then_some(start..end)
    }

    pub(crate) fn is_alive(&self, document: DocId) -> bool {
        self.reader.alive_bitset().is_none_or(|alive| alive.is_alive(document))
    }

    /// The deleted documents, ascending.
    pub(crate) fn deleted(&self) -> &[DocId] {
        self.deleted.get_or_init(|| {
            let mut deleted = Vec::new();
            for (place, &word) in (0..).zip(self.deleted_words()) {
                push_bits(place, word, &mut deleted);
            }
            deleted
        })
    }

    /// The deleted documents as bits; no words at all where nothing is deleted.
    pub(crate) fn deleted_words(&self) -> &[u64] {
        self.deleted_words
            .get_or_init(|| if self.reader.has_deletes() { deleted_words(&self.reader) } else { Vec::new() })
    }

    /// What was deleted since `count` documents were, ascending; `None` where that is not known.
    pub(crate) fn deleted_since(&self, count: u32) -> Option<Vec<DocId>> {
        self.opened.deletions.since(count, &self.reader)
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
            deletions: Deletions::default(),
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
