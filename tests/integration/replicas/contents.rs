//! Contents of files that replicas keep and sweep at once.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures::TryStreamExt;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::util::{
    app::TestApp,
    caller::Caller,
    database::read,
    eventually,
    files::{delete, put_file, take},
    groups::people,
    internals::{Contents, Store},
};

/// Few, so that commits and removals of one content meet.
const CONTENTS: usize = 5;

/// `TRAWL_TEST_ROUNDS` asks for more.
fn commits_of_each() -> usize {
    std::env::var("TRAWL_TEST_ROUNDS").map_or(25, |rounds| rounds.parse().unwrap())
}

/// Each of four clients puts a file, reads it back and deletes it.
async fn put_and_delete(caller: Caller, client: usize) {
    for number in 0..commits_of_each() {
        let content = format!("content {}", (number + client) % CONTENTS).into_bytes();
        let file = put_file(&caller, "root", &format!("{client}-{number}.txt"), &content).await;
        assert_eq!(take(&caller, &file, None).await, content, "content {number} of client {client} is lost");
        delete(&caller, &[&file]).await.ok();
    }
}

/// Removes keys some time after it read them.
///
/// A sweeper does so whose process was stopped in between.
async fn sweep_late(contents: Contents, store: Store, seed: u64, is_over: Arc<AtomicBool>) {
    let mut random = fastrand::Rng::with_seed(seed);
    while !is_over.load(Ordering::Relaxed) {
        let keys: Vec<(String,)> = read(&store, "SELECT store_key FROM removed_blobs", vec![]).await;
        tokio::time::sleep(Duration::from_millis(random.u64(0..100))).await;
        for (key,) in keys {
            contents.store().remove(&key).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_content_is_lost_to_two_sweepers() {
    let (app, acme) = TestApp::start_with_acme().await;
    let callers = people(&app, &acme, ["mei", "omar", "lin", "kim"]).await;
    let is_over = Arc::new(AtomicBool::new(false));
    let mut sweepers = JoinSet::new();
    for _ in 0..2 {
        // A sweeper of another process shares nothing but the database and the store of contents.
        let contents = Contents::new(Arc::clone(&app.app.blobs));
        let (store, is_over) = (app.app.store.clone(), Arc::clone(&is_over));
        sweepers.spawn(async move {
            while !is_over.load(Ordering::Relaxed) {
                contents.remove_doubtful(&store, &CancellationToken::new()).await.unwrap();
                tokio::task::yield_now().await;
            }
        });
    }
    let (contents, store) = (Contents::new(Arc::clone(&app.app.blobs)), app.app.store.clone());
    sweepers.spawn(sweep_late(contents, store, trawl_seeds::seed(), Arc::clone(&is_over)));
    let mut clients = JoinSet::new();
    for (client, caller) in callers.into_iter().enumerate() {
        clients.spawn(put_and_delete(caller, client));
    }
    clients.join_all().await;
    is_over.store(true, Ordering::Relaxed);
    sweepers.join_all().await;

    let text = "SELECT store_key FROM blobs UNION ALL SELECT store_key FROM removed_blobs";
    app.execute("UPDATE doubtful_blobs SET noted_at = 0").await;
    let contents = Contents::new(Arc::clone(&app.app.blobs));
    eventually("the last sweep", async || {
        contents.remove_doubtful(&app.app.store, &CancellationToken::new()).await.unwrap();
        let rows: Vec<(String,)> = read(&app.app.store, text, vec![]).await;
        rows.is_empty().then_some(())
    })
    .await;
    let stored: Vec<_> = app.app.blobs.list().await.unwrap().try_collect().await.unwrap();
    assert!(stored.is_empty(), "contents without a row: {stored:?}");
}
