//! Contents of files that replicas keep and sweep at once.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::util::{
    app::TestApp,
    caller::Caller,
    files::{delete, put_file, take},
    groups::people,
    internals::Contents,
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
    let mut clients = JoinSet::new();
    for (client, caller) in callers.into_iter().enumerate() {
        clients.spawn(put_and_delete(caller, client));
    }
    clients.join_all().await;
    is_over.store(true, Ordering::Relaxed);
    sweepers.join_all().await;
}
