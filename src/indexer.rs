//! The indexer: follows the change log and keeps the full-text index a few milliseconds behind the database.
//!
//! The log position stands in each index commit, so after a crash the work goes on exactly where the index is. An
//! index that does not fit the database is filled anew from the rows themselves.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    time::Duration,
};

use futures::StreamExt;
use tokio::{sync::watch, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use trawl_index::{Change, Checkpoint, Document, Scope};

use crate::{
    error::{Error, Result},
    platform::{contents, tasks},
    store::{
        Store,
        change_log::{self, Entry},
    },
};

/// Rows that one step of a rebuild reads.
const REBUILD_ROWS: u64 = 1_000;

/// Documents between two commits of a rebuild.
const REBUILD_COMMIT: usize = 50_000;

/// Items whose documents are made and handed to the index at a time, which bounds memory.
const ITEMS_AT_A_TIME: usize = 500;

/// The log is cut when so many entries lie behind the index.
const KEPT_ENTRIES: i64 = 20_000;

/// Entries that one cut removes, so that no write waits long behind it.
const CUT_ENTRIES: u64 = 2_000;

/// The wait before the work is tried again after a failure.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// A write of fewer items than this is never held back.
const BULK_ITEMS: usize = 50;

/// Changes that may lie between the database and the index before bulk writes wait for the index.
const MOST_BEHIND: i64 = 10_000;

/// How long a bulk write waits for the index before it is refused.
const BULK_WAIT: Duration = Duration::from_secs(30);

/// Holds bulk writes back while the index is far behind, so that what others write meanwhile is still found a moment
/// after it was acknowledged.
pub struct BulkGate {
    positions: watch::Receiver<i64>,
    progress: watch::Receiver<Progress>,
}

impl BulkGate {
    /// A gate before this store, which this indexer follows.
    pub fn new(store: &Store, indexer: &Indexer) -> Self {
        Self { positions: store.positions(), progress: indexer.progress() }
    }

    /// Waits until a write of so many items may begin.
    ///
    /// # Errors
    /// 503 when the index does not come near enough in time.
    pub async fn wait_for_room(&self, items: usize) -> Result<()> {
        if items < BULK_ITEMS {
            return Ok(());
        }
        let mut progress = self.progress.clone();
        let near = |progress: &Progress| {
            // An index that is filled anew stands still for long; the log keeps what is written meanwhile.
            progress.rebuilding || *self.positions.borrow() - progress.position < MOST_BEHIND
        };
        let waited = tokio::time::timeout(BULK_WAIT, progress.wait_for(near)).await;
        match waited {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Error::unavailable(
                "the search index is too far behind; nothing was changed",
                RETRY_AFTER,
            )),
        }
    }
}

/// How far the index is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The change log's position that searches see.
    pub position: i64,
    /// Whether it has been level with the database since the start, or since indexing last failed.
    pub caught_up: bool,
    /// Whether it is being filled anew.
    pub rebuilding: bool,
}

/// A running indexer.
pub struct Indexer {
    progress: watch::Receiver<Progress>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Indexer {
    /// Starts following the store's change log; `rebuild` fills the index anew first.
    pub fn start(store: Store, writer: trawl_index::Writer, batch_changes: u64, rebuild: bool) -> Self {
        let position = writer.checkpoint().map_or(0, |checkpoint| checkpoint.position);
        let (announce, progress) = watch::channel(Progress { position, caught_up: false, rebuilding: false });
        let stop = CancellationToken::new();
        let follower = Follower {
            positions: store.positions(),
            store,
            writer: Some(writer),
            announce,
            stop: stop.clone(),
            batch_changes,
            rebuild,
            cut_up_to: 0,
        };
        Self { progress, stop, task: tokio::spawn(follower.run()) }
    }

    /// How far the index is, and a signal whenever that changes.
    pub fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.clone()
    }

    /// Ends after the batch in hand; what is left is indexed at the next start.
    pub async fn stop(self) {
        self.stop.cancel();
        if let Err(error) = self.task.await {
            tracing::error!(%error, "the indexer did not end in order");
        }
    }
}

struct Follower {
    store: Store,
    positions: watch::Receiver<i64>,
    /// Taken while a blocking thread works with it.
    writer: Option<trawl_index::Writer>,
    announce: watch::Sender<Progress>,
    stop: CancellationToken,
    batch_changes: u64,
    rebuild: bool,
    cut_up_to: i64,
}

impl Follower {
    async fn run(mut self) {
        while !self.stop.is_cancelled() {
            if let Err(error) = self.follow().await {
                tracing::error!(%error, "indexing failed; trying again");
                self.announce.send_modify(|progress| progress.caught_up = false);
                tokio::select! {
                    () = tokio::time::sleep(RETRY_AFTER) => {}
                    () = self.stop.cancelled() => {}
                }
            }
        }
        if let Some(writer) = self.writer.take()
            && let Ok(Err(error)) = tokio::task::spawn_blocking(move || writer.close()).await
        {
            tracing::error!(%error, "the index did not close in order");
        }
    }

    async fn follow(&mut self) -> Result<()> {
        let mut position = self.starting_position().await?;
        while !self.stop.is_cancelled() {
            self.positions.mark_unchanged();
            let entries = self.next_batch(position).await?;
            if let Some(last) = entries.last() {
                position = last.position;
                self.index_entries(entries).await?;
                self.commit(position, true).await?;
                self.announce(position, false);
                self.cut_log(position).await?;
                continue;
            }
            self.announce_caught_up();
            tokio::select! {
                changed = self.positions.changed() => changed.map_err(Error::internal)?,
                () = self.stop.cancelled() => {}
            }
        }
        Ok(())
    }

    /// The index's position, after filling it anew where it does not fit the database.
    async fn starting_position(&mut self) -> Result<i64> {
        let reader = self.store.reader();
        let last = change_log::last_position(reader).await?;
        let first_kept = change_log::first_position(reader).await?.unwrap_or(last + 1);
        let checkpoint = self.writer.as_ref().and_then(|writer| writer.checkpoint().cloned());
        let reason = match &checkpoint {
            _ if self.rebuild => Some("asked for"),
            None if last == 0 => None,
            None => Some("it is new"),
            Some(checkpoint) if checkpoint.store != self.store.id() => Some("it is of another database"),
            Some(checkpoint) if !checkpoint.complete => Some("filling it was interrupted"),
            Some(checkpoint) if checkpoint.position > last => Some("it is ahead of the database"),
            Some(checkpoint) if checkpoint.position + 1 < first_kept => {
                Some("the change log was cut past it")
            }
            Some(_) => None,
        };
        match reason {
            Some(reason) => self.rebuild(last, reason).await,
            None => Ok(checkpoint.map_or(0, |checkpoint| checkpoint.position)),
        }
    }

    /// Fills the index from the rows. What changes meanwhile has an entry after `position` and is followed then.
    async fn rebuild(&mut self, position: i64, reason: &str) -> Result<i64> {
        tracing::info!(reason, "filling the full-text index anew");
        self.announce(position, true);
        self.with_writer(trawl_index::Writer::clear).await?;
        let mut uncommitted = 0;
        let mut documents_in_all = 0;
        for area in Area::ALL {
            let mut sequence = 0;
            while let Some((documents, last)) = area.scan(&self.store, sequence).await? {
                if self.stop.is_cancelled() {
                    return Err(Error::internal("stopped while filling the index"));
                }
                sequence = last;
                uncommitted += documents.len();
                documents_in_all += documents.len();
                let changes = documents.into_iter().map(Change::Put).collect();
                self.with_writer(move |writer| writer.apply(changes)).await?;
                if uncommitted >= REBUILD_COMMIT {
                    self.commit(position, false).await?;
                    uncommitted = 0;
                }
            }
        }
        self.commit(position, true).await?;
        self.rebuild = false;
        self.announce(position, false);
        tracing::info!(documents = documents_in_all, "the full-text index is filled");
        Ok(position)
    }

    /// The next entries, cut where a request ends: what one call changed becomes visible together.
    async fn next_batch(&self, position: i64) -> Result<Vec<Entry>> {
        let mut limit = self.batch_changes;
        loop {
            let mut entries = change_log::entries_after(self.store.reader(), position, limit).await?;
            if let Some(end) = entries.iter().rposition(|entry| entry.is_last) {
                entries.truncate(end + 1);
                return Ok(entries);
            }
            if entries.is_empty() {
                return Ok(entries);
            }
            limit *= 2;
        }
    }

    /// Brings the index to the present state of every item that the entries name.
    async fn index_entries(&mut self, entries: Vec<Entry>) -> Result<()> {
        let mut items: BTreeMap<(i64, String), BTreeSet<String>> = BTreeMap::new();
        for key in entries.into_iter().map(Entry::into_key) {
            items.entry((key.tenant_id, key.module)).or_default().insert(key.item_id);
        }
        let pieces: Vec<Piece> = items
            .into_iter()
            .flat_map(|((tenant_id, module), ids)| {
                let ids: Vec<String> = ids.into_iter().collect();
                let piece = |ids: &[String]| Piece { tenant_id, module: module.clone(), ids: ids.to_vec() };
                ids.chunks(ITEMS_AT_A_TIME).map(piece).collect::<Vec<_>>()
            })
            .collect();
        // The next piece is read while the one before it is indexed.
        let store = self.store.clone();
        let mut read = futures::stream::iter(pieces)
            .map(move |piece| tokio::spawn(piece.read(store.clone())))
            .buffered(2);
        while let Some(changes) = read.next().await {
            let changes = changes.map_err(Error::internal)??;
            self.with_writer(move |writer| writer.apply(changes)).await?;
        }
        Ok(())
    }

    async fn commit(&mut self, position: i64, complete: bool) -> Result<()> {
        let checkpoint = Checkpoint { store: self.store.id().to_owned(), position, complete };
        self.with_writer(move |writer| writer.commit(&checkpoint)).await
    }

    /// Runs blocking work on the index. A panic in it loses the writer, and with it this process's indexing: that
    /// is an error on every later round, never a silent stop.
    async fn with_writer<W>(&mut self, work: W) -> Result<()>
    where
        W: FnOnce(&mut trawl_index::Writer) -> Result<(), trawl_index::Error> + Send + 'static,
    {
        let mut writer = self.writer.take().ok_or_else(|| Error::internal("the index writer is lost"))?;
        let (writer, result) = tokio::task::spawn_blocking(move || {
            let result = work(&mut writer);
            (writer, result)
        })
        .await
        .map_err(Error::internal)?;
        self.writer = Some(writer);
        result.map_err(Error::internal)
    }

    /// Removes log entries that the durable index has behind it.
    async fn cut_log(&mut self, position: i64) -> Result<()> {
        if position - self.cut_up_to < KEPT_ENTRIES {
            return Ok(());
        }
        loop {
            let removed = self
                .store
                .write(move |transaction| {
                    Box::pin(async move {
                        Ok(change_log::remove_up_to(transaction, position, CUT_ENTRIES).await?)
                    })
                })
                .await?;
            if removed < CUT_ENTRIES {
                self.cut_up_to = position;
                return Ok(());
            }
        }
    }

    fn announce(&self, position: i64, rebuilding: bool) {
        metrics::counter!("trawl_index_position").absolute(u64::try_from(position).unwrap_or_default());
        self.announce.send_modify(|progress| {
            progress.position = position;
            progress.rebuilding = rebuilding;
        });
    }

    fn announce_caught_up(&self) {
        self.announce.send_if_modified(|progress| !std::mem::replace(&mut progress.caught_up, true));
    }
}

/// The areas of the platform whose rows are searched.
#[derive(Clone, Copy)]
enum Area {
    Contents,
    Tasks,
}

impl Area {
    const ALL: [Self; 2] = [Self::Contents, Self::Tasks];

    /// The area that a built-in module's items belong to.
    fn of(module: &str) -> Self {
        match module {
            tasks::documents::TODO => Self::Tasks,
            _ => Self::Contents,
        }
    }

    async fn find(
        self,
        store: &Store,
        tenant_id: i64,
        module: &str,
        ids: &[String],
    ) -> Result<Vec<Document>> {
        match self {
            Self::Contents => contents::documents::find(store.reader(), tenant_id, module, ids).await,
            Self::Tasks => tasks::documents::find(store.reader(), tenant_id, ids).await,
        }
    }

    async fn scan(self, store: &Store, sequence: i64) -> Result<Option<(Vec<Document>, i64)>> {
        match self {
            Self::Contents => contents::documents::scan(store.reader(), sequence, REBUILD_ROWS).await,
            Self::Tasks => tasks::documents::scan(store.reader(), sequence, REBUILD_ROWS).await,
        }
    }
}

/// Items of one module that changed.
struct Piece {
    tenant_id: i64,
    module: String,
    ids: Vec<String>,
}

impl Piece {
    /// Brings the index to their present state: puts what is there and removes what is not.
    async fn read(self, store: Store) -> Result<Vec<Change>> {
        let documents = Area::of(&self.module).find(&store, self.tenant_id, &self.module, &self.ids).await?;
        let scope = Scope::new(self.tenant_id, self.module);
        let found: HashSet<&str> = documents.iter().map(|document| document.id.as_str()).collect();
        let gone = self.ids.iter().filter(|id| !found.contains(id.as_str()));
        let mut changes: Vec<Change> =
            gone.map(|id| Change::Remove { scope: scope.clone(), id: id.clone() }).collect();
        changes.extend(documents.into_iter().map(Change::Put));
        Ok(changes)
    }
}
