//! The opaque cursor: the sealed positions of a module's sources.
//!
//! It opens only for the same tenant, person, module, keyword, order and filters. It holds positions, never
//! rights: visibility is checked on every page. Weights and the handling of duplicates may change between
//! pages. What the index ranked the first page by stays, so that any replica goes on with the same list.
//!
//! Fields are serialised in order (postcard): moving one breaks all cursors in use.

#[cfg(test)]
mod tests;

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use trawl_engine::{correction::Correction, relevance::RankedBy};

use crate::{
    error::{Error, Result},
    loop_guard::{Fingerprint, LoopGuard},
    pinned::PinnedMarks,
    relaxation::Relaxation,
    request::{PageRequest, SearchContext, SearchOrder},
    source::{Position, SourceFingerprint},
};

/// The dot distinguishes cursors from digits.
const VERSION_PREFIX: &str = "v8.";

/// Longest cursor, in bytes of text.
///
/// A source takes 40 to 130 bytes, and the rows of last pages 1,400 for all sources. At most a source takes 6,300, with its own cursor of 4,096
/// and an id of 512. Each of fifteen further parts adds at most 700 bytes, seen items at most 22,000, pinned ones at most 14,500. So 41 of the
/// longest sources fit, or 35 with seen and pinned items. Forty usual sources fit in an external cursor (4,096 bytes), so one trawl can be a
/// source of another.
pub(crate) const MAX_BYTES: usize = 256 * 1_024;

/// Authenticated encryption of cursors.
pub trait CursorKey: Send + Sync {
    /// Seals `plain` for this `context`; `None` if the cipher fails.
    fn seal(&self, context: &[u8], plain: &[u8]) -> Option<Vec<u8>>;

    /// `None` if the bytes or the context changed.
    fn open(&self, context: &[u8], sealed: &[u8]) -> Option<Vec<u8>>;
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct PageCursor {
    pub(crate) before: Option<i64>,
    pub(crate) lanes: Vec<LaneState>,
    /// Oldest first.
    pub(crate) seen: Vec<Fingerprint>,
    pub(crate) rewrite: Rewrite,
    pub(crate) pinned: PinnedMarks,
    pub(crate) ranked_by: Option<RankedBy>,
}

/// The keyword that is searched for in place of the one typed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rewrite {
    pub(crate) corrected: Option<Correction>,
    /// Words left out of the corrected keyword, or of the typed one.
    pub(crate) relaxation: Option<Relaxation>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LaneState {
    pub(crate) source: SourceFingerprint,
    pub(crate) position: Position,
    pub(crate) consumed: usize,
    /// Least estimate among an external source's consumed items, in relevance order.
    pub(crate) least_estimate: Option<f32>,
    pub(crate) total: Option<u64>,
    pub(crate) guard: LoopGuard,
}

impl Rewrite {
    pub(crate) fn keyword(&self) -> Option<&str> {
        let relaxed = self.relaxation.as_ref().map(|relaxation| &relaxation.keyword);
        let corrected = self.corrected.as_ref().map(|corrected| &corrected.keyword);
        relaxed.or(corrected).map(String::as_str)
    }
}

impl PageCursor {
    /// [`Error::CursorTooLong`] above [`MAX_BYTES`].
    pub(crate) fn seal(&self, key: &dyn CursorKey, binding: &[u8]) -> Result<String> {
        let plain = postcard::to_allocvec(self).map_err(Error::internal)?;
        let sealed = key
            .seal(&versioned(binding), &plain)
            .ok_or_else(|| Error::internal("a cursor could not be sealed"))?;
        let text = format!("{VERSION_PREFIX}{}", BASE64_URL_SAFE_NO_PAD.encode(sealed));
        if text.len() > MAX_BYTES { Err(Error::CursorTooLong) } else { Ok(text) }
    }

    /// [`Error::InvalidCursor`].
    pub(crate) fn open(text: &str, key: &dyn CursorKey, binding: &[u8]) -> Result<Self> {
        let open = || {
            let bounded = Some(text).filter(|text| text.len() <= MAX_BYTES)?;
            let sealed = BASE64_URL_SAFE_NO_PAD.decode(bounded.strip_prefix(VERSION_PREFIX)?).ok()?;
            let mut plain = key.open(&versioned(binding), &sealed)?;
            // The first cursors of this version end before `ranked_by`; more bytes do no harm.
            plain.push(0);
            postcard::from_bytes(&plain).ok()
        };
        open().ok_or(Error::InvalidCursor)
    }
}

fn versioned(binding: &[u8]) -> Vec<u8> {
    [VERSION_PREFIX.as_bytes(), binding].concat()
}

pub(crate) fn binding(search: &SearchContext, module_id: &str, page: &PageRequest) -> Result<Vec<u8>> {
    let SearchContext { viewer, parameters, .. } = search;
    let filters = &parameters.filters;
    serde_json::to_vec(&(
        viewer.tenant_id,
        // A cursor carries totals that depend on the viewer.
        &viewer.user_id,
        module_id,
        &parameters.keyword,
        parameters.order == SearchOrder::Time,
        parameters.exact,
        (filters.from, filters.to, &filters.author, &page.source),
    ))
    .map_err(Error::internal)
}
