//! Quota reservations of uploads before their commit.

use super::local::upload_gone;
use crate::{
    error::{Error, Result},
    identity::frozen::refuse_frozen,
    store::{Connection, FromRow, Store, Transaction, sql},
};

/// An open upload at the arrival of a part.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct OpenUpload {
    /// Its id.
    pub id: String,
    /// Its tenant.
    pub tenant_id: i64,
    /// Bytes reserved so far.
    pub reserved_bytes: i64,
    /// Whether its tenant is frozen.
    pub is_frozen: bool,
}

/// Finds an open upload of a person who may still sign in.
///
/// # Errors
/// 404, or 403 where its tenant is frozen.
pub async fn find_open(connection: &Connection, upload_id: &str) -> Result<OpenUpload> {
    let statement = sql(
        "SELECT uploads.id, uploads.tenant_id, uploads.reserved_bytes, tenants.is_frozen FROM uploads \
         JOIN tenants ON tenants.id = uploads.tenant_id AND tenants.removed_at IS NULL \
         JOIN users ON users.tenant_id = uploads.tenant_id AND users.user_id = uploads.user_id \
           AND NOT users.is_deleted AND users.status = 1 \
         WHERE uploads.id = ?",
        [upload_id.into()],
    );
    let upload = statement.fetch_optional::<OpenUpload>(connection).await?.ok_or_else(upload_gone)?;
    refuse_frozen(upload.is_frozen)?;
    Ok(upload)
}

/// Whether the upload still exists, regardless of permissions.
pub async fn is_there(connection: &Connection, upload_id: &str) -> Result<bool> {
    let statement = sql("SELECT 1 FROM uploads WHERE id = ?", [upload_id.into()]);
    Ok(statement.exists(connection).await?)
}

/// Raises an upload's reservation to at least these bytes.
///
/// # Errors
/// 413 names the exceeded quota; 404 where the upload is over.
pub async fn reserve(store: &Store, upload: &OpenUpload, bytes: u64) -> Result<()> {
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    if bytes <= upload.reserved_bytes {
        return Ok(());
    }
    let id = upload.id.clone();
    let reserving = store.write(move |transaction| {
        Box::pin(async move {
            let raise = sql(
                "UPDATE uploads SET reserved_bytes = MAX(reserved_bytes, ?) WHERE id = ?",
                [bytes.into(), id.as_str().into()],
            );
            if raise.execute(transaction).await? == 0 {
                return Err(upload_gone());
            }
            check_quotas(transaction, &id).await
        })
    });
    reserving.await
}

/// Quotas (0 for unlimited) and usage with all reservations.
#[derive(Debug, FromRow)]
struct QuotaUsage {
    quota_bytes: i64,
    subject_quota_bytes: i64,
    of_tenant: i64,
    of_root: Option<i64>,
}

async fn check_quotas(transaction: &Transaction, upload_id: &str) -> Result<()> {
    // The sum over all uploads is computed only under a quota.
    let statement = sql(
        "SELECT tenants.quota_bytes, tenants.subject_quota_bytes, \
           CASE WHEN tenants.quota_bytes > 0 THEN tenants.file_bytes \
             + (SELECT CAST(SUM(reserved_bytes) AS BIGINT) FROM uploads AS every WHERE every.tenant_id = tenants.id) ELSE 0 END AS of_tenant, \
           CASE WHEN tenants.subject_quota_bytes > 0 THEN \
             (SELECT file_bytes FROM directories WHERE id = uploads.root_id AND directories.tenant_id = tenants.id) \
             + (SELECT CAST(SUM(reserved_bytes) AS BIGINT) FROM uploads AS every WHERE every.root_id = uploads.root_id) END AS of_root \
         FROM uploads JOIN tenants ON tenants.id = uploads.tenant_id WHERE uploads.id = ?",
        [upload_id.into()],
    );
    let counted = statement.fetch_optional::<QuotaUsage>(transaction).await?.ok_or_else(upload_gone)?;
    let exceeds = |quota: i64, bytes: i64| quota > 0 && bytes > quota;
    if exceeds(counted.subject_quota_bytes, counted.of_root.unwrap_or(0)) {
        return Err(Error::too_large("the quota of the folder's owner does not suffice"));
    }
    if exceeds(counted.quota_bytes, counted.of_tenant) {
        return Err(Error::too_large("the quota of the enterprise does not suffice"));
    }
    Ok(())
}
