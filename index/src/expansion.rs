//! Words with a common prefix.

use tantivy::postings::TermInfo;
use tantivy::schema::{Field, Term};

use crate::segment_cache::SetKey;

pub(crate) struct PrefixExpansion {
    /// Terms other than the stem of the prefix.
    pub(crate) terms: Vec<Term>,
    pub(crate) segments: Vec<SegmentExpansion>,
}

pub(crate) struct SegmentExpansion {
    pub(crate) key: SetKey,
    /// Hash of the words.
    pub(crate) fingerprint: u64,
    pub(crate) infos: Vec<TermInfo>,
}

impl PrefixExpansion {
    pub(crate) fn is_in(&self, field: Field) -> bool {
        self.terms.iter().all(|term| term.field() == field)
    }

    pub(crate) fn has_only_stem(&self) -> bool {
        self.terms.is_empty()
    }
}
