//! Where the contents of files are: behind [`BlobStore`], on the local disk or in an S3-compatible store (decisions 10.3).
//!
//! A store knows contents and nothing of files: neither names nor whose they are. A commit goes through it in three steps: parts
//! that came in are composed to one content, which is durable and nobody's yet; the database notes that it is to be there
//! (`blobs`); it is kept. So a crash leaves nothing that no row tells of.

pub mod contents;
pub mod local;
pub mod rescanning;
pub mod reservations;
pub mod s3;
pub(crate) mod shown;
pub mod signing;
pub mod verification;

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use bytes::Bytes;
use futures::stream::BoxStream;
use serde::Serialize;
use tokio::sync::mpsc;

use self::{local::Local, s3::S3};
use crate::{
    app::StartError,
    auth::keys::Keys,
    config::{Config, StorageKind},
    error::{BusinessCode, Error, Result},
};

/// The content of something, piece by piece.
pub type Pieces = BoxStream<'static, Result<Bytes>>;

/// Parts of one upload at the most (specification, "Limits"); a single upload has one, number 1.
pub const MOST_PARTS: u32 = 10_000;

/// An address that a caller sends a content to (specification, "`UploadSignResult`").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedUpload {
    /// Where to.
    pub url: String,
    /// The HTTP method.
    pub method: &'static str,
    /// Headers to send; none need be sent where there are none.
    pub headers: Option<BTreeMap<String, String>>,
}

/// One part of an upload that is to come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected<'a> {
    /// The upload.
    pub upload_id: &'a str,
    /// The part's number, from 1 to [`MOST_PARTS`].
    pub part_number: u32,
    /// The bytes that it may have.
    pub most_bytes: u64,
    /// Until when, epoch seconds.
    pub expires_at: i64,
}

/// A content that is to be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Download {
    /// The file.
    pub file_id: String,
    /// Which version of it.
    pub version: i64,
    /// What the file is called.
    pub name: String,
    /// Who asks, by his id on the synchronising side, in which tenant.
    pub user_id: String,
    /// His tenant.
    pub tenant_id: i64,
    /// What the store knows the content by.
    pub store_key: String,
    /// Until when, epoch seconds.
    pub expires_at: i64,
}

/// One part of an upload that came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its number.
    pub number: u32,
    /// Its bytes.
    pub size: u64,
    /// What its sender was answered as `ETag`, without quotation marks.
    pub e_tag: String,
}

/// A content that was made of parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Composed {
    /// Its SHA-256, in hex.
    pub sha256: String,
    /// Its bytes.
    pub size: u64,
    /// What the store knows it by.
    pub store_key: String,
}

/// A content that is in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// What the store knows it by.
    pub store_key: String,
    /// Its bytes.
    pub size: u64,
}

/// Where contents are. Two implementations: on the local disk, and S3-compatible.
#[async_trait::async_trait]
pub trait BlobStore: Send + Sync {
    /// What rows call it: `local`, `s3`.
    fn name(&self) -> &'static str;

    /// Signs an address that a part may be sent to, again as often as one likes.
    async fn sign_upload(&self, expected: Expected<'_>) -> Result<SignedUpload>;

    /// Signs an address that a content may be taken from, and its pieces by range requests.
    async fn sign_download(&self, download: &Download) -> Result<String>;

    /// The parts of an upload that came in, by their numbers.
    async fn parts(&self, upload_id: &str) -> Result<Vec<Part>>;

    /// Makes one content of these parts of an upload, in this order. It is durable and nobody's; the parts stay. Each piece of
    /// it also goes to `tap`, as long as anybody listens there.
    ///
    /// # Errors
    /// `BusinessCode::General` where a part is another one by now.
    async fn compose(
        &self,
        upload_id: &str,
        parts: &[Part],
        tap: Option<mpsc::Sender<Bytes>>,
    ) -> Result<Composed>;

    /// Removes what was composed of an upload and not kept: its commit was refused. The parts stay.
    async fn remove_composed(&self, upload_id: &str) -> Result<()>;

    /// Has a content that was composed of an upload be there for good, also where one like it is there already.
    async fn keep(&self, upload_id: &str, composed: &Composed) -> Result<()>;

    /// A range of a content.
    async fn read(&self, store_key: &str, range: Range<u64>) -> Result<Pieces>;

    /// Removes a content; one that is not there is no error.
    async fn remove(&self, store_key: &str) -> Result<()>;

    /// Removes what there is of an upload, what was composed of it and not kept included.
    async fn discard(&self, upload_id: &str) -> Result<()>;

    /// Every content that is there.
    async fn list(&self) -> Result<BoxStream<'static, Result<Stored>>>;

    /// The uploads of which anything is there, by their ids: what is left of one that has no row any more is discarded. A store
    /// that keeps nothing of what it was not told of has none to tell.
    async fn uploads(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }
}

/// Whether an upload may have this id. What is called otherwise where uploads are is somebody else's, `lost+found` say.
fn is_upload_id(name: &str) -> bool {
    name.len() == uuid::fmt::Hyphenated::LENGTH && uuid::Uuid::try_parse(name).is_ok()
}

/// What a commit is told whose part is another one by now.
fn changed(part_number: u32) -> Error {
    let message = format!("partNumber {part_number}: this part was sent anew, or is gone; commit again");
    Error::business(BusinessCode::General, message)
}

/// The store that the settings name.
#[derive(Clone)]
pub struct Opened {
    /// The store.
    pub store: Arc<dyn BlobStore>,
    /// The embedded one, where it is that: it takes and gives contents at addresses of this server.
    pub embedded: Option<Arc<Local>>,
}

/// Opens the store that the settings name.
///
/// # Errors
/// Its directory cannot be made, or there is no such store.
pub fn open(config: &Config, keys: &Keys) -> Result<Opened, StartError> {
    match config.storage.kind {
        StorageKind::Local => {
            let local = Arc::new(Local::open(config, keys.addresses.clone())?);
            Ok(Opened { store: Arc::clone(&local) as _, embedded: Some(local) })
        }
        StorageKind::S3 => {
            let settings = config.storage.s3.as_ref();
            let settings = settings.ok_or_else(|| StartError::Storage("storage.s3 is missing".to_owned()))?;
            let store =
                S3::new(settings).map_err(|reason| StartError::Storage(format!("storage.s3: {reason}")))?;
            Ok(Opened { store: Arc::new(store), embedded: None })
        }
    }
}
