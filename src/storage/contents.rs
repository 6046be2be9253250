//! Contents and the rows that tell of them, kept together: what is kept and what is removed of one content never meet, and what no
//! version names any more is removed.
//!
//! A row of `blobs` is written before its content is kept, and goes after its content is removed, so there is no content
//! without a row. A content that may have no version (a commit began, a version went) is doubtful, which is a row too, so that a
//! crash forgets none.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use futures::{StreamExt, stream};
use sea_orm::{ConnectionTrait, FromQueryResult};
use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;

use super::{BlobStore, is_upload_id};
use crate::{
    app::StartError,
    error::Result,
    store::{Store, find_in, placeholders, sql},
};

/// Contents that are looked at together.
const PORTION: u64 = 100;

/// With more claims than these, it is looked whether they are anybody's.
const MANY_CLAIMS: usize = 1_000;

/// Portions, of contents and of uploads, that are looked at before everything else has its turn again.
const PORTIONS: usize = 20;

/// Contents that are removed at the same time: a store may be far away.
const AT_ONCE: usize = 8;

/// The store of contents, and who is at work on which content.
pub struct Contents {
    store: Arc<dyn BlobStore>,
    claims: Arc<Claims>,
    /// How far it was looked, so that what cannot be removed holds up nothing behind it.
    reached: Mutex<Reached>,
}

/// The last doubtful content and the last upload that were looked at; empty where the first ones are next.
#[derive(Default)]
struct Reached {
    sha256: String,
    upload: String,
}

/// By the SHA-256 of the content.
type Claims = Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>;

/// The only one at work on a content, until it is dropped. Whoever inserts a version of a content, or removes it, has one: from
/// before the row of `blobs` is written until the transaction that inserts the version is over.
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
    /// Contents in this store.
    pub fn new(store: Arc<dyn BlobStore>) -> Self {
        Self { store, claims: Arc::default(), reached: Mutex::default() }
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn BlobStore> {
        &self.store
    }

    /// Waits until nobody else is at work on this content.
    pub async fn claim(&self, sha256: &str) -> Claim {
        let guard = self.lock_of(sha256).lock_owned().await;
        self.claimed(sha256, guard)
    }

    /// The same, where nobody else is at work on it now.
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
        // Who gave up waiting leaves one that is nobody's.
        if claims.len() > MANY_CLAIMS {
            claims.retain(|_, claim| claim.strong_count() > 0);
        }
        let lock = Arc::default();
        claims.insert(sha256.to_owned(), Arc::downgrade(&lock));
        lock
    }

    fn reached(&self) -> std::sync::MutexGuard<'_, Reached> {
        self.reached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes contents that no version names any more, some portions of them. What somebody is at work on is left for the next time.
    /// Answers whether these were the last.
    ///
    /// # Errors
    /// The first failure; what does not fail is removed all the same, and what fails is tried again once all others had their turns.
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
        // None of them is waited for, so that nobody waits for another in a circle.
        let claims: Vec<Claim> = doubtful.iter().filter_map(|sha256| self.try_claim(sha256)).collect();
        // From here on nobody inserts a version of them, and who did has done so: what is read now stays true.
        let claimed: Vec<&str> = claims.iter().map(|claim| claim.sha256.as_str()).collect();
        let reader = store.reader();
        let named = "SELECT DISTINCT sha256 FROM file_versions WHERE sha256";
        let mut sure: Vec<String> = find_in::<Named, _>(reader, named, &[], &claimed)
            .await?
            .into_iter()
            .map(|named| named.sha256)
            .collect();
        let kept = "SELECT sha256, store_key FROM blobs WHERE sha256";
        let kept = find_in::<Kept, _>(reader, kept, &[], &claimed).await?;
        // A doubt about what has no row is none.
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

#[derive(FromQueryResult)]
struct Named {
    sha256: String,
}

#[derive(FromQueryResult)]
struct Kept {
    sha256: String,
    store_key: String,
}

async fn doubtful_after(store: &Store, after: &str) -> Result<Vec<String>> {
    let statement = sql(
        "SELECT sha256 FROM doubtful_blobs WHERE sha256 > ? ORDER BY sha256 LIMIT ?",
        [after.into(), PORTION.into()],
    );
    let rows = Named::find_by_statement(statement).all(store.reader()).await?;
    Ok(rows.into_iter().map(|row| row.sha256).collect())
}

/// Takes away the doubts about those that are sure, and the rows of those that were removed.
async fn settle(store: &Store, sure: Vec<String>, removed: Vec<String>) -> Result<()> {
    if sure.is_empty() && removed.is_empty() {
        return Ok(());
    }
    let settling = store.write(move |transaction| {
        Box::pin(async move {
            let of = |text: &str, sha256s: &[String]| {
                let text = format!("{text} AND sha256 IN ({})", placeholders(sha256s.len()));
                sql(text, sha256s.iter().map(Into::into))
            };
            transaction.execute_raw(of("DELETE FROM blobs WHERE TRUE", &removed)).await?;
            transaction.execute_raw(of("DELETE FROM doubtful_blobs WHERE TRUE", &removed)).await?;
            // A version may have gone since it was seen: it takes no claim to delete one.
            let still_sure = "DELETE FROM doubtful_blobs WHERE ( \
                  EXISTS (SELECT 1 FROM file_versions WHERE file_versions.sha256 = doubtful_blobs.sha256) \
                  OR NOT EXISTS (SELECT 1 FROM blobs WHERE blobs.sha256 = doubtful_blobs.sha256))";
            transaction.execute_raw(of(still_sure, &sure)).await?;
            Ok(())
        })
    });
    settling.await
}

/// Discards what is left of uploads that have no row any more: their commit, or their end, was cut off. Some portions of them; answers
/// whether these were the last.
///
/// # Errors
/// The first failure; the others are discarded all the same, and what fails is tried again once all others had their turns.
pub async fn discard_leftovers(contents: &Contents, store: &Store, stop: &CancellationToken) -> Result<bool> {
    // Listed before their rows are looked for: a row is there before anything comes in.
    let mut there = contents.store.uploads().await?;
    there.retain(|name| is_upload_id(name));
    let open = find_in::<Open, _>(store.reader(), "SELECT id FROM uploads WHERE id", &[], &there).await?;
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

#[derive(FromQueryResult)]
struct Open {
    id: String,
}

/// Refuses to start over contents that another store has.
///
/// # Errors
/// Says which one has them.
pub async fn check_store(store: &Store, name: &str) -> Result<(), StartError> {
    let statement = sql("SELECT store FROM blobs WHERE store <> ? LIMIT 1", [name.into()]);
    let row = store.reader().query_one_raw(statement).await.map_err(crate::error::Error::from)?;
    let Some(row) = row else { return Ok(()) };
    let other: String = row.try_get("", "store").map_err(crate::error::Error::from)?;
    Err(StartError::Storage(format!(
        "storage.kind: is {name}, but contents of files are in the store {other}; they are not moved by a setting"
    )))
}
