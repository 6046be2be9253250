//! Failures of the engine, and indexes that do not match the database.

use super::*;

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
    let may_end = Arc::new(Notify::new());
    let mut asked = record(&mut follower, &served, Some(Arc::clone(&may_end)));
    let stop = follower.stop.clone();
    let task = tokio::spawn(follower.run());
    let put_at = tokio::time::Instant::now();
    put(&store, tenant, 10..15).await;
    while asked.recv().await != Some(Asked::Apply) {}
    let (total, lacking) = found(&served, tenant).await;
    assert_eq!(total, 10);
    assert!(lacking.is_none() || put_at.elapsed() >= follower::LATE_AFTER, "{lacking:?}");
    let pass_time = async || {
        tokio::time::pause();
        tokio::time::advance(follower::LATE_AFTER).await;
        tokio::time::resume();
    };
    pass_time().await;
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
    // The reader may have met that end only after the first wait.
    pass_time().await;
    may_end.notify_one();
    while asked.recv().await != Some(Asked::Apply) {}
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
