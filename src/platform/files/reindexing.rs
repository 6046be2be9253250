//! Reindexing of files after a folder's rename or a new text.
//!
//! The changing transaction records a first batch; rows hold the remainder, which survives a restart.

use super::FILE;
use crate::{
    error::Result,
    store::{Connection, FromRow, Store, Transaction, sql},
};

/// Files or folders per transaction.
pub const PORTION: usize = 500;

/// Records the first files below a renamed folder, [`follow_portion`] the others. Returns whether any are left.
pub async fn record_renamed(transaction: &Transaction, tenant_id: i64, directory_id: &str) -> Result<bool> {
    let statement = sql(
        "INSERT INTO renamed_directories (directory_id, tenant_id, reached) VALUES (?, ?, '') \
         ON CONFLICT (directory_id) DO UPDATE SET reached = ''",
        [directory_id.into(), tenant_id.into()],
    );
    statement.execute(transaction).await?;
    Ok(!record_below(transaction).await?)
}

/// Records the first files with this text. Returns whether any are left.
pub async fn record_text(transaction: &Transaction, sequence: i64) -> Result<bool> {
    let statement = sql("UPDATE blob_texts SET told_after = 0 WHERE sequence = ?", [sequence.into()]);
    statement.execute(transaction).await?;
    Ok(!tell(transaction, &PendingText { sequence, told_after: 0 }).await?)
}

/// Records a batch. Returns whether it was the last. 503 if the store is busy.
pub async fn follow_portion(store: &Store) -> Result<bool> {
    let reader = store.reader();
    if RenamedFolder::next(reader).await?.is_none() && PendingText::next(reader).await?.is_none() {
        return Ok(true);
    }
    let job = store.write(|transaction| {
        Box::pin(async move {
            let are_below = record_below(transaction).await?;
            let Some(pending) = PendingText::next(transaction).await? else { return Ok(are_below) };
            tell(transaction, &pending).await?;
            Ok(false)
        })
    });
    job.await
}

#[derive(Debug, FromRow)]
struct RenamedFolder {
    sequence: i64,
    directory_id: String,
    tenant_id: i64,
    reached: String,
}

impl RenamedFolder {
    /// Newest first, so that small trees do not wait for large ones.
    async fn next(connection: &Connection) -> Result<Option<Self>> {
        let text = "SELECT sequence, directory_id, tenant_id, reached FROM renamed_directories ORDER BY sequence DESC LIMIT 1";
        Ok(sql(text, []).fetch_optional::<Self>(connection).await?)
    }

    async fn record(&self, transaction: &Transaction, most: usize) -> Result<(usize, bool)> {
        let limit = u64::try_from(most + 1).unwrap_or(u64::MAX);
        let statement = sql(
            "SELECT id, name_key FROM files WHERE directory_id = ? AND name_key > ? ORDER BY name_key LIMIT ?",
            [self.directory_id.as_str().into(), self.reached.as_str().into(), limit.into()],
        );
        let rows: Vec<(String, String)> = statement.fetch_all(transaction).await?;
        let mut reached = None;
        for (id, name_key) in rows.iter().take(most) {
            transaction.record_change(self.tenant_id, FILE, id);
            reached = Some(name_key.as_str());
        }
        if rows.len() > most {
            if let Some(reached) = reached {
                let text = "UPDATE renamed_directories SET reached = ? WHERE sequence = ?";
                sql(text, [reached.into(), self.sequence.into()]).execute(transaction).await?;
            }
            return Ok((most, false));
        }
        let text = "DELETE FROM renamed_directories WHERE sequence = ?";
        sql(text, [self.sequence.into()]).execute(transaction).await?;
        let statement = sql(
            "INSERT INTO renamed_directories (directory_id, tenant_id, reached) \
             SELECT id, tenant_id, '' FROM directories WHERE parent_id = ? \
             ON CONFLICT (directory_id) DO UPDATE SET reached = ''",
            [self.directory_id.as_str().into()],
        );
        statement.execute(transaction).await?;
        Ok((rows.len(), true))
    }
}

async fn record_below(transaction: &Transaction) -> Result<bool> {
    let mut left = PORTION;
    while let Some(next) = RenamedFolder::next(transaction).await? {
        if left == 0 {
            return Ok(false);
        }
        let (recorded, is_through) = next.record(transaction, left).await?;
        if !is_through {
            return Ok(false);
        }
        left = left.saturating_sub(recorded.max(1));
    }
    Ok(true)
}

#[derive(Debug, FromRow)]
struct PendingText {
    sequence: i64,
    told_after: i64,
}

impl PendingText {
    async fn next(connection: &Connection) -> Result<Option<Self>> {
        let text = "SELECT sequence, told_after FROM blob_texts WHERE told_after IS NOT NULL LIMIT 1";
        Ok(sql(text, []).fetch_optional::<Self>(connection).await?)
    }
}

async fn tell(transaction: &Transaction, pending: &PendingText) -> Result<bool> {
    let limit = u64::try_from(PORTION + 1).unwrap_or(u64::MAX);
    let statement = sql(
        "SELECT files.sequence, tenant_id, id FROM blob_texts \
         CROSS JOIN files ON files.sha256 = blob_texts.sha256 AND files.read_as = blob_texts.read_as \
         WHERE blob_texts.sequence = ? AND files.sequence > ? ORDER BY files.sequence LIMIT ?",
        [pending.sequence.into(), pending.told_after.into(), limit.into()],
    );
    let rows: Vec<(i64, i64, String)> = statement.fetch_all(transaction).await?;
    let mut last = None;
    for (sequence, tenant_id, id) in rows.iter().take(PORTION) {
        transaction.record_change(*tenant_id, FILE, id);
        last = Some(*sequence);
    }
    let is_last = rows.len() <= PORTION;
    let told_after = if is_last { None } else { last };
    let statement = sql(
        "UPDATE blob_texts SET told_after = ? WHERE sequence = ?",
        [told_after.into(), pending.sequence.into()],
    );
    statement.execute(transaction).await?;
    Ok(is_last)
}
