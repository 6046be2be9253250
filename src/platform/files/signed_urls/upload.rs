//! `PUT /storage/uploads/{uploadId}/{partNumber}`: receives a part of an upload.

use std::time::Duration;

use axum::{
    body::{Body, BodyDataStream, Bytes},
    extract::{FromRequestParts, Request, State},
    http::{HeaderMap, HeaderValue, header, request::Parts},
    response::Response,
};
use futures::{Stream, StreamExt, stream};
use tokio::time::timeout;
use trawl_macros::operation;

use super::{embedded, now};
use crate::{
    blobs::{
        BlobStore,
        local::{PartInFlight, upload_gone},
        reservations::{self, OpenUpload},
        signing::{SignedPart, UploadQuery},
    },
    error::{Error, ErrorKind, Result},
    http::extract::{PathParameter, QueryParameters},
    platform::files::signed_urls::SignedUrlsState,
};

/// Most bytes reserved at once for a content of unknown length.
const UNANNOUNCED_STEP: u64 = 8 << 20;

/// Bytes between checks that the upload still exists.
const ANNOUNCED_STEP: u64 = 64 << 20;

/// Receives the content of an upload, or one part of it.
///
/// The address comes from `POST /v1/stream/upload` or `POST /v1/stream/multipart/upload/parts` and needs no token. A
/// part sent again replaces the earlier one. An aborted request leaves nothing. The answer has no body; its `ETag`
/// names the part at the commit.
#[operation(
    storage, security(()),
    params(
        ("uploadId" = String, Path, description = "The upload"),
        ("partNumber" = String, Path, description = "The part's number"),
        UploadQuery,
    ),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    (status = 200, description = "The part is stored; `ETag` identifies it", headers(("etag" = String, description = "Its SHA-256"))),
    400 = "The request is malformed, or the content ended early",
    403 = "The address is invalid or expired; or the tenant is frozen",
    404 = "The upload was committed or cancelled",
    408 = "No bytes arrived for too long",
    413 = "It exceeds its maximum size, or a quota does not suffice",
    503 = "The server has no room for it at the moment",
)]
pub async fn receive_part(State(state): State<SignedUrlsState>, request: Request) -> Result<Response> {
    let (mut parts, body) = request.into_parts();
    let admitted = admit(&state, &mut parts).await?;
    receive(&state, admitted, body.into_data_stream()).await
}

struct Admitted {
    part: SignedPart,
    /// Whether the sender declared the length, which is then counted in full.
    is_announced: bool,
    coming: PartInFlight,
}

/// Checks that a part may be received, before reading any of it.
async fn admit(state: &SignedUrlsState, parts: &mut Parts) -> Result<Admitted> {
    let local = embedded(state)?;
    let PathParameter((upload_id, part_number)) =
        PathParameter::<(String, String)>::from_request_parts(parts, &()).await?;
    let QueryParameters(query) = QueryParameters::<UploadQuery>::from_request_parts(parts, &()).await?;
    let part = local.signer().check_upload(&upload_id, &part_number, &query, now())?;
    let announced = announced_bytes(&parts.headers);
    if announced.is_some_and(|bytes| bytes > part.most_bytes) {
        return Err(Error::too_large(format!("body: this address allows at most {} bytes", part.most_bytes)));
    }
    let upload = reservations::find_open(state.store.reader(), &part.upload_id).await?;
    let mut coming = local.expect(&part).await?;
    local.check_room(announced.unwrap_or(0))?;
    let bytes = coming.set(announced.unwrap_or(0));
    check_size(state, bytes)?;
    reservations::reserve(&state.store, &upload, bytes).await?;
    Ok(Admitted { part, is_announced: announced.is_some(), coming })
}

fn check_size(state: &SignedUrlsState, bytes: u64) -> Result<()> {
    let most = state.limits.file_bytes;
    if bytes <= most {
        return Ok(());
    }
    Err(Error::too_large(format!(
        "body: with it the parts of this upload exceed {most} bytes, the maximum of a file"
    )))
}

fn announced_bytes(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

async fn receive(state: &SignedUrlsState, admitted: Admitted, chunks: BodyDataStream) -> Result<Response> {
    let local = embedded(state)?;
    let Admitted { part, is_announced, mut coming } = admitted;
    let patience = Duration::from_millis(state.limits.idle_timeout_ms);
    let watch = Watch::new(state, &part, is_announced, &mut coming);
    let arrived = local.receive(&part, watch.over(impatiently(chunks, patience))).await?;
    let placed = local.place(arrived).await?;
    // Ending an upload removes its row first. So either that side finds the part, or this check sees that.
    if !reservations::is_there(state.store.reader(), &part.upload_id).await? {
        local.discard(&part.upload_id).await?;
        return Err(upload_gone());
    }
    let mut response = Response::new(Body::empty());
    let e_tag = HeaderValue::try_from(format!("\"{}\"", placed.e_tag)).map_err(Error::internal)?;
    response.headers_mut().insert(header::ETAG, e_tag);
    Ok(response)
}

/// Checks during a transfer that more may be received.
struct Watch<'a> {
    state: &'a SignedUrlsState,
    part: &'a SignedPart,
    is_announced: bool,
    coming: &'a mut PartInFlight,
    come: u64,
    /// Bytes allowed before the next check.
    allowed: u64,
    /// Most bytes reserved at once.
    step: u64,
}

impl<'a> Watch<'a> {
    fn new(
        state: &'a SignedUrlsState,
        part: &'a SignedPart,
        is_announced: bool,
        coming: &'a mut PartInFlight,
    ) -> Self {
        let allowed = if is_announced { ANNOUNCED_STEP } else { 0 };
        Self { state, part, is_announced, coming, come: 0, allowed, step: UNANNOUNCED_STEP }
    }

    /// Passes the content on until more of it is refused.
    fn over(
        self,
        content: impl Stream<Item = Result<Bytes>> + Send + Unpin,
    ) -> impl Stream<Item = Result<Bytes>> + Send + Unpin {
        let watched = stream::try_unfold((self, content), async |(mut watch, mut content)| {
            let Some(chunk) = content.next().await.transpose()? else { return Ok(None) };
            watch.pass(chunk.len() as u64).await?;
            Ok(Some((chunk, (watch, content))))
        });
        Box::pin(watched)
    }

    async fn pass(&mut self, bytes: u64) -> Result<()> {
        self.come = self.come.saturating_add(bytes);
        // Content beyond the URL's limit is refused by the receiver.
        if self.come <= self.allowed || self.come > self.part.most_bytes {
            return Ok(());
        }
        let upload = reservations::find_open(self.state.store.reader(), &self.part.upload_id).await?;
        if self.is_announced {
            self.allowed = self.come.saturating_add(ANNOUNCED_STEP);
            return Ok(());
        }
        // Reserves as much again, so that a small content occupies little quota that it does not use.
        let more = self.come.saturating_add(self.step.min(self.come)).min(self.part.most_bytes);
        let counted = self.count(&upload, more).await;
        if !matches!(&counted, Err(error) if error.kind == ErrorKind::TooLarge) {
            return counted;
        }
        // Less than a step is left. Halving the step limits the number of reservations.
        self.step /= 2;
        self.count(&upload, self.come).await
    }

    /// Reserves quota for this many bytes of the part.
    async fn count(&mut self, upload: &OpenUpload, bytes: u64) -> Result<()> {
        let all = self.coming.set(bytes);
        check_size(self.state, all)?;
        reservations::reserve(&self.state.store, upload, all).await?;
        self.allowed = bytes;
        Ok(())
    }
}

/// The pieces of a body, with a timeout for each.
fn impatiently(
    chunks: BodyDataStream,
    patience: Duration,
) -> impl Stream<Item = Result<Bytes>> + Send + Unpin {
    let pieces = stream::unfold(chunks, move |mut chunks| async move {
        let piece = match timeout(patience, chunks.next()).await {
            Ok(piece) => piece?.map_err(|error| Error::bad_request("body: ended early").caused_by(error)),
            Err(_elapsed) => {
                let message = format!("body: no bytes arrived for {} ms", patience.as_millis());
                Err(Error::request_timeout(message))
            }
        };
        Some((piece, chunks))
    });
    Box::pin(pieces)
}
