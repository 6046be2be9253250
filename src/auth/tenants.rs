//! Tenants as identities need them: the number behind a code.

use sea_orm::{ConnectionTrait, DbErr, FromQueryResult};

use crate::store::{Transaction, now_millis, sql};

/// An enterprise. Every row and every search names the number; people know the code (eCode).
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult)]
pub struct Tenant {
    /// Never used again, even when the code is.
    pub id: i64,
    /// The eCode.
    pub code: String,
    /// The enterprise's name.
    pub name: String,
}

/// The tenant with this code.
pub async fn find_by_code<C: ConnectionTrait>(connection: &C, code: &str) -> Result<Option<Tenant>, DbErr> {
    Tenant::find_by_statement(sql("SELECT id, code, name FROM tenants WHERE code = ?", [code.into()]))
        .one(connection)
        .await
}

/// The tenant with this number.
pub async fn find_by_id<C: ConnectionTrait>(connection: &C, id: i64) -> Result<Option<Tenant>, DbErr> {
    Tenant::find_by_statement(sql("SELECT id, code, name FROM tenants WHERE id = ?", [id.into()]))
        .one(connection)
        .await
}

/// Whether the tenant with this number is there, and neither frozen nor on its way out (decisions 3.6).
pub async fn is_in_use<C: ConnectionTrait>(connection: &C, id: i64) -> Result<bool, DbErr> {
    let statement =
        sql("SELECT 1 FROM tenants WHERE id = ? AND is_frozen = 0 AND removed_at IS NULL", [id.into()]);
    Ok(connection.query_one_raw(statement).await?.is_some())
}

/// Makes a tenant whose name is its code; the code must be free.
pub async fn create(transaction: &Transaction, code: &str) -> Result<Tenant, DbErr> {
    let inserted = transaction
        .execute_raw(sql(
            "INSERT INTO tenants (code, name, created_at) VALUES (?, ?, ?)",
            [code.into(), code.into(), now_millis().into()],
        ))
        .await?;
    let id = i64::try_from(inserted.last_insert_id()).map_err(|error| DbErr::Custom(error.to_string()))?;
    Ok(Tenant { id, code: code.to_owned(), name: code.to_owned() })
}

/// Removes a tenant and every row that names it; answers whether there was one.
pub async fn remove(transaction: &Transaction, id: i64) -> Result<bool, DbErr> {
    let removed = transaction.execute_raw(sql("DELETE FROM tenants WHERE id = ?", [id.into()])).await?;
    Ok(removed.rows_affected() > 0)
}

/// Checks a tenant code: 1 to 64 letters, digits, `-`, `_` or `.`.
pub fn check_code(code: &str) -> Result<(), String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if (1..=64).contains(&code.len()) && code.chars().all(allowed) {
        Ok(())
    } else {
        Err(format!("{code:?} is not a tenant code: 1 to 64 letters, digits, '-', '_' or '.'"))
    }
}
