//! `GET /storage/files/{fileId}/{version}`: serves a content to the user of its signed URL.

use std::time::{Duration, UNIX_EPOCH};

use axum::{
    body::Body,
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use headers::{ETag, HeaderMapExt, LastModified};
use trawl_macros::operation;

use super::{
    embedded, now,
    preconditions::{PreconditionOutcome, asked},
};
use crate::{
    blobs::{
        shown,
        signing::{DownloadQuery, SignedFile},
    },
    error::{Error, ErrorKind, Result},
    http::extract::{PathParameter, QueryParameters},
    platform::files::{download, signed_urls::SignedUrlsState},
};

/// Headers of every content response.
///
/// Browsers must not execute a content, and must revalidate it, since access may have ended.
const HEADERS: [(HeaderName, HeaderValue); 3] = [
    (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox; default-src 'none'")),
    (header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache")),
    (header::ACCEPT_RANGES, HeaderValue::from_static("bytes")),
];

/// Serves a file's content or one range of it.
///
/// The address comes from `POST /v1/stream/download` and needs no token. It is valid while its user may take the file.
/// A request for several ranges gets the whole content.
#[operation(
    storage, security(()), file_id = "The file", version = "Version of the file",
    200 = "The content": Vec<u8>,
    206 = "A range of it": Vec<u8>,
    304 = "The caller has the current content",
    400 = "The request is malformed",
    403 = "The address is invalid or expired; the tenant is frozen; or the file is unsafe",
    404 = "The file is gone, or may no longer be downloaded",
    412 = "Its ETag differs from `If-Match`",
    416 = "The range is beyond the end",
    503 = "The content is unavailable at the moment",
)]
pub async fn give_file(
    State(state): State<SignedUrlsState>,
    method: Method,
    PathParameter((file_id, version)): PathParameter<(String, String)>,
    QueryParameters(query): QueryParameters<DownloadQuery>,
    headers: HeaderMap,
) -> Result<Response> {
    let signed = embedded(&state)?.signer().check_download(&file_id, &version, &query, now())?;
    let stored = download::find(state.store.reader(), &signed).await?;
    let e_tag: ETag = format!("\"{}\"", stored.sha256).parse().map_err(Error::internal)?;
    let changed = Duration::from_millis(u64::try_from(stored.created_at).unwrap_or(0));
    let last_modified = LastModified::from(UNIX_EPOCH + changed);
    let size = u64::try_from(stored.size).unwrap_or(0);
    let (status, range) = match asked(&method, &headers, size, &e_tag, last_modified) {
        PreconditionOutcome::Whole => (StatusCode::OK, 0..size),
        PreconditionOutcome::Part(range) => (StatusCode::PARTIAL_CONTENT, range),
        PreconditionOutcome::Known => (StatusCode::NOT_MODIFIED, 0..0),
        PreconditionOutcome::Other => {
            return Err(Error::precondition_failed("If-Match: the content has another ETag"));
        }
        PreconditionOutcome::Beyond => return beyond(size),
    };
    let is_given = status != StatusCode::NOT_MODIFIED && method != Method::HEAD;
    let body = if is_given {
        let pieces = match state.blobs.read(&stored.store_key, range.clone()).await {
            Err(error) if error.kind == ErrorKind::NotFound => {
                return Err(missing(&state, &signed, error).await);
            }
            opened => opened?,
        };
        Body::from_stream(pieces)
    } else {
        Body::empty()
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.extend(HEADERS);
    headers.typed_insert(e_tag);
    headers.typed_insert(last_modified);
    if status != StatusCode::NOT_MODIFIED {
        for (name, text) in [
            (header::CONTENT_TYPE, shown::content_type(&stored.name).to_string()),
            (header::CONTENT_DISPOSITION, shown::disposition(&stored.name)),
        ] {
            headers.insert(name, HeaderValue::try_from(text).map_err(Error::internal)?);
        }
        headers.insert(header::CONTENT_LENGTH, (range.end - range.start).into());
    }
    if status == StatusCode::PARTIAL_CONTENT {
        let content_range = format!("bytes {}-{}/{size}", range.start, range.end - 1);
        headers.insert(header::CONTENT_RANGE, HeaderValue::try_from(content_range).map_err(Error::internal)?);
    }
    Ok(response)
}

/// 416 with the content's size.
fn beyond(size: u64) -> Result<Response> {
    let refusal =
        Error::range_not_satisfiable(format!("Range: is beyond the end; the content has {size} bytes"));
    let mut response = refusal.into_response();
    let content_range = HeaderValue::try_from(format!("bytes */{size}")).map_err(Error::internal)?;
    response.headers_mut().insert(header::CONTENT_RANGE, content_range);
    Ok(response)
}

/// Distinguishes a file deleted just now from an inconsistent store.
async fn missing(state: &SignedUrlsState, signed: &SignedFile, error: Error) -> Error {
    match download::find(state.store.reader(), signed).await {
        Ok(stored) => Error::internal(format!("the content {} is not in the store", stored.sha256)),
        Err(refusal) if refusal.kind == ErrorKind::NotFound => refusal,
        Err(_) => error,
    }
}
