//! What other areas ask of blacklists.

use sea_orm::ConnectionTrait;

use super::repo;
use crate::error::Result;

/// Those of these people who have someone on their blacklist, all of one tenant.
pub async fn who_listed<C: ConnectionTrait>(
    connection: &C,
    tenant_id: i64,
    black_user_id: &str,
    among: &[impl AsRef<str>],
) -> Result<Vec<String>> {
    Ok(repo::who_listed(connection, tenant_id, black_user_id, among).await?)
}
