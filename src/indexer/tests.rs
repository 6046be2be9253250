//! Rebuilds step by step, searches meanwhile, and recovery.

use std::{fs, path::Path};

use futures::future::join_all;
use tempfile::TempDir;
use tokio::sync::Notify;
use trawl_engine::{Change, Checkpoint, Engine, Failure, Query, Request, Scope, Sink, Start, View};
use trawl_search::sources::builtin::ServedView;

use super::{
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

async fn remove(store: &Store, tenant: i64, id: &'static str) {
    let removed = store.write(move |transaction| {
        Box::pin(async move {
            let values = [tenant.into(), id.into()];
            sql("DELETE FROM contents WHERE tenant_id = ? AND id = ?", values).execute(transaction).await?;
            transaction.record_change(tenant, "article", id);
            Ok(())
        })
    });
    removed.await.unwrap();
}

async fn found(served: &ServedIndex, tenant: i64) -> (u64, Option<String>) {
    let ServedView { view, incomplete, .. } = served.view().expect("nothing is served");
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
    config.index = config::Index { writer_memory_bytes: 32 << 20, batch_changes: 100 };
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
    let context = Context {
        rows: Rows { store: store.clone(), public_url: "https://trawl.example".into() },
        data: config.data,
        settings: config.index,
        leases: leases(store).await,
        cluster: None,
        own_indexes: Vec::new(),
        followed: Followed::default(),
        _lock: DataLock::take(directory).unwrap(),
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

/// Applies nothing, and waits before it says so.
struct HangingSink {
    engine: Arc<dyn Engine>,
    checkpoint: Checkpoint,
    hangs: Arc<Notify>,
    may_end: Arc<Notify>,
}

#[async_trait::async_trait]
impl Sink for HangingSink {
    fn engine(&self) -> Arc<dyn Engine> {
        Arc::clone(&self.engine)
    }

    fn checkpoint(&self) -> Option<&Checkpoint> {
        Some(&self.checkpoint)
    }

    fn note(&self) -> Option<&str> {
        None
    }

    async fn apply(&mut self, _changes: Vec<Change>) -> Result<(), Failure> {
        self.hangs.notify_one();
        self.may_end.notified().await;
        Ok(())
    }

    async fn commit(&mut self, _checkpoint: &Checkpoint, _note: Option<String>) -> Result<(), Failure> {
        Ok(())
    }
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

#[tokio::test]
async fn rebuilt_items_are_found_at_once_with_progress() {
    let directory = tempfile::tempdir().unwrap();
    let (store, tenant) = store(directory.path(), ITEMS).await;
    let (mut follower, served) = steps(&store, directory.path(), false).await;
    follower.prepare().await.unwrap();
    let message = |done| Some(format!("the index is being rebuilt; {done} of {ITEMS} items are there"));
    assert_eq!(found(&served, tenant).await, (0, message(0)));
    follower.scan.as_mut().unwrap().committed_at -= Duration::from_mins(1);
    follower.continue_scan().await.unwrap();
    assert_eq!(found(&served, tenant).await.0, 1_000);
    let (_, lacking) = found(&served, tenant).await;
    assert_ne!(lacking, None);
    drop(follower);
    let (mut follower, served) = steps(&store, directory.path(), false).await;
    follower.prepare().await.unwrap();
    assert_eq!(found(&served, tenant).await, (1_000, message(1_000)));
    while follower.scan.is_some() {
        follower.continue_scan().await.unwrap();
    }
    assert_eq!(found(&served, tenant).await, (ITEMS as u64, None));
}

#[tokio::test]
async fn changes_during_a_rebuild_are_found() {
    let directory = tempfile::tempdir().unwrap();
    let (store, tenant) = store(directory.path(), ITEMS).await;
    let (mut follower, served) = steps(&store, directory.path(), false).await;
    follower.prepare().await.unwrap();
    follower.continue_scan().await.unwrap();
    remove(&store, tenant, "id00001").await;
    remove(&store, tenant, "id02400").await;
    put(&store, tenant, ITEMS..ITEMS + 50).await;
    let stop = follower.stop.clone();
    let task = tokio::spawn(follower.run());
    let position = *store.positions().borrow();
    let level = async {
        loop {
            let (total, lacking) = found(&served, tenant).await;
            if lacking.is_none() && total == ITEMS as u64 + 48 {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), level).await.unwrap();
    assert_eq!(position, *store.positions().borrow());
    stop.cancel();
    task.await.unwrap();
}

#[tokio::test]
async fn requested_rebuild_serves_the_old_index_until_replaced() {
    let (directory, store, tenant) = filled(ITEMS).await;
    let (mut follower, served) = steps(&store, directory.path(), true).await;
    follower.prepare().await.unwrap();
    assert!(follower.sinks.is_beside());
    assert_eq!(found(&served, tenant).await, (ITEMS as u64, None));
    follower.continue_scan().await.unwrap();
    assert_eq!(found(&served, tenant).await, (ITEMS as u64, None));
    // A kill: the next start begins the requested rebuild again. Earlier writes are not followed yet.
    drop(follower);
    put(&store, tenant, 0..1).await;
    let (mut follower, served) = steps(&store, directory.path(), false).await;
    follower.prepare().await.unwrap();
    assert!(follower.sinks.is_beside());
    put(&store, tenant, ITEMS..ITEMS + 5).await;
    let (_, before) = (found(&served, tenant).await, served.view().unwrap().view.generation());
    while follower.scan.is_some() {
        follower.continue_scan().await.unwrap();
    }
    assert!(!follower.sinks.is_beside());
    assert!(served.view().unwrap().view.generation() > before);
    let (total, lacking) = found(&served, tenant).await;
    assert_eq!(total, ITEMS as u64 + 5);
    assert!(lacking.unwrap().contains("behind"));
    assert!(!directory.path().join("index.fresh").exists() && !directory.path().join("index.old").exists());
    drop(follower);
    let indexer = level(&store, directory.path()).await;
    assert_eq!(found(&indexer.served(), tenant).await, (ITEMS as u64 + 5, None));
    indexer.stop().await;
}

#[tokio::test]
async fn abandoned_rebuild_leaves_the_index_unchanged() {
    let (directory, store, tenant) = filled(ITEMS).await;
    let (mut follower, served) = steps(&store, directory.path(), true).await;
    follower.prepare().await.unwrap();
    follower.continue_scan().await.unwrap();
    assert!(follower.announcer.now().is_rebuilding());
    let (ask, begun) = tokio::sync::oneshot::channel();
    assert!(!follower.takes_up(ask), "one at a time");
    assert_eq!(begun.await.unwrap().unwrap_err(), rebuild_request::Refusal::UnderWay);
    follower.scan = None;
    follower.sinks.let_go().await;
    follower.rows.store = store.clone().with_disk_reserve(directory.path(), u64::MAX / 2);
    follower.prepare().await.unwrap();
    assert!(!follower.announcer.now().is_rebuilding() && !follower.sinks.is_beside());
    assert_eq!(follower.announcer.now().rebuild, Rebuild::Failed);
    assert_eq!(found(&served, tenant).await, (ITEMS as u64, None));
    let (ask, begun) = tokio::sync::oneshot::channel();
    assert!(!follower.takes_up(ask));
    assert_eq!(begun.await.unwrap().unwrap_err(), rebuild_request::Refusal::NoRoom);
}

#[tokio::test]
async fn failed_rebuild_is_repeated_only_on_request() {
    let (directory, store, tenant) = filled(ITEMS).await;
    let (mut follower, served) = steps(&store, directory.path(), true).await;
    follower.prepare().await.unwrap();
    follower.continue_scan().await.unwrap();
    assert!(follower.sinks.is_beside());
    assert!(follower.announcer.now().rebuild != Rebuild::Failed);
    let trouble = break_index(&mut follower).await;
    follower.recover(trouble).await;
    follower.prepare().await.unwrap();
    assert!(!follower.announcer.now().is_rebuilding() && !follower.sinks.is_beside());
    assert_eq!(follower.announcer.now().rebuild, Rebuild::Failed);
    assert_eq!(found(&served, tenant).await, (ITEMS as u64, None));
    let (ask, _begun) = tokio::sync::oneshot::channel();
    assert!(follower.takes_up(ask));
    follower.sinks.let_go().await;
    follower.prepare().await.unwrap();
    assert!(follower.sinks.is_beside() && follower.announcer.now().rebuild != Rebuild::Failed);
}

/// The database fails as a rebuild begins; the served index must still follow all changes.
#[tokio::test]
async fn refused_rebuild_leaves_the_index_in_place() {
    let (directory, store, tenant) = filled(10).await;
    let rename = async |text: &'static str| {
        let renamed = store.write(move |transaction| {
            Box::pin(async move { Ok(sql(text, []).execute(transaction).await.map(drop)?) })
        });
        renamed.await.unwrap();
    };
    let position = *store.positions().borrow();
    let (mut follower, served) = steps(&store, directory.path(), true).await;
    rename("ALTER TABLE contents RENAME TO away").await;
    let trouble = follower.prepare().await.unwrap_err();
    assert!(matches!(trouble, IndexFailure::Store(_)), "{trouble:?}");
    assert!(follower.sinks.is_beside() && follower.scan.is_none());
    rename("ALTER TABLE away RENAME TO contents").await;
    put(&store, tenant, 10..15).await;
    follower.recover(trouble).await;
    follower.prepare().await.unwrap();
    assert!(follower.sinks.is_beside() && follower.scan.is_some());
    assert_eq!(follower.position, position);
    assert_eq!(found(&served, tenant).await.0, 10);
}

#[tokio::test]
async fn damage_ends_a_rebuild_beside_the_index() {
    let (directory, store, tenant) = filled(10).await;
    let (mut follower, served) = steps(&store, directory.path(), true).await;
    follower.prepare().await.unwrap();
    assert_eq!(follower.beside, rebuild_request::RebuildState::UnderWay);
    follower.recover(IndexFailure::Unusable("a test says so".to_owned())).await;
    follower.prepare().await.unwrap();
    assert!(!follower.sinks.is_beside() && follower.scan.is_some());
    let trouble = break_index(&mut follower).await;
    follower.recover(trouble).await;
    assert_eq!(follower.beside, rebuild_request::RebuildState::None, "nothing was given up");
    follower.prepare().await.unwrap();
    while follower.scan.is_some() {
        follower.continue_scan().await.unwrap();
    }
    assert_eq!(found(&served, tenant).await, (10, None));
}

#[tokio::test]
async fn indexing_resumes_after_a_failure_of_the_writer() {
    let (directory, store, tenant) = filled(10).await;
    let (mut follower, served) = steps(&store, directory.path(), false).await;
    follower.prepare().await.unwrap();
    put(&store, tenant, 10..15).await;
    let trouble = break_index(&mut follower).await;
    assert!(matches!(trouble, IndexFailure::Failed(_)), "{trouble:?}");
    assert!(!follower.sinks.is_open());
    follower.recover(trouble).await;
    let (total, lacking) = found(&served, tenant).await;
    assert_eq!(total, 10);
    assert!(lacking.unwrap().contains("behind"));
    let stop = follower.stop.clone();
    let task = tokio::spawn(follower.run());
    let level = async {
        while found(&served, tenant).await != (15, None) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), level).await.unwrap();
    stop.cancel();
    task.await.unwrap();
}

#[tokio::test]
async fn changes_that_an_engine_keeps_waiting_are_told_of_as_missing() {
    let (directory, store, tenant) = filled(10).await;
    let (mut follower, served) = steps(&store, directory.path(), false).await;
    follower.prepare().await.unwrap();
    let (hangs, may_end) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (checkpoint, _) = follower.sinks.checkpoint().unwrap();
    follower.sinks.replace_filled(Box::new(HangingSink {
        engine: served.engine().unwrap(),
        checkpoint,
        hangs: Arc::clone(&hangs),
        may_end: Arc::clone(&may_end),
    }));
    let stop = follower.stop.clone();
    let task = tokio::spawn(follower.run());
    put(&store, tenant, 10..15).await;
    hangs.notified().await;
    assert_eq!(found(&served, tenant).await, (10, None));
    tokio::time::pause();
    tokio::time::advance(follower::LATE_AFTER).await;
    tokio::time::resume();
    let told = |is_behind| {
        let served = Arc::clone(&served);
        tokio::time::timeout(Duration::from_mins(1), async move {
            while found(&served, tenant).await.1.is_some() != is_behind {
                tokio::task::yield_now().await;
            }
        })
    };
    told(true).await.unwrap();
    // The end of the log that was met before them is no end any more.
    put(&store, tenant, 15..20).await;
    may_end.notify_one();
    hangs.notified().await;
    assert!(found(&served, tenant).await.1.is_some());
    may_end.notify_one();
    told(false).await.unwrap();
    stop.cancel();
    task.await.unwrap();
}

/// Each mismatch is detected at the start and repaired in the background.
#[tokio::test]
async fn index_of_another_database_is_rebuilt() {
    let (directory, store, tenant) = filled(20).await;
    let (other_directory, other_store, other_tenant) = filled(7).await;
    let index = directory.path().join("index");
    // The index of another database, whose tenant has the same number.
    assert_eq!(tenant, other_tenant);
    fs::remove_dir_all(&index).unwrap();
    fs::rename(other_directory.path().join("index"), &index).unwrap();
    let indexer = start(&store, directory.path()).await;
    let (total, lacking) = found(&indexer.served(), tenant).await;
    assert!(total == 0 || lacking.is_none() && total == 20, "{total} {lacking:?}");
    settle(&store, &indexer).await;
    assert_eq!(found(&indexer.served(), tenant).await, (20, None));
    indexer.stop().await;
    other_store.close().await.unwrap();

    // A file instead of the directory; then a truncated log.
    fs::remove_dir_all(&index).unwrap();
    fs::write(&index, "in the way").unwrap();
    let indexer = level(&store, directory.path()).await;
    assert_eq!(found(&indexer.served(), tenant).await, (20, None));
    indexer.stop().await;
    put(&store, tenant, 20..30).await;
    let cut = store.write(|transaction| {
        Box::pin(async move { Ok(change_log::remove_up_to(transaction, 25, 100).await?) })
    });
    cut.await.unwrap();
    let indexer = level(&store, directory.path()).await;
    assert_eq!(found(&indexer.served(), tenant).await, (30, None));
    indexer.stop().await;
}

#[tokio::test]
async fn entries_that_are_gone_are_noticed_by_their_reader() {
    let directory = tempfile::tempdir().unwrap();
    let (store, _) = store(directory.path(), 30).await;
    let cut = store.write(|transaction| {
        Box::pin(async move { Ok(change_log::remove_up_to(transaction, 10, 100).await?) })
    });
    cut.await.unwrap();
    for (position, is_gone) in [(9, true), (10, false)] {
        let (sender, mut steps) = mpsc::channel(1);
        let rows = Rows { store: store.clone(), public_url: "https://trawl.example".into() };
        let reader = LogReader { rows, positions: store.positions(), batch_changes: 100, steps: sender };
        let reading = tokio::spawn(reader.run(position));
        let first = steps.recv().await.unwrap();
        assert_eq!(matches!(first, ReaderStep::Truncated), is_gone, "from {position}");
        drop(steps);
        reading.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn engines_of_one_process_keep_what_the_slower_has_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    let (store, _) = store(directory.path(), 0).await;
    let announcers = [0, 1].map(|_| Announcer::new(store.commits(), Freshness::default()));
    let followed = Followed::default();
    assert_eq!(followed.least(), i64::MAX);
    for announcer in [&announcers[0], &announcers[1], &announcers[0]] {
        followed.add(announcer.subscribe());
    }
    announcers[0].reach(7);
    assert_eq!(followed.least(), 0);
    announcers[1].reach(5);
    assert_eq!(followed.least(), 5);
    followed.remove(&announcers[1].subscribe());
    assert_eq!(followed.least(), 7);
}

#[tokio::test]
async fn restored_database_is_searched_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let (store, tenant) = store(directory.path(), 10).await;
    store.close().await.unwrap();
    let [database, backup] = ["trawl.db", "backup.db"].map(|name| directory.path().join(name));
    fs::copy(&database, &backup).unwrap();
    let store = Store::open(directory.path(), 2).await.unwrap();
    put(&store, tenant, 10..40).await;
    level(&store, directory.path()).await.stop().await;
    store.close().await.unwrap();
    assert!(!directory.path().join("trawl.db-wal").exists());
    fs::rename(backup, database).unwrap();
    let store = Store::open(directory.path(), 2).await.unwrap();
    let indexer = level(&store, directory.path()).await;
    assert_eq!(found(&indexer.served(), tenant).await, (10, None));
    indexer.stop().await;
}

#[tokio::test]
async fn removed_tenant_leaves_no_documents() {
    let (directory, store, acme) = filled(30).await;
    let globex = tenant(&store, "globex").await;
    put(&store, globex, 0..20).await;
    level(&store, directory.path()).await.stop().await;
    // The removal stands in one batch with earlier and later changes.
    put(&store, acme, 30..35).await;
    let removed =
        store.write(move |transaction| Box::pin(async move { service::remove(transaction, acme).await }));
    assert!(removed.await.unwrap());
    put(&store, acme, 35..40).await;
    put(&store, globex, 20..25).await;
    let again = tenant(&store, "acme").await;
    assert_ne!(again, acme);
    put(&store, again, 0..3).await;
    let indexer = level(&store, directory.path()).await;
    let served = indexer.served();
    let totals = join_all([acme, globex, again].map(|tenant| found(&served, tenant))).await;
    assert_eq!(totals, [(0, None), (25, None), (3, None)]);
    assert_eq!(served.engine().unwrap().documents().await.unwrap(), 28);
    let removed =
        store.write(move |transaction| Box::pin(async move { service::remove(transaction, acme).await }));
    assert!(!removed.await.unwrap());
    indexer.stop().await;
}

#[tokio::test]
async fn tenant_removed_during_a_rebuild_leaves_no_documents() {
    let directory = tempfile::tempdir().unwrap();
    let (store, acme) = store(directory.path(), 1_500).await;
    let (mut follower, served) = steps(&store, directory.path(), false).await;
    follower.prepare().await.unwrap();
    follower.continue_scan().await.unwrap();
    let removed =
        store.write(move |transaction| Box::pin(async move { service::remove(transaction, acme).await }));
    assert!(removed.await.unwrap());
    drop(follower);
    let indexer = level(&store, directory.path()).await;
    assert_eq!(found(&indexer.served(), acme).await, (0, None));
    assert_eq!(indexer.served().engine().unwrap().documents().await.unwrap(), 0);
    indexer.stop().await;
    drop(served);
}

/// A task done between both reads is in the other module already.
#[tokio::test]
async fn moved_task_is_indexed_by_its_present_state() {
    let directory = tempfile::tempdir().unwrap();
    let (store, tenant) = store(directory.path(), 0).await;
    let indexer = level(&store, directory.path()).await;
    for (status, standing) in [(0, [1, 0]), (1, [0, 1])] {
        let written = store.write(move |transaction| {
            Box::pin(async move {
                let text = "INSERT OR REPLACE INTO tasks (id, tenant_id, application, app_task_id, status, \
                            assignee_login_id, created_at, task) VALUES ('t', ?, 'a', 't', ?, 'mei', 1, ?)";
                let task = r#"{"appTaskId": "t", "title": "harbour", "assigneeLoginId": "mei"}"#;
                sql(text, [tenant.into(), status.into(), task.into()]).execute(transaction).await?;
                transaction.record_change(tenant, "todo", "t");
                Ok(())
            })
        });
        written.await.unwrap();
        settle(&store, &indexer).await;
        let ServedView { view, .. } = indexer.served().view().unwrap();
        let mut totals = [0; 2];
        for (total_of_module, module) in totals.iter_mut().zip(["todo", "done"]) {
            *total_of_module = total(&*view, tenant, module, ["l:mei".to_owned()].into()).await;
        }
        assert_eq!(totals, standing);
    }
    indexer.stop().await;
}
