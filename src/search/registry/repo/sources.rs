//! Rows of external sources.

use sea_orm::{ConnectionTrait, FromQueryResult, QueryResult};

use crate::{
    error::Result,
    store::{Transaction, sql},
};

/// An external source as its row has it: what an operator registered, its secret sealed. Whether it can be used is
/// another question.
#[derive(Clone, Default, PartialEq, Eq, FromQueryResult)]
pub(in super::super) struct SourceRow {
    pub(in super::super) id: String,
    pub(in super::super) name: String,
    pub(in super::super) url: String,
    pub(in super::super) method: String,
    pub(in super::super) auth_type: String,
    pub(in super::super) token_url: Option<String>,
    pub(in super::super) client_id: Option<String>,
    pub(in super::super) client_secret_sealed: Option<Vec<u8>>,
    pub(in super::super) scope: Option<String>,
    pub(in super::super) audience: Option<String>,
    pub(in super::super) result_order: String,
    pub(in super::super) timeout_ms: i64,
    pub(in super::super) page_size: i64,
    pub(in super::super) max_concurrency: i64,
    pub(in super::super) enabled: bool,
    /// In thousandths.
    pub(in super::super) weight: i64,
    pub(in super::super) hedging: bool,
}

/// The tenant's external sources, by name. A row that cannot be read is there with its id alone, which makes a source
/// that cannot be used.
pub(in super::super) async fn list<C: ConnectionTrait>(
    connection: &C,
    tenant_id: i64,
) -> Result<Vec<SourceRow>> {
    let statement =
        sql("SELECT * FROM search_sources WHERE tenant_id = ? ORDER BY name, id", [tenant_id.into()]);
    connection.query_all_raw(statement).await?.iter().map(read).collect()
}

fn read(row: &QueryResult) -> Result<SourceRow> {
    match SourceRow::from_query_result(row, "") {
        Ok(row) => Ok(row),
        Err(error) => {
            let id: String = row.try_get("", "id")?;
            tracing::error!(%error, source = id, "the row of a source cannot be read");
            Ok(SourceRow { name: id.clone(), id, enabled: true, ..SourceRow::default() })
        }
    }
}

/// The tenant's external source with this id.
pub(in super::super) async fn find<C: ConnectionTrait>(
    connection: &C,
    tenant_id: i64,
    id: &str,
) -> Result<Option<SourceRow>> {
    let statement =
        sql("SELECT * FROM search_sources WHERE tenant_id = ? AND id = ?", [tenant_id.into(), id.into()]);
    connection.query_one_raw(statement).await?.as_ref().map(read).transpose()
}

/// The ids of the tenant's external sources.
pub(in super::super) async fn ids<C: ConnectionTrait>(connection: &C, tenant_id: i64) -> Result<Vec<String>> {
    let statement = sql("SELECT id FROM search_sources WHERE tenant_id = ?", [tenant_id.into()]);
    let rows = connection.query_all_raw(statement).await?;
    Ok(rows.iter().map(|row| row.try_get("", "id")).collect::<Result<_, _>>()?)
}

/// Stores an external source in the place of the one with its id, if there is one.
pub(in super::super) async fn put(transaction: &Transaction, tenant_id: i64, row: SourceRow) -> Result<()> {
    let statement = sql(
        "INSERT OR REPLACE INTO search_sources (id, tenant_id, name, url, method, auth_type, token_url, client_id, \
         client_secret_sealed, scope, audience, result_order, timeout_ms, page_size, max_concurrency, enabled, \
         weight, hedging) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            row.id.into(),
            tenant_id.into(),
            row.name.into(),
            row.url.into(),
            row.method.into(),
            row.auth_type.into(),
            row.token_url.into(),
            row.client_id.into(),
            row.client_secret_sealed.into(),
            row.scope.into(),
            row.audience.into(),
            row.result_order.into(),
            row.timeout_ms.into(),
            row.page_size.into(),
            row.max_concurrency.into(),
            row.enabled.into(),
            row.weight.into(),
            row.hedging.into(),
        ],
    );
    transaction.execute_raw(statement).await?;
    Ok(())
}

/// Removes an external source; whether it was there.
pub(in super::super) async fn remove(transaction: &Transaction, tenant_id: i64, id: &str) -> Result<bool> {
    let statement =
        sql("DELETE FROM search_sources WHERE tenant_id = ? AND id = ?", [tenant_id.into(), id.into()]);
    Ok(transaction.execute_raw(statement).await?.rows_affected() > 0)
}
