//! Sets of documents of a segment: sorted lists or bitmaps.

use std::ops::Range;
use std::sync::Arc;

use tantivy::{DocId, DocSet, TERMINATED};

pub(crate) const WORD_BITS: u32 = u64::BITS;
/// Smallest ratio of a bitmap, which takes at most twice a list's bytes, with constant-time seeks.
pub(crate) const SPARSE_SHARE: u32 = 64;

/// Deleted documents stay, so that the set outlives commits.
#[derive(Debug)]
pub(crate) enum DocumentSet {
    /// Ascending.
    Sparse(Box<[DocId]>),
    Dense(Bitmap),
}

#[derive(Debug, Clone)]
pub(crate) struct Bitmap {
    words: Vec<u64>,
    len: u32,
}

impl Bitmap {
    /// Bits after the last document must be zero.
    pub(crate) fn from_words(words: Vec<u64>) -> Self {
        let len = words.iter().map(|word| word.count_ones()).sum();
        Self { words, len }
    }

    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

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

    /// Number of documents before `document`.
    fn rank(&self, document: DocId) -> u32 {
        let whole = (document / WORD_BITS) as usize;
        let before = self.words.iter().take(whole).map(|word| word.count_ones()).sum::<u32>();
        let within = self.words.get(whole).map_or(0, |word| word & !(u64::MAX << (document % WORD_BITS)));
        before + within.count_ones()
    }
}

impl DocumentSet {
    pub(crate) fn from_bitmap(bitmap: Bitmap) -> Self {
        let max_document = u32::try_from(bitmap.words.len()).unwrap_or(u32::MAX).saturating_mul(WORD_BITS);
        if bitmap.len > max_document / SPARSE_SHARE {
            return Self::Dense(bitmap);
        }
        let mut list = Vec::with_capacity(bitmap.len as usize);
        let mut document = bitmap.first_from(0);
        while document != TERMINATED {
            list.push(document);
            document = bitmap.first_from(document + 1);
        }
        Self::Sparse(list.into())
    }

    pub(crate) fn from_sorted(documents: Vec<DocId>, max_document: DocId) -> Self {
        if documents.len() <= (max_document / SPARSE_SHARE) as usize {
            return Self::Sparse(documents.into());
        }
        let mut words = vec![0_u64; max_document.div_ceil(WORD_BITS) as usize];
        for document in documents {
            set_bit(&mut words, document);
        }
        Self::Dense(Bitmap::from_words(words))
    }

    pub(crate) fn len(&self) -> u32 {
        match self {
            Self::Sparse(list) => u32::try_from(list.len()).unwrap_or(u32::MAX),
            Self::Dense(bitmap) => bitmap.len,
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::Sparse(list) => size_of_val(&**list),
                Self::Dense(bitmap) => bitmap.words.len() * size_of::<u64>(),
            }
    }

    pub(crate) fn count(&self, range: &Range<DocId>) -> u32 {
        match self {
            Self::Sparse(list) => {
                let before = |end: DocId| list.partition_point(|&document| document < end);
                u32::try_from(before(range.end).saturating_sub(before(range.start))).unwrap_or(u32::MAX)
            }
            Self::Dense(bitmap) => bitmap.rank(range.end) - bitmap.rank(range.start),
        }
    }

    pub(crate) fn read(self: &Arc<Self>) -> SetReader {
        let mut reader = SetReader { set: Arc::clone(self), place: 0, document: 0 };
        reader.document = match &*reader.set {
            Self::Sparse(list) => list.first().copied().unwrap_or(TERMINATED),
            Self::Dense(bitmap) => bitmap.first_from(0),
        };
        reader
    }
}

pub(crate) fn set_bit(words: &mut [u64], document: DocId) {
    words[(document / WORD_BITS) as usize] |= 1 << (document % WORD_BITS);
}

pub(crate) struct SetReader {
    set: Arc<DocumentSet>,
    /// Place in the list, if sparse.
    place: usize,
    document: DocId,
}

impl DocSet for SetReader {
    fn advance(&mut self) -> DocId {
        if self.document != TERMINATED {
            self.document = match &*self.set {
                DocumentSet::Sparse(list) => {
                    self.place += 1;
                    list.get(self.place).copied().unwrap_or(TERMINATED)
                }
                DocumentSet::Dense(bitmap) => bitmap.first_from(self.document + 1),
            };
        }
        self.document
    }

    fn seek(&mut self, target: DocId) -> DocId {
        if self.document < target {
            self.document = match &*self.set {
                DocumentSet::Sparse(list) => {
                    self.place += gallop(&list[self.place..], target);
                    list.get(self.place).copied().unwrap_or(TERMINATED)
                }
                DocumentSet::Dense(bitmap) => bitmap.first_from(target),
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

/// Index of the first document from `target` on, which is likely near.
fn gallop(list: &[DocId], target: DocId) -> usize {
    let mut step = 1;
    while list.get(step).is_some_and(|&document| document < target) {
        step *= 2;
    }
    let start = step / 2;
    let end = (step + 1).min(list.len());
    start.min(end) + list[start.min(end)..end].partition_point(|&document| document < target)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use proptest::collection::btree_set;
    use proptest::prelude::*;
    use tantivy::{DocSet, TERMINATED};

    use super::{Bitmap, DocumentSet, WORD_BITS, set_bit};

    fn set(documents: &BTreeSet<u32>, max_document: u32) -> Arc<DocumentSet> {
        let mut words = vec![0; max_document.div_ceil(WORD_BITS) as usize];
        for &document in documents {
            set_bit(&mut words, document);
        }
        Arc::new(DocumentSet::from_bitmap(Bitmap::from_words(words)))
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        #[test]
        fn set_reads_seeks_and_counts_like_a_sorted_set(
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
