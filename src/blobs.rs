//! Stores of file contents: local disk or S3.
//!
//! A store knows neither file names nor owners. A commit composes the parts durably, inserts the `blobs` row, and then
//! keeps the content. A crash leaves no content without a row.

pub mod contents;
pub mod extraction;
pub mod local;
mod none;
pub mod rescanning;
pub mod reservations;
#[cfg(feature = "s3")]
pub mod s3;
pub mod scanning;
pub(crate) mod shown;
pub mod signing;
pub mod verification;

use std::{collections::BTreeMap, io, ops::Range, path::PathBuf, sync::Arc};

use bytes::Bytes;
use futures::stream::BoxStream;
use serde::Serialize;
use tokio::sync::mpsc;

use self::local::Local;
use crate::{
    auth::keys::Keys,
    config::{Config, StorageKind},
    error::{BusinessCode, Error, Result},
};

/// A content as a stream of chunks.
pub type Pieces = BoxStream<'static, Result<Bytes>>;

/// Maximum parts per upload.
pub const MAX_PARTS: u32 = 10_000;

/// A signed upload URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedUpload {
    /// The URL.
    pub url: String,
    /// The HTTP method.
    pub method: &'static str,
    /// Headers to send, if any.
    pub headers: Option<BTreeMap<String, String>>,
}

/// A part to sign an upload URL for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected<'a> {
    /// The upload.
    pub upload_id: &'a str,
    /// The part's number, from 1 to [`MAX_PARTS`].
    pub part_number: u32,
    /// Maximum size.
    pub most_bytes: u64,
    /// Expiry, epoch seconds.
    pub expires_at: i64,
}

/// A content to sign a download URL for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Download {
    /// The file.
    pub file_id: String,
    /// The version.
    pub version: i64,
    /// The file's name.
    pub name: String,
    /// The requester's id on the synchronising side.
    pub user_id: String,
    /// The requester's tenant.
    pub tenant_id: i64,
    /// The content's key in the store.
    pub store_key: String,
    /// Expiry, epoch seconds.
    pub expires_at: i64,
}

/// A received part of an upload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UploadPart {
    /// Its number.
    pub number: u32,
    /// Its bytes.
    pub size: u64,
    /// The `ETag` that its sender received, without quotation marks.
    pub e_tag: String,
}

/// A content composed of parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ComposedContent {
    /// SHA-256, in hex.
    pub sha256: String,
    /// Its bytes.
    pub size: u64,
    /// Its name among the data of its upload. Compositions of other bytes never share one.
    pub name: String,
    /// Its key in the store.
    pub store_key: String,
}

/// A content listed by a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its key in the store.
    pub store_key: String,
    /// Its bytes.
    pub size: u64,
}

/// A store of contents: local disk or S3-compatible.
#[async_trait::async_trait]
pub trait BlobStore: Send + Sync {
    /// The store's name in rows: `local`, `s3` or `none`.
    fn name(&self) -> &'static str;

    /// Signs a reusable upload URL for a part.
    async fn sign_upload(&self, expected: Expected<'_>) -> Result<SignedUpload>;

    /// Signs a download URL, which also serves range requests.
    async fn sign_download(&self, download: &Download) -> Result<String>;

    /// The received parts of an upload, by number.
    async fn parts(&self, upload_id: &str) -> Result<Vec<UploadPart>>;

    /// Composes parts of an upload, in order, to a durable content; sends chunks to `tap`.
    ///
    /// # Errors
    /// `BusinessCode::General` where a part changed meanwhile.
    async fn compose(
        &self,
        upload_id: &str,
        parts: &[UploadPart],
        tap: Option<mpsc::Sender<Bytes>>,
    ) -> Result<ComposedContent>;

    /// Removes the composed content of a refused commit. The parts stay.
    async fn remove_composed(&self, upload_id: &str, composed: &ComposedContent) -> Result<()>;

    /// Keeps a composed content permanently; idempotent.
    async fn keep(&self, upload_id: &str, composed: &ComposedContent) -> Result<()>;

    /// Reads a range of a content.
    async fn read(&self, store_key: &str, range: Range<u64>) -> Result<Pieces>;

    /// Removes a content; idempotent.
    async fn remove(&self, store_key: &str) -> Result<()>;

    /// Discards an upload with its parts and its composed content.
    async fn discard(&self, upload_id: &str) -> Result<()>;

    /// Lists all contents.
    async fn list(&self) -> Result<BoxStream<'static, Result<Stored>>>;

    /// Ids of uploads with data in the store, to remove leftovers.
    async fn uploads(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }
}

/// Excludes foreign directories such as `lost+found`.
fn is_upload_id(name: &str) -> bool {
    name.len() == uuid::fmt::Hyphenated::LENGTH && uuid::Uuid::try_parse(name).is_ok()
}

fn changed(part_number: u32) -> Error {
    let message = format!("partNumber {part_number}: this part was sent again or is gone; commit again");
    Error::business(BusinessCode::General, message)
}

/// The store that the settings name.
#[derive(Clone)]
pub struct OpenedStore {
    /// The store.
    pub store: Arc<dyn BlobStore>,
    /// The embedded store, if configured: this server serves its URLs.
    pub embedded: Option<Arc<Local>>,
}

/// A failure to open the store.
#[derive(Debug, thiserror::Error)]
pub enum BlobOpenError {
    /// The directory could not be created.
    #[error("the directory {path} could not be created: {cause}")]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// The settings name no usable store.
    #[error("{0}")]
    Settings(String),
    /// The database could not be read.
    #[error(transparent)]
    Database(#[from] Error),
}

/// Opens the store that the settings name.
///
/// # Errors
/// The directory cannot be created, or the store is unknown.
pub fn open(config: &Config, keys: &Keys) -> Result<OpenedStore, BlobOpenError> {
    match config.storage.kind {
        StorageKind::Local => {
            let local = Arc::new(Local::open(config, keys.addresses.clone())?);
            Ok(OpenedStore { store: Arc::clone(&local) as _, embedded: Some(local) })
        }
        StorageKind::None => Ok(OpenedStore { store: Arc::new(none::NoStore), embedded: None }),
        #[cfg(not(feature = "s3"))]
        StorageKind::S3 => {
            Err(BlobOpenError::Settings("storage.kind: this build lacks the feature `s3`".to_owned()))
        }
        #[cfg(feature = "s3")]
        StorageKind::S3 => {
            let settings = config.storage.s3.as_ref();
            let settings =
                settings.ok_or_else(|| BlobOpenError::Settings("storage.s3 is missing".to_owned()))?;
            let store = s3::S3::new(settings)
                .map_err(|reason| BlobOpenError::Settings(format!("storage.s3: {reason}")))?;
            Ok(OpenedStore { store: Arc::new(store), embedded: None })
        }
    }
}
