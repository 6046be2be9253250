//! Background extraction of texts, requested ones first.
//!
//! A trigger inserts a `blob_texts` row per content, so pending work survives a restart. A text and the
//! change entries of its files commit in one transaction.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::{StreamExt, TryStreamExt, stream};
use tokio::{
    sync::{Notify, oneshot},
    task::JoinHandle,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{
    MAX_BYTES, MAX_PLAIN_BYTES, TextFormat,
    fair_queue::turns,
    process::{ExtractedText, ExtractionOutcome, TextReader},
};
use crate::{
    blobs::BlobStore,
    confined::process::{ReaderAsker, ReadingTask},
    error::Result,
    replicas::{Lease, Leases},
    store::{Connection, FromRow, Store, Transaction, WriteFuture, now_millis, sql},
};

const AT_ONCE: usize = 2;

/// Replicas that may each be reading the first contents of a tenant.
const REPLICAS: usize = 8;

/// Requests per tenant above which commits do not wait.
const MAX_ASKED: usize = 200;

/// Delays before retries. The result of the last one is final.
const TRIED_AGAIN_AFTER: [Duration; 3] =
    [Duration::from_mins(1), Duration::from_mins(10), Duration::from_hours(1)];

const RETRY_AFTER: Duration = Duration::from_secs(5);

const LOOK_INTERVAL: Duration = Duration::from_mins(1);

/// The extraction service.
pub struct ExtractionService {
    work: Arc<ExtractionState>,
    wait: Duration,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

/// Records that the files of a content have its text now.
///
/// Returns whether some are left for `maintenance`.
pub type RecordText = for<'a> fn(&'a Transaction, i64) -> WriteFuture<'a, bool>;

struct ExtractionState {
    store: Store,
    record: RecordText,
    contents: Arc<dyn BlobStore>,
    reader: TextReader,
    asked: Mutex<ExtractionQueue>,
    hurry: Notify,
    more: Notify,
    follow: Arc<Notify>,
    leases: Leases,
    stop: CancellationToken,
}

/// Requests and running extractions, by content row number.
#[derive(Default)]
struct ExtractionQueue {
    first: BTreeMap<i64, VecDeque<i64>>,
    waiting: HashMap<i64, Vec<oneshot::Sender<()>>>,
    in_hand: HashMap<i64, i64>,
    last_turn: i64,
}

impl ExtractionQueue {
    /// The first request of a tenant that is not running.
    fn next_of(&mut self, tenant_id: i64) -> Option<i64> {
        let first = self.first.get_mut(&tenant_id)?;
        let mut next = None;
        while next.is_none()
            && let Some(sequence) = first.pop_front()
        {
            next = (!self.in_hand.contains_key(&sequence)).then_some(sequence);
        }
        if first.is_empty() {
            self.first.remove(&tenant_id);
        }
        next
    }

    /// False if it already runs.
    fn take(&mut self, sequence: i64, tenant_id: i64) -> bool {
        if self.in_hand.contains_key(&sequence) {
            return false;
        }
        self.in_hand.insert(sequence, tenant_id);
        self.last_turn = tenant_id;
        true
    }
}

impl ExtractionService {
    /// Starts with unread contents.
    ///
    /// `wait` is the time that commits wait for a text; `follow` wakes maintenance.
    pub async fn start(
        store: Store,
        contents: Arc<dyn BlobStore>,
        (reader, wait): (TextReader, Duration),
        record: RecordText,
        follow: Arc<Notify>,
        leases: Leases,
    ) -> Self {
        if let Err(error) = put_nothing_off(&store).await {
            tracing::warn!(%error, "contents deferred by an earlier process keep their retry times");
        }
        let work = Arc::new(ExtractionState {
            store,
            record,
            contents,
            reader,
            asked: Mutex::default(),
            hurry: Notify::new(),
            more: Notify::new(),
            follow,
            leases,
            stop: CancellationToken::new(),
        });
        let tasks = (0..AT_ONCE).map(|_| tokio::spawn(Arc::clone(&work).run())).collect();
        Self { work, wait, tasks: Mutex::new(tasks) }
    }

    /// Waits for the text of a file's newest content, up to a timeout.
    pub async fn wait(&self, file_id: &str) {
        let Ok(Some(RequestedText { sequence, tenant_id })) =
            RequestedText::find(self.work.store.reader(), file_id).await
        else {
            return;
        };
        let told = {
            let mut asked = self.work.lock();
            let first = asked.first.entry(tenant_id).or_default();
            if !first.contains(&sequence) {
                if first.len() >= MAX_ASKED {
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

    /// Stops; the next start resumes.
    pub async fn stop(&self) {
        self.work.stop.cancel();
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        for task in tasks {
            if let Err(error) = task.await {
                tracing::error!(%error, "text extraction did not stop cleanly");
            }
        }
    }
}

impl ExtractionState {
    fn lock(&self) -> std::sync::MutexGuard<'_, ExtractionQueue> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn run(self: Arc<Self>) {
        loop {
            let pause = tokio::select! {
                () = self.stop.cancelled() => return,
                pause = self.make_step() => pause,
            };
            let Some(pause) = pause else { continue };
            // After a failure only requests are tried.
            let is_idle = pause == LOOK_INTERVAL;
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = self.hurry.notified() => {}
                () = self.more.notified(), if is_idle => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    async fn make_step(&self) -> Option<Duration> {
        let (in_hand, _lease) = match self.take().await {
            Ok(Some(taken)) => taken,
            Ok(None) => return Some(LOOK_INTERVAL),
            Err(error) => {
                tracing::warn!(%error, "contents without extracted text could not be listed");
                return Some(RETRY_AFTER);
            }
        };
        self.more.notify_one();
        let read = self.read(in_hand.tenant_id, in_hand.sequence).await;
        drop(in_hand);
        match read {
            Ok(true) => None,
            Ok(false) => Some(RETRY_AFTER),
            Err(error) => {
                tracing::warn!(%error, "the text of a content could not be extracted and will be retried");
                Some(RETRY_AFTER)
            }
        }
    }

    /// Claims the next tenant's oldest request, else an unread, unclaimed content.
    async fn take(&self) -> Result<Option<(ClaimedContent<'_>, Lease)>> {
        let now = now_millis();
        let unread = tenants_with_unread(self.store.reader(), now).await?;
        let order = {
            let asked = self.lock();
            let waiting: BTreeSet<i64> = unread.into_iter().chain(asked.first.keys().copied()).collect();
            let busy: Vec<i64> = asked.in_hand.values().copied().collect();
            turns(&Vec::from_iter(waiting), asked.last_turn, &busy)
        };
        for tenant_id in order {
            let requested = self.lock().next_of(tenant_id);
            let unread = unread_of(self.store.reader(), tenant_id, now).await?;
            for sequence in requested.into_iter().chain(unread) {
                if !self.lock().take(sequence, tenant_id) {
                    continue;
                }
                let claimed = ClaimedContent { work: self, tenant_id, sequence };
                if let Some(lease) = self.leases.try_acquire(&format!("text:{sequence}")).await? {
                    return Ok(Some((claimed, lease)));
                }
            }
        }
        Ok(None)
    }

    /// Returns whether the needed services are healthy.
    async fn read(&self, tenant_id: i64, sequence: i64) -> Result<bool> {
        let Some(unread) = UnreadContent::find(self.store.reader(), sequence).await? else { return Ok(true) };
        if !unread.is_wanted {
            self.forget(sequence).await?;
            return Ok(true);
        }
        let text = match self.text_of(tenant_id, &unread).await {
            Ok(ExtractionOutcome::Ended(text)) => text,
            Ok(ExtractionOutcome::Cut { text, why }) => {
                let after = usize::try_from(unread.tries).ok().and_then(|tries| TRIED_AGAIN_AFTER.get(tries));
                tracing::warn!(sha256 = unread.sha256, why, "the text extraction of a content was cut short");
                match after {
                    Some(after) => self.put_off(sequence, *after, 1).await?,
                    None => self.keep(sequence, ExtractedText { text, problem: Some(why) }).await?,
                }
                return Ok(false);
            }
            Err(error) => {
                // Does not count as an attempt.
                self.put_off(sequence, TRIED_AGAIN_AFTER[0], 0).await?;
                return Err(error);
            }
        };
        self.keep(sequence, text).await?;
        Ok(true)
    }

    async fn keep(&self, sequence: i64, extracted: ExtractedText) -> Result<()> {
        let record = self.record;
        let job = self.store.write(move |transaction| {
            Box::pin(async move {
                let statement = sql(
                    "UPDATE blob_texts SET text = ?, problem = ? WHERE sequence = ? AND text IS NULL",
                    [extracted.text.as_str().into(), extracted.problem.as_deref().into(), sequence.into()],
                );
                let is_as_before = extracted == ExtractedText::default();
                if statement.execute(transaction).await? == 0 || is_as_before {
                    return Ok(false);
                }
                record(transaction, sequence).await
            })
        });
        if job.await? {
            self.follow.notify_one();
        }
        Ok(())
    }

    async fn put_off(&self, sequence: i64, after: Duration, tries: i64) -> Result<()> {
        let due_at = now_millis().saturating_add(i64::try_from(after.as_millis()).unwrap_or(i64::MAX));
        let job = self.store.write(move |transaction| {
            Box::pin(async move {
                let statement = sql(
                    "UPDATE blob_texts SET tries = tries + ?, due_at = ? WHERE sequence = ? AND text IS NULL",
                    [tries.into(), due_at.into(), sequence.into()],
                );
                statement.execute(transaction).await?;
                Ok(())
            })
        });
        job.await
    }

    async fn forget(&self, sequence: i64) -> Result<()> {
        let job = self.store.write(move |transaction| {
            Box::pin(async move {
                let statement = sql(
                    "DELETE FROM blob_texts WHERE sequence = ? AND text IS NULL AND NOT EXISTS (SELECT 1 FROM files                        WHERE files.sha256 = blob_texts.sha256 AND files.read_as = blob_texts.read_as)",
                    [sequence.into()],
                );
                statement.execute(transaction).await?;
                Ok(())
            })
        });
        job.await
    }

    async fn text_of(&self, tenant_id: i64, unread: &UnreadContent) -> Result<ExtractionOutcome> {
        let size = u64::try_from(unread.size).unwrap_or_default();
        if size == 0 {
            return Ok(ExtractionOutcome::Ended(ExtractedText::default()));
        }
        let range = 0..if size <= MAX_BYTES { size } else { MAX_PLAIN_BYTES };
        let (contents, store_key) = (Arc::clone(&self.contents), unread.store_key.clone());
        // Opened lazily, so that the timeout covers a silent store.
        let content =
            stream::once(async move { contents.read(&store_key, range).await }).try_flatten().boxed();
        let asker = ReaderAsker { group: tenant_id, member: ReadingTask::Text };
        self.reader.read(asker, TextFormat::from_row(&unread.read_as), size, content).await
    }
}

struct ClaimedContent<'a> {
    work: &'a ExtractionState,
    tenant_id: i64,
    sequence: i64,
}

impl Drop for ClaimedContent<'_> {
    fn drop(&mut self) {
        let mut asked = self.work.lock();
        asked.in_hand.remove(&self.sequence);
        asked.waiting.remove(&self.sequence).into_iter().flatten().for_each(|waiting| {
            let _gone = waiting.send(());
        });
    }
}

#[derive(Debug, FromRow)]
struct RequestedText {
    sequence: i64,
    tenant_id: i64,
}

impl RequestedText {
    async fn find(reader: &Connection, file_id: &str) -> Result<Option<Self>> {
        let statement = sql(
            "SELECT blob_texts.sequence, files.tenant_id FROM files \
             JOIN blob_texts ON blob_texts.sha256 = files.sha256 AND blob_texts.read_as = files.read_as \
             WHERE files.id = ? AND blob_texts.text IS NULL AND blob_texts.due_at <= ?",
            [file_id.into(), now_millis().into()],
        );
        Ok(statement.fetch_optional::<Self>(reader).await?)
    }
}

/// Tenants with unread contents, ascending. Seeks, since there may be many rows.
async fn tenants_with_unread(reader: &Connection, now: i64) -> Result<Vec<i64>> {
    let statement = sql(
        "WITH RECURSIVE turns (tenant) AS ( \
           SELECT MIN(turn_of) FROM blob_texts WHERE text IS NULL \
           UNION ALL SELECT (SELECT MIN(turn_of) FROM blob_texts WHERE text IS NULL AND turn_of > tenant) \
             FROM turns WHERE tenant IS NOT NULL) \
         SELECT tenant FROM turns WHERE EXISTS \
           (SELECT 1 FROM blob_texts WHERE text IS NULL AND turn_of = tenant AND due_at <= ?)",
        [now.into()],
    );
    Ok(statement.fetch_values(reader).await?)
}

async fn unread_of(reader: &Connection, tenant_id: i64, now: i64) -> Result<Vec<i64>> {
    let most = u64::try_from(AT_ONCE * REPLICAS + 1).unwrap_or(u64::MAX);
    let statement = sql(
        "SELECT sequence FROM blob_texts WHERE text IS NULL AND turn_of = ? AND due_at <= ? \
         ORDER BY due_at, sequence LIMIT ?",
        [tenant_id.into(), now.into(), most.into()],
    );
    Ok(statement.fetch_values(reader).await?)
}

#[derive(Debug, FromRow)]
struct UnreadContent {
    sha256: String,
    read_as: String,
    size: i64,
    store_key: String,
    tries: i64,
    is_wanted: bool,
}

impl UnreadContent {
    async fn find(reader: &Connection, sequence: i64) -> Result<Option<Self>> {
        let statement = sql(
            "SELECT blobs.sha256, blob_texts.read_as, blobs.size, blobs.store_key, blob_texts.tries, EXISTS (SELECT 1 FROM files \
               WHERE files.sha256 = blob_texts.sha256 AND files.read_as = blob_texts.read_as) AS is_wanted \
             FROM blob_texts JOIN blobs ON blobs.sha256 = blob_texts.sha256 \
             WHERE blob_texts.sequence = ? AND blob_texts.text IS NULL",
            [sequence.into()],
        );
        Ok(statement.fetch_optional::<Self>(reader).await?)
    }
}

/// Clears retry delays: a restart may have removed the cause.
async fn put_nothing_off(store: &Store) -> Result<()> {
    let job = store.write(|transaction| {
        Box::pin(async move {
            let statement = sql("UPDATE blob_texts SET due_at = 0 WHERE text IS NULL AND due_at > 0", []);
            statement.execute(transaction).await?;
            Ok(())
        })
    });
    job.await
}
