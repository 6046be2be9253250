//! Rows of modules.

use trawl_engine::relevance::Recency;
use trawl_search::{Duplicates, Module};

use crate::{
    error::{Error, Result},
    store::{Connection, FromRow, Transaction, sql},
};

#[derive(FromRow)]
struct ModuleRow {
    id: String,
    code: String,
    name: String,
    icon: String,
    order_no: i64,
    r#type: i64,
    sources: String,
    duplicates: String,
    recency_percent: i64,
    recency_half_life_days: i64,
}

impl From<ModuleRow> for Module {
    fn from(row: ModuleRow) -> Self {
        // An unreadable row costs this module alone: it fails without sources.
        let sources = serde_json::from_str(&row.sources).unwrap_or_else(|error| {
            tracing::error!(%error, module = row.id, "the sources of a module cannot be read");
            Vec::new()
        });
        let duplicates = Duplicates::named(&row.duplicates).unwrap_or_else(|| {
            tracing::error!(module = row.id, "the duplicate handling of a module cannot be read");
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
            recency: Recency::new(row.recency_percent, row.recency_half_life_days),
        }
    }
}

pub(in crate::registry) async fn list(connection: &Connection, tenant_id: i64) -> Result<Vec<Module>> {
    let statement = sql(
        "SELECT id, code, name, icon, order_no, type, sources, duplicates, recency_percent, \
         recency_half_life_days FROM search_modules WHERE tenant_id = ? ORDER BY order_no, code",
        [tenant_id.into()],
    );
    let rows = statement.fetch_all::<ModuleRow>(connection).await?;
    Ok(rows.into_iter().map(Module::from).collect())
}

pub(in crate::registry) async fn find(
    connection: &Connection,
    tenant_id: i64,
    id: &str,
) -> Result<Option<Module>> {
    let statement = sql(
        "SELECT id, code, name, icon, order_no, type, sources, duplicates, recency_percent, \
         recency_half_life_days FROM search_modules WHERE tenant_id = ? AND id = ?",
        [tenant_id.into(), id.into()],
    );
    Ok(statement.fetch_optional::<ModuleRow>(connection).await?.map(Module::from))
}

pub(in crate::registry) async fn put(
    transaction: &Transaction,
    tenant_id: i64,
    module: &Module,
) -> Result<()> {
    let statement = sql(
        "INSERT INTO search_modules (id, tenant_id, code, name, icon, order_no, type, sources, duplicates, \
         recency_percent, recency_half_life_days) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) \
         ON CONFLICT (tenant_id, id) DO UPDATE SET code = excluded.code, name = excluded.name, \
         icon = excluded.icon, order_no = excluded.order_no, type = excluded.type, sources = excluded.sources, \
         duplicates = excluded.duplicates, recency_percent = excluded.recency_percent, \
         recency_half_life_days = excluded.recency_half_life_days",
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
            i64::from(module.recency.percent).into(),
            i64::from(module.recency.half_life_days).into(),
        ],
    );
    statement.execute(transaction).await?;
    Ok(())
}

pub(in crate::registry) async fn remove(transaction: &Transaction, tenant_id: i64, id: &str) -> Result<()> {
    let statement =
        sql("DELETE FROM search_modules WHERE tenant_id = ? AND id = ?", [tenant_id.into(), id.into()]);
    statement.execute(transaction).await?;
    Ok(())
}
