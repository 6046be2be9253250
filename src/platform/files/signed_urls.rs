//! The embedded store over HTTP: contents come in and go out at addresses that are signed, and never through the JSON interface
//! (decisions 10.3).

pub mod giving;
mod preconditions;
pub mod receiving;

use std::sync::Arc;

use crate::{
    blobs::{BlobStore, local::Local},
    config::Limits,
    error::{Error, Result},
    store::{Store, now_millis},
};
/// What the routes of signed URLs need.
#[derive(Clone)]
pub struct SignedUrlsState {
    pub(crate) store: Store,
    pub(crate) limits: Arc<Limits>,
    pub(crate) blobs: Arc<dyn BlobStore>,
    pub(crate) embedded: Option<Arc<Local>>,
}

/// # Errors
/// 404 where contents are in another store, which signs addresses of its own.
fn embedded(state: &SignedUrlsState) -> Result<&Local> {
    state.embedded.as_deref().ok_or_else(|| Error::not_found("contents are in another store"))
}

/// Now, in epoch seconds.
fn now() -> i64 {
    now_millis() / 1_000
}
