//! The opaque cursor: where each source of a module stands, sealed (decisions 5.4).
//!
//! It is versioned, authenticated and encrypted, and opens only for the search it was made for: the same tenant,
//! module, keyword, order and filters. It names positions, never rights: what the caller may see is asked anew on
//! every page.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};

use super::{
    request::{Order, SearchRequest},
    source::Position,
};
use crate::{
    auth::keys::SealingKey,
    error::{Error, Result},
};

/// Before the sealed part; a later form gets another one. The dot keeps a cursor from ever being digits only.
const VERSION_PREFIX: &str = "v1.";

/// Longer ones were not made here.
const LONGEST: usize = 256 * 1_024;

/// What a cursor says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cursor {
    /// The time condition that the chain of pages began with.
    #[serde(rename = "b", skip_serializing_if = "Option::is_none", default)]
    pub(super) before: Option<i64>,
    /// Where each source stands; one that is not named has not begun.
    #[serde(rename = "l")]
    pub(super) lanes: Vec<LaneState>,
}

/// Where one source stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LaneState {
    /// The source's id.
    #[serde(rename = "s")]
    pub(super) source: String,
    /// Its position after what was released.
    #[serde(rename = "p")]
    pub(super) position: Position,
    /// How many of its items were released.
    #[serde(rename = "n")]
    pub(super) taken: usize,
    /// What it last said of its total, for when it need not be asked again.
    #[serde(rename = "t", skip_serializing_if = "Option::is_none", default)]
    pub(super) total: Option<u64>,
}

impl Cursor {
    /// Writes the cursor down for the caller.
    pub(super) fn seal(&self, key: &SealingKey, context: &[u8]) -> Result<String> {
        let plain = serde_json::to_vec(self).map_err(Error::internal)?;
        let sealed = key.seal(context, &plain).map_err(Error::internal)?;
        Ok(format!("{VERSION_PREFIX}{}", BASE64_URL_SAFE_NO_PAD.encode(sealed)))
    }

    /// Reads a cursor that came back.
    ///
    /// # Errors
    /// 400 for one that was tampered with or made for another search.
    pub(super) fn open(text: &str, key: &SealingKey, context: &[u8]) -> Result<Self> {
        let refused = || {
            Error::bad_request(
                "cursor: it was changed, or made for another keyword, module, order, filter or tenant; \
                 send the cursor of the last answer with the same parameters, or digits (epoch milliseconds)",
            )
        };
        let sealed = text
            .strip_prefix(VERSION_PREFIX)
            .filter(|sealed| sealed.len() <= LONGEST)
            .and_then(|sealed| BASE64_URL_SAFE_NO_PAD.decode(sealed).ok())
            .ok_or_else(refused)?;
        let plain = key.open(context, &sealed).map_err(|_| refused())?;
        serde_json::from_slice(&plain).map_err(|_| refused())
    }
}

/// What a cursor belongs to, as bytes that are the same only for the same search.
pub(super) fn context(tenant_id: i64, module_id: &str, request: &SearchRequest) -> Result<Vec<u8>> {
    let filters = &request.filters;
    serde_json::to_vec(&(
        tenant_id,
        module_id,
        &request.keyword,
        request.order == Order::Time,
        (filters.from, filters.to, &filters.author, &filters.source),
    ))
    .map_err(Error::internal)
}
