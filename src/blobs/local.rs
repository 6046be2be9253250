//! The embedded store: contents as files below one local directory.
//!
//! - `uploads/<upload id>/<part number>-<bytes>-<sha256>`: a part
//! - `uploads/<upload id>/whole-<sha256>`: a composed content
//! - `contents/ab/cd/<sha256>`: a kept content
//!
//! Unfinished files have a leading dot. Renaming publishes a complete and durable file, on one file system.

mod composing;
mod incoming;
mod layout;
mod reading;
mod receiving;

use std::{
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use aws_lc_rs::hmac;
use bytes::Bytes;
use futures::{StreamExt, stream, stream::BoxStream};
use tokio::{
    sync::{Semaphore, mpsc},
    task::JoinHandle,
};

pub use self::{incoming::PartInFlight, receiving::ReceivedPart};
use self::{incoming::Uploads, layout::DirectoryLayout};
use super::BlobOpenError;
use super::{
    BlobStore, ComposedContent, Download, Expected, Pieces, SignedUpload, Stored, UploadPart,
    signing::{SignedPart, Signer},
};
use crate::{
    config::Config,
    error::{Error, Result, disk_full},
    store::disk_reserve::DiskReserve,
};

/// The store's name in rows.
pub const NAME: &str = "local";

const DIRECTORY: &str = "files";

const PIECE_BYTES: usize = 256 << 10;

const CHUNK_BYTES: usize = 64 << 10;

/// The embedded store.
pub struct Local {
    layout: DirectoryLayout,
    signer: Signer,
    public_url: String,
    room: Arc<DiskReserve>,
    uploads: Uploads,
}

impl Local {
    pub(super) fn open(config: &Config, key: hmac::Key) -> Result<Self, BlobOpenError> {
        let root = match &config.storage.path {
            Some(path) => path.clone(),
            None => config.data.join(DIRECTORY),
        };
        let layout = DirectoryLayout::make(&root)
            .map_err(|cause| BlobOpenError::Directory { path: root.clone(), cause })?;
        Ok(Self {
            layout,
            signer: Signer::new(key),
            public_url: config.public_url(),
            room: Arc::new(DiskReserve::new(&root, config.store.reserve_bytes)),
            uploads: Uploads::default(),
        })
    }

    /// The signer of its URLs.
    pub fn signer(&self) -> &Signer {
        &self.signer
    }

    /// The store's directory.
    pub fn directory(&self) -> &Path {
        self.layout.root()
    }

    /// Checks the disk for free space.
    ///
    /// # Errors
    /// 503 where it does not suffice.
    pub fn check_room(&self, bytes: u64) -> Result<()> {
        if self.room.has_room_for(bytes) { Ok(()) } else { Err(disk_full()) }
    }

    /// Registers an incoming part with 0 bytes.
    ///
    /// # Errors
    /// The upload's directory cannot be read.
    pub async fn expect(&self, part: &SignedPart) -> Result<PartInFlight> {
        let directory = self.layout.upload(&part.upload_id)?;
        let upload = self.uploads.of(&part.upload_id);
        if !upload.is_known() {
            let looking = Arc::clone(&upload);
            blocking(move || looking.look(&looking.enter(), &directory)).await?;
        }
        Ok(PartInFlight::new(upload, part.part_number))
    }

    /// Receives a part into an invisible file; [`Local::place`] publishes it.
    ///
    /// # Errors
    /// Those of `content`; 413 above the part's maximum; 503 on a full disk.
    pub async fn receive(
        &self,
        part: &SignedPart,
        content: impl futures::Stream<Item = Result<Bytes>> + Send + Unpin,
    ) -> Result<ReceivedPart> {
        let directory = self.layout.upload(&part.upload_id)?;
        receiving::receive(directory, part, content, &self.room).await
    }

    /// Publishes a received part, replacing an earlier one of its number.
    ///
    /// # Errors
    /// 404 where the upload was discarded meanwhile.
    pub async fn place(&self, arrived: ReceivedPart) -> Result<UploadPart> {
        let upload = self.uploads.of(arrived.upload_id());
        blocking(move || receiving::place(arrived, &upload)).await?.ok_or_else(upload_gone)
    }

    /// Removes unfinished files of an earlier process.
    pub async fn remove_unfinished(&self) -> Result<()> {
        let layout = self.layout.clone();
        blocking(move || layout.remove_unfinished()).await
    }
}

#[async_trait::async_trait]
impl BlobStore for Local {
    fn name(&self) -> &'static str {
        NAME
    }

    async fn sign_upload(&self, expected: Expected<'_>) -> Result<SignedUpload> {
        let url = format!("{}{}", self.public_url, self.signer.sign_upload(expected));
        Ok(SignedUpload { url, method: "PUT", headers: None })
    }

    async fn sign_download(&self, download: &Download) -> Result<String> {
        Ok(format!("{}{}", self.public_url, self.signer.sign_download(download)))
    }

    async fn parts(&self, upload_id: &str) -> Result<Vec<UploadPart>> {
        let directory = self.layout.upload(upload_id)?;
        blocking(move || Ok(layout::look(&directory)?.0)).await
    }

    async fn compose(
        &self,
        upload_id: &str,
        parts: &[UploadPart],
        tap: Option<mpsc::Sender<Bytes>>,
    ) -> Result<ComposedContent> {
        let directory = self.layout.upload(upload_id)?;
        if let ([only], None) = (parts, &tap)
            && let Some(whole) = composing::take_whole(directory.clone(), only.clone()).await?
        {
            return Ok(whole);
        }
        composing::compose(directory, parts, tap, &self.room).await
    }

    async fn remove_composed(&self, upload_id: &str, composed: &ComposedContent) -> Result<()> {
        let whole = layout::whole(&self.layout.upload(upload_id)?, &composed.name);
        blocking(move || layout::remove(&whole)).await
    }

    async fn keep(&self, upload_id: &str, composed: &ComposedContent) -> Result<()> {
        let whole = layout::whole(&self.layout.upload(upload_id)?, &composed.name);
        let (layout, key) = (self.layout.clone(), composed.store_key.clone());
        blocking(move || layout.keep(&whole, &key)).await
    }

    async fn read(&self, store_key: &str, range: Range<u64>) -> Result<Pieces> {
        let path = self.layout.content(store_key)?;
        reading::read(path, range).await
    }

    async fn remove(&self, store_key: &str) -> Result<()> {
        let path = self.layout.content(store_key)?;
        blocking(move || layout::remove_durably(&path)).await
    }

    async fn discard(&self, upload_id: &str) -> Result<()> {
        let directory = self.layout.upload(upload_id)?;
        let upload = self.uploads.of(upload_id);
        let discarding = blocking(move || {
            let _entered = upload.enter();
            upload.forget();
            layout::remove_directory(&directory)
        });
        let discarded = discarding.await;
        self.uploads.forget(upload_id);
        discarded
    }

    async fn list(&self) -> Result<BoxStream<'static, Result<Stored>>> {
        let layout = self.layout.clone();
        let directories: Vec<PathBuf> = blocking(move || layout.content_directories()).await?;
        let listed = stream::iter(directories).then(|directory| async move {
            let contents = blocking(move || layout::contents(&directory)).await;
            stream::iter(match contents {
                Ok(contents) => contents.into_iter().map(Ok).collect::<Vec<_>>(),
                Err(error) => vec![Err(error)],
            })
        });
        Ok(listed.flatten().boxed())
    }

    async fn uploads(&self) -> Result<Vec<String>> {
        let layout = self.layout.clone();
        blocking(move || layout.uploads()).await
    }
}

/// 404: the upload is over or never existed.
pub fn upload_gone() -> Error {
    Error::not_found("this upload was committed or cancelled; begin a new one")
}

/// More concurrent I/O speeds up no disk, and each thread holds memory.
static HANDS: Semaphore = Semaphore::const_new(16);

async fn begin<T: Send + 'static>(job: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let hand = HANDS.acquire().await;
    tokio::task::spawn_blocking(move || {
        let _hand = hand;
        job()
    })
}

async fn blocking<T: Send + 'static>(job: impl FnOnce() -> std::io::Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(job).await.map_err(Error::internal)?.map_err(layout::failed)
}
