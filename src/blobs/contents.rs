//! Consistency of contents and their rows, and removal of unreferenced contents.
//!
//! A `blobs` row is written before its content and deleted after it. A content that may have no version has a
//! row in `doubtful_blobs`, which survives a crash.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use futures::{StreamExt, stream};
use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;

use super::OpenError;
use super::{BlobStore, is_upload_id};
use crate::{
    error::Result,
    store::{FromRow, Store, Value, find_in, sql},
};

const PORTION: u64 = 100;

/// Claims above which unused ones are dropped.
const MANY_CLAIMS: usize = 1_000;

/// Batches per run, so that other maintenance gets its turn.
const PORTIONS: usize = 20;

/// Concurrent removals: a store may be far away.
const AT_ONCE: usize = 8;

/// The store of contents, with a lock per content.
pub struct Contents {
    store: Arc<dyn BlobStore>,
    claims: Arc<Claims>,
    /// Cursors past failing removals.
    reached: Mutex<SweepPosition>,
}

/// The last content and the last upload checked; empty at the start.
#[derive(Default)]
struct SweepPosition {
    sha256: String,
    upload: String,
}

type Claims = Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>;

/// The lock on one content, held until dropped.
///
/// Inserting or removing a version needs it from writing the `blobs` row to the commit.
pub struct Claim {
    sha256: String,
    guard: Option<OwnedMutexGuard<()>>,
    claims: Arc<Claims>,
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        self.guard.take();
        if claims.get(&self.sha256).is_some_and(|claim| claim.strong_count() == 0) {
            claims.remove(&self.sha256);
        }
    }
}

impl Contents {
    /// Wraps a store.
    pub fn new(store: Arc<dyn BlobStore>) -> Self {
        Self { store, claims: Arc::default(), reached: Mutex::default() }
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn BlobStore> {
        &self.store
    }

    /// Waits for the lock on a content.
    pub async fn claim(&self, sha256: &str) -> Claim {
        let guard = self.lock_of(sha256).lock_owned().await;
        self.claimed(sha256, guard)
    }

    /// Takes the lock on a content if it is free.
    pub fn try_claim(&self, sha256: &str) -> Option<Claim> {
        let guard = self.lock_of(sha256).try_lock_owned().ok()?;
        Some(self.claimed(sha256, guard))
    }

    fn claimed(&self, sha256: &str, guard: OwnedMutexGuard<()>) -> Claim {
        Claim { sha256: sha256.to_owned(), guard: Some(guard), claims: Arc::clone(&self.claims) }
    }

    fn lock_of(&self, sha256: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lock) = claims.get(sha256).and_then(Weak::upgrade) {
            return lock;
        }
        // A cancelled waiter leaves an unused entry.
        if claims.len() > MANY_CLAIMS {
            claims.retain(|_, claim| claim.strong_count() > 0);
        }
        let lock = Arc::default();
        claims.insert(sha256.to_owned(), Arc::downgrade(&lock));
        lock
    }

    fn reached(&self) -> std::sync::MutexGuard<'_, SweepPosition> {
        self.reached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes some batches of unlocked contents without a version. Returns whether these were the last.
    ///
    /// # Errors
    /// The first failure; the others still run, and the next round retries.
    pub async fn remove_doubtful(&self, store: &Store, stop: &CancellationToken) -> Result<bool> {
        let mut outcome = Ok(());
        for _ in 0..PORTIONS {
            if stop.is_cancelled() {
                break;
            }
            let after = self.reached().sha256.clone();
            let doubtful = doubtful_after(store, &after).await?;
            self.reached().sha256 = doubtful.last().cloned().unwrap_or_default();
            if doubtful.is_empty() {
                return outcome.map(|()| true);
            }
            outcome = outcome.and(self.remove_portion(store, doubtful).await);
        }
        outcome.map(|()| false)
    }

    async fn remove_portion(&self, store: &Store, doubtful: Vec<String>) -> Result<()> {
        // Never waits for a lock, which prevents deadlock.
        let claims: Vec<Claim> = doubtful.iter().filter_map(|sha256| self.try_claim(sha256)).collect();
        // Under these locks nobody can insert a version.
        let claimed: Vec<&str> = claims.iter().map(|claim| claim.sha256.as_str()).collect();
        let reader = store.reader();
        let named = "SELECT DISTINCT sha256 FROM file_versions WHERE sha256";
        let mut sure: Vec<String> = find_in::<DoubtfulBlob>(reader, named, &[], &claimed)
            .await?
            .into_iter()
            .map(|named| named.sha256)
            .collect();
        let kept = "SELECT sha256, store_key FROM blobs WHERE sha256";
        let kept = find_in::<StoredBlob>(reader, kept, &[], &claimed).await?;
        // A doubt without a `blobs` row is void.
        sure.extend(
            claimed
                .iter()
                .filter(|sha256| !kept.iter().any(|kept| kept.sha256 == **sha256))
                .map(ToString::to_string),
        );
        let unnamed = kept.into_iter().filter(|kept| !sure.contains(&kept.sha256));
        let removals = stream::iter(unnamed)
            .map(async |kept| (self.store.remove(&kept.store_key).await, kept.sha256))
            .buffer_unordered(AT_ONCE)
            .collect::<Vec<_>>()
            .await;
        let (mut outcome, mut removed) = (Ok(()), Vec::new());
        for (removal, sha256) in removals {
            match removal {
                Ok(()) => removed.push(sha256),
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
        settle(store, sure, removed).await?;
        drop(claims);
        outcome
    }
}

#[derive(FromRow)]
struct DoubtfulBlob {
    sha256: String,
}

#[derive(FromRow)]
struct StoredBlob {
    sha256: String,
    store_key: String,
}

async fn doubtful_after(store: &Store, after: &str) -> Result<Vec<String>> {
    let statement = sql(
        "SELECT sha256 FROM doubtful_blobs WHERE sha256 > ? ORDER BY sha256 LIMIT ?",
        [after.into(), PORTION.into()],
    );
    let rows = statement.fetch_all::<DoubtfulBlob>(store.reader()).await?;
    Ok(rows.into_iter().map(|row| row.sha256).collect())
}

async fn settle(store: &Store, sure: Vec<String>, removed: Vec<String>) -> Result<()> {
    if sure.is_empty() && removed.is_empty() {
        return Ok(());
    }
    let settling = store.write(move |transaction| {
        Box::pin(async move {
            let of = |text: &str, sha256s: &[String]| {
                let text = format!("{text} AND sha256 IN (SELECT value FROM json_each(?))");
                sql(text, [Value::list(sha256s)])
            };
            of("DELETE FROM blobs WHERE TRUE", &removed).execute(transaction).await?;
            of("DELETE FROM doubtful_blobs WHERE TRUE", &removed).execute(transaction).await?;
            // Deleting a version takes no lock, so check again.
            let still_sure = "DELETE FROM doubtful_blobs WHERE ( \
                  EXISTS (SELECT 1 FROM file_versions WHERE file_versions.sha256 = doubtful_blobs.sha256) \
                  OR NOT EXISTS (SELECT 1 FROM blobs WHERE blobs.sha256 = doubtful_blobs.sha256))";
            of(still_sure, &sure).execute(transaction).await?;
            Ok(())
        })
    });
    settling.await
}

/// Discards some batches of uploads without a row. Returns whether these were the last.
///
/// # Errors
/// The first failure; the others still run, and the next round retries.
pub async fn discard_leftovers(contents: &Contents, store: &Store, stop: &CancellationToken) -> Result<bool> {
    // Listed before the rows are read: a row exists before its first data.
    let mut there = contents.store.uploads().await?;
    there.retain(|name| is_upload_id(name));
    let open = find_in::<Open>(store.reader(), "SELECT id FROM uploads WHERE id", &[], &there).await?;
    let open: std::collections::HashSet<String> = open.into_iter().map(|open| open.id).collect();
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

#[derive(FromRow)]
struct Open {
    id: String,
}

/// Refuses to start over contents in a different store.
///
/// # Errors
/// Names that store.
pub async fn check_store(store: &Store, name: &str) -> Result<(), OpenError> {
    let statement = sql("SELECT store FROM blobs WHERE store <> ? LIMIT 1", [name.into()]);
    let other = statement.fetch_optional_value::<String>(store.reader()).await;
    let Some(other) = other.map_err(crate::error::Error::from)? else { return Ok(()) };
    Err(OpenError::Settings(format!(
        "storage.kind: is {name}, but contents of files are in the store {other}; changing the setting does not move them"
    )))
}
