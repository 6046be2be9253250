//! HTTP access to the embedded store by signed URLs, without the envelope.

pub mod download;
mod preconditions;
pub mod upload;

use std::sync::Arc;

use crate::{
    blobs::{BlobStore, local::Local},
    config::Limits,
    error::{Error, Result},
    store::{Store, now_millis},
};
/// State of the signed URL routes.
#[derive(Clone)]
pub struct SignedUrlsState {
    pub(crate) store: Store,
    pub(crate) limits: Arc<Limits>,
    pub(crate) blobs: Arc<dyn BlobStore>,
    pub(crate) embedded: Option<Arc<Local>>,
}

/// # Errors
/// 404 when contents are in another store, which signs its own URLs.
fn embedded(state: &SignedUrlsState) -> Result<&Local> {
    state.embedded.as_deref().ok_or_else(|| Error::not_found("contents are in another store"))
}

/// Epoch seconds.
fn now() -> i64 {
    now_millis() / 1_000
}
