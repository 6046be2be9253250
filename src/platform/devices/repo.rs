//! Rows of devices.

use super::forms::{Device, IdType};
use crate::platform::users::lookups::find_account;
use crate::store::{self, Connection, DatabaseError, Transaction, now_millis, sql};

/// Source id of the named user, unless deleted.
pub(super) async fn find_user(
    reader: &Connection,
    tenant_id: i64,
    id_type: IdType,
    id: &str,
) -> store::Result<Option<String>> {
    let column = match id_type {
        IdType::Platform => "platform_user_id",
        IdType::Login => {
            let account = find_account(reader, tenant_id, id).await?;
            return Ok(account.map(|account| account.person.user_id));
        }
        IdType::Source => "user_id",
    };
    let text = format!("SELECT user_id FROM users WHERE tenant_id = ? AND {column} = ? AND NOT is_deleted");
    sql(text, [tenant_id.into(), id.into()]).fetch_optional_value(reader).await
}

/// Oldest binding first.
pub(super) async fn list(reader: &Connection, tenant_id: i64, user_id: &str) -> store::Result<Vec<Device>> {
    sql(
        "SELECT device_id, name, bound_at FROM devices WHERE tenant_id = ? AND user_id = ? ORDER BY binding",
        [tenant_id.into(), user_id.into()],
    )
    .fetch_all::<Device>(reader)
    .await
}

/// Binds a device; an existing binding only gets the new name.
pub(super) async fn bind(
    transaction: &Transaction,
    tenant_id: i64,
    user_id: &str,
    device_id: &str,
    name: Option<&str>,
) -> store::Result<Device> {
    let row = sql(
        "INSERT INTO devices (tenant_id, user_id, device_id, name, bound_at) VALUES (?, ?, ?, ?, ?) \
         ON CONFLICT (tenant_id, user_id, device_id) DO UPDATE SET name = COALESCE(excluded.name, devices.name) \
         RETURNING device_id, name, bound_at",
        [tenant_id.into(), user_id.into(), device_id.into(), name.into(), now_millis().into()],
    )
    .fetch_optional::<Device>(transaction)
    .await?;
    row.ok_or(DatabaseError::RowNotFound)
}

/// Unbinds one or all devices; returns their ids.
pub(super) async fn unbind(
    transaction: &Transaction,
    tenant_id: i64,
    user_id: &str,
    device_id: Option<&str>,
) -> store::Result<Vec<String>> {
    let statement = sql(
        "DELETE FROM devices WHERE tenant_id = ?1 AND user_id = ?2 AND device_id = COALESCE(?3, device_id) \
         RETURNING device_id",
        [tenant_id.into(), user_id.into(), device_id.into()],
    );
    statement.fetch_values(transaction).await
}

/// The number of a device's binding to a person.
pub async fn find_binding(
    connection: &Connection,
    tenant_id: i64,
    user_id: &str,
    device_id: &str,
) -> store::Result<Option<i64>> {
    let statement = sql(
        "SELECT binding FROM devices WHERE tenant_id = ? AND user_id = ? AND device_id = ?",
        [tenant_id.into(), user_id.into(), device_id.into()],
    );
    statement.fetch_optional_value(connection).await
}

/// Whether this binding still exists for the person.
pub async fn is_bound(
    connection: &Connection,
    tenant_id: i64,
    user_id: &str,
    binding: i64,
) -> store::Result<bool> {
    let statement = sql(
        "SELECT 1 FROM devices WHERE tenant_id = ? AND user_id = ? AND binding = ?",
        [tenant_id.into(), user_id.into(), binding.into()],
    );
    statement.exists(connection).await
}
