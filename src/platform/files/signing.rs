//! Addresses: where a content is to be sent, and where it is taken from (decisions 10.3).

use std::sync::Arc;

use uuid::Uuid;

use super::{
    forms::{Announced, AnnouncedPart, DownloadForm, UploadSign, Way, check_limit, check_name, general},
    person::Present,
    quotas::{self, Counted},
    repo::{self, Upload},
};
use crate::{
    app::App,
    auth::caller::Caller,
    error::{BusinessCode, Error, Result},
    platform::directories::access::{Access, Needed, ROOT, Seer, own_root},
    storage::{Download, Expected},
    store::{Transaction, now_millis},
};

/// Uploads that a person may have open at once.
pub(super) const MOST_UPLOADS: i64 = 200;

/// Begins an upload to one address.
///
/// # Errors
/// As [`begin`].
pub(super) async fn sign(app: &Arc<App>, caller: Arc<Caller>, announced: Announced) -> Result<UploadSign> {
    let upload = begin(app, caller, announced, Way::Single).await?;
    sign_address(app, &upload, 1, None).await
}

/// Begins an upload in parts; answers its id.
///
/// # Errors
/// As [`begin`].
pub(super) async fn start(app: &Arc<App>, caller: Arc<Caller>, announced: Announced) -> Result<String> {
    Ok(begin(app, caller, announced, Way::Multipart).await?.id)
}

/// Signs the address of a part, the first time or again.
///
/// # Errors
/// Business failures: there is no such upload in parts of the caller's, the part is too large, or a quota does not suffice.
pub(super) async fn sign_part(app: &App, caller: &Caller, part: AnnouncedPart) -> Result<UploadSign> {
    let user_id = &caller.require_user()?.person.user_id;
    let (reader, tenant_id) = (app.store.reader(), caller.tenant.id);
    let upload = repo::find_upload(reader, tenant_id, user_id, &part.upload_id).await?;
    let upload = upload.ok_or_else(no_such_upload)?;
    if !upload.is_multipart {
        return Err(general(
            "uploadId: this upload is not in parts; its content goes to the address that it was signed with",
        ));
    }
    if let Some(bytes) = part.bytes {
        check_limit(bytes, app.config.limits.file_bytes)?;
        let counted = Counted { tenant: tenant_id, root: upload.root_id.as_deref(), but: &upload.id };
        quotas::check(reader, counted, bytes.max(upload.reserved_bytes)).await?;
    }
    sign_address(app, &upload, part.number, part.bytes).await
}

pub(super) fn no_such_upload() -> Error {
    general("uploadId: there is no such upload; it may be committed already, or given up")
}

/// Notes an upload.
///
/// # Errors
/// Business failures: of the name, of the folder as at a commit, too many open uploads, a quota that does not suffice.
async fn begin(app: &Arc<App>, caller: Arc<Caller>, announced: Announced, way: Way) -> Result<Upload> {
    let limits = &app.config.limits;
    if let Some(name) = &announced.name {
        check_name(limits, name)?;
    }
    if let Some(bytes) = announced.bytes {
        check_limit(bytes, limits.file_bytes)?;
    }
    let job = app.store.write(move |transaction| {
        Box::pin(async move {
            let present = Present::of(transaction, &caller).await?;
            note(transaction, &present.seer(), announced, way).await
        })
    });
    job.await
}

async fn note(transaction: &Transaction, seer: &Seer<'_>, announced: Announced, way: Way) -> Result<Upload> {
    let root_id = folder_for(transaction, seer, &announced.directory_id).await?.root_id;
    if repo::count_uploads(&**transaction, seer.tenant_id, seer.user_id).await? >= MOST_UPLOADS {
        return Err(general(format!(
            "you have {MOST_UPLOADS} open uploads already; commit some of them first, or give them up by /v1/stream/upload/cancel"
        )));
    }
    let reserved_bytes = announced.bytes.unwrap_or(0);
    let counted = Counted { tenant: seer.tenant_id, root: Some(&root_id), but: "" };
    quotas::check(&**transaction, counted, reserved_bytes).await?;
    let upload = Upload {
        id: Uuid::now_v7().to_string(),
        is_multipart: way == Way::Multipart,
        declared_bytes: announced.bytes,
        declared_sha256: announced.sha256,
        root_id: Some(root_id),
        reserved_bytes,
    };
    repo::insert_upload(transaction, seer.tenant_id, seer.user_id, &upload, now_millis()).await?;
    Ok(upload)
}

/// The folder, which the person may put something into. His own root is made where it is not there yet.
///
/// # Errors
/// 430001, 430011, 430017.
pub(super) async fn folder_for(
    transaction: &Transaction,
    seer: &Seer<'_>,
    directory_id: &str,
) -> Result<Access> {
    if directory_id == ROOT {
        own_root(transaction, seer).await?;
    }
    let folder = Access::require(&**transaction, seer, directory_id, BusinessCode::NoParentOfFile).await?;
    folder.check(Needed::Upload)?;
    Ok(folder)
}

async fn sign_address(
    app: &App,
    upload: &Upload,
    part_number: u32,
    bytes: Option<i64>,
) -> Result<UploadSign> {
    let most = app.config.limits.file_bytes;
    let announced =
        [bytes, upload.declared_bytes].into_iter().flatten().filter_map(|bytes| u64::try_from(bytes).ok());
    let expected = Expected {
        upload_id: &upload.id,
        part_number,
        most_bytes: announced.fold(most, u64::min),
        expires_at: expiry(app),
    };
    Ok(UploadSign::of(app.storage.sign_upload(expected).await?, upload.id.clone()))
}

/// Until when an address is good that is signed now, epoch seconds.
fn expiry(app: &App) -> i64 {
    now_millis() / 1_000 + i64::from(app.config.storage.address_seconds)
}

/// An address that a version of a file can be taken from.
///
/// # Errors
/// 430003 where there is none that the caller may read, 430011 where he may not take copies, 430012 where it is unsafe.
pub(super) async fn download(app: &App, caller: &Caller, form: DownloadForm) -> Result<String> {
    let seer = Seer::of(caller)?;
    let reader = app.store.reader();
    let file = repo::find(reader, seer.tenant_id, &[&form.file_id]).await?.pop().ok_or_else(no_such_file)?;
    let folder = Access::find(reader, &seer, &file.directory_id).await?.ok_or_else(no_such_file)?;
    let version = form.version.unwrap_or(file.version);
    let content = repo::find_content(reader, seer.tenant_id, &file.id, version).await?;
    let content = content.ok_or_else(|| {
        Error::business(BusinessCode::NotFound, format!("version: the file has no version {version}"))
    })?;
    folder.check(Needed::Download)?;
    if content.verdict.is_some() {
        return Err(Error::business(BusinessCode::UnsafeFile, "the file is unsafe"));
    }
    let download = Download {
        file_id: file.id,
        version: content.version,
        name: file.name,
        user_id: seer.user_id.to_owned(),
        tenant_id: seer.tenant_id,
        store_key: content.store_key,
        expires_at: expiry(app),
    };
    app.storage.sign_download(&download).await
}

/// 430003: there is none, or none that one may read.
pub(super) fn no_such_file() -> Error {
    Error::business(BusinessCode::NotFound, "there is no such file")
}
