//! Rows of quick handlings (`quickDealLog`, decisions 8.4).

use sea_orm::{ConnectionTrait, DbErr};

use crate::store::{Transaction, sql};

/// Quick handlings of one task that are kept; older ones are removed.
const KEPT: u32 = 100;

/// A quick handling that has begun.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begun {
    sequence: i64,
    /// When, epoch milliseconds; no two of one task are alike.
    pub(super) handled_at: i64,
}

/// Writes down that a task begins to be handled. Where the server ends before the callback does, it stays at that.
pub(super) async fn begin(
    transaction: &Transaction,
    tenant_id: i64,
    task_id: &str,
    handler_login_id: &str,
    now: i64,
) -> Result<Begun, DbErr> {
    let inserted = transaction
        .query_one_raw(sql(
            "INSERT INTO quick_deals (tenant_id, task_id, handler_login_id, handled_at, outcome) \
             VALUES (?1, ?2, ?3, MAX(?4, (SELECT COALESCE(MAX(handled_at), 0) + 1 FROM quick_deals WHERE task_id = ?2)), \
               'begun') \
             RETURNING sequence, handled_at",
            [tenant_id.into(), task_id.into(), handler_login_id.into(), now.into()],
        ))
        .await?
        .ok_or_else(|| DbErr::RecordNotInserted)?;
    let statement = sql(
        "DELETE FROM quick_deals WHERE task_id = ?1 AND sequence <= \
         (SELECT sequence FROM quick_deals WHERE task_id = ?1 ORDER BY sequence DESC LIMIT 1 OFFSET ?2)",
        [task_id.into(), KEPT.into()],
    );
    transaction.execute_raw(statement).await?;
    Ok(Begun { sequence: inserted.try_get("", "sequence")?, handled_at: inserted.try_get("", "handled_at")? })
}

/// How a quick handling ended.
#[derive(Clone, Debug)]
pub(super) struct End {
    /// Why it failed; none where it succeeded.
    pub(super) failure: Option<String>,
    /// How long its callback took, milliseconds.
    pub(super) took_ms: i64,
}

/// Writes down how it ended.
pub(super) async fn end(
    transaction: &Transaction,
    task_id: &str,
    begun: Begun,
    end: &End,
) -> Result<(), DbErr> {
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
    transaction.execute_raw(statement).await?;
    Ok(())
}
