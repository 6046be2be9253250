//! Quotas of tenants and folder owners, with all versions and reservations.

use crate::{
    error::{BusinessCode, Error, Result},
    store::{self, Connection, DatabaseError, FromRow, Transaction, Value, sql},
};

/// Usage of a quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromRow)]
pub struct StorageUsage {
    /// Stored bytes.
    pub used: i64,
    /// Bytes reserved by other uploads.
    pub reserved: i64,
    /// Quota; 0: unlimited.
    pub most: i64,
}

impl StorageUsage {
    /// Whether these bytes fit.
    pub fn has_room_for(self, bytes: i64) -> bool {
        self.most == 0 || self.used.saturating_add(self.reserved).saturating_add(bytes) <= self.most
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct QuotaScope<'a> {
    pub(super) tenant: i64,
    pub(super) root: Option<&'a str>,
    /// Upload whose reservation is ignored; empty: none.
    pub(super) but: &'a str,
}

/// 430015 for the owner's quota, 430016 for the tenant's.
pub(super) async fn check(connection: &Connection, counted: QuotaScope<'_>, bytes: i64) -> Result<()> {
    // A root removed with its owner has no quota.
    if let Some(root_id) = counted.root
        && let Some(usage) = root_usage(connection, counted, root_id).await?
        && !usage.has_room_for(bytes)
    {
        let message = format!("fileSize: {bytes} bytes exceed the remaining quota of the folder's owner");
        return Err(Error::business(BusinessCode::SubjectQuota, message));
    }
    if tenant_usage(connection, counted).await?.has_room_for(bytes) {
        return Ok(());
    }
    let message = format!("fileSize: {bytes} bytes exceed the remaining quota of the enterprise");
    Err(Error::business(BusinessCode::EnterpriseQuota, message))
}

async fn tenant_usage(connection: &Connection, counted: QuotaScope<'_>) -> store::Result<StorageUsage> {
    // Uploads are summed only under a quota.
    let text = "SELECT file_bytes AS used, quota_bytes AS most, CASE WHEN quota_bytes = 0 THEN 0 ELSE \
          (SELECT CAST(COALESCE(SUM(reserved_bytes), 0) AS BIGINT) FROM uploads WHERE tenant_id = ?1 AND id <> ?2) END AS reserved \
        FROM tenants WHERE id = ?1";
    let usage = find(connection, text, [counted.tenant.into(), counted.but.into()]).await?;
    usage.ok_or(DatabaseError::RowNotFound)
}

async fn root_usage(
    connection: &Connection,
    counted: QuotaScope<'_>,
    root_id: &str,
) -> store::Result<Option<StorageUsage>> {
    let text = "SELECT directories.file_bytes AS used, subject_quota_bytes AS most, CASE WHEN subject_quota_bytes = 0 THEN 0 ELSE \
          (SELECT CAST(COALESCE(SUM(reserved_bytes), 0) AS BIGINT) FROM uploads WHERE root_id = ?2 AND id <> ?3) END AS reserved \
        FROM directories JOIN tenants ON tenants.id = directories.tenant_id \
        WHERE directories.id = ?2 AND directories.tenant_id = ?1";
    find(connection, text, [counted.tenant.into(), root_id.into(), counted.but.into()]).await
}

async fn find(
    connection: &Connection,
    text: &'static str,
    values: impl IntoIterator<Item = Value>,
) -> store::Result<Option<StorageUsage>> {
    sql(text, values).fetch_optional::<StorageUsage>(connection).await
}

/// Negative bytes subtract.
pub(super) async fn count(
    transaction: &Transaction,
    tenant_id: i64,
    root_id: &str,
    bytes: i64,
) -> store::Result<()> {
    let root_usage = "UPDATE directories SET file_bytes = file_bytes + ? WHERE id = ? AND tenant_id = ?";
    sql(root_usage, [bytes.into(), root_id.into(), tenant_id.into()]).execute(transaction).await?;
    let tenant_usage = "UPDATE tenants SET file_bytes = file_bytes + ? WHERE id = ?";
    sql(tenant_usage, [bytes.into(), tenant_id.into()]).execute(transaction).await.map(drop)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::StorageUsage;

    #[test]
    fn no_quota_bounds_nothing_and_a_quota_may_be_used_up() {
        assert!(StorageUsage { used: i64::MAX, reserved: i64::MAX, most: 0 }.has_room_for(i64::MAX));
        let usage = StorageUsage { used: 4, reserved: 5, most: 10 };
        assert!(usage.has_room_for(1) && !usage.has_room_for(2));
        assert!(!StorageUsage { most: 8, ..usage }.has_room_for(0));
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        #[test]
        fn numbers_of_any_size_are_judged_rightly(used in 0..i64::MAX, reserved in 0..i64::MAX, bytes in 0..i64::MAX, most in 1..i64::MAX) {
            let sum = i128::from(used) + i128::from(reserved) + i128::from(bytes);
            let fits = sum <= i128::from(most);
            prop_assert_eq!(StorageUsage { used, reserved, most }.has_room_for(bytes), fits);
        }
    }
}
