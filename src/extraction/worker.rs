//! Reads the texts of contents in the background, the ones that somebody waits for first.
//!
//! Every content has a row in `blob_texts` as soon as it has one in `blobs`; what was not looked at is known by it after any
//! restart. When a text is there, the files whose newest content it is are recorded as changed, in the same transaction.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use sea_orm::{ConnectionTrait, FromQueryResult};
use tokio::{
    sync::{Notify, oneshot},
    task::JoinHandle,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{MOST_BYTES, MOST_PLAIN_BYTES, process::TextReader};
use crate::{
    config::{Limits, Storage},
    error::Result,
    platform::files::following,
    storage::BlobStore,
    store::{Store, sql},
};

/// Contents that are read at the same time.
const AT_ONCE: usize = 2;

/// Contents that somebody waits for at the most; who comes then does not wait.
const MOST_ASKED: usize = 1_000;

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

/// Who waits for what, and what is looked at.
#[derive(Default)]
struct Asked {
    first: VecDeque<String>,
    waiting: HashMap<String, Vec<oneshot::Sender<()>>>,
    in_hand: HashSet<String>,
    /// What is in hand and to be looked at once more.
    again: HashSet<String>,
    /// The number of the last row that was looked at in this round.
    reached: i64,
}

impl Texts {
    /// Begins with what was not read before. `follow` wakes the upkeep.
    ///
    /// # Errors
    /// The system does not say where this program is.
    pub fn start(
        store: Store,
        contents: Arc<dyn BlobStore>,
        (storage, limits): (&Storage, &Limits),
        follow: Arc<Notify>,
    ) -> Result<Self> {
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

    /// Waits until the text of a content that has a version is there, or the time for that is over. It is read in either case.
    pub async fn wait(&self, sha256: &str) {
        // Most often of a content that was there before.
        if matches!(Unread::find(self.work.store.reader(), sha256).await, Ok(None)) {
            return;
        }
        let told = {
            let mut asked = self.work.lock();
            let is_first = !asked.waiting.contains_key(sha256);
            if is_first && asked.first.len() >= MOST_ASKED {
                return;
            }
            let (tell, told) = oneshot::channel();
            asked.waiting.entry(sha256.to_owned()).or_default().push(tell);
            if is_first {
                asked.first.push_back(sha256.to_owned());
            }
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
        let sha256 = match self.take().await {
            Ok(Some(sha256)) => sha256,
            Ok(None) => return Some(LOOK_EVERY),
            Err(error) => {
                tracing::warn!(%error, "it could not be looked which contents were not read");
                return Some(RETRY_AFTER);
            }
        };
        // There may be more, for the other one.
        self.more.notify_one();
        let in_hand = InHand { work: self, sha256 };
        let read = self.read(&in_hand.sha256).await;
        drop(in_hand);
        match read {
            Ok(()) => None,
            Err(error) => {
                tracing::warn!(%error, "a content could not be read; it is tried again");
                Some(RETRY_AFTER)
            }
        }
    }

    /// The next content that is to be read and is in nobody's hand.
    async fn take(&self) -> Result<Option<String>> {
        loop {
            let reached = {
                let mut asked = self.lock();
                while let Some(sha256) = asked.first.pop_front() {
                    if asked.in_hand.insert(sha256.clone()) {
                        return Ok(Some(sha256));
                    }
                    // Whoever has it may have looked at it too early.
                    asked.again.insert(sha256);
                }
                asked.reached
            };
            let statement = sql(
                "SELECT sequence, sha256 FROM blob_texts WHERE text IS NULL AND sequence > ? ORDER BY sequence LIMIT 1",
                [reached.into()],
            );
            let next = self.store.reader().query_one_raw(statement).await?;
            let mut asked = self.lock();
            let Some(row) = next else {
                // The next round begins at the first again, with what failed in this one.
                asked.reached = 0;
                return Ok(None);
            };
            asked.reached = row.try_get("", "sequence")?;
            let sha256: String = row.try_get("", "sha256")?;
            if asked.in_hand.insert(sha256.clone()) {
                return Ok(Some(sha256));
            }
        }
    }

    async fn read(&self, sha256: &str) -> Result<()> {
        // Before it has a version nobody knows what it is called; it is looked at again when it has.
        let Some(unread) = Unread::find(self.store.reader(), sha256).await? else { return Ok(()) };
        let text = self.text_of(&unread).await?;
        let sha256 = sha256.to_owned();
        let job = self.store.write(move |transaction| {
            Box::pin(async move {
                let statement = sql(
                    "UPDATE blob_texts SET text = ? WHERE sha256 = ? AND text IS NULL",
                    [text.as_str().into(), sha256.as_str().into()],
                );
                if transaction.execute_raw(statement).await?.rows_affected() == 0 || text.is_empty() {
                    return Ok(false);
                }
                following::record_content(transaction, &sha256).await
            })
        });
        if job.await? {
            self.follow.notify_one();
        }
        Ok(())
    }

    async fn text_of(&self, unread: &Unread) -> Result<String> {
        let size = u64::try_from(unread.size).unwrap_or_default();
        if size == 0 || has_no_text(&unread.extension) {
            return Ok(String::new());
        }
        let is_whole = size <= MOST_BYTES;
        let range = 0..if is_whole { size } else { MOST_PLAIN_BYTES };
        let content = self.contents.read(&unread.store_key, range).await?;
        self.reader.read(&unread.extension, is_whole, content).await
    }
}

/// A content that one task has in hand. Who waits for it is told when it is let go.
struct InHand<'a> {
    work: &'a Work,
    sha256: String,
}

impl Drop for InHand<'_> {
    fn drop(&mut self) {
        let mut asked = self.work.lock();
        asked.in_hand.remove(&self.sha256);
        if asked.again.remove(&self.sha256) {
            asked.first.push_back(self.sha256.clone());
            self.work.hurry.notify_one();
            return;
        }
        asked.waiting.remove(&self.sha256).into_iter().flatten().for_each(|waiting| {
            let _gone = waiting.send(());
        });
    }
}

/// A content that was not read.
#[derive(Debug, FromQueryResult)]
struct Unread {
    size: i64,
    store_key: String,
    /// Of a file that has it in some version.
    extension: String,
}

impl Unread {
    async fn find<C: ConnectionTrait>(reader: &C, sha256: &str) -> Result<Option<Self>> {
        let statement = sql(
            "SELECT blobs.size, blobs.store_key, files.extension FROM blob_texts \
             JOIN blobs ON blobs.sha256 = blob_texts.sha256 \
             JOIN file_versions ON file_versions.sha256 = blobs.sha256 \
             JOIN files ON files.id = file_versions.file_id \
             WHERE blob_texts.sha256 = ? AND blob_texts.text IS NULL ORDER BY files.sequence LIMIT 1",
            [sha256.into()],
        );
        Ok(Self::find_by_statement(statement).one(reader).await?)
    }
}

/// Pictures, sounds and films, by what their names end in: they are not even fetched.
fn has_no_text(extension: &str) -> bool {
    let kind = mime_guess::from_ext(extension).first_or_octet_stream();
    match (kind.type_().as_str(), kind.subtype().as_str()) {
        ("image", subtype) => !subtype.contains("svg"),
        // TypeScript's extension is that of a film, too.
        ("audio" | "video", _) => !matches!(extension, "ts" | "mts"),
        _ => false,
    }
}
