//! How many bytes an enterprise and a subject of folders may have (decisions 9.8, 10.1): what is there, in all versions, and
//! what uploads that are open have reserved.

use sea_orm::{ConnectionTrait, DbErr, FromQueryResult};

use crate::{
    error::{BusinessCode, Error, Result},
    store::{Transaction, sql},
};

/// How much of a quota is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromQueryResult)]
pub struct Usage {
    /// Bytes that are there.
    pub used: i64,
    /// Bytes that other uploads have reserved.
    pub reserved: i64,
    /// The quota; 0 is none.
    pub most: i64,
}

impl Usage {
    /// Whether so many bytes more are within the quota.
    pub fn has_room_for(self, bytes: i64) -> bool {
        self.most == 0 || self.used.saturating_add(self.reserved).saturating_add(bytes) <= self.most
    }
}

/// Whose quotas something counts towards.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counted<'a> {
    pub(super) tenant: i64,
    /// The root of the subject, where it is known.
    pub(super) root: Option<&'a str>,
    /// The upload whose own reservation does not count; empty where there is none yet.
    pub(super) but: &'a str,
}

/// Refuses so many bytes more than a quota allows.
///
/// # Errors
/// 430015 where it is the subject's, 430016 where it is the enterprise's.
pub(super) async fn check<C: ConnectionTrait>(
    connection: &C,
    counted: Counted<'_>,
    bytes: i64,
) -> Result<()> {
    // A root that is gone meanwhile, with its subject, has no quota.
    if let Some(root_id) = counted.root
        && let Some(usage) = of_root(connection, counted, root_id).await?
        && !usage.has_room_for(bytes)
    {
        let message =
            format!("fileSize: {bytes} bytes are more than is left of the quota of the folder's owner");
        return Err(Error::business(BusinessCode::SubjectQuota, message));
    }
    if of_tenant(connection, counted).await?.has_room_for(bytes) {
        return Ok(());
    }
    let message = format!("fileSize: {bytes} bytes are more than is left of the enterprise's quota");
    Err(Error::business(BusinessCode::EnterpriseQuota, message))
}

async fn of_tenant<C: ConnectionTrait>(connection: &C, counted: Counted<'_>) -> Result<Usage, DbErr> {
    // Uploads are looked through only where there is a quota.
    let text = "SELECT file_bytes AS used, quota_bytes AS most, CASE WHEN quota_bytes = 0 THEN 0 ELSE \
          (SELECT COALESCE(SUM(reserved_bytes), 0) FROM uploads WHERE tenant_id = ?1 AND id <> ?2) END AS reserved \
        FROM tenants WHERE id = ?1";
    let usage = find(connection, text, [counted.tenant.into(), counted.but.into()]).await?;
    usage.ok_or_else(|| DbErr::RecordNotFound("a tenant".to_owned()))
}

async fn of_root<C: ConnectionTrait>(
    connection: &C,
    counted: Counted<'_>,
    root_id: &str,
) -> Result<Option<Usage>, DbErr> {
    let text = "SELECT directories.file_bytes AS used, subject_quota_bytes AS most, CASE WHEN subject_quota_bytes = 0 THEN 0 ELSE \
          (SELECT COALESCE(SUM(reserved_bytes), 0) FROM uploads WHERE root_id = ?2 AND id <> ?3) END AS reserved \
        FROM directories JOIN tenants ON tenants.id = directories.tenant_id \
        WHERE directories.id = ?2 AND directories.tenant_id = ?1";
    find(connection, text, [counted.tenant.into(), root_id.into(), counted.but.into()]).await
}

async fn find<C: ConnectionTrait>(
    connection: &C,
    text: &str,
    values: impl IntoIterator<Item = sea_orm::Value>,
) -> Result<Option<Usage>, DbErr> {
    Usage::find_by_statement(sql(text, values)).one(connection).await
}

/// Counts so many bytes more, or fewer, of the files below a root.
pub(super) async fn count(
    transaction: &Transaction,
    tenant_id: i64,
    root_id: &str,
    bytes: i64,
) -> Result<(), DbErr> {
    let of_root = "UPDATE directories SET file_bytes = file_bytes + ? WHERE id = ? AND tenant_id = ?";
    transaction.execute_raw(sql(of_root, [bytes.into(), root_id.into(), tenant_id.into()])).await?;
    let of_tenant = "UPDATE tenants SET file_bytes = file_bytes + ? WHERE id = ?";
    transaction.execute_raw(sql(of_tenant, [bytes.into(), tenant_id.into()])).await.map(drop)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Usage;

    #[test]
    fn no_quota_bounds_nothing_and_a_quota_may_be_used_up() {
        assert!(Usage { used: i64::MAX, reserved: i64::MAX, most: 0 }.has_room_for(i64::MAX));
        let usage = Usage { used: 4, reserved: 5, most: 10 };
        assert!(usage.has_room_for(1) && !usage.has_room_for(2));
        // Lowered below what is there: nothing more comes in, an empty file neither.
        assert!(!Usage { most: 8, ..usage }.has_room_for(0));
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        #[test]
        fn numbers_of_any_size_are_judged_rightly(used in 0..i64::MAX, reserved in 0..i64::MAX, bytes in 0..i64::MAX, most in 1..i64::MAX) {
            let sum = i128::from(used) + i128::from(reserved) + i128::from(bytes);
            let fits = sum <= i128::from(most);
            // What is beyond every number fits the largest one alone, which no quota is.
            prop_assert_eq!(Usage { used, reserved, most }.has_room_for(bytes), fits);
        }
    }
}
