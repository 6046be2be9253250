//! Sets of documents of one segment, kept so that they are sought, intersected and counted without reading postings.

use std::ops::Range;
use std::sync::Arc;

use tantivy::{DocId, DocSet, TERMINATED};

/// Documents in a word of bits.
const WORD_BITS: u32 = 64;
/// A set with more than one of so many documents is held as bits: twice the room of a list at most, and sought at once.
pub(crate) const SPARSE: u32 = 64;

/// Documents of a segment. What is deleted stays in it: a set is as lasting as its segment.
#[derive(Debug)]
pub(crate) enum DocumentSet {
    /// Ascending.
    Few(Box<[DocId]>),
    /// A bit for each document of the segment.
    Many(Bits),
}

/// A bit for each document.
#[derive(Debug, Clone)]
pub(crate) struct Bits {
    words: Vec<u64>,
    len: u32,
}

impl Bits {
    /// The bits as they are, of which those behind the last document are not set.
    pub(crate) fn from_words(words: Vec<u64>) -> Self {
        let len = words.iter().map(|word| word.count_ones()).sum();
        Self { words, len }
    }

    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// The first document that is not before `document`.
    fn first_from(&self, document: DocId) -> DocId {
        let mut place = (document / WORD_BITS) as usize;
        let Some(&word) = self.words.get(place) else { return TERMINATED };
        let mut word = word & (u64::MAX << (document % WORD_BITS));
        while word == 0 {
            place += 1;
            match self.words.get(place) {
                Some(&next) => word = next,
                None => return TERMINATED,
            }
        }
        u32::try_from(place).map_or(TERMINATED, |place| place * WORD_BITS + word.trailing_zeros())
    }

    /// The documents before `document`.
    fn first_documents(&self, document: DocId) -> u32 {
        let whole = (document / WORD_BITS) as usize;
        let before = self.words.iter().take(whole).map(|word| word.count_ones()).sum::<u32>();
        let within = self.words.get(whole).map_or(0, |word| word & !(u64::MAX << (document % WORD_BITS)));
        before + within.count_ones()
    }
}

impl DocumentSet {
    /// The set of these, in whatever takes less room.
    pub(crate) fn new(bits: Bits) -> Self {
        let max_document = u32::try_from(bits.words.len()).unwrap_or(u32::MAX).saturating_mul(WORD_BITS);
        if bits.len > max_document / SPARSE {
            return Self::Many(bits);
        }
        let mut few = Vec::with_capacity(bits.len as usize);
        let mut document = bits.first_from(0);
        while document != TERMINATED {
            few.push(document);
            document = bits.first_from(document + 1);
        }
        Self::Few(few.into())
    }

    /// The set of these, which ascend.
    pub(crate) fn of_documents(documents: Vec<DocId>, max_document: DocId) -> Self {
        if documents.len() <= (max_document / SPARSE) as usize {
            return Self::Few(documents.into());
        }
        let mut words = vec![0_u64; max_document.div_ceil(WORD_BITS) as usize];
        for document in documents {
            words[(document / WORD_BITS) as usize] |= 1 << (document % WORD_BITS);
        }
        Self::Many(Bits::from_words(words))
    }

    /// How many documents it holds.
    pub(crate) fn len(&self) -> u32 {
        match self {
            Self::Few(few) => u32::try_from(few.len()).unwrap_or(u32::MAX),
            Self::Many(bits) => bits.len,
        }
    }

    /// The bytes that it takes.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::Few(few) => size_of_val(&**few),
                Self::Many(bits) => bits.words.len() * size_of::<u64>(),
            }
    }

    /// How many of them lie in the range.
    pub(crate) fn count(&self, range: &Range<DocId>) -> u32 {
        match self {
            Self::Few(few) => {
                let before = |end: DocId| few.partition_point(|&document| document < end);
                u32::try_from(before(range.end).saturating_sub(before(range.start))).unwrap_or(u32::MAX)
            }
            Self::Many(bits) => bits.first_documents(range.end) - bits.first_documents(range.start),
        }
    }

    /// Reads it, from its first document on.
    pub(crate) fn read(self: &Arc<Self>) -> SetReader {
        let mut reader = SetReader { set: Arc::clone(self), place: 0, document: 0 };
        reader.document = match &*reader.set {
            Self::Few(few) => few.first().copied().unwrap_or(TERMINATED),
            Self::Many(bits) => bits.first_from(0),
        };
        reader
    }
}

/// Reads a set.
pub(crate) struct SetReader {
    set: Arc<DocumentSet>,
    /// Of the current document among few.
    place: usize,
    document: DocId,
}

impl DocSet for SetReader {
    fn advance(&mut self) -> DocId {
        if self.document != TERMINATED {
            self.document = match &*self.set {
                DocumentSet::Few(few) => {
                    self.place += 1;
                    few.get(self.place).copied().unwrap_or(TERMINATED)
                }
                DocumentSet::Many(bits) => bits.first_from(self.document + 1),
            };
        }
        self.document
    }

    fn seek(&mut self, target: DocId) -> DocId {
        if self.document < target {
            self.document = match &*self.set {
                DocumentSet::Few(few) => {
                    self.place += gallop(&few[self.place..], target);
                    few.get(self.place).copied().unwrap_or(TERMINATED)
                }
                DocumentSet::Many(bits) => bits.first_from(target),
            };
        }
        self.document
    }

    fn doc(&self) -> DocId {
        self.document
    }

    fn size_hint(&self) -> u32 {
        self.set.len()
    }
}

/// The place of the first that is not below `target`, which is likely near.
fn gallop(few: &[DocId], target: DocId) -> usize {
    let mut step = 1;
    while few.get(step).is_some_and(|&document| document < target) {
        step *= 2;
    }
    let start = step / 2;
    let end = (step + 1).min(few.len());
    start.min(end) + few[start.min(end)..end].partition_point(|&document| document < target)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use proptest::collection::btree_set;
    use proptest::prelude::*;
    use tantivy::{DocSet, TERMINATED};

    use super::{Bits, DocumentSet};

    fn set(documents: &BTreeSet<u32>, max_document: u32) -> Arc<DocumentSet> {
        let mut words = vec![0; max_document.div_ceil(64) as usize];
        for &document in documents {
            words[(document / 64) as usize] |= 1 << (document % 64);
        }
        Arc::new(DocumentSet::new(Bits::from_words(words)))
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        #[test]
        fn a_set_reads_seeks_and_counts_as_its_documents_do(
            documents in prop_oneof![btree_set(0..2_000_u32, 0..20), btree_set(0..2_000_u32, 100..900)],
            steps in proptest::collection::vec((any::<bool>(), 0..2_100_u32), 0..60),
            start in 0..2_000_u32,
            length in 0..2_000_u32,
        ) {
            let set = set(&documents, 2_000);
            prop_assert_eq!(set.len() as usize, documents.len());
            let range = start..(start + length).min(2_000);
            prop_assert_eq!(set.count(&range) as usize, documents.range(range.clone()).count());
            let mut reader = set.read();
            let first_from = |from: u32| documents.range(from..).next().copied().unwrap_or(TERMINATED);
            prop_assert_eq!(reader.doc(), first_from(0));
            for (advance, target) in steps {
                let before = reader.doc();
                let expected = if before == TERMINATED { TERMINATED } else if advance { first_from(before + 1) } else { first_from(before.max(target)) };
                let found = if advance { reader.advance() } else { reader.seek(target.max(if before == TERMINATED { target } else { before })) };
                prop_assert_eq!(found, expected);
                prop_assert_eq!(reader.doc(), expected);
            }
        }
    }
}
