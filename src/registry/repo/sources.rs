//! Rows of external sources.

use serde::Serialize;

use crate::{
    error::Result,
    store::{Connection, FromRow, RowResult, Transaction, sql},
};

/// The row of an external source; its settings may be invalid.
///
/// Serialised for its entity tag, and for the names of changed fields in the audit log.
#[derive(Clone, Default, PartialEq, Eq, FromRow, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::registry) struct SourceRow {
    pub(in crate::registry) id: String,
    pub(in crate::registry) name: String,
    pub(in crate::registry) url: String,
    pub(in crate::registry) method: String,
    #[serde(rename = "auth.type")]
    pub(in crate::registry) auth_type: String,
    #[serde(rename = "auth.tokenUrl")]
    pub(in crate::registry) token_url: Option<String>,
    #[serde(rename = "auth.clientId")]
    pub(in crate::registry) client_id: Option<String>,
    /// The secret of any type.
    #[serde(rename = "auth.secret")]
    pub(in crate::registry) client_secret_sealed: Option<Vec<u8>>,
    #[serde(rename = "auth.scope")]
    pub(in crate::registry) scope: Option<String>,
    #[serde(rename = "auth.audience")]
    pub(in crate::registry) audience: Option<String>,
    #[serde(rename = "auth.header")]
    pub(in crate::registry) api_key_header: Option<String>,
    #[serde(rename = "auth.parameter")]
    pub(in crate::registry) api_key_parameter: Option<String>,
    #[serde(rename = "auth.username")]
    pub(in crate::registry) username: Option<String>,
    /// JSON.
    pub(in crate::registry) mapping: Option<String>,
    /// JSON.
    pub(in crate::registry) identity: Option<String>,
    #[serde(rename = "order")]
    pub(in crate::registry) result_order: String,
    pub(in crate::registry) timeout_ms: i64,
    pub(in crate::registry) page_size: i64,
    pub(in crate::registry) max_concurrency: i64,
    pub(in crate::registry) enabled: bool,
    /// Thousandths.
    pub(in crate::registry) weight: i64,
    pub(in crate::registry) hedging: bool,
    pub(in crate::registry) requests_per_minute: Option<i64>,
    pub(in crate::registry) while_typing: bool,
    pub(in crate::registry) site: Option<String>,
}

const SELECT: &str = "SELECT id, name, url, method, auth_type, token_url, client_id, client_secret_sealed, scope, audience, \
    api_key_header, api_key_parameter, username, mapping, identity, result_order, timeout_ms, page_size, max_concurrency, \
    enabled, weight, hedging, requests_per_minute, while_typing, site FROM search_sources";

impl SourceRow {
    /// Whether calls are alike: a check of one holds for both.
    pub(in crate::registry) fn is_called_like(&self, other: &Self) -> bool {
        let called = |row: &Self| Self {
            name: String::new(),
            timeout_ms: 0,
            page_size: 0,
            max_concurrency: 0,
            enabled: false,
            weight: 0,
            hedging: false,
            requests_per_minute: None,
            while_typing: true,
            ..row.clone()
        };
        called(self) == called(other)
    }
}

/// Lists sources by name. An unreadable row keeps its id alone.
pub(in crate::registry) async fn list(connection: &Connection, tenant_id: i64) -> Result<Vec<SourceRow>> {
    let statement = sql(format!("{SELECT} WHERE tenant_id = ? ORDER BY name, id"), [tenant_id.into()]);
    let rows: Vec<FoundRow> = statement.fetch_all(connection).await?;
    Ok(rows.into_iter().map(FoundRow::into_source).collect())
}

#[derive(FromRow)]
struct FoundRow {
    id: String,
    #[sqlx(flatten)]
    source: RowResult<SourceRow>,
}

impl FoundRow {
    fn into_source(self) -> SourceRow {
        self.source.0.unwrap_or_else(|error| {
            tracing::error!(%error, source = self.id, "the row of a source cannot be read");
            SourceRow { name: self.id.clone(), id: self.id, enabled: true, ..SourceRow::default() }
        })
    }
}

pub(in crate::registry) async fn find(
    connection: &Connection,
    tenant_id: i64,
    id: &str,
) -> Result<Option<SourceRow>> {
    let statement = sql(format!("{SELECT} WHERE tenant_id = ? AND id = ?"), [tenant_id.into(), id.into()]);
    Ok(statement.fetch_optional(connection).await?.map(FoundRow::into_source))
}

pub(in crate::registry) async fn ids(connection: &Connection, tenant_id: i64) -> Result<Vec<String>> {
    let statement = sql("SELECT id FROM search_sources WHERE tenant_id = ?", [tenant_id.into()]);
    Ok(statement.fetch_values(connection).await?)
}

/// Ids and names.
pub(in crate::registry) async fn names(
    connection: &Connection,
    tenant_id: i64,
) -> Result<Vec<(String, String)>> {
    let statement = sql("SELECT id, name FROM search_sources WHERE tenant_id = ?", [tenant_id.into()]);
    Ok(statement.fetch_all(connection).await?)
}

pub(in crate::registry) async fn put(
    transaction: &Transaction,
    tenant_id: i64,
    row: SourceRow,
) -> Result<()> {
    let statement = sql(
        "INSERT INTO search_sources (id, tenant_id, name, url, method, auth_type, token_url, client_id, \
         client_secret_sealed, scope, audience, result_order, timeout_ms, page_size, max_concurrency, enabled, \
         weight, hedging, api_key_header, username, mapping, api_key_parameter, identity, requests_per_minute, \
         while_typing, site) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) \
         ON CONFLICT (tenant_id, id) DO UPDATE SET name = excluded.name, url = excluded.url, \
         method = excluded.method, auth_type = excluded.auth_type, token_url = excluded.token_url, \
         client_id = excluded.client_id, client_secret_sealed = excluded.client_secret_sealed, \
         scope = excluded.scope, audience = excluded.audience, result_order = excluded.result_order, \
         timeout_ms = excluded.timeout_ms, page_size = excluded.page_size, \
         max_concurrency = excluded.max_concurrency, enabled = excluded.enabled, weight = excluded.weight, \
         hedging = excluded.hedging, api_key_header = excluded.api_key_header, username = excluded.username, \
         mapping = excluded.mapping, api_key_parameter = excluded.api_key_parameter, \
         identity = excluded.identity, requests_per_minute = excluded.requests_per_minute, \
         while_typing = excluded.while_typing, site = excluded.site",
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
            row.api_key_header.into(),
            row.username.into(),
            row.mapping.into(),
            row.api_key_parameter.into(),
            row.identity.into(),
            row.requests_per_minute.into(),
            row.while_typing.into(),
            row.site.into(),
        ],
    );
    statement.execute(transaction).await?;
    Ok(())
}

pub(in crate::registry) async fn remove(transaction: &Transaction, tenant_id: i64, id: &str) -> Result<()> {
    let statement =
        sql("DELETE FROM search_sources WHERE tenant_id = ? AND id = ?", [tenant_id.into(), id.into()]);
    statement.execute(transaction).await?;
    Ok(())
}
