use std::sync::Arc;

use uuid::Uuid;

use super::{
    forms::{
        AnnouncedPart, DownloadForm, UploadKind, UploadSign, ValidatedUpload, check_limit, check_name,
        general,
    },
    fresh_caller::FreshCaller,
    quotas::{self, QuotaScope},
    repo::{self, Upload},
};
use crate::{
    auth::caller::Caller,
    blobs::{Download, Expected},
    error::{BusinessCode, Error, Result},
    platform::{
        files::FilesState,
        folders::access::{Access, FolderViewer, ROOT, RequiredPermission, own_root},
    },
    store::{Transaction, now_millis},
};

pub(super) const MAX_UPLOADS: i64 = 200;

pub(super) async fn sign(
    state: &FilesState,
    caller: Arc<Caller>,
    announced: ValidatedUpload,
) -> Result<UploadSign> {
    let upload = begin(state, caller, announced, UploadKind::Single).await?;
    sign_address(state, &upload, 1, None).await
}

pub(super) async fn start(
    state: &FilesState,
    caller: Arc<Caller>,
    announced: ValidatedUpload,
) -> Result<String> {
    Ok(begin(state, caller, announced, UploadKind::Multipart).await?.id)
}

/// Fails for an unknown upload, an oversized part, or an exceeded quota.
pub(super) async fn sign_part(
    state: &FilesState,
    caller: &Caller,
    part: AnnouncedPart,
) -> Result<UploadSign> {
    let user_id = &caller.require_user()?.person.user_id;
    let (reader, tenant_id) = (state.store.reader(), caller.tenant.id);
    let upload = repo::find_upload(reader, tenant_id, user_id, &part.upload_id).await?;
    let upload = upload.ok_or_else(no_such_upload)?;
    if !upload.is_multipart {
        return Err(general(
            "uploadId: this is not a multipart upload; send its content to the address it was signed with",
        ));
    }
    if let Some(bytes) = part.bytes {
        check_limit(bytes, state.limits.file_bytes)?;
        let counted = QuotaScope { tenant: tenant_id, root: upload.root_id.as_deref(), but: &upload.id };
        quotas::check(reader, counted, bytes.max(upload.reserved_bytes)).await?;
    }
    sign_address(state, &upload, part.number, part.bytes).await
}

pub(super) fn no_such_upload() -> Error {
    general("uploadId: there is no such upload; it may have been committed or cancelled")
}

/// Fails for a bad name or folder, too many open uploads, or an exceeded quota.
async fn begin(
    state: &FilesState,
    caller: Arc<Caller>,
    announced: ValidatedUpload,
    way: UploadKind,
) -> Result<Upload> {
    let limits = &state.limits;
    if let Some(name) = &announced.name {
        check_name(limits, name)?;
    }
    if let Some(bytes) = announced.bytes {
        check_limit(bytes, limits.file_bytes)?;
    }
    let job = state.store.write(move |transaction| {
        Box::pin(async move {
            let present = FreshCaller::of(transaction, &caller).await?;
            note(transaction, &present.viewer(), announced, way).await
        })
    });
    job.await
}

async fn note(
    transaction: &Transaction,
    viewer: &FolderViewer<'_>,
    announced: ValidatedUpload,
    way: UploadKind,
) -> Result<Upload> {
    let root_id = folder_for(transaction, viewer, &announced.directory_id).await?.root_id;
    if repo::count_uploads(transaction, viewer.tenant_id, viewer.user_id).await? >= MAX_UPLOADS {
        return Err(general(format!(
            "you already have {MAX_UPLOADS} open uploads; commit some, or cancel them by /v1/stream/upload/cancel"
        )));
    }
    let reserved_bytes = announced.bytes.unwrap_or(0);
    let counted = QuotaScope { tenant: viewer.tenant_id, root: Some(&root_id), but: "" };
    quotas::check(transaction, counted, reserved_bytes).await?;
    let upload = Upload {
        id: Uuid::now_v7().to_string(),
        is_multipart: way == UploadKind::Multipart,
        declared_bytes: announced.bytes,
        declared_sha256: announced.sha256,
        root_id: Some(root_id),
        reserved_bytes,
    };
    repo::insert_upload(transaction, viewer.tenant_id, viewer.user_id, &upload, now_millis()).await?;
    Ok(upload)
}

/// Creates the person's own root if needed. 430001, 430011, 430017.
pub(super) async fn folder_for(
    transaction: &Transaction,
    viewer: &FolderViewer<'_>,
    directory_id: &str,
) -> Result<Access> {
    if directory_id == ROOT {
        own_root(transaction, viewer).await?;
    }
    let folder = Access::require(transaction, viewer, directory_id, BusinessCode::NoParentOfFile).await?;
    folder.check(RequiredPermission::Upload)?;
    Ok(folder)
}

async fn sign_address(
    state: &FilesState,
    upload: &Upload,
    part_number: u32,
    bytes: Option<i64>,
) -> Result<UploadSign> {
    let most = state.limits.file_bytes;
    let announced =
        [bytes, upload.declared_bytes].into_iter().flatten().filter_map(|bytes| u64::try_from(bytes).ok());
    let expected = Expected {
        upload_id: &upload.id,
        part_number,
        most_bytes: announced.fold(most, u64::min),
        expires_at: expiry(state),
    };
    Ok(UploadSign::of(state.blobs.sign_upload(expected).await?, upload.id.clone()))
}

/// Expiry in epoch seconds.
fn expiry(state: &FilesState) -> i64 {
    now_millis() / 1_000 + i64::from(state.address_seconds)
}

/// 430003 missing or unreadable, 430011 no right to download, 430012 unsafe.
pub(super) async fn download(state: &FilesState, caller: &Caller, form: DownloadForm) -> Result<String> {
    let viewer = FolderViewer::of(caller)?;
    let reader = state.store.reader();
    let file =
        repo::find(reader, viewer.tenant_id, &[&form.file_id]).await?.pop().ok_or_else(no_such_file)?;
    let folder = Access::find(reader, &viewer, &file.directory_id).await?.ok_or_else(no_such_file)?;
    let version = form.version.unwrap_or(file.version);
    let content = repo::find_content(reader, viewer.tenant_id, &file.id, version).await?;
    let content = content.ok_or_else(|| {
        Error::business(BusinessCode::NotFound, format!("version: the file has no version {version}"))
    })?;
    folder.check(RequiredPermission::Download)?;
    if content.verdict.is_some() {
        return Err(Error::business(BusinessCode::UnsafeFile, "the file is unsafe"));
    }
    let download = Download {
        file_id: file.id,
        version: content.version,
        name: file.name,
        user_id: viewer.user_id.to_owned(),
        tenant_id: viewer.tenant_id,
        store_key: content.store_key,
        expires_at: expiry(state),
    };
    state.blobs.sign_download(&download).await
}

pub(super) fn no_such_file() -> Error {
    Error::business(BusinessCode::NotFound, "there is no such file")
}
