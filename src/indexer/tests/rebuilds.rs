//! Rebuilds step by step, and searches meanwhile.

use super::*;

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
    let (_, before) = (found(&served, tenant).await, served.view(&viewer(tenant)).unwrap().view.generation());
    while follower.scan.is_some() {
        follower.continue_scan().await.unwrap();
    }
    assert!(!follower.sinks.is_beside());
    assert!(served.view(&viewer(tenant)).unwrap().view.generation() > before);
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
    assert_eq!(begun.await.unwrap().unwrap_err(), rebuild_request::RebuildRefusal::UnderWay);
    follower.scan = None;
    follower.sinks.let_go().await;
    follower.rows.store = store.clone().with_disk_reserve(directory.path(), u64::MAX / 2);
    follower.prepare().await.unwrap();
    assert!(!follower.announcer.now().is_rebuilding() && !follower.sinks.is_beside());
    assert_eq!(follower.announcer.now().rebuild, Rebuild::Failed);
    assert_eq!(found(&served, tenant).await, (ITEMS as u64, None));
    let (ask, begun) = tokio::sync::oneshot::channel();
    assert!(!follower.takes_up(ask));
    assert_eq!(begun.await.unwrap().unwrap_err(), rebuild_request::RebuildRefusal::NoRoom);
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

/// The served index follows all changes although the database fails.
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
    assert_eq!(follower.requests.state, rebuild_request::RebuildState::UnderWay);
    follower.recover(IndexFailure::Unusable("a test says so".to_owned())).await;
    follower.prepare().await.unwrap();
    assert!(!follower.sinks.is_beside() && follower.scan.is_some());
    let trouble = break_index(&mut follower).await;
    follower.recover(trouble).await;
    assert_eq!(follower.requests.state, rebuild_request::RebuildState::None, "nothing was given up");
    follower.prepare().await.unwrap();
    while follower.scan.is_some() {
        follower.continue_scan().await.unwrap();
    }
    assert_eq!(found(&served, tenant).await, (10, None));
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
