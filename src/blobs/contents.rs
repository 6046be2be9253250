//! Consistency of contents and their rows, and removal of unreferenced contents.
//!
//! Three tables list the possible contents of the store, at any time and after a crash:
//!
//! - `blobs`: contents to read. A commit writes the row with a key that was never used, then the content, then the
//!   version. The version's transaction checks that the row has kept its key.
//! - `doubtful_blobs`: contents that may have no version. Commits in progress have a time (`noted_at`).
//! - `removed_blobs`: keys without a row in `blobs`, to be removed from the store. A late removal harms no later content.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use futures::{StreamExt, stream};
use tokio_util::sync::CancellationToken;

use super::{BlobOpenError, BlobStore, is_upload_id};
use crate::{
    error::Result,
    store::{Store, Transaction, Value, find_values_in, now_millis, sql},
};

const PORTION: u64 = 100;

/// Batches per run, so that other maintenance gets its turn.
const PORTIONS: usize = 20;

/// Concurrent removals: a store may be far away.
const AT_ONCE: usize = 8;

/// Milliseconds for which the content of a commit is not swept.
///
/// A swept content would have to be composed again.
const COMMIT_TIME: i64 = 600_000;

/// The store of contents, with the cursors of its sweeps.
pub struct Contents {
    store: Arc<dyn BlobStore>,
    /// Cursors past failing removals.
    reached: Mutex<SweepPosition>,
}

/// Last key and last upload of a sweep; empty at the start.
#[derive(Default)]
struct SweepPosition {
    store_key: String,
    upload: String,
}

impl Contents {
    /// Wraps a store.
    pub fn new(store: Arc<dyn BlobStore>) -> Self {
        Self { store, reached: Mutex::default() }
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn BlobStore> {
        &self.store
    }

    fn reached(&self) -> std::sync::MutexGuard<'_, SweepPosition> {
        self.reached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes some batches of contents without a version. Returns whether these were the last.
    ///
    /// # Errors
    /// The first failure; the others still run, and the next round retries.
    pub async fn remove_doubtful(&self, store: &Store, stop: &CancellationToken) -> Result<bool> {
        let mut is_last = false;
        for _ in 0..PORTIONS {
            is_last = stop.is_cancelled() || sweep_rows(store).await?;
            if is_last {
                break;
            }
        }
        // Only then, since the cursor passes keys in their order.
        let mut outcome = Ok(());
        for _ in 0..PORTIONS {
            if stop.is_cancelled() {
                break;
            }
            let after = self.reached().store_key.clone();
            let keys = removed_after(store, &after).await?;
            self.reached().store_key = keys.last().cloned().unwrap_or_default();
            if keys.is_empty() {
                // Keys before the cursor are for the next round.
                return outcome.map(|()| is_last && after.is_empty());
            }
            outcome = outcome.and(self.remove_keys(store, keys).await);
        }
        outcome.map(|()| false)
    }

    async fn remove_keys(&self, store: &Store, keys: Vec<String>) -> Result<()> {
        let removals = stream::iter(keys)
            .map(async |key| (self.store.remove(&key).await, key))
            .buffer_unordered(AT_ONCE)
            .collect::<Vec<_>>()
            .await;
        let (mut outcome, mut gone) = (Ok(()), Vec::new());
        for (removal, key) in removals {
            match removal {
                Ok(()) => gone.push(key),
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
        let forgetting = store.write(move |transaction| {
            let text = "DELETE FROM removed_blobs WHERE store_key IN (SELECT value FROM json_each(?))";
            Box::pin(async move { Ok(sql(text, [Value::list(&gone)]).execute(transaction).await?) })
        });
        forgetting.await?;
        outcome
    }
}

/// Contents that may be swept: doubtful ones of no commit in progress.
const DOUBTFUL: &str = "SELECT sha256 FROM doubtful_blobs WHERE noted_at <= ?";

/// Moves a batch of contents without versions to `removed_blobs`. Returns whether it was the last.
async fn sweep_rows(store: &Store) -> Result<bool> {
    let before = now_millis() - COMMIT_TIME;
    if !sql(format!("{DOUBTFUL} LIMIT 1"), [before.into()]).exists(store.reader()).await? {
        return Ok(true);
    }
    let job = store.write(move |transaction| {
        Box::pin(async move {
            let text = format!("{DOUBTFUL} ORDER BY sha256 LIMIT ?");
            let doubtful: Vec<String> =
                sql(text, [before.into(), PORTION.into()]).fetch_values(transaction).await?;
            let unnamed = "sha256 IN (SELECT value FROM json_each(?)) AND NOT EXISTS \
                (SELECT 1 FROM file_versions WHERE file_versions.sha256 = blobs.sha256)";
            for text in [
                format!(
                    "INSERT INTO removed_blobs (store_key) SELECT store_key FROM blobs WHERE {unnamed} \
                     ON CONFLICT DO NOTHING"
                ),
                format!("DELETE FROM blobs WHERE {unnamed}"),
                "DELETE FROM doubtful_blobs WHERE sha256 IN (SELECT value FROM json_each(?))".to_owned(),
            ] {
                sql(text, [Value::list(&doubtful)]).execute(transaction).await?;
            }
            Ok((doubtful.len() as u64) < PORTION)
        })
    });
    job.await
}

async fn removed_after(store: &Store, after: &str) -> Result<Vec<String>> {
    let statement = sql(
        "SELECT store_key FROM removed_blobs WHERE store_key > ? ORDER BY store_key LIMIT ?",
        [after.into(), PORTION.into()],
    );
    Ok(statement.fetch_values(store.reader()).await?)
}

/// Whether a content's row still has its key of the store.
///
/// Otherwise that key will be removed.
///
/// # Errors
/// Those of the database.
pub async fn confirm(transaction: &Transaction, sha256: &str, store_key: &str) -> Result<bool> {
    let row =
        sql("SELECT 1 FROM blobs WHERE sha256 = ? AND store_key = ?", [sha256.into(), store_key.into()]);
    if row.exists(transaction).await? {
        return Ok(true);
    }
    let remove =
        sql("INSERT INTO removed_blobs (store_key) VALUES (?) ON CONFLICT DO NOTHING", [store_key.into()]);
    remove.execute(transaction).await?;
    Ok(false)
}

/// Discards some batches of uploads without a row. Returns whether these were the last.
///
/// # Errors
/// The first failure; the others still run, and the next round retries.
pub async fn discard_leftovers(contents: &Contents, store: &Store, stop: &CancellationToken) -> Result<bool> {
    // Listed before the rows are read: a row exists before its first data.
    let mut there = contents.store.uploads().await?;
    there.retain(|name| is_upload_id(name));
    let open: HashSet<String> =
        find_values_in(store.reader(), "SELECT id FROM uploads WHERE id", &[], &there).await?;
    let after = contents.reached().upload.clone();
    let mut over = there;
    over.retain(|upload_id| *upload_id > after && !open.contains(upload_id));
    over.sort_unstable();
    let most = PORTIONS * usize::try_from(PORTION).unwrap_or(usize::MAX);
    let is_last = over.len() <= most;
    over.truncate(most);
    let last = over.last().filter(|_| !is_last);
    contents.reached().upload = last.cloned().unwrap_or_default();
    let discarded = stream::iter(over)
        .take_until(stop.cancelled())
        .map(async |upload_id| contents.store.discard(&upload_id).await)
        .buffer_unordered(AT_ONCE)
        .fold(Ok(()), async |outcome, discarded| outcome.and(discarded));
    discarded.await.map(|()| is_last)
}

/// Refuses to start over contents in a different store.
///
/// # Errors
/// Names that store.
pub async fn check_store(store: &Store, name: &str) -> Result<(), BlobOpenError> {
    let statement = sql("SELECT store FROM blobs WHERE store <> ? LIMIT 1", [name.into()]);
    let other = statement.fetch_optional_value::<String>(store.reader()).await;
    let Some(other) = other.map_err(crate::error::Error::from)? else { return Ok(()) };
    Err(BlobOpenError::Settings(format!(
        "storage.kind: is {name}, but contents of files are in the store {other}; changing the setting does not move them"
    )))
}
