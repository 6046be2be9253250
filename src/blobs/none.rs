//! No store: what needs a content answers 503.

use std::{ops::Range, time::Duration};

use bytes::Bytes;
use futures::{StreamExt as _, stream};
use tokio::sync::mpsc;

use super::{BlobStore, ComposedContent, Download, Expected, Pieces, SignedUpload, Stored, UploadPart};
use crate::error::{Error, Result};

const RETRY_AFTER: Duration = Duration::from_mins(1);

/// Refuses contents where `storage.kind` is `none`; has nothing to remove.
pub(super) struct NoStore;

fn refused() -> Error {
    Error::unavailable("no store of contents is configured", RETRY_AFTER)
}

#[async_trait::async_trait]
impl BlobStore for NoStore {
    fn name(&self) -> &'static str {
        "none"
    }

    async fn sign_upload(&self, _expected: Expected<'_>) -> Result<SignedUpload> {
        Err(refused())
    }

    async fn sign_download(&self, _download: &Download) -> Result<String> {
        Err(refused())
    }

    async fn parts(&self, _upload_id: &str) -> Result<Vec<UploadPart>> {
        Err(refused())
    }

    async fn compose(
        &self,
        _upload_id: &str,
        _parts: &[UploadPart],
        _tap: Option<mpsc::Sender<Bytes>>,
    ) -> Result<ComposedContent> {
        Err(refused())
    }

    async fn remove_composed(&self, _upload_id: &str, _composed: &ComposedContent) -> Result<()> {
        Ok(())
    }

    async fn keep(&self, _upload_id: &str, _composed: &ComposedContent) -> Result<()> {
        Err(refused())
    }

    async fn read(&self, _store_key: &str, _range: Range<u64>) -> Result<Pieces> {
        Err(refused())
    }

    async fn remove(&self, _store_key: &str) -> Result<()> {
        Ok(())
    }

    async fn discard(&self, _upload_id: &str) -> Result<()> {
        Ok(())
    }

    async fn list(&self) -> Result<stream::BoxStream<'static, Result<Stored>>> {
        Ok(stream::empty().boxed())
    }
}
