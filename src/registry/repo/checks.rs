//! Rows of the last conformance checks, at most one for each source.

use crate::{
    error::Result,
    registry::LastCheck,
    store::{Connection, FromRow, Transaction, sql},
};

#[derive(FromRow)]
struct CheckRow {
    source_id: String,
    #[sqlx(flatten)]
    check: LastCheck,
}

/// The last checks, with the ids of their sources.
pub(in crate::registry) async fn list(
    connection: &Connection,
    tenant_id: i64,
) -> Result<Vec<(String, LastCheck)>> {
    let statement = sql(
        "SELECT source_id, checked_at, passed, failed, unknown FROM source_checks WHERE tenant_id = ?",
        [tenant_id.into()],
    );
    let rows: Vec<CheckRow> = statement.fetch_all(connection).await?;
    Ok(rows.into_iter().map(|row| (row.source_id, row.check)).collect())
}

pub(in crate::registry) async fn find(
    connection: &Connection,
    tenant_id: i64,
    source_id: &str,
) -> Result<Option<LastCheck>> {
    let statement = sql(
        "SELECT checked_at, passed, failed, unknown FROM source_checks WHERE tenant_id = ? AND source_id = ?",
        [tenant_id.into(), source_id.into()],
    );
    Ok(statement.fetch_optional(connection).await?)
}

pub(in crate::registry) async fn put(
    transaction: &Transaction,
    tenant_id: i64,
    source_id: &str,
    check: LastCheck,
) -> Result<()> {
    let statement = sql(
        "INSERT INTO source_checks (tenant_id, source_id, checked_at, passed, failed, unknown) \
         VALUES (?, ?, ?, ?, ?, ?) \
         ON CONFLICT (tenant_id, source_id) DO UPDATE SET checked_at = excluded.checked_at, \
         passed = excluded.passed, failed = excluded.failed, unknown = excluded.unknown",
        [
            tenant_id.into(),
            source_id.into(),
            check.checked_at.into(),
            check.passed.into(),
            check.failed.into(),
            check.unknown.into(),
        ],
    );
    statement.execute(transaction).await?;
    Ok(())
}

pub(in crate::registry) async fn remove(
    transaction: &Transaction,
    tenant_id: i64,
    source_id: &str,
) -> Result<()> {
    let statement = sql(
        "DELETE FROM source_checks WHERE tenant_id = ? AND source_id = ?",
        [tenant_id.into(), source_id.into()],
    );
    statement.execute(transaction).await?;
    Ok(())
}
