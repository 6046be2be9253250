//! Reads the texts of contents in the background, the ones that somebody waits for first.
//!
//! The content of a file has a row in `blob_texts` as soon as the file is there (a trigger sees to that); what was not looked at is
//! known by it after any restart. When a text is there, the files whose newest content it is are recorded as changed, in the same
//! transaction.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::{StreamExt, TryStreamExt, stream};
use sea_orm::{ConnectionTrait, FromQueryResult};
use tokio::{
    sync::{Notify, oneshot},
    task::JoinHandle,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{
    MOST_BYTES, MOST_PLAIN_BYTES, ReadAs,
    process::{Reading, TextReader},
    turns::turns,
};
use crate::{
    config::{Limits, Storage},
    error::Result,
    platform::files::following,
    storage::BlobStore,
    store::{Store, now_millis, sql},
};

/// Contents that are read at the same time.
const AT_ONCE: usize = 2;

/// Contents that people of a tenant wait for at the most; who comes then does not wait.
const MOST_ASKED: usize = 200;

/// When a content whose reading was cut short is read again: after the first time, the second, the third. What comes then is kept.
const TRIED_AGAIN_AFTER: [Duration; 3] =
    [Duration::from_mins(1), Duration::from_mins(10), Duration::from_hours(1)];

/// After a failure of the store of contents, or of the database.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// Between two looks for contents that were not read, unless one is asked for.
const LOOK_EVERY: Duration = Duration::from_mins(1);

/// The texts of contents.
pub struct Texts {
    work: Arc<Work>,
    wait: Duration,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

/// What the tasks share.
struct Work {
    store: Store,
    contents: Arc<dyn BlobStore>,
    reader: TextReader,
    asked: Mutex<Asked>,
    /// Somebody waits for a text.
    hurry: Notify,
    /// There may be more to read.
    more: Notify,
    /// Has files be recorded that are left over.
    follow: Arc<Notify>,
    stop: CancellationToken,
}

/// Who waits for what, and what is looked at. A content is told by the number of its row.
#[derive(Default)]
struct Asked {
    /// Of each tenant, in the order in which they were asked for.
    first: BTreeMap<i64, VecDeque<i64>>,
    waiting: HashMap<i64, Vec<oneshot::Sender<()>>>,
    /// What is looked at, in whose turn.
    in_hand: HashMap<i64, i64>,
    /// The tenant that had the last turn.
    last_turn: i64,
}

impl Asked {
    /// The first content that people of this tenant wait for and that is in nobody's hand.
    fn next_of(&mut self, tenant_id: i64) -> Option<i64> {
        let first = self.first.get_mut(&tenant_id)?;
        let mut next = None;
        while next.is_none()
            && let Some(sequence) = first.pop_front()
        {
            // Who waits for what is in hand is told by that.
            next = (!self.in_hand.contains_key(&sequence)).then_some(sequence);
        }
        if first.is_empty() {
            self.first.remove(&tenant_id);
        }
        next
    }

    /// Takes it in hand in this tenant's turn, unless it is.
    fn take(&mut self, sequence: i64, tenant_id: i64) -> bool {
        if self.in_hand.contains_key(&sequence) {
            return false;
        }
        self.in_hand.insert(sequence, tenant_id);
        self.last_turn = tenant_id;
        true
    }
}

impl Texts {
    /// Begins with what was not read before. `follow` wakes the upkeep.
    ///
    /// # Errors
    /// The system does not say where this program is.
    pub async fn start(
        store: Store,
        contents: Arc<dyn BlobStore>,
        (storage, limits): (&Storage, &Limits),
        follow: Arc<Notify>,
    ) -> Result<Self> {
        if let Err(error) = put_nothing_off(&store).await {
            tracing::warn!(%error, "what was put off by an earlier process is read when that said");
        }
        let work = Arc::new(Work {
            store,
            contents,
            reader: TextReader::new(storage, limits)?,
            asked: Mutex::default(),
            hurry: Notify::new(),
            more: Notify::new(),
            follow,
            stop: CancellationToken::new(),
        });
        let tasks = (0..AT_ONCE).map(|_| tokio::spawn(Arc::clone(&work).run())).collect();
        let wait = Duration::from_millis(storage.text_wait_ms);
        Ok(Self { work, wait, tasks: Mutex::new(tasks) })
    }

    /// Waits until the text of a file's newest content is there, or the time for that is over. It is read in either case.
    pub async fn wait(&self, file_id: &str) {
        // Most often of a content that was there before.
        let Ok(Some(Awaited { sequence, tenant_id })) =
            Awaited::find(self.work.store.reader(), file_id).await
        else {
            return;
        };
        let told = {
            let mut asked = self.work.lock();
            let first = asked.first.entry(tenant_id).or_default();
            // It may be waited for by another tenant's people, whose turn is not this one's.
            if !first.contains(&sequence) {
                if first.len() >= MOST_ASKED {
                    return;
                }
                first.push_back(sequence);
            }
            let (tell, told) = oneshot::channel();
            asked.waiting.entry(sequence).or_default().push(tell);
            told
        };
        self.work.hurry.notify_one();
        let _late = timeout(self.wait, told).await;
    }

    /// Ends; what is not read is read after the next start.
    pub async fn stop(&self) {
        self.work.stop.cancel();
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        for task in tasks {
            if let Err(error) = task.await {
                tracing::error!(%error, "the reading of texts did not end in order");
            }
        }
    }
}

impl Work {
    fn lock(&self) -> std::sync::MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn run(self: Arc<Self>) {
        loop {
            let pause = tokio::select! {
                () = self.stop.cancelled() => return,
                pause = self.make_step() => pause,
            };
            let Some(pause) = pause else { continue };
            // After a failure only what somebody waits for is worth a try.
            let is_idle = pause == LOOK_EVERY;
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = self.hurry.notified() => {}
                () = self.more.notified(), if is_idle => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Reads one content. Answers how long to pause.
    async fn make_step(&self) -> Option<Duration> {
        let sequence = match self.take().await {
            Ok(Some(sequence)) => sequence,
            Ok(None) => return Some(LOOK_EVERY),
            Err(error) => {
                tracing::warn!(%error, "it could not be looked which contents were not read");
                return Some(RETRY_AFTER);
            }
        };
        // There may be more, for the other one.
        self.more.notify_one();
        let in_hand = InHand { work: self, sequence };
        let read = self.read(sequence).await;
        drop(in_hand);
        match read {
            Ok(true) => None,
            Ok(false) => Some(RETRY_AFTER),
            Err(error) => {
                tracing::warn!(%error, "a content could not be read; it is tried again");
                Some(RETRY_AFTER)
            }
        }
    }

    /// The next content that is to be read and is in nobody's hand, now in this one's: of the tenant whose turn it is the one that is
    /// waited for longest, or any.
    async fn take(&self) -> Result<Option<i64>> {
        let now = now_millis();
        let unread = tenants_with_unread(self.store.reader(), now).await?;
        let order = {
            let asked = self.lock();
            let waiting: BTreeSet<i64> = unread.into_iter().chain(asked.first.keys().copied()).collect();
            let busy: Vec<i64> = asked.in_hand.values().copied().collect();
            turns(&Vec::from_iter(waiting), asked.last_turn, &busy)
        };
        for tenant_id in order {
            {
                let mut asked = self.lock();
                if let Some(sequence) = asked.next_of(tenant_id)
                    && asked.take(sequence, tenant_id)
                {
                    return Ok(Some(sequence));
                }
            }
            for sequence in unread_of(self.store.reader(), tenant_id, now).await? {
                if self.lock().take(sequence, tenant_id) {
                    return Ok(Some(sequence));
                }
            }
        }
        Ok(None)
    }

    /// Answers whether all is well with what is needed for it.
    async fn read(&self, sequence: i64) -> Result<bool> {
        let Some(unread) = Unread::find(self.store.reader(), sequence).await? else { return Ok(true) };
        if !unread.is_wanted {
            self.forget(sequence).await?;
            return Ok(true);
        }
        let text = match self.text_of(&unread).await {
            Ok(Reading::Ended(text)) => text,
            Ok(Reading::Cut { text, why }) => {
                let after = usize::try_from(unread.tries).ok().and_then(|tries| TRIED_AGAIN_AFTER.get(tries));
                tracing::warn!(sha256 = unread.sha256, why, "the reading of a content was cut short");
                match after {
                    Some(after) => self.put_off(sequence, *after, 1).await?,
                    None => self.keep(sequence, text).await?,
                }
                return Ok(false);
            }
            Err(error) => {
                // It is nobody's try.
                self.put_off(sequence, TRIED_AGAIN_AFTER[0], 0).await?;
                return Err(error);
            }
        };
        self.keep(sequence, text).await?;
        Ok(true)
    }

    async fn keep(&self, sequence: i64, text: String) -> Result<()> {
        let job = self.store.write(move |transaction| {
            Box::pin(async move {
                let statement = sql(
                    "UPDATE blob_texts SET text = ? WHERE sequence = ? AND text IS NULL",
                    [text.as_str().into(), sequence.into()],
                );
                if transaction.execute_raw(statement).await?.rows_affected() == 0 || text.is_empty() {
                    return Ok(false);
                }
                following::record_text(transaction, sequence).await
            })
        });
        if job.await? {
            self.follow.notify_one();
        }
        Ok(())
    }

    /// Has it be read later.
    async fn put_off(&self, sequence: i64, after: Duration, tries: i64) -> Result<()> {
        let due_at = now_millis().saturating_add(i64::try_from(after.as_millis()).unwrap_or(i64::MAX));
        let job = self.store.write(move |transaction| {
            Box::pin(async move {
                let statement = sql(
                    "UPDATE blob_texts SET tries = tries + ?, due_at = ? WHERE sequence = ? AND text IS NULL",
                    [tries.into(), due_at.into(), sequence.into()],
                );
                transaction.execute_raw(statement).await?;
                Ok(())
            })
        });
        job.await
    }

    /// No file has this content any more; one that comes has a row of its own.
    async fn forget(&self, sequence: i64) -> Result<()> {
        let job = self.store.write(move |transaction| {
            Box::pin(async move {
                let statement = sql(
                    "DELETE FROM blob_texts WHERE sequence = ? AND text IS NULL AND NOT EXISTS (SELECT 1 FROM files                        WHERE files.sha256 = blob_texts.sha256 AND files.read_as = blob_texts.read_as)",
                    [sequence.into()],
                );
                transaction.execute_raw(statement).await?;
                Ok(())
            })
        });
        job.await
    }

    async fn text_of(&self, unread: &Unread) -> Result<Reading> {
        let size = u64::try_from(unread.size).unwrap_or_default();
        if size == 0 {
            return Ok(Reading::Ended(String::new()));
        }
        let is_whole = size <= MOST_BYTES;
        let range = 0..if is_whole { size } else { MOST_PLAIN_BYTES };
        let (contents, store_key) = (Arc::clone(&self.contents), unread.store_key.clone());
        // Asked for when it is wanted, so that a store that does not answer is waited for no longer than for a text.
        let content =
            stream::once(async move { contents.read(&store_key, range).await }).try_flatten().boxed();
        self.reader.read(ReadAs::from_row(&unread.read_as), is_whole, content).await
    }
}

/// A content that one task has in hand. Who waits for it is told when it is let go.
struct InHand<'a> {
    work: &'a Work,
    sequence: i64,
}

impl Drop for InHand<'_> {
    fn drop(&mut self) {
        let mut asked = self.work.lock();
        asked.in_hand.remove(&self.sequence);
        asked.waiting.remove(&self.sequence).into_iter().flatten().for_each(|waiting| {
            let _gone = waiting.send(());
        });
    }
}

/// The text of a file's newest content, which is to be read now.
#[derive(Debug, FromQueryResult)]
struct Awaited {
    sequence: i64,
    tenant_id: i64,
}

impl Awaited {
    async fn find<C: ConnectionTrait>(reader: &C, file_id: &str) -> Result<Option<Self>> {
        let statement = sql(
            "SELECT blob_texts.sequence, files.tenant_id FROM files \
             JOIN blob_texts ON blob_texts.sha256 = files.sha256 AND blob_texts.read_as = files.read_as \
             WHERE files.id = ? AND blob_texts.text IS NULL AND blob_texts.due_at <= ?",
            [file_id.into(), now_millis().into()],
        );
        Ok(Self::find_by_statement(statement).one(reader).await?)
    }
}

/// The tenants in whose turns there is something to be read, ascending. They are stepped through: there may be any number of rows.
async fn tenants_with_unread<C: ConnectionTrait>(reader: &C, now: i64) -> Result<Vec<i64>> {
    let statement = sql(
        "WITH RECURSIVE turns (tenant) AS ( \
           SELECT MIN(turn_of) FROM blob_texts WHERE text IS NULL \
           UNION ALL SELECT (SELECT MIN(turn_of) FROM blob_texts WHERE text IS NULL AND turn_of > tenant) \
             FROM turns WHERE tenant IS NOT NULL) \
         SELECT tenant FROM turns WHERE EXISTS \
           (SELECT 1 FROM blob_texts WHERE text IS NULL AND turn_of = tenant AND due_at <= ?)",
        [now.into()],
    );
    let rows = reader.query_all_raw(statement).await?;
    Ok(rows.iter().map(|row| row.try_get("", "tenant")).collect::<std::result::Result<_, _>>()?)
}

/// What is to be read in a tenant's turn: as much as may be in hand, and one more.
async fn unread_of<C: ConnectionTrait>(reader: &C, tenant_id: i64, now: i64) -> Result<Vec<i64>> {
    let most = u64::try_from(AT_ONCE + 1).unwrap_or(u64::MAX);
    let statement = sql(
        "SELECT sequence FROM blob_texts WHERE text IS NULL AND turn_of = ? AND due_at <= ? \
         ORDER BY due_at, sequence LIMIT ?",
        [tenant_id.into(), now.into(), most.into()],
    );
    let rows = reader.query_all_raw(statement).await?;
    Ok(rows.iter().map(|row| row.try_get("", "sequence")).collect::<std::result::Result<_, _>>()?)
}

/// A content that was not read.
#[derive(Debug, FromQueryResult)]
struct Unread {
    sha256: String,
    read_as: String,
    size: i64,
    store_key: String,
    tries: i64,
    /// Whether a file has it.
    is_wanted: bool,
}

impl Unread {
    async fn find<C: ConnectionTrait>(reader: &C, sequence: i64) -> Result<Option<Self>> {
        let statement = sql(
            "SELECT blobs.sha256, blob_texts.read_as, blobs.size, blobs.store_key, blob_texts.tries, EXISTS (SELECT 1 FROM files \
               WHERE files.sha256 = blob_texts.sha256 AND files.read_as = blob_texts.read_as) AS is_wanted \
             FROM blob_texts JOIN blobs ON blobs.sha256 = blob_texts.sha256 \
             WHERE blob_texts.sequence = ? AND blob_texts.text IS NULL",
            [sequence.into()],
        );
        Ok(Self::find_by_statement(statement).one(reader).await?)
    }
}

/// What was put off may be read now: what stood in the way may be gone with the process before this one.
async fn put_nothing_off(store: &Store) -> Result<()> {
    let job = store.write(|transaction| {
        Box::pin(async move {
            let statement = sql("UPDATE blob_texts SET due_at = 0 WHERE text IS NULL AND due_at > 0", []);
            transaction.execute_raw(statement).await?;
            Ok(())
        })
    });
    job.await
}
