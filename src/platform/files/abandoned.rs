//! Uploads that nobody commits (decisions 10.4). What was sent for them goes from the store with what else has no row there
//! (`storage/contents`).

use sea_orm::ConnectionTrait;

use crate::{
    error::Result,
    store::{Store, now_millis, sql},
};

/// Uploads that are removed in one transaction.
const PORTION: u64 = 200;

const HOUR: i64 = 3_600_000;

/// Removes a portion of the uploads that were begun so many hours ago. Answers whether that was the last.
///
/// # Errors
/// Those of the database.
pub async fn remove_old(store: &Store, upload_hours: u32) -> Result<bool> {
    let before = now_millis() - i64::from(upload_hours) * HOUR;
    let old = sql("SELECT 1 FROM uploads WHERE created_at < ? LIMIT 1", [before.into()]);
    if store.reader().query_one_raw(old).await?.is_none() {
        return Ok(true);
    }
    let job = store.write(move |transaction| {
        Box::pin(async move {
            let statement = sql(
                "DELETE FROM uploads WHERE id IN (SELECT id FROM uploads WHERE created_at < ? ORDER BY created_at LIMIT ?)",
                [before.into(), PORTION.into()],
            );
            Ok(transaction.execute_raw(statement).await?.rows_affected() < PORTION)
        })
    });
    job.await
}
