//! Blacklist lookups for other areas.

use super::repo;
use crate::{error::Result, store::Connection};

/// People who listed a person.
pub async fn who_listed(
    connection: &Connection,
    tenant_id: i64,
    black_user_id: &str,
    among: &[impl AsRef<str>],
) -> Result<Vec<String>> {
    Ok(repo::who_listed(connection, tenant_id, black_user_id, among).await?)
}
