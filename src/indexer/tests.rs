//! The indexer over an embedded index, step by step.

mod log;
mod rebuilds;
mod recovery;

use std::fs;

use futures::future::join_all;
use tempfile::TempDir;
use tokio::sync::Notify;
use trawl_engine::{Change, Checkpoint, Engine, Failure, Query, Request, Scope, Sink, Start, View};
use trawl_search::{Viewer, sources::builtin::ServedView};

use super::{
    commit_schedule::Rest,
    follower::{self, Follower},
    reader::{LogReader, ReaderStep},
    rebuild_request,
    sinks::IndexFailure,
    *,
};
use crate::{
    auth::tenants,
    platform::tenants::service,
    replicas::{Replicas, SharedSettings},
    store::{change_log, now_millis, sql},
};

const ITEMS: usize = 2_500;

async fn store(directory: &Path, items: usize) -> (Store, i64) {
    let store = Store::open(directory, 2).await.unwrap();
    let tenant = tenant(&store, "acme").await;
    put(&store, tenant, 0..items).await;
    (store, tenant)
}

async fn tenant(store: &Store, code: &'static str) -> i64 {
    let made = store
        .write(move |transaction| Box::pin(async move { Ok(tenants::create(transaction, code).await?.id) }));
    made.await.unwrap()
}

async fn put(store: &Store, tenant: i64, numbers: std::ops::Range<usize>) {
    let written = store.write(move |transaction| {
        Box::pin(async move {
            for number in numbers {
                let id = format!("id{number:05}");
                let text = "INSERT OR REPLACE INTO contents (tenant_id, module, id, display_time, created_at, item) \
                            VALUES (?, 'article', ?, ?, ?, '{\"title\": \"harbour\"}')";
                let time = i64::try_from(number).unwrap();
                let values = [tenant.into(), id.as_str().into(), time.into(), now_millis().into()];
                sql(text, values).execute(transaction).await?;
                transaction.record_change(tenant, "article", &id);
            }
            Ok(())
        })
    });
    written.await.unwrap();
}

fn viewer(tenant_id: i64) -> Viewer {
    Viewer { tenant_id, user_id: None, client_id: "app".into(), principals: Arc::default() }
}

async fn found(served: &ServedIndex, tenant: i64) -> (u64, Option<String>) {
    let ServedView { view, incomplete, .. } = served.view(&viewer(tenant)).expect("nothing is served");
    (total(&*view, tenant, "article", Arc::default()).await, incomplete)
}

async fn total(view: &dyn View, tenant: i64, module: &str, principals: Arc<[String]>) -> u64 {
    let request = Request {
        scope: Arc::new(Scope::new(tenant, module)),
        query: Arc::new(Query::parse("harbour ")),
        principals,
        from: None,
        to: None,
        author: None,
        start: Start::Time { after: None, whole_ties: None },
        limit: 10,
    };
    view.search(&Arc::new(request)).await.unwrap().total
}

fn config(directory: &Path) -> Config {
    let mut config = Config { data: directory.to_owned(), ..Config::default() };
    config.index = config::IndexSettings { writer_memory_bytes: 32 << 20, batch_changes: 100 };
    config
}

async fn leases(store: &Store) -> Leases {
    Replicas::join(store, "one", &SharedSettings::default()).await.unwrap().leases().clone()
}

async fn start(store: &Store, directory: &Path) -> Indexer {
    Indexer::start(store.clone(), leases(store).await, &config(directory), false).await.unwrap()
}

async fn level(store: &Store, directory: &Path) -> Indexer {
    let indexer = start(store, directory).await;
    settle(store, &indexer).await;
    indexer
}

async fn settle(store: &Store, indexer: &Indexer) {
    let position = *store.positions().borrow();
    let mut progress = indexer.progress();
    let is_level = |progress: &Progress| {
        progress.position >= position && progress.caught_up && !progress.is_rebuilding()
    };
    tokio::time::timeout(Duration::from_mins(1), progress.wait_for(is_level)).await.unwrap().unwrap();
}

async fn steps(store: &Store, directory: &Path, rebuild: bool) -> (Follower, Arc<ServedIndex>) {
    let config = config(directory);
    let context = EngineContext {
        rows: Rows { store: store.clone(), public_url: "https://trawl.example".into() },
        data: config.data,
        settings: config.index,
        leases: leases(store).await,
        cluster: None,
        own_indexes: Vec::new(),
        followed: Followed::default(),
        waiting: WaitingSearches::default(),
        _lock: lock(directory).unwrap(),
    };
    let served = Arc::new(ServedIndex::default());
    let announcer = Announcer::new(store.commits(), Freshness::default());
    let outputs = Outputs { served: Arc::clone(&served), announcer };
    let indexes = trawl_index::EmbeddedIndexes::new(directory, context.settings.writer_memory_bytes);
    let asked = mpsc::channel(1).1;
    let stop = CancellationToken::new();
    (Follower::new(&context, Box::new(indexes), &outputs, asked, rebuild, stop), served)
}

/// Fails, as after a panic of the writer.
struct BrokenSink;

#[async_trait::async_trait]
impl Sink for BrokenSink {
    fn engine(&self) -> Arc<dyn Engine> {
        panic!("a broken index is not served");
    }

    fn checkpoint(&self) -> Option<&Checkpoint> {
        None
    }

    fn note(&self) -> Option<&str> {
        None
    }

    async fn apply(&mut self, _changes: Vec<Change>) -> Result<(), Failure> {
        Err(Failure::Failed("a test breaks the index".to_owned()))
    }

    async fn commit(&mut self, _checkpoint: &Checkpoint, _note: Option<String>) -> Result<(), Failure> {
        Err(Failure::Failed("a test breaks the index".to_owned()))
    }
}

#[derive(Debug, PartialEq)]
enum Asked {
    Bulk(bool),
    Apply,
    Commit(i64),
}

/// Keeps nothing, and tells what it is asked.
struct RecordingSink {
    engine: Arc<dyn Engine>,
    checkpoint: Checkpoint,
    asked: mpsc::UnboundedSender<Asked>,
    /// What applying waits for.
    may_end: Option<Arc<Notify>>,
}

#[async_trait::async_trait]
impl Sink for RecordingSink {
    fn engine(&self) -> Arc<dyn Engine> {
        Arc::clone(&self.engine)
    }

    fn checkpoint(&self) -> Option<&Checkpoint> {
        Some(&self.checkpoint)
    }

    fn note(&self) -> Option<&str> {
        None
    }

    fn set_bulk(&mut self, is_bulk: bool) {
        self.tell(Asked::Bulk(is_bulk));
    }

    async fn apply(&mut self, _changes: Vec<Change>) -> Result<(), Failure> {
        self.tell(Asked::Apply);
        if let Some(may_end) = &self.may_end {
            may_end.notified().await;
        }
        Ok(())
    }

    async fn commit(&mut self, checkpoint: &Checkpoint, _note: Option<String>) -> Result<(), Failure> {
        self.tell(Asked::Commit(checkpoint.position));
        Ok(())
    }
}

impl RecordingSink {
    fn tell(&self, asked: Asked) {
        // A test may have ended.
        drop(self.asked.send(asked));
    }
}

/// Has a recording sink filled in place of the open one.
fn record(
    follower: &mut Follower,
    served: &ServedIndex,
    may_end: Option<Arc<Notify>>,
) -> mpsc::UnboundedReceiver<Asked> {
    let (checkpoint, _) = follower.sinks.checkpoint().unwrap();
    let (asked, receiver) = mpsc::unbounded_channel();
    let engine = served.engine().unwrap();
    follower.sinks.replace_filled(Box::new(RecordingSink { engine, checkpoint, asked, may_end }));
    receiver
}

async fn break_index(follower: &mut Follower) -> IndexFailure {
    follower.sinks.replace_filled(Box::new(BrokenSink));
    follower.sinks.fill(Vec::new()).await.unwrap_err()
}

async fn filled(items: usize) -> (TempDir, Store, i64) {
    let directory = tempfile::tempdir().unwrap();
    let (store, tenant) = store(directory.path(), items).await;
    level(&store, directory.path()).await.stop().await;
    (directory, store, tenant)
}
