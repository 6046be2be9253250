//! Contents in an S3-compatible store.
//!
//! Clients use URLs that the store checks. A commit streams the parts through this server for hashing
//! and scanning.
//!
//! `uploads/<upload id>/<5 digits>` is a part. `uploads/<upload id>/whole-<random>` is a composed content, without a
//! signed URL: a replica that wakes up in the middle of a commit overwrites no other's. `contents/<key>` is a kept content.
//!
//! Parts are separate objects, because completing an S3 multipart upload drops its parts. An S3 signature cannot limit
//! the size, so the commit checks it.

use std::{ops::Range, time::Duration};

use aws_lc_rs::digest::{Context, SHA256};
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream, stream::BoxStream};
use object_store::{
    ClientOptions, GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt, PutPayloadMut, RetryConfig,
    WriteMultipart,
    aws::{AmazonS3, AmazonS3Builder},
    path::Path,
    signer::{Method, SignedUrlOptions, Signer},
};
use secrecy::ExposeSecret;
use tokio::sync::{Semaphore, mpsc};
use uuid::Uuid;

use super::{
    BlobStore, ComposedContent, Download, Expected, Pieces, SignedUpload, Stored, UploadPart, changed,
    shown::{content_type, disposition},
};
use crate::{
    auth::tokens::epoch_seconds,
    config,
    error::{Error, Result},
};

const UPLOADS: &str = "uploads";
const CONTENTS: &str = "contents";

const PIECE: u64 = 8 << 20;

const WRITES: usize = 2;

/// Concurrent compositions; each holds up to 4 chunks in memory.
const COMPOSITIONS: usize = 8;

const SIP: usize = 256 << 10;

/// S3's limit of parts per multipart write.
const MAX_WRITES: u64 = 10_000;

/// S3's limit for a single copy.
const MAX_COPIED: u64 = 5 << 30;

const CONNECT: Duration = Duration::from_secs(5);

const REQUEST: Duration = Duration::from_secs(30);

/// Timeout of a request that copies or composes a whole content.
const LONG_REQUEST: Duration = Duration::from_mins(10);

const RETRIES: usize = 3;
const RETRYING: Duration = Duration::from_secs(20);

const RETRY_AFTER: Duration = Duration::from_secs(10);

/// Contents in a bucket.
#[derive(Debug)]
pub struct S3 {
    store: AmazonS3,
    patient: AmazonS3,
    compositions: Semaphore,
}

impl S3 {
    /// Builds the client without contacting the store.
    ///
    /// # Errors
    /// The invalid setting.
    pub fn new(settings: &config::S3Settings) -> Result<Self, String> {
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(&settings.bucket)
            .with_region(&settings.region)
            .with_access_key_id(&settings.access_key_id)
            .with_secret_access_key(settings.secret_access_key.expose_secret())
            // Hashing the hashed content again would dominate the cost.
            .with_unsigned_payload(true)
            .with_retry(RetryConfig {
                max_retries: RETRIES,
                retry_timeout: RETRYING,
                ..RetryConfig::default()
            });
        let options = ClientOptions::new().with_connect_timeout(CONNECT);
        let mut options = options.with_allow_http(false);
        if let Some(endpoint) = &settings.endpoint {
            builder = builder.with_endpoint(endpoint.as_str().trim_end_matches('/'));
            options = options.with_allow_http(endpoint.scheme() == "http");
        }
        let build = |timeout| {
            let client = builder.clone().with_client_options(options.clone().with_timeout(timeout));
            client.build().map_err(|error| error.to_string())
        };
        Ok(Self {
            store: build(REQUEST)?,
            patient: build(LONG_REQUEST)?,
            compositions: Semaphore::new(COMPOSITIONS),
        })
    }

    async fn sign(
        &self,
        method: Method,
        key: &Path,
        until: i64,
        options: &SignedUrlOptions,
    ) -> Result<String> {
        let now = i64::try_from(epoch_seconds()).unwrap_or(i64::MAX);
        let valid = Duration::from_secs(u64::try_from(until - now).unwrap_or(0).max(1));
        let signed = self.store.signed_url_opts(method, key, valid, options).await;
        Ok(signed.map_err(failed)?.into())
    }

    /// The part must still be the listed one.
    async fn piece_of(&self, upload_id: &str, part: &UploadPart, range: Range<u64>) -> Result<Bytes> {
        let options = GetOptions {
            if_match: Some(format!("\"{}\"", part.e_tag)),
            range: Some(GetRange::Bounded(range)),
            ..GetOptions::default()
        };
        let answer = match self.store.get_opts(&part_key(upload_id, part.number), options).await {
            Err(
                error @ (object_store::Error::Precondition { .. } | object_store::Error::NotFound { .. }),
            ) => {
                return Err(changed(part.number).caused_by(error));
            }
            answer => answer.map_err(failed)?,
        };
        // Some S3-compatible stores ignore If-Match.
        if e_tag(&answer.meta) != part.e_tag {
            return Err(changed(part.number));
        }
        answer.bytes().await.map_err(failed)
    }

    fn pieces_of<'a>(&'a self, upload_id: &'a str, parts: &'a [UploadPart]) -> BoxStream<'a, Result<Bytes>> {
        let pieces = parts.iter().flat_map(|part| pieces(0..part.size).map(move |range| (part, range)));
        stream::iter(pieces).then(move |(part, range)| self.piece_of(upload_id, part, range)).boxed()
    }

    async fn write(
        &self,
        key: &Path,
        size: u64,
        mut content: BoxStream<'_, Result<Bytes>>,
        seen: &mut Seen,
    ) -> Result<()> {
        if size <= PIECE {
            let mut whole = PutPayloadMut::new();
            while let Some(piece) = content.try_next().await? {
                seen.take(&piece).await;
                whole.push(piece);
            }
            return self.store.put(key, whole.into()).await.map(drop).map_err(failed);
        }
        let upload = self.patient.put_multipart(key).await.map_err(failed)?;
        let at_once = usize::try_from(PIECE.max(size.div_ceil(MAX_WRITES))).map_err(Error::internal)?;
        let mut writing = WriteMultipart::new_with_chunk_size(upload, at_once);
        match write_all(&mut writing, content, seen).await {
            Ok(()) => writing.finish().await.map(drop).map_err(failed),
            Err(error) => {
                if let Err(left) = writing.abort().await {
                    tracing::warn!(error = %left, "parts of a failed content are left in the S3 store");
                }
                Err(error)
            }
        }
    }

    async fn delete(&self, key: &Path) -> Result<()> {
        match self.store.delete(key).await {
            Err(object_store::Error::NotFound { .. }) => Ok(()),
            deleted => deleted.map_err(failed),
        }
    }

    async fn head(&self, key: &Path) -> Result<Option<ObjectMeta>> {
        match self.store.head(key).await {
            Ok(found) => Ok(Some(found)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }
}

async fn write_all(
    writing: &mut WriteMultipart,
    mut content: BoxStream<'_, Result<Bytes>>,
    seen: &mut Seen,
) -> Result<()> {
    while let Some(piece) = content.try_next().await? {
        seen.take(&piece).await;
        writing.wait_for_capacity(WRITES).await.map_err(failed)?;
        writing.put(piece);
    }
    Ok(())
}

#[async_trait::async_trait]
impl BlobStore for S3 {
    fn name(&self) -> &'static str {
        "s3"
    }

    async fn sign_upload(&self, expected: Expected<'_>) -> Result<SignedUpload> {
        let key = part_key(expected.upload_id, expected.part_number);
        let url = self.sign(Method::PUT, &key, expected.expires_at, &SignedUrlOptions::default()).await?;
        Ok(SignedUpload { url, method: "PUT", headers: None })
    }

    async fn sign_download(&self, download: &Download) -> Result<String> {
        let options = SignedUrlOptions::default().with_query([
            ("response-content-disposition", disposition(&download.name)),
            ("response-content-type", content_type(&download.name).to_string()),
        ]);
        self.sign(Method::GET, &content_key(&download.store_key), download.expires_at, &options).await
    }

    async fn parts(&self, upload_id: &str) -> Result<Vec<UploadPart>> {
        let objects = self.store.list(Some(&upload_prefix(upload_id)));
        let parts = objects.map_err(failed).try_filter_map(async |object| {
            let number = object.location.filename().and_then(|name| name.parse().ok());
            Ok(number.map(|number| UploadPart { number, size: object.size, e_tag: e_tag(&object) }))
        });
        let mut parts: Vec<UploadPart> = parts.try_collect().await?;
        parts.sort_by_key(|part| part.number);
        Ok(parts)
    }

    async fn compose(
        &self,
        upload_id: &str,
        parts: &[UploadPart],
        tap: Option<mpsc::Sender<Bytes>>,
    ) -> Result<ComposedContent> {
        let _composition = self.compositions.acquire().await.map_err(Error::internal)?;
        let mut seen = Seen { hash: Context::new(&SHA256), tap };
        let size = parts.iter().map(|part| part.size).sum();
        let content = self.pieces_of(upload_id, parts);
        let name = Uuid::new_v4().simple().to_string();
        self.write(&whole_key(upload_id, &name), size, content, &mut seen).await?;
        let sha256 = hex::encode(seen.hash.finish());
        Ok(ComposedContent { name, store_key: sha256.clone(), sha256, size })
    }

    async fn remove_composed(&self, upload_id: &str, composed: &ComposedContent) -> Result<()> {
        self.delete(&whole_key(upload_id, &composed.name)).await
    }

    async fn keep(&self, upload_id: &str, composed: &ComposedContent) -> Result<()> {
        let key = content_key(&composed.store_key);
        if self.head(&key).await?.is_some_and(|there| there.size == composed.size) {
            return Ok(());
        }
        let whole = whole_key(upload_id, &composed.name);
        if composed.size <= MAX_COPIED {
            return self.patient.copy(&whole, &key).await.map_err(failed);
        }
        let content = read(self.store.clone(), whole, 0..composed.size);
        let mut seen = Seen { hash: Context::new(&SHA256), tap: None };
        self.write(&key, composed.size, content, &mut seen).await
    }

    async fn read(&self, store_key: &str, range: Range<u64>) -> Result<Pieces> {
        let key = content_key(store_key);
        if range.is_empty() {
            // An empty range has no request.
            self.store.head(&key).await.map_err(failed)?;
        }
        let mut pieces = read(self.store.clone(), key, range);
        // A missing object fails at once.
        let first = pieces.try_next().await?;
        Ok(stream::iter(first.map(Ok)).chain(pieces).boxed())
    }

    async fn remove(&self, store_key: &str) -> Result<()> {
        self.delete(&content_key(store_key)).await
    }

    async fn discard(&self, upload_id: &str) -> Result<()> {
        let objects = self.store.list(Some(&upload_prefix(upload_id)));
        let keys = objects.map_ok(|object| object.location).boxed();
        let removed = self.store.delete_stream(keys).try_for_each(async |_| Ok(())).await;
        match removed {
            Err(object_store::Error::NotFound { .. }) => Ok(()),
            removed => removed.map_err(failed),
        }
    }

    async fn list(&self) -> Result<BoxStream<'static, Result<Stored>>> {
        let objects = self.store.list(Some(&Path::from(CONTENTS)));
        let contents = objects.map_err(failed).map_ok(|object| Stored {
            store_key: object.location.filename().unwrap_or_default().to_owned(),
            size: object.size,
        });
        Ok(contents.boxed())
    }

    async fn uploads(&self) -> Result<Vec<String>> {
        let found = self.store.list_with_delimiter(Some(&Path::from(UPLOADS))).await.map_err(failed)?;
        Ok(found.common_prefixes.iter().filter_map(|prefix| prefix.filename().map(str::to_owned)).collect())
    }
}

struct Seen {
    hash: Context,
    tap: Option<mpsc::Sender<Bytes>>,
}

impl Seen {
    async fn take(&mut self, piece: &Bytes) {
        let mut rest = piece.clone();
        while !rest.is_empty() {
            let sip = rest.split_to(rest.len().min(SIP));
            self.hash.update(&sip);
            if let Some(tap) = &self.tap
                && tap.send(sip).await.is_err()
            {
                self.tap = None;
            }
            tokio::task::consume_budget().await;
        }
    }
}

/// One request per chunk, so that a slow reader holds no connection.
fn read(store: AmazonS3, key: Path, range: Range<u64>) -> BoxStream<'static, Result<Bytes>> {
    let pieces = stream::iter(pieces(range));
    let read = pieces.then(move |range| {
        let (store, key) = (store.clone(), key.clone());
        async move { store.get_range(&key, range).await.map_err(failed) }
    });
    read.boxed()
}

fn pieces(range: Range<u64>) -> impl Iterator<Item = Range<u64>> + Send {
    let mut start = range.start;
    std::iter::from_fn(move || {
        let piece = start..range.end.min(start.saturating_add(PIECE));
        start = piece.end;
        (!piece.is_empty()).then_some(piece)
    })
}

fn upload_prefix(upload_id: &str) -> Path {
    Path::from_iter([UPLOADS, upload_id])
}

fn part_key(upload_id: &str, number: u32) -> Path {
    Path::from_iter([UPLOADS, upload_id, &format!("{number:05}")])
}

fn whole_key(upload_id: &str, name: &str) -> Path {
    Path::from_iter([UPLOADS, upload_id, &format!("whole-{name}")])
}

fn content_key(store_key: &str) -> Path {
    Path::from_iter([CONTENTS, store_key])
}

fn e_tag(object: &ObjectMeta) -> String {
    object.e_tag.as_deref().unwrap_or_default().trim_matches('"').to_owned()
}

/// The URL and the store's text go to the log only.
fn failed(error: object_store::Error) -> Error {
    match error {
        object_store::Error::NotFound { .. } => Error::not_found("there is no such content").caused_by(error),
        error => {
            Error::unavailable("the file store does not respond correctly; nothing was changed", RETRY_AFTER)
                .caused_by(error)
        }
    }
}
