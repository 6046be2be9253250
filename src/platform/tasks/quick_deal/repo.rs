//! Rows of quick handlings, shown as `quickDealLog`.

use crate::{
    platform::tasks::forms::QuickDealEntry,
    store::{self, Connection, FromRow, Transaction, sql},
};

const KEPT: u32 = 100;

#[derive(Clone, Copy, Debug, FromRow)]
pub(super) struct StartedHandling {
    sequence: i64,
    /// Start in epoch milliseconds, unique per task.
    pub(super) handled_at: i64,
}

/// Stays `begun` if the server ends first.
pub(super) async fn begin(
    transaction: &Transaction,
    tenant_id: i64,
    task_id: &str,
    handler_login_id: &str,
    now: i64,
) -> store::Result<StartedHandling> {
    let begun = sql(
            "INSERT INTO quick_deals (tenant_id, task_id, handler_login_id, handled_at, outcome) \
             VALUES (?1, ?2, ?3, MAX(?4, (SELECT COALESCE(MAX(handled_at), 0) + 1 FROM quick_deals WHERE task_id = ?2)), \
               'begun') \
             RETURNING sequence, handled_at",
            [tenant_id.into(), task_id.into(), handler_login_id.into(), now.into()],
        ).fetch_one(transaction).await?;
    let statement = sql(
        "DELETE FROM quick_deals WHERE task_id = ?1 AND sequence <= \
         (SELECT sequence FROM quick_deals WHERE task_id = ?1 ORDER BY sequence DESC LIMIT 1 OFFSET ?2)",
        [task_id.into(), KEPT.into()],
    );
    statement.execute(transaction).await?;
    Ok(begun)
}

/// Oldest first.
pub(crate) async fn list(reader: &Connection, task_id: &str) -> store::Result<Vec<QuickDealEntry>> {
    let statement = sql(
        "SELECT handler_login_id, handled_at, outcome, message, took_ms FROM quick_deals WHERE task_id = ? ORDER BY sequence",
        [task_id.into()],
    );
    statement.fetch_all(reader).await
}

#[derive(Clone, Debug)]
pub(super) struct HandlingOutcome {
    pub(super) failure: Option<String>,
    pub(super) took_ms: i64,
}

pub(super) async fn end(
    transaction: &Transaction,
    task_id: &str,
    begun: StartedHandling,
    end: &HandlingOutcome,
) -> store::Result<()> {
    let outcome = if end.failure.is_none() { "succeeded" } else { "failed" };
    let statement = sql(
        "UPDATE quick_deals SET outcome = ?, message = ?, took_ms = ? WHERE task_id = ? AND sequence = ?",
        [
            outcome.into(),
            end.failure.as_deref().into(),
            end.took_ms.into(),
            task_id.into(),
            begun.sequence.into(),
        ],
    );
    statement.execute(transaction).await?;
    Ok(())
}
