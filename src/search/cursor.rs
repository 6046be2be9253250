//! The opaque cursor: where each source of a module stands, sealed (decisions 5.4).
//!
//! It also says what a module that shows duplicates once has shown. It is versioned, authenticated and encrypted, and opens only for the search it was made for: the same tenant,
//! module, keyword, order and filters. It names positions, never rights: what the caller may see is asked anew on
//! every page.

#[cfg(test)]
mod tests;

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};

use super::{
    loops::{Fingerprint, LoopGuard, fingerprint},
    request::{Order, SearchRequest, Viewer},
    source::Position,
};
use crate::{
    auth::keys::SealingKey,
    error::{Error, Result},
};

/// Before the sealed part; a later form gets another one. The dot keeps a cursor from ever being digits only.
const VERSION_PREFIX: &str = "v3.";

/// The longest cursor, in bytes of text; a longer one is neither made nor read.
///
/// A source takes 40 to 80 bytes of it, and at its longest 6,300 (its own cursor of 4,096 bytes, an item's id of 512), but
/// for one that cuts its pages anew at each call: another 40 bytes, at the longest 700, for each of fifteen cuts;
/// what was shown takes 22,000 at the most. The bound holds 41 sources at their longest, or 37 and what was shown (15 of
/// sources that are cut anew as often as can be), or thousands of usual ones. Forty usual sources stay below the 4,096 bytes that an external source's cursor may have, so
/// one trawl can be a source of another; with what was shown, four sources and the first 250 items do. A URL may be shorter
/// than this; the JSON body is not.
pub(super) const LONGEST: usize = 256 * 1_024;

/// What a cursor says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cursor {
    /// The time condition that the chain of pages began with.
    pub(super) before: Option<i64>,
    /// Where each source stands; one that is not named has not begun.
    pub(super) lanes: Vec<LaneState>,
    /// What was shown and is not to be shown again, oldest first; empty where duplicates are kept.
    pub(super) shown: Vec<Fingerprint>,
    /// What was looked for instead of the keyword, which finds nothing (decisions 5.7).
    pub(super) corrected: Option<String>,
}

/// Where one source stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LaneState {
    /// The source.
    pub(super) source: SourceKey,
    /// Its position after what was released.
    pub(super) position: Position,
    /// How many of its items were released.
    pub(super) taken: usize,
    /// What it last said of its total, for when it need not be asked again.
    pub(super) total: Option<u64>,
    /// What is remembered of its own cursors.
    pub(super) guard: LoopGuard,
}

/// A source's id, in a few bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct SourceKey(Fingerprint);

impl SourceKey {
    /// The key of the source with this id.
    pub(super) fn of(id: &str) -> Self {
        Self(fingerprint(id))
    }
}

impl Cursor {
    /// Writes the cursor down for the caller.
    ///
    /// # Errors
    /// 400 when it would be longer than [`LONGEST`]: rather no page than one that cannot be followed.
    pub(super) fn seal(&self, key: &SealingKey, context: &[u8]) -> Result<String> {
        let plain = postcard::to_allocvec(self).map_err(Error::internal)?;
        let sealed = key.seal(&versioned(context), &plain).map_err(Error::internal)?;
        let text = format!("{VERSION_PREFIX}{}", BASE64_URL_SAFE_NO_PAD.encode(sealed));
        if text.len() > LONGEST {
            return Err(Error::bad_request(
                "moduleId: the module's sources are too many for their positions to fit in a cursor; \
                 search them one by one with `source`",
            ));
        }
        Ok(text)
    }

    /// Reads a cursor that came back.
    ///
    /// # Errors
    /// 400 for one that was tampered with or made for another search.
    pub(super) fn open(text: &str, key: &SealingKey, context: &[u8]) -> Result<Self> {
        let refused = || {
            Error::bad_request(
                "cursor: it was changed, or made for another keyword, module, order, filter, person or tenant; \
                 send the cursor of the last answer with the same parameters, or digits (epoch milliseconds)",
            )
        };
        let bounded = Some(text).filter(|text| text.len() <= LONGEST).ok_or_else(refused)?;
        let sealed = bounded.strip_prefix(VERSION_PREFIX).ok_or_else(refused)?;
        let sealed = BASE64_URL_SAFE_NO_PAD.decode(sealed).map_err(|_| refused())?;
        let plain = key.open(&versioned(context), &sealed).map_err(|_| refused())?;
        postcard::from_bytes(&plain).map_err(|_| refused())
    }
}

/// The context of cursors of this form: another form's sealed part does not open as one of it.
fn versioned(context: &[u8]) -> Vec<u8> {
    [VERSION_PREFIX.as_bytes(), context].concat()
}

/// What a cursor belongs to, as bytes that are the same only for the same search.
pub(super) fn context(viewer: &Viewer, module_id: &str, request: &SearchRequest) -> Result<Vec<u8>> {
    let filters = &request.filters;
    serde_json::to_vec(&(
        viewer.tenant_id,
        // A cursor carries totals, and those are of what its viewer may see.
        &viewer.user_id,
        module_id,
        &request.keyword,
        request.order == Order::Time,
        (filters.from, filters.to, &filters.author, &filters.source),
    ))
    .map_err(Error::internal)
}
