//! Creation of tenants and applications.

use std::{collections::HashMap, sync::Arc};

pub use super::removal::remove;
use crate::{
    audit::{self, Actor, AuditEvent},
    auth::{
        applications::{self, ApplicationCredentials, NewApplication},
        keys::Keys,
        tenants::{self, NewTenant, Tenant},
    },
    error::{Error, Result},
    registry,
    store::{self, Connection, Store, Transaction, find_in, now_millis, sql},
};

/// New application.
#[derive(Debug)]
pub struct Registered {
    /// Secrets, shown once.
    pub credentials: ApplicationCredentials,
    /// Owner.
    pub tenant: Tenant,
    /// Whether the tenant is new.
    pub tenant_created: bool,
}

/// Registers an application by command line.
///
/// Creates a missing tenant, named by its code.
///
/// 400 for an invalid tenant code, scope or binding.
pub async fn register_application(store: &Store, keys: &Keys, new: NewApplication) -> Result<Registered> {
    let credentials = Arc::new(ApplicationCredentials::generate(store, keys, &new).await?);
    let stored = Arc::clone(&credentials);
    let (tenant, tenant_created) = store
        .write(move |transaction| {
            Box::pin(async move {
                let (tenant, created) = find_or_create(transaction, &new.tenant).await?;
                applications::insert(transaction, tenant.id, &new, &stored).await?;
                let mut events = Vec::new();
                if created {
                    events.push(AuditEvent::new("register", "tenant", tenant.code.as_str()));
                }
                let event = AuditEvent::new("create", "application", stored.client_id.as_str());
                events
                    .push(event.with("kind", new.kind.to_string()).with("scopes", stored.scopes.to_string()));
                audit::record(transaction, &Actor::command_line(), &tenant, events).await?;
                Ok((tenant, created))
            })
        })
        .await?;
    Ok(Registered { credentials: Arc::unwrap_or_clone(credentials), tenant, tenant_created })
}

/// Reserves consecutive change times, unique in the tenant and at least now.
///
/// Returns the first.
pub async fn give_change_times(transaction: &Transaction, tenant_id: i64, rows: usize) -> Result<i64> {
    let rows = i64::try_from(rows).map_err(Error::internal)?;
    let statement = sql(
        "UPDATE tenants SET last_change = MAX(last_change, ? - 1) + ? WHERE id = ? RETURNING last_change",
        [now_millis().into(), rows.into(), tenant_id.into()],
    );
    let last: i64 = statement.fetch_value(transaction).await?;
    Ok(last - rows + 1)
}

/// Suffix of logins.
pub async fn login_suffix(connection: &Connection, tenant_id: i64) -> Result<Option<String>> {
    let statement = sql("SELECT login_suffix FROM tenants WHERE id = ?", [tenant_id.into()]);
    Ok(statement.fetch_optional_value(connection).await?.flatten())
}

/// Maximum labels per favorite.
pub async fn label_limit(connection: &Connection, tenant_id: i64) -> Result<usize> {
    let statement = sql("SELECT label_limit FROM tenants WHERE id = ?", [tenant_id.into()]);
    let limit: Option<i64> = statement.fetch_optional_value(connection).await?;
    Ok(limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or_default())
}

/// Whether the operator named this person an administrator of folders.
pub async fn is_administrator(connection: &Connection, tenant_id: i64, user_id: &str) -> store::Result<bool> {
    let statement = sql(
        "SELECT 1 FROM tenants WHERE id = ? AND ? IN (SELECT value FROM json_each(administrators))",
        [tenant_id.into(), user_id.into()],
    );
    statement.exists(connection).await
}

/// Unfrozen tenants with `allowOuterMembers`, by code.
pub async fn open_to_outer_groups(
    connection: &Connection,
    codes: &[impl AsRef<str>],
) -> Result<HashMap<String, i64>> {
    let text = "SELECT code, id FROM tenants \
         WHERE removed_at IS NULL AND NOT is_frozen AND allow_outer_members AND code";
    let open: Vec<(String, i64)> = find_in(connection, text, &[], codes).await?;
    Ok(open.into_iter().collect())
}

/// Finds the tenant, or creates it with the built-in modules.
async fn find_or_create(transaction: &Transaction, code: &str) -> Result<(Tenant, bool)> {
    if let Some(tenant) = tenants::find_by_code(transaction, code).await? {
        return Ok((tenant, false));
    }
    let tenant = tenants::insert(transaction, NewTenant::named_as_its_code(code)).await?;
    registry::create_default_modules(transaction, tenant.id).await?;
    Ok((tenant, true))
}
