//! Rows of modules.

use sea_orm::{ConnectionTrait, FromQueryResult};

use crate::{
    error::{Error, Result},
    search::{Duplicates, registry::modules::Module},
    store::{Transaction, sql},
};

#[derive(FromQueryResult)]
struct ModuleRow {
    id: String,
    code: String,
    name: String,
    icon: String,
    order_no: i64,
    r#type: i64,
    sources: String,
    duplicates: String,
}

impl From<ModuleRow> for Module {
    fn from(row: ModuleRow) -> Self {
        // One row that cannot be read is no reason to keep the tenant from its other modules. A module without
        // sources is never an empty success.
        let sources = serde_json::from_str(&row.sources).unwrap_or_else(|error| {
            tracing::error!(%error, module = row.id, "the sources of a module cannot be read");
            Vec::new()
        });
        let duplicates = Duplicates::named(&row.duplicates).unwrap_or_else(|| {
            tracing::error!(module = row.id, "what a module does with duplicates cannot be read");
            Duplicates::Keep
        });
        Self {
            id: row.id,
            name: row.name,
            icon: row.icon,
            code: row.code,
            order_no: row.order_no,
            kind: row.r#type,
            sources,
            duplicates,
        }
    }
}

/// The tenant's modules, by `orderNo`.
pub(in super::super) async fn list<C: ConnectionTrait>(
    connection: &C,
    tenant_id: i64,
) -> Result<Vec<Module>> {
    let statement = sql(
        "SELECT id, code, name, icon, order_no, type, sources, duplicates FROM search_modules \
         WHERE tenant_id = ? ORDER BY order_no, code",
        [tenant_id.into()],
    );
    let rows = ModuleRow::find_by_statement(statement).all(connection).await?;
    Ok(rows.into_iter().map(Module::from).collect())
}

/// The tenant's module with this id.
pub(in super::super) async fn find<C: ConnectionTrait>(
    connection: &C,
    tenant_id: i64,
    id: &str,
) -> Result<Option<Module>> {
    let statement = sql(
        "SELECT id, code, name, icon, order_no, type, sources, duplicates FROM search_modules \
         WHERE tenant_id = ? AND id = ?",
        [tenant_id.into(), id.into()],
    );
    Ok(ModuleRow::find_by_statement(statement).one(connection).await?.map(Module::from))
}

/// Stores a module in the place of the one with its id, if there is one.
pub(in super::super) async fn put(transaction: &Transaction, tenant_id: i64, module: &Module) -> Result<()> {
    let statement = sql(
        "INSERT INTO search_modules (id, tenant_id, code, name, icon, order_no, type, sources, duplicates) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) \
         ON CONFLICT (tenant_id, id) DO UPDATE SET code = excluded.code, name = excluded.name, \
         icon = excluded.icon, order_no = excluded.order_no, type = excluded.type, sources = excluded.sources, \
         duplicates = excluded.duplicates",
        [
            module.id.as_str().into(),
            tenant_id.into(),
            module.code.as_str().into(),
            module.name.as_str().into(),
            module.icon.as_str().into(),
            module.order_no.into(),
            module.kind.into(),
            serde_json::to_string(&module.sources).map_err(Error::internal)?.into(),
            module.duplicates.name().into(),
        ],
    );
    transaction.execute_raw(statement).await?;
    Ok(())
}

/// Removes a module; whether it was there.
pub(in super::super) async fn remove(transaction: &Transaction, tenant_id: i64, id: &str) -> Result<bool> {
    let statement =
        sql("DELETE FROM search_modules WHERE tenant_id = ? AND id = ?", [tenant_id.into(), id.into()]);
    Ok(transaction.execute_raw(statement).await?.rows_affected() > 0)
}
