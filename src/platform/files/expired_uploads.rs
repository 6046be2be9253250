//! Removal of uploads that were not committed in time (`storage.upload_hours`).

use crate::{
    error::Result,
    store::{Store, now_millis, sql},
};

const PORTION: u64 = 200;

const HOUR: i64 = 3_600_000;

/// Removes a batch begun `upload_hours` ago. Returns whether it was the last.
pub async fn remove_old(store: &Store, upload_hours: u32) -> Result<bool> {
    let before = now_millis() - i64::from(upload_hours) * HOUR;
    let text = "SELECT id FROM uploads WHERE created_at < ? ORDER BY created_at LIMIT ?";
    let old = sql(text, [before.into(), PORTION.into()]);
    store.delete_batch("uploads", "id", old, PORTION).await
}
