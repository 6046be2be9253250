//! `/v1/stream/…` and `/v1/files/delete`.

use std::sync::Arc;

use axum::extract::{FromRequest, Request, State};
use trawl_macros::operation;

use super::{
    cancel, commit,
    forms::{
        CancelForm, CommitForm, DownloadForm, PartForm, SignForm, StartForm, UploadKind, UploadSign,
        check_deletion,
    },
    info::FileInfo,
    removal, signing,
};
use crate::{
    auth::{caller::Caller, extract::Identified},
    error::Result,
    http::{
        envelope::{BodyRefusals, TimedEnvelope},
        extract::{JsonList, JsonObject, QueryParameters, has_body},
    },
    platform::files::FilesState,
};

/// Begins a single upload and returns a signed URL.
///
/// Business failures: 400, 430001, 430005, 430011, 430015, 430016, 430017.
#[operation(files, 200 = "The signed URL for the content")]
pub async fn sign_upload(
    State(state): State<FilesState>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<SignForm>,
) -> Result<TimedEnvelope<UploadSign>> {
    Ok(TimedEnvelope::of(signing::sign(&state, caller, form.checked()?).await?))
}

/// Commits a single upload atomically, as a file or a new version (`ondup`).
///
/// Business failures: 400, 430001, 430005, 430011, 430012, 430015, 430016, 430017.
#[operation(files, 200 = "The file")]
pub async fn commit_upload(
    State(state): State<FilesState>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<CommitForm>,
) -> Result<TimedEnvelope<FileInfo>> {
    let form = form.checked(UploadKind::Single)?;
    Ok(TimedEnvelope::of(commit::commit(&state, caller, form).await?))
}

/// Aborts an upload, unless it is being committed.
///
/// Business failures: 400.
#[operation(files, 200 = "The upload was aborted")]
pub async fn cancel_upload(
    State(state): State<FilesState>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<CancelForm>,
) -> Result<TimedEnvelope<String>> {
    cancel::cancel(&state, caller, form.checked()?).await?;
    Ok(TimedEnvelope::of("the upload is given up".to_owned()))
}

/// Begins a multipart upload by query or body fields and returns its id.
///
/// Business failures: 400, 430001, 430011, 430015, 430016, 430017.
#[operation(files, request_body(content = Option<StartForm>), 200 = "The id of the upload", BodyRefusals)]
pub async fn start_multipart(
    State(state): State<FilesState>,
    Identified(caller): Identified,
    QueryParameters(form): QueryParameters<StartForm>,
    request: Request,
) -> Result<TimedEnvelope<String>> {
    start(&state, caller, form, request).await
}

/// Begins a multipart upload by GET.
#[operation(files, 200 = "The id of the upload", BodyRefusals)]
pub async fn start_multipart_by_get(
    State(state): State<FilesState>,
    Identified(caller): Identified,
    QueryParameters(form): QueryParameters<StartForm>,
    request: Request,
) -> Result<TimedEnvelope<String>> {
    start(&state, caller, form, request).await
}

async fn start(
    state: &FilesState,
    caller: Arc<Caller>,
    by_query: StartForm,
    request: Request,
) -> Result<TimedEnvelope<String>> {
    let by_body = if has_body(&request) {
        JsonObject::<StartForm>::from_request(request, &()).await?.0
    } else {
        StartForm::default()
    };
    let form = StartForm {
        file_size: by_body.file_size.or(by_query.file_size),
        dir_id: by_body.dir_id.or(by_query.dir_id),
    };
    Ok(TimedEnvelope::of(signing::start(state, caller, SignForm::from(form).checked()?).await?))
}

/// Signs a URL for one part; a part sent again replaces the former.
///
/// Business failures: 400, 430015, 430016.
#[operation(files, 200 = "The signed URL for the part")]
pub async fn sign_part(
    State(state): State<FilesState>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<PartForm>,
) -> Result<TimedEnvelope<UploadSign>> {
    Ok(TimedEnvelope::of(signing::sign_part(&state, &caller, form.checked()?).await?))
}

/// Commits a multipart upload from its `partETags`.
///
/// Business failures: 400, 430001, 430005, 430011, 430012, 430015, 430016, 430017.
#[operation(files, 200 = "The file")]
pub async fn commit_multipart(
    State(state): State<FilesState>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<CommitForm>,
) -> Result<TimedEnvelope<FileInfo>> {
    let form = form.checked(UploadKind::Multipart)?;
    Ok(TimedEnvelope::of(commit::commit(&state, caller, form).await?))
}

/// Signs a temporary download URL, which supports range requests.
///
/// Business failures: 400, 430003, 430011, 430012.
#[operation(files, 200 = "The address")]
pub async fn download(
    State(state): State<FilesState>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<DownloadForm>,
) -> Result<TimedEnvelope<String>> {
    form.check()?;
    Ok(TimedEnvelope::of(signing::download(&state, &caller, form).await?))
}

/// Deletes the listed files with all versions, or none.
///
/// Business failures: 400, 430003, 430011, 430017.
#[operation(files, 200 = "The files were deleted")]
pub async fn delete_files(
    State(state): State<FilesState>,
    Identified(caller): Identified,
    JsonList(ids): JsonList<String>,
) -> Result<TimedEnvelope<String>> {
    check_deletion(&ids)?;
    removal::delete(&state, caller, ids).await?;
    Ok(TimedEnvelope::of("the files are deleted".to_owned()))
}
