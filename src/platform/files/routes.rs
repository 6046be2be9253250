//! `/v1/stream/…` and `/v1/files/delete`: addresses for contents, commits, and the end of files.

use std::sync::Arc;

use axum::extract::{FromRequest, Request, State};

use super::{
    commit,
    forms::{
        CancelForm, CommitForm, DownloadForm, PartForm, SignForm, StartForm, UploadSign, Way, check_deletion,
    },
    giving_up,
    info::FileInfo,
    removal, signing,
};
use crate::{
    api::{
        envelope::{BodyRefusals, Refusals, TimedEnvelope},
        extract::{Identified, JsonBody, JsonObject, QueryParameters, has_body},
    },
    app::App,
    auth::caller::Caller,
    error::Result,
};

/// Begins an upload to one address: send the content there as it says, then commit it. What is said of the file is checked
/// already here, and its bytes are reserved of the quotas.
///
/// Business failures, by HTTP 200: 400, 430001, 430005, 430011, 430015, 430016, 430017.
#[utoipa::path(
    post, path = "/v1/stream/upload", tag = "files", request_body = SignForm,
    responses(
        (status = 200, description = "Where to send the content", body = TimedEnvelope<UploadSign>),
        Refusals, BodyRefusals,
    )
)]
pub async fn sign_upload(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<SignForm>,
) -> Result<TimedEnvelope<UploadSign>> {
    Ok(TimedEnvelope::of(signing::sign(&app, caller, form.checked()?).await?))
}

/// Makes a file of what was sent to the address of an upload, or a new version of one of the same name (`ondup`): at once and
/// whole, or not at all. An upload whose commit was refused can be committed again.
///
/// Business failures, by HTTP 200: 400, 430001, 430005, 430011, 430012, 430015, 430016, 430017.
#[utoipa::path(
    post, path = "/v1/stream/upload/commit", tag = "files", request_body = CommitForm,
    responses(
        (status = 200, description = "The file", body = TimedEnvelope<FileInfo>),
        Refusals, BodyRefusals,
    )
)]
pub async fn commit_upload(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<CommitForm>,
) -> Result<TimedEnvelope<FileInfo>> {
    let wanted = form.checked(Way::Single)?;
    Ok(TimedEnvelope::of(commit::commit(&app, caller, wanted).await?))
}

/// Gives up an upload, whichever way it comes: what it has reserved of quotas is free again, what was sent goes, and its addresses
/// are good for nothing. One that is being committed is not given up.
///
/// Business failures, by HTTP 200: 400.
#[utoipa::path(
    post, path = "/v1/stream/upload/cancel", tag = "files", request_body = CancelForm,
    responses(
        (status = 200, description = "It is over", body = TimedEnvelope<String>),
        Refusals, BodyRefusals,
    )
)]
pub async fn cancel_upload(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<CancelForm>,
) -> Result<TimedEnvelope<String>> {
    giving_up::give_up(&app, caller, form.checked()?).await?;
    Ok(TimedEnvelope::of("the upload is given up".to_owned()))
}

/// Begins an upload in parts; answers its id. A body may say what the query may.
///
/// Business failures, by HTTP 200: 400, 430001, 430011, 430015, 430016, 430017.
#[utoipa::path(
    post, path = "/v1/stream/multipart/upload/start", tag = "files", params(StartForm),
    request_body(content = Option<StartForm>),
    responses(
        (status = 200, description = "The id of the upload", body = TimedEnvelope<String>),
        Refusals, BodyRefusals,
    )
)]
pub async fn start_multipart(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    QueryParameters(form): QueryParameters<StartForm>,
    request: Request,
) -> Result<TimedEnvelope<String>> {
    start(&app, caller, form, request).await
}

/// The same, as the request example of the specification has it.
#[utoipa::path(
    get, path = "/v1/stream/multipart/upload/start", tag = "files", params(StartForm),
    responses(
        (status = 200, description = "The id of the upload", body = TimedEnvelope<String>),
        Refusals, BodyRefusals,
    )
)]
pub async fn start_multipart_by_get(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    QueryParameters(form): QueryParameters<StartForm>,
    request: Request,
) -> Result<TimedEnvelope<String>> {
    start(&app, caller, form, request).await
}

async fn start(
    app: &Arc<App>,
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
    Ok(TimedEnvelope::of(signing::start(app, caller, SignForm::from(form).checked()?).await?))
}

/// An address for one part of an upload. A part may be signed and sent again; what came in last counts.
///
/// Business failures, by HTTP 200: 400, 430015, 430016.
#[utoipa::path(
    post, path = "/v1/stream/multipart/upload/parts", tag = "files", request_body = PartForm,
    responses(
        (status = 200, description = "Where to send the part", body = TimedEnvelope<UploadSign>),
        Refusals, BodyRefusals,
    )
)]
pub async fn sign_part(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<PartForm>,
) -> Result<TimedEnvelope<UploadSign>> {
    Ok(TimedEnvelope::of(signing::sign_part(&app, &caller, form.checked()?).await?))
}

/// Makes a file of the parts of an upload that `partETags` names, in ascending order, each of at least `limits.part_bytes` but
/// the last; else as the commit of a single upload.
///
/// Business failures, by HTTP 200: 400, 430001, 430005, 430011, 430012, 430015, 430016, 430017.
#[utoipa::path(
    post, path = "/v1/stream/multipart/upload/commit", tag = "files", request_body = CommitForm,
    responses(
        (status = 200, description = "The file", body = TimedEnvelope<FileInfo>),
        Refusals, BodyRefusals,
    )
)]
pub async fn commit_multipart(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<CommitForm>,
) -> Result<TimedEnvelope<FileInfo>> {
    let wanted = form.checked(Way::Multipart)?;
    Ok(TimedEnvelope::of(commit::commit(&app, caller, wanted).await?))
}

/// An address that a file can be taken from, also in pieces by range requests, for a while.
///
/// Business failures, by HTTP 200: 400, 430003, 430011, 430012.
#[utoipa::path(
    post, path = "/v1/stream/download", tag = "files", request_body = DownloadForm,
    responses(
        (status = 200, description = "The address", body = TimedEnvelope<String>),
        Refusals, BodyRefusals,
    )
)]
pub async fn download(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<DownloadForm>,
) -> Result<TimedEnvelope<String>> {
    form.check()?;
    Ok(TimedEnvelope::of(signing::download(&app, &caller, form).await?))
}

/// Deletes files with all their versions: all that the list names, or none.
///
/// Business failures, by HTTP 200: 400, 430003, 430011, 430017.
#[utoipa::path(
    post, path = "/v1/files/delete", tag = "files", request_body = Vec<String>,
    responses(
        (status = 200, description = "They are gone", body = TimedEnvelope<String>),
        Refusals, BodyRefusals,
    )
)]
pub async fn delete_files(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    JsonBody(ids): JsonBody<Vec<String>>,
) -> Result<TimedEnvelope<String>> {
    check_deletion(&ids, app.config.limits.batch_items)?;
    removal::delete(&app, caller, ids).await?;
    Ok(TimedEnvelope::of("the files are deleted".to_owned()))
}
