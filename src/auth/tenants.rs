//! Tenants as identities need them: the number behind a code, whether it is frozen, and whose it is to manage.

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
    /// Whether every call of it or on it is refused (decisions 3.6).
    pub is_frozen: bool,
    /// Whether domain applications that did not register it may act on it (`isAllowManage`).
    pub allow_manage: bool,
    /// The client id of the application that registered it; `None` for one that the command line made.
    pub registered_by: Option<String>,
}

/// What a tenant begins with.
#[derive(Clone, Debug)]
pub struct NewTenant {
    /// The eCode, which must be free.
    pub code: String,
    /// The enterprise's name.
    pub name: String,
    /// What it tells of itself, as JSON.
    pub profile: String,
    /// `isAllowManage`.
    pub allow_manage: bool,
    /// The client id of the application that registers it.
    pub registered_by: Option<String>,
}

impl NewTenant {
    /// A tenant of which nothing but its code is known; that is its name too (decisions 1).
    pub fn named_as_its_code(code: &str) -> Self {
        Self {
            code: code.to_owned(),
            name: code.to_owned(),
            profile: "{}".to_owned(),
            allow_manage: true,
            registered_by: None,
        }
    }
}

/// The tenant with this code; one that is removed has none.
pub async fn find_by_code<C: ConnectionTrait>(connection: &C, code: &str) -> Result<Option<Tenant>, DbErr> {
    find(connection, "code = ?", code.into()).await
}

/// The tenant with this number, unless it is removed.
pub async fn find_by_id<C: ConnectionTrait>(connection: &C, id: i64) -> Result<Option<Tenant>, DbErr> {
    find(connection, "id = ?", id.into()).await
}

/// The tenant, where there is one and no other.
pub async fn find_only<C: ConnectionTrait>(connection: &C) -> Result<Option<Tenant>, DbErr> {
    let statement = sql("SELECT id FROM tenants WHERE removed_at IS NULL LIMIT 2", []);
    match connection.query_all_raw(statement).await?.as_slice() {
        [only] => find_by_id(connection, only.try_get("", "id")?).await,
        _ => Ok(None),
    }
}

async fn find<C: ConnectionTrait>(
    connection: &C,
    condition: &str,
    value: sea_orm::Value,
) -> Result<Option<Tenant>, DbErr> {
    let text = format!(
        "SELECT id, code, name, is_frozen, allow_manage, registered_by FROM tenants \
         WHERE {condition} AND removed_at IS NULL"
    );
    Tenant::find_by_statement(sql(text, [value])).one(connection).await
}

/// The numbers of tenants that are removed and whose rows are not all gone yet.
pub async fn removed<C: ConnectionTrait>(connection: &C) -> Result<Vec<i64>, DbErr> {
    let statement = sql("SELECT id FROM tenants WHERE removed_at IS NOT NULL ORDER BY id", []);
    connection.query_all_raw(statement).await?.iter().map(|row| row.try_get("", "id")).collect()
}

/// Makes a tenant whose name is its code; the code must be free.
pub async fn create(transaction: &Transaction, code: &str) -> Result<Tenant, DbErr> {
    insert(transaction, NewTenant::named_as_its_code(code)).await
}

/// Makes a tenant; the code must be free.
pub async fn insert(transaction: &Transaction, new: NewTenant) -> Result<Tenant, DbErr> {
    let inserted = transaction
        .execute_raw(sql(
            "INSERT INTO tenants (code, name, profile, allow_manage, registered_by, created_at) \
             VALUES (?, ?, ?, ?, ?, ?)",
            [
                new.code.as_str().into(),
                new.name.as_str().into(),
                new.profile.into(),
                new.allow_manage.into(),
                new.registered_by.as_deref().into(),
                now_millis().into(),
            ],
        ))
        .await?;
    let id = i64::try_from(inserted.last_insert_id()).map_err(|error| DbErr::Custom(error.to_string()))?;
    let NewTenant { code, name, allow_manage, registered_by, .. } = new;
    Ok(Tenant { id, code, name, is_frozen: false, allow_manage, registered_by })
}

/// Freezes a tenant, or ends that.
pub async fn set_frozen(transaction: &Transaction, id: i64, is_frozen: bool) -> Result<(), DbErr> {
    let statement = sql("UPDATE tenants SET is_frozen = ? WHERE id = ?", [is_frozen.into(), id.into()]);
    transaction.execute_raw(statement).await.map(drop)
}

/// Sets a tenant aside whose rows are to be removed: nothing finds it any more, and its code is free. Answers whether there
/// was one.
pub async fn set_aside(transaction: &Transaction, id: i64) -> Result<bool, DbErr> {
    // No code holds a slash, so that what is set aside is in nobody's way.
    let statement = sql(
        "UPDATE tenants SET removed_at = ?, code = code || '/' || id WHERE id = ? AND removed_at IS NULL",
        [now_millis().into(), id.into()],
    );
    Ok(transaction.execute_raw(statement).await?.rows_affected() > 0)
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
