//! What is deleted from a segment, in the order in which it was: what was counted before a commit is set right after it by
//! looking at what the commit deleted.

use std::sync::{Mutex, PoisonError};

use tantivy::index::SegmentReader;
use tantivy::{BitSet, DocId};

/// Documents in a word of bits.
const WORD_BITS: u32 = 64;

/// The deletions of one segment, from when somebody first asked on.
#[derive(Default)]
pub(crate) struct Deletions {
    known: Mutex<Option<Known>>,
}

struct Known {
    /// The bits of all that is deleted.
    words: Vec<u64>,
    /// How many documents were deleted, at each time that was looked at.
    counts: Vec<u32>,
    /// The documents deleted since the first of these, in the order of the times.
    log: Vec<DocId>,
}

impl Deletions {
    /// Takes in what a commit deleted, where somebody asked for earlier deletions.
    pub(crate) fn follow(&self, reader: &SegmentReader) {
        if let Some(known) = &mut *self.known.lock().unwrap_or_else(PoisonError::into_inner) {
            known.reach(reader);
        }
    }

    /// What was deleted between the time when `since` documents were and that of the reader, ascending; `None` where that
    /// is not known.
    pub(crate) fn since(&self, since: u32, reader: &SegmentReader) -> Option<Vec<DocId>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_with(|| Known {
            words: deleted_words(reader),
            counts: vec![reader.num_deleted_docs()],
            log: Vec::new(),
        });
        known.reach(reader);
        let first = *known.counts.first()?;
        let place = |count: u32| {
            known.counts.binary_search(&count).ok()?;
            usize::try_from(count - first).ok()
        };
        let mut deleted = known.log.get(place(since)?..place(reader.num_deleted_docs())?)?.to_vec();
        deleted.sort_unstable();
        Some(deleted)
    }
}

impl Known {
    /// Adds what is deleted by now; what was deleted at an earlier time than the last one tells nothing.
    fn reach(&mut self, reader: &SegmentReader) {
        let count = reader.num_deleted_docs();
        if self.counts.last().is_none_or(|&last| last >= count) {
            return;
        }
        let now = deleted_words(reader);
        for (place, (known, now)) in (0..).zip(self.words.iter().zip(&now)) {
            push_bits(place, now & !known, &mut self.log);
        }
        self.words = now;
        self.counts.push(count);
    }
}

/// The bits of all that is deleted from the segment.
pub(crate) fn deleted_words(reader: &SegmentReader) -> Vec<u64> {
    let max_document = reader.max_doc();
    let words = max_document.div_ceil(WORD_BITS);
    let Some(alive) = reader.alive_bitset() else { return vec![0; words as usize] };
    // The engine gives no words of its own set, but those of one that it has been intersected with.
    let mut documents = BitSet::with_max_value_and_full(max_document);
    documents.intersect_update(alive.bitset());
    let mut deleted: Vec<u64> =
        (0..words).map(|word| !u64::from_le_bytes(documents.tinyset(word).into_bytes())).collect();
    // The last word may reach beyond the last document.
    if let Some(last) = deleted.last_mut()
        && !max_document.is_multiple_of(WORD_BITS)
    {
        *last &= !(u64::MAX << (max_document % WORD_BITS));
    }
    deleted
}

/// Adds the documents of the word with the number `place`.
pub(crate) fn push_bits(place: u32, mut word: u64, documents: &mut Vec<DocId>) {
    while word != 0 {
        documents.push(place * WORD_BITS + word.trailing_zeros());
        word &= word - 1;
    }
}
