//! Downloads through signed URLs.

use crate::{
    auth::{directory::SubjectKind, tenants},
    blobs::signing::SignedFile,
    error::{Error, Result},
    identity::frozen::refuse_frozen,
    platform::{
        directory,
        folders::access::{Access, FolderViewer, RequiredPermission},
        users,
    },
    store::{Connection, FromRow, sql},
};

/// A stored version.
#[derive(Clone, Debug, FromRow)]
pub struct StoredVersion {
    tenant_id: i64,
    directory_id: String,
    /// File name.
    pub name: String,
    /// SHA-256 in hex.
    pub sha256: String,
    /// Bytes.
    pub size: i64,
    /// Creation, epoch milliseconds.
    pub created_at: i64,
    /// Store key.
    pub store_key: String,
    verdict: Option<String>,
}

/// Content of a signed URL, after a fresh permission check.
///
/// 404 for missing and forbidden contents; 403 for frozen tenants or unsafe contents.
pub async fn find(reader: &Connection, signed: &SignedFile) -> Result<StoredVersion> {
    let statement = sql(
        "SELECT files.tenant_id, files.directory_id, files.name, file_versions.sha256, file_versions.size, \
           file_versions.created_at, blobs.store_key, blobs.verdict \
         FROM files JOIN file_versions ON file_versions.file_id = files.id JOIN blobs ON blobs.sha256 = file_versions.sha256 \
         WHERE files.id = ? AND file_versions.version = ?",
        [signed.file_id.as_str().into(), signed.version.into()],
    );
    let stored = statement.fetch_optional::<StoredVersion>(reader).await?.ok_or_else(gone)?;
    let tenant = tenants::find_by_id(reader, stored.tenant_id).await?.ok_or_else(gone)?;
    refuse_frozen(tenant.is_frozen)?;
    let person = users::lookups::find_person(reader, tenant.id, SubjectKind::UserId, &signed.user_id).await?;
    let person = person.ok_or_else(gone)?;
    let principals = directory::standing(reader, tenant.id, &person).await?;
    let viewer = FolderViewer { tenant_id: tenant.id, user_id: &person.user_id, principals: &principals };
    let access = Access::find(reader, &viewer, &stored.directory_id).await?;
    if access.is_none_or(|access| access.check(RequiredPermission::Download).is_err()) {
        return Err(gone());
    }
    if stored.verdict.is_some() {
        return Err(Error::forbidden("this file is unsafe and cannot be downloaded"));
    }
    Ok(stored)
}

fn gone() -> Error {
    Error::not_found("there is no such file, or you may no longer download it")
}
