//! Subscriptions of two replicas, which one of them runs.

use futures::future::join_all;

use crate::util::{
    caller::Caller,
    cluster::{Cluster, at},
    eventually,
    feed_server::FeedServer,
    postgres,
    subscriptions::{SUBSCRIPTIONS, feed},
};

const FEEDS: usize = 20;

fn id(number: usize) -> String {
    format!("s{number}")
}

fn path(number: usize) -> String {
    format!("/{number}")
}

/// Requests so far of each feed.
fn requests(feeds: &FeedServer) -> Vec<usize> {
    let all = feeds.requests();
    (0..FEEDS).map(|number| all.iter().filter(|request| request.path == path(number)).count()).collect()
}

async fn wait_for_runs(operator: &Caller, runs: u64) {
    join_all((0..FEEDS).map(async |number| operator.wait_for_runs(&id(number), runs).await)).await;
}

async fn run_all(operator: &Caller) {
    join_all((0..FEEDS).map(async |number| {
        operator.post_empty(&format!("{SUBSCRIPTIONS}/{}/run", id(number))).await.ok();
    }))
    .await;
}

async fn wait_for_total(caller: &Caller, total: u64) {
    let parameters = [("moduleId", "article"), ("keyword", "harbour")];
    eventually("the entries", async || {
        (caller.search(&parameters).await.ok().total() == total).then_some(())
    })
    .await;
}

#[tokio::test]
async fn subscriptions_of_two_replicas_run_once_despite_a_kill() {
    let feeds = FeedServer::start().await;
    for number in 0..FEEDS {
        feeds.set_entries(&path(number), &[("one", "harbour"), ("two", "harbour")]);
    }
    let settings = &[("TRAWL_CONNECTORS__ALLOW_HTTP_HOSTS", "127.0.0.1")];
    let mut cluster = Cluster::new("subscriptions");
    let first = cluster.launch_new(settings).await;
    first.wait_until_ready().await;
    let operator = cluster.application("acme", "admin").await;
    let operator = first.caller(&operator).await;
    let reader = cluster.application_with("acme", "application", &["contents:read"]).await;
    let second = cluster.launch_new(settings).await;
    second.wait_until_ready().await;
    let reader = second.caller(&reader).await;
    let at_both = [operator.clone(), at(&second, &operator)];

    for number in 0..FEEDS {
        let form = feed(&id(number), &feeds.url("127.0.0.1", &path(number)));
        at_both[number % 2].post(SUBSCRIPTIONS, &form).await.ok();
    }
    wait_for_runs(&at_both[1], 1).await;
    wait_for_total(&reader, 2 * FEEDS as u64).await;
    run_all(&at_both[1]).await;
    wait_for_runs(&at_both[0], 2).await;
    assert_eq!(requests(&feeds), [2; FEEDS]);

    for number in 0..FEEDS {
        feeds.set_entries(&path(number), &[("two", "harbour"), ("three", "harbour")]);
    }
    run_all(&at_both[1]).await;
    first.kill();
    // Simulates 15 s without a heartbeat: the replica counts as dead.
    postgres::query(&cluster.url, "UPDATE replicas SET process = 'killed', seen_at = 0 WHERE id = 'r0'")
        .await;
    wait_for_runs(&at_both[1], 3).await;
    wait_for_total(&reader, 3 * FEEDS as u64).await;
    let requests = requests(&feeds);
    // A run that the kill cut off began again.
    assert!(requests.iter().all(|requests| [3, 4].contains(requests)), "{requests:?}");
}
