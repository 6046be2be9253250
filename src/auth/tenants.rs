//! Tenants: look-up, creation, freezing and removal.

pub use crate::identity::tenant::Tenant;
use crate::store::{self, Connection, Transaction, Value, now_millis, sql};

/// A new tenant.
#[derive(Clone, Debug)]
pub struct NewTenant {
    /// The eCode, which must be free.
    pub code: String,
    /// Enterprise name.
    pub name: String,
    /// Profile, as JSON.
    pub profile: String,
    /// `isAllowManage`.
    pub allow_manage: bool,
    /// The client id of the application that registers it.
    pub registered_by: Option<String>,
}

impl NewTenant {
    /// A tenant named by its code.
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

/// The tenant with this code, unless removed.
pub async fn find_by_code(connection: &Connection, code: &str) -> store::Result<Option<Tenant>> {
    find(connection, "code = ?", code.into()).await
}

/// The tenant with this number, unless removed.
pub async fn find_by_id(connection: &Connection, id: i64) -> store::Result<Option<Tenant>> {
    find(connection, "id = ?", id.into()).await
}

/// The only tenant, if there is exactly one.
pub async fn find_only(connection: &Connection) -> store::Result<Option<Tenant>> {
    let statement = sql("SELECT id FROM tenants WHERE removed_at IS NULL LIMIT 2", []);
    match statement.fetch_values(connection).await?.as_slice() {
        [only] => find_by_id(connection, *only).await,
        _ => Ok(None),
    }
}

async fn find(connection: &Connection, condition: &str, value: Value) -> store::Result<Option<Tenant>> {
    let text = format!(
        "SELECT id, code, name, is_frozen, allow_manage, registered_by, search_insights FROM tenants \
         WHERE {condition} AND removed_at IS NULL"
    );
    sql(text, [value]).fetch_optional::<Tenant>(connection).await
}

/// Numbers of removed tenants with rows left.
pub async fn removed(connection: &Connection) -> store::Result<Vec<i64>> {
    let statement = sql("SELECT id FROM tenants WHERE removed_at IS NOT NULL ORDER BY id", []);
    statement.fetch_values(connection).await
}

/// Creates a tenant named by its free code.
pub async fn create(transaction: &Transaction, code: &str) -> store::Result<Tenant> {
    insert(transaction, NewTenant::named_as_its_code(code)).await
}

/// Creates a tenant; the code must be free.
pub async fn insert(transaction: &Transaction, new: NewTenant) -> store::Result<Tenant> {
    let statement = sql(
        "INSERT INTO tenants (code, name, profile, allow_manage, registered_by, created_at) \
         VALUES (?, ?, ?, ?, ?, ?) RETURNING id",
        [
            new.code.as_str().into(),
            new.name.as_str().into(),
            new.profile.into(),
            new.allow_manage.into(),
            new.registered_by.as_deref().into(),
            now_millis().into(),
        ],
    );
    let id = statement.fetch_value(transaction).await?;
    let NewTenant { code, name, allow_manage, registered_by, .. } = new;
    Ok(Tenant { id, code, name, is_frozen: false, allow_manage, registered_by, search_insights: false })
}

/// Freezes or unfreezes a tenant.
pub async fn set_frozen(transaction: &Transaction, id: i64, is_frozen: bool) -> store::Result<()> {
    let statement = sql("UPDATE tenants SET is_frozen = ? WHERE id = ?", [is_frozen.into(), id.into()]);
    statement.execute(transaction).await.map(drop)
}

/// Marks a tenant removed, which frees its code. Returns whether it existed.
pub async fn set_aside(transaction: &Transaction, id: i64) -> store::Result<bool> {
    // No valid code holds a slash, so this cannot collide.
    let statement = sql(
        "UPDATE tenants SET removed_at = ?, code = code || '/' || id WHERE id = ? AND removed_at IS NULL",
        [now_millis().into(), id.into()],
    );
    Ok(statement.execute(transaction).await? > 0)
}
