//! Rows of devices.

use sea_orm::{ConnectionTrait, DbErr, FromQueryResult};

use super::model::{Device, IdType};
use crate::store::{Transaction, now_millis, sql};

/// The source-side id of the user that is named so, unless he was deleted.
pub(super) async fn find_user<C: ConnectionTrait>(
    reader: &C,
    tenant_id: i64,
    id_type: IdType,
    id: &str,
) -> Result<Option<String>, DbErr> {
    let column = match id_type {
        IdType::Platform => "platform_user_id",
        IdType::Login => "login_id",
        IdType::Source => "user_id",
    };
    let text = format!("SELECT user_id FROM users WHERE tenant_id = ? AND {column} = ? AND is_deleted = 0");
    let row = reader.query_one_raw(sql(text, [tenant_id.into(), id.into()])).await?;
    row.map(|row| row.try_get("", "user_id")).transpose()
}

/// A person's devices, in the order in which they were bound.
pub(super) async fn list<C: ConnectionTrait>(
    reader: &C,
    tenant_id: i64,
    user_id: &str,
) -> Result<Vec<Device>, DbErr> {
    Device::find_by_statement(sql(
        "SELECT device_id, name, bound_at FROM devices WHERE tenant_id = ? AND user_id = ? ORDER BY binding",
        [tenant_id.into(), user_id.into()],
    ))
    .all(reader)
    .await
}

/// Binds a device. One that is bound already stays so, tokens and all, under its new name.
pub(super) async fn bind(
    transaction: &Transaction,
    tenant_id: i64,
    user_id: &str,
    device_id: &str,
    name: Option<&str>,
) -> Result<Device, DbErr> {
    let row = Device::find_by_statement(sql(
        "INSERT INTO devices (tenant_id, user_id, device_id, name, bound_at) VALUES (?, ?, ?, ?, ?) \
         ON CONFLICT (tenant_id, user_id, device_id) DO UPDATE SET name = COALESCE(excluded.name, name) \
         RETURNING device_id, name, bound_at",
        [tenant_id.into(), user_id.into(), device_id.into(), name.into(), now_millis().into()],
    ))
    .one(&**transaction)
    .await?;
    row.ok_or_else(|| DbErr::RecordNotFound("the device that was bound".to_owned()))
}

/// Unbinds one of a person's devices, or all of them; answers which.
pub(super) async fn unbind(
    transaction: &Transaction,
    tenant_id: i64,
    user_id: &str,
    device_id: Option<&str>,
) -> Result<Vec<String>, DbErr> {
    let statement = sql(
        "DELETE FROM devices WHERE tenant_id = ?1 AND user_id = ?2 AND (?3 IS NULL OR device_id = ?3) \
         RETURNING device_id",
        [tenant_id.into(), user_id.into(), device_id.into()],
    );
    let rows = transaction.query_all_raw(statement).await?;
    rows.into_iter().map(|row| row.try_get("", "device_id")).collect()
}
