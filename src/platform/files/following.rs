//! Files whose documents change with something else: with the name of a folder above them, with the text of their content.
//!
//! There may be any number of them, so they are recorded in portions, the first in the transaction that changed it. What is left is
//! noted in rows, so that a process that ends loses none.

use sea_orm::{ConnectionTrait, FromQueryResult};

use super::FILE;
use crate::{
    error::Result,
    store::{Store, Transaction, sql},
};

/// Files that are recorded in one transaction, and folders that are looked into.
pub const PORTION: usize = 500;

/// Records the files below a folder that has another name now: some at once, the rest portion by portion
/// ([`follow_portion`]). Answers whether any are left, for which `Upkeep::wake` is due.
pub async fn record_renamed(transaction: &Transaction, tenant_id: i64, directory_id: &str) -> Result<bool> {
    let statement = sql(
        "INSERT OR REPLACE INTO renamed_directories (directory_id, tenant_id, reached) VALUES (?, ?, '')",
        [directory_id.into(), tenant_id.into()],
    );
    transaction.execute_raw(statement).await?;
    Ok(!record_below(transaction).await?)
}

/// Records the files whose newest content has this text, by the number of its row: some at once, the rest portion by portion. Answers
/// whether any are left.
pub async fn record_text(transaction: &Transaction, sequence: i64) -> Result<bool> {
    let statement = sql("UPDATE blob_texts SET told_after = 0 WHERE sequence = ?", [sequence.into()]);
    transaction.execute_raw(statement).await?;
    Ok(!tell(transaction, &Told { sequence, told_after: 0 }).await?)
}

/// Records some more. Answers whether that was the last.
///
/// # Errors
/// 503 where the store cannot take it now.
pub async fn follow_portion(store: &Store) -> Result<bool> {
    let reader = store.reader();
    if Renamed::next(reader).await?.is_none() && Told::next(reader).await?.is_none() {
        return Ok(true);
    }
    let job = store.write(|transaction| {
        Box::pin(async move {
            let are_below = record_below(transaction).await?;
            // One text after the other, as a rename may be waiting.
            let Some(told) = Told::next(&**transaction).await? else { return Ok(are_below) };
            tell(transaction, &told).await?;
            Ok(false)
        })
    });
    job.await
}

/// A folder below one that was renamed, whose files are to be recorded.
#[derive(Debug, FromQueryResult)]
struct Renamed {
    sequence: i64,
    directory_id: String,
    tenant_id: i64,
    /// The key of the last name that was recorded.
    reached: String,
}

impl Renamed {
    /// The one that came last, so that a tree is done before the next one is begun, and none waits for a larger one before it.
    async fn next<C: ConnectionTrait>(connection: &C) -> Result<Option<Self>> {
        let text = "SELECT sequence, directory_id, tenant_id, reached FROM renamed_directories ORDER BY sequence DESC LIMIT 1";
        Ok(Self::find_by_statement(sql(text, [])).one(connection).await?)
    }

    /// Records up to `most` of its files. Answers how many, and whether these were the last.
    async fn record(&self, transaction: &Transaction, most: usize) -> Result<(usize, bool)> {
        // One more, to see whether there is one.
        let limit = u64::try_from(most + 1).unwrap_or(u64::MAX);
        let statement = sql(
            "SELECT id, name_key FROM files WHERE directory_id = ? AND name_key > ? ORDER BY name_key LIMIT ?",
            [self.directory_id.as_str().into(), self.reached.as_str().into(), limit.into()],
        );
        let rows = transaction.query_all_raw(statement).await?;
        let mut reached = None;
        for row in rows.iter().take(most) {
            transaction.record_change(self.tenant_id, FILE, &row.try_get::<String>("", "id")?);
            reached = Some(row.try_get::<String>("", "name_key")?);
        }
        if rows.len() > most {
            if let Some(reached) = reached {
                let text = "UPDATE renamed_directories SET reached = ? WHERE sequence = ?";
                transaction.execute_raw(sql(text, [reached.into(), self.sequence.into()])).await?;
            }
            return Ok((most, false));
        }
        let text = "DELETE FROM renamed_directories WHERE sequence = ?";
        transaction.execute_raw(sql(text, [self.sequence.into()])).await?;
        let statement = sql(
            "INSERT OR REPLACE INTO renamed_directories (directory_id, tenant_id, reached) \
             SELECT id, tenant_id, '' FROM directories WHERE parent_id = ?",
            [self.directory_id.as_str().into()],
        );
        transaction.execute_raw(statement).await?;
        Ok((rows.len(), true))
    }
}

/// Records a portion of the files below renamed folders. Answers whether that was the last.
async fn record_below(transaction: &Transaction) -> Result<bool> {
    let mut left = PORTION;
    while let Some(next) = Renamed::next(&**transaction).await? {
        if left == 0 {
            return Ok(false);
        }
        let (recorded, is_through) = next.record(transaction, left).await?;
        if !is_through {
            return Ok(false);
        }
        // An empty folder is work too.
        left = left.saturating_sub(recorded.max(1));
    }
    Ok(true)
}

/// A text whose files are not all recorded.
#[derive(Debug, FromQueryResult)]
struct Told {
    sequence: i64,
    /// The number of the last file that was.
    told_after: i64,
}

impl Told {
    async fn next<C: ConnectionTrait>(connection: &C) -> Result<Option<Self>> {
        let text = "SELECT sequence, told_after FROM blob_texts WHERE told_after IS NOT NULL LIMIT 1";
        Ok(Self::find_by_statement(sql(text, [])).one(connection).await?)
    }
}

/// Records a portion of a text's files. Answers whether that was the last.
async fn tell(transaction: &Transaction, told: &Told) -> Result<bool> {
    // One more, to see whether there is one.
    let limit = u64::try_from(PORTION + 1).unwrap_or(u64::MAX);
    let statement = sql(
        "SELECT files.sequence, tenant_id, id FROM blob_texts \
         CROSS JOIN files ON files.sha256 = blob_texts.sha256 AND files.read_as = blob_texts.read_as \
         WHERE blob_texts.sequence = ? AND files.sequence > ? ORDER BY files.sequence LIMIT ?",
        [told.sequence.into(), told.told_after.into(), limit.into()],
    );
    let rows = transaction.query_all_raw(statement).await?;
    let mut last = None;
    for row in rows.iter().take(PORTION) {
        let (tenant_id, id): (i64, String) = (row.try_get("", "tenant_id")?, row.try_get("", "id")?);
        transaction.record_change(tenant_id, FILE, &id);
        last = Some(row.try_get::<i64>("", "sequence")?);
    }
    let is_last = rows.len() <= PORTION;
    let told_after = if is_last { None } else { last };
    let statement = sql(
        "UPDATE blob_texts SET told_after = ? WHERE sequence = ?",
        [told_after.into(), told.sequence.into()],
    );
    transaction.execute_raw(statement).await?;
    Ok(is_last)
}
