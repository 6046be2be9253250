//! The rows of applications, as operators work on them.

use sea_orm::{ConnectionTrait, DbErr, FromQueryResult};

use super::forms::Wanted;
use crate::{
    error::{Error, Result},
    store::{Transaction, sql},
};

const COLUMNS: &str = "client_id, kind, name, bound, scopes, is_disabled, redirect_uris, is_public, created_at, \
                       last_used_at, previous_secret_until";

/// An application without its secrets.
#[derive(Debug, FromQueryResult)]
pub(super) struct Row {
    pub(super) client_id: String,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) bound: String,
    pub(super) scopes: String,
    pub(super) is_disabled: bool,
    pub(super) redirect_uris: String,
    pub(super) is_public: bool,
    pub(super) created_at: i64,
    pub(super) last_used_at: Option<i64>,
    pub(super) previous_secret_until: Option<i64>,
}

/// The tenant's, the oldest first.
pub(super) async fn list<C: ConnectionTrait>(connection: &C, tenant_id: i64) -> Result<Vec<Row>, DbErr> {
    let text =
        format!("SELECT {COLUMNS} FROM applications WHERE tenant_id = ? ORDER BY created_at, client_id");
    Row::find_by_statement(sql(text, [tenant_id.into()])).all(connection).await
}

/// The tenant's with this client id.
pub(super) async fn find<C: ConnectionTrait>(
    connection: &C,
    tenant_id: i64,
    client_id: &str,
) -> Result<Option<Row>, DbErr> {
    let text = format!("SELECT {COLUMNS} FROM applications WHERE tenant_id = ? AND client_id = ?");
    Row::find_by_statement(sql(text, [tenant_id.into(), client_id.into()])).one(connection).await
}

/// How many the tenant has.
pub(super) async fn count(transaction: &Transaction, tenant_id: i64) -> Result<i64, DbErr> {
    let statement = sql("SELECT COUNT(*) AS rows FROM applications WHERE tenant_id = ?", [tenant_id.into()]);
    let row = transaction.query_one_raw(statement).await?;
    row.map_or(Ok(0), |row| row.try_get("", "rows"))
}

/// Writes what can be changed of one.
pub(super) async fn update(transaction: &Transaction, client_id: &str, wanted: &Wanted) -> Result<()> {
    let statement = sql(
        "UPDATE applications SET name = ?, bound = ?, scopes = ?, redirect_uris = ?, is_disabled = ? WHERE client_id = ?",
        [
            wanted.name.as_str().into(),
            serde_json::to_string(&wanted.bound).map_err(Error::internal)?.into(),
            serde_json::to_string(&wanted.scopes).map_err(Error::internal)?.into(),
            serde_json::to_string(&wanted.login.redirect_uris).map_err(Error::internal)?.into(),
            wanted.is_disabled.into(),
            client_id.into(),
        ],
    );
    transaction.execute_raw(statement).await?;
    Ok(())
}

/// Disables one.
pub(super) async fn disable(transaction: &Transaction, client_id: &str) -> Result<(), DbErr> {
    let statement = sql("UPDATE applications SET is_disabled = 1 WHERE client_id = ?", [client_id.into()]);
    transaction.execute_raw(statement).await.map(drop)
}

/// Makes the tokens that it has worthless, whatever becomes of it.
pub(super) async fn end_tokens(transaction: &Transaction, client_id: &str) -> Result<(), DbErr> {
    let statement = sql("UPDATE applications SET epoch = epoch + 1 WHERE client_id = ?", [client_id.into()]);
    transaction.execute_raw(statement).await.map(drop)
}

/// Removes the tenant's with this client id; answers whether there was one.
pub(super) async fn remove(
    transaction: &Transaction,
    tenant_id: i64,
    client_id: &str,
) -> Result<bool, DbErr> {
    let statement = sql(
        "DELETE FROM applications WHERE tenant_id = ? AND client_id = ?",
        [tenant_id.into(), client_id.into()],
    );
    Ok(transaction.execute_raw(statement).await?.rows_affected() > 0)
}

/// Replaces the secret; the one before is valid until then, or no more.
pub(super) async fn rotate(
    transaction: &Transaction,
    client_id: &str,
    hash: &str,
    until: Option<i64>,
) -> Result<(), DbErr> {
    let statement = sql(
        "UPDATE applications SET previous_secret_hash = iif(?1 IS NULL, NULL, secret_hash), \
           previous_secret_until = ?1, secret_hash = ?2 WHERE client_id = ?3",
        [until.into(), hash.into(), client_id.into()],
    );
    transaction.execute_raw(statement).await.map(drop)
}
