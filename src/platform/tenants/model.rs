//! Making tenants and registering their applications.

use std::{collections::HashMap, sync::Arc};

use sea_orm::{ConnectionTrait, FromQueryResult};

pub use super::removal::remove;
use crate::{
    audit::{self, Actor, Deed},
    auth::{
        applications::{self, Credentials, NewApplication},
        keys::Keys,
        tenants::{self, NewTenant, Tenant},
    },
    error::{Error, Result},
    search::registry,
    store::{Store, Transaction, find_in, now_millis, sql},
};

/// A registered application, and whether its tenant was made along with it.
#[derive(Debug)]
pub struct Registered {
    /// The application's secrets, to be shown this once.
    pub credentials: Credentials,
    /// The tenant that it belongs to.
    pub tenant: Tenant,
    /// Whether the tenant is new.
    pub tenant_created: bool,
}

/// Registers an application for the command line. A tenant that does not exist yet is made; its name is the code (decisions 1).
///
/// # Errors
/// 400 for a tenant code, scope or binding that cannot be.
pub async fn register_application(store: &Store, keys: &Keys, new: NewApplication) -> Result<Registered> {
    let credentials = Arc::new(Credentials::generate(keys, &new)?);
    let kept = Arc::clone(&credentials);
    let (tenant, tenant_created) = store
        .write(move |transaction| {
            Box::pin(async move {
                let (tenant, created) = find_or_create(transaction, &new.tenant).await?;
                applications::insert(transaction, tenant.id, &new, &kept).await?;
                let mut deeds = Vec::new();
                if created {
                    deeds.push(Deed::new("register", "tenant", tenant.code.as_str()));
                }
                let deed = Deed::new("create", "application", kept.client_id.as_str());
                deeds.push(deed.with("kind", new.kind.to_string()).with("scopes", kept.scopes.to_string()));
                audit::record(transaction, &Actor::command_line(), &tenant, deeds).await?;
                Ok((tenant, created))
            })
        })
        .await?;
    Ok(Registered { credentials: Arc::unwrap_or_clone(credentials), tenant, tenant_created })
}

/// Gives so many rows of the tenant's directory their times of change: one each, strictly increasing over all of its changes,
/// and not before now (decisions 9.6). Answers the first; the others follow it without gaps.
pub async fn give_change_times(transaction: &Transaction, tenant_id: i64, rows: usize) -> Result<i64> {
    let rows = i64::try_from(rows).map_err(Error::internal)?;
    let statement = sql(
        "UPDATE tenants SET last_change = MAX(last_change, ? - 1) + ? WHERE id = ? RETURNING last_change",
        [now_millis().into(), rows.into(), tenant_id.into()],
    );
    let row = transaction.query_one_raw(statement).await?;
    let last: i64 = row.ok_or_else(|| Error::internal("the tenant is gone"))?.try_get("", "last_change")?;
    Ok(last - rows + 1)
}

/// The suffix of the accounts of the tenant's people, where it has one (decisions 9.8).
pub async fn login_suffix<C: ConnectionTrait>(connection: &C, tenant_id: i64) -> Result<Option<String>> {
    let statement = sql("SELECT login_suffix FROM tenants WHERE id = ?", [tenant_id.into()]);
    let row = connection.query_one_raw(statement).await?;
    Ok(row.map(|row| row.try_get("", "login_suffix")).transpose()?.flatten())
}

/// How many labels one favorite may have in the tenant (decisions 9.8).
pub async fn label_limit<C: ConnectionTrait>(connection: &C, tenant_id: i64) -> Result<usize> {
    let statement = sql("SELECT label_limit FROM tenants WHERE id = ?", [tenant_id.into()]);
    let row = connection.query_one_raw(statement).await?;
    let limit: i64 = row.map_or(Ok(0), |row| row.try_get("", "label_limit"))?;
    Ok(usize::try_from(limit).unwrap_or_default())
}

/// The numbers of those among the tenants with these codes whose people may be added to groups of others, by code
/// (`allowOuterMembers`, decisions 9.4, 9.8). One that is frozen is not among them.
pub async fn open_to_outer_groups<C: ConnectionTrait>(
    connection: &C,
    codes: &[impl AsRef<str>],
) -> Result<HashMap<String, i64>> {
    #[derive(FromQueryResult)]
    struct Row {
        id: i64,
        code: String,
    }
    let text = "SELECT id, code FROM tenants \
         WHERE removed_at IS NULL AND is_frozen = 0 AND allow_outer_members = 1 AND code";
    let rows: Vec<Row> = find_in(connection, text, &[], codes).await?;
    Ok(rows.into_iter().map(|row| (row.code, row.id)).collect())
}

/// The tenant with this code; a new one starts with the built-in modules (decisions 4.2).
async fn find_or_create(transaction: &Transaction, code: &str) -> Result<(Tenant, bool)> {
    if let Some(tenant) = tenants::find_by_code(&**transaction, code).await? {
        return Ok((tenant, false));
    }
    let tenant = tenants::insert(transaction, NewTenant::named_as_its_code(code)).await?;
    registry::create_default_modules(transaction, tenant.id).await?;
    Ok((tenant, true))
}
