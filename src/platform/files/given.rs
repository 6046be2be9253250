//! What is given at a signed address, and whether it may be given still: the right to it may have gone since it was signed
//! (decisions 10.3).

use sea_orm::{ConnectionTrait, FromQueryResult};

use crate::{
    auth::{
        directory::{self, SubjectKind},
        tenants,
    },
    error::{Error, Result},
    platform::directories::access::{Access, Needed, Seer},
    storage::signing::SignedFile,
    store::sql,
};

/// What is there of a version of a file.
#[derive(Clone, Debug, FromQueryResult)]
pub struct Kept {
    tenant_id: i64,
    directory_id: String,
    /// What the file is called.
    pub name: String,
    /// Its SHA-256, in hex.
    pub sha256: String,
    /// Its bytes.
    pub size: i64,
    /// When the version came, epoch milliseconds.
    pub created_at: i64,
    /// What the store knows it by.
    pub store_key: String,
    verdict: Option<String>,
}

/// The content that an address is for, if its holder may take it, as he stands now.
///
/// # Errors
/// 404 for what is not there any more and what may not be taken any more alike; 403 where the tenant is frozen or the content unsafe.
pub async fn find<C: ConnectionTrait>(reader: &C, signed: &SignedFile) -> Result<Kept> {
    let statement = sql(
        "SELECT files.tenant_id, files.directory_id, files.name, file_versions.sha256, file_versions.size, \
           file_versions.created_at, blobs.store_key, blobs.verdict \
         FROM files JOIN file_versions ON file_versions.file_id = files.id JOIN blobs ON blobs.sha256 = file_versions.sha256 \
         WHERE files.id = ? AND file_versions.version = ?",
        [signed.file_id.as_str().into(), signed.version.into()],
    );
    let kept = Kept::find_by_statement(statement).one(reader).await?.ok_or_else(gone)?;
    let tenant = tenants::find_by_id(reader, kept.tenant_id).await?.ok_or_else(gone)?;
    if tenant.is_frozen {
        return Err(Error::forbidden("tenant is frozen"));
    }
    let person = directory::find_person(reader, tenant.id, SubjectKind::UserId, &signed.user_id).await?;
    let person = person.ok_or_else(gone)?;
    let principals = directory::standing(reader, tenant.id, &person).await?;
    let seer = Seer { tenant_id: tenant.id, user_id: &person.user_id, principals: &principals };
    let access = Access::find(reader, &seer, &kept.directory_id).await?;
    if access.is_none_or(|access| access.check(Needed::Download).is_err()) {
        return Err(gone());
    }
    if kept.verdict.is_some() {
        return Err(Error::forbidden("this file is unsafe; it is not given"));
    }
    Ok(kept)
}

/// 404: what is not there any more and what may not be taken any more are one.
fn gone() -> Error {
    Error::not_found("there is no such file, or you may not take it any more")
}
