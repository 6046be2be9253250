//! Deletions of a segment in commit order, to correct earlier counts.

use std::sync::{Mutex, PoisonError};

use tantivy::index::SegmentReader;
use tantivy::{BitSet, DocId};

use crate::document_set::WORD_BITS;

/// Deletions since the first call of [`Self::since`].
#[derive(Default)]
pub(crate) struct DeletionLog {
    state: Mutex<Option<LoggedDeletions>>,
}

struct LoggedDeletions {
    words: Vec<u64>,
    counts: Vec<u32>,
    documents: Vec<DocId>,
}

impl DeletionLog {
    pub(crate) fn follow(&self, reader: &SegmentReader) {
        if let Some(log) = &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner) {
            log.catch_up(reader);
        }
    }

    /// Ascending; `None` if not recorded.
    pub(crate) fn since(&self, since: u32, reader: &SegmentReader) -> Option<Vec<DocId>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let log = state.get_or_insert_with(|| LoggedDeletions {
            words: deleted_words(reader),
            counts: vec![reader.num_deleted_docs()],
            documents: Vec::new(),
        });
        log.catch_up(reader);
        let first = *log.counts.first()?;
        let place = |count: u32| {
            log.counts.binary_search(&count).ok()?;
            usize::try_from(count - first).ok()
        };
        let mut deleted = log.documents.get(place(since)?..place(reader.num_deleted_docs())?)?.to_vec();
        deleted.sort_unstable();
        Some(deleted)
    }
}

impl LoggedDeletions {
    fn catch_up(&mut self, reader: &SegmentReader) {
        let count = reader.num_deleted_docs();
        if self.counts.last().is_none_or(|&last| last >= count) {
            return;
        }
        let now = deleted_words(reader);
        for (place, (before, now)) in (0..).zip(self.words.iter().zip(&now)) {
            push_bits(place, now & !before, &mut self.documents);
        }
        self.words = now;
        self.counts.push(count);
    }
}

pub(crate) fn deleted_words(reader: &SegmentReader) -> Vec<u64> {
    let max_document = reader.max_doc();
    let words = max_document.div_ceil(WORD_BITS);
    let Some(alive) = reader.alive_bitset() else { return vec![0; words as usize] };
    // The engine exposes only the words of an intersection.
    let mut documents = BitSet::with_max_value_and_full(max_document);
    documents.intersect_update(alive.bitset());
    let mut deleted: Vec<u64> =
        (0..words).map(|word| !u64::from_le_bytes(documents.tinyset(word).into_bytes())).collect();
    // Clears bits after the last document.
    if let Some(last) = deleted.last_mut()
        && !max_document.is_multiple_of(WORD_BITS)
    {
        *last &= !(u64::MAX << (max_document % WORD_BITS));
    }
    deleted
}

pub(crate) fn push_bits(place: u32, mut word: u64, documents: &mut Vec<DocId>) {
    while word != 0 {
        documents.push(place * WORD_BITS + word.trailing_zeros());
        word &= word - 1;
    }
}
