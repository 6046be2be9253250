//! Leases of replicas over one database.

use tokio::sync::oneshot;

use crate::util::{
    database::read,
    eventually,
    internals::{ErrorKind, Replicas, SharedSettings, Store},
    postgres::{self, database},
};

async fn join(store: &Store, id: &str) -> Replicas {
    Replicas::join(store, id, &SharedSettings::new([])).await.unwrap()
}

/// A database with the replicas `r0` and `r1`, whose heartbeats only tests make.
struct Pair {
    url: String,
    store: Store,
    one: Replicas,
    other: Replicas,
}

impl Pair {
    async fn new(name: &str) -> Self {
        let url = database(&format!("leases_{name}"));
        let store = postgres::open(&url).await;
        let (one, other) = (join(&store, "r0").await, join(&store, "r1").await);
        // However long a test takes.
        postgres::query(&url, "UPDATE replicas SET seen_at = 9000000000000").await;
        Self { url, store, one, other }
    }

    async fn age(&self, id: &str) {
        postgres::query(&self.url, &format!("UPDATE replicas SET seen_at = 0 WHERE id = '{id}'")).await;
    }

    async fn holders(&self) -> Vec<String> {
        let text = "SELECT id || ' ' || name FROM leases JOIN replicas ON replicas.process = leases.process ORDER BY name";
        read::<(String,)>(&self.store, text, vec![]).await.into_iter().map(|row| row.0).collect()
    }
}

#[tokio::test]
async fn lease_without_a_server_excludes_other_tasks_of_the_process() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), 1).await.unwrap();
    let alone = join(&store, "r0").await;
    let lease = alone.leases().try_acquire("x").await.unwrap().unwrap();
    assert!(alone.leases().try_acquire("x").await.unwrap().is_none());
    let fence = lease.fence();
    store.write(move |transaction| Box::pin(async move { fence.confirm(transaction).await })).await.unwrap();
    drop(lease);
    assert!(alone.leases().try_acquire("x").await.unwrap().is_some());
}

#[tokio::test]
async fn released_lease_is_free_for_every_replica_at_once() {
    let pair = Pair::new("released").await;
    for round in 0..50 {
        let (one, other) = if round % 2 == 0 { (&pair.one, &pair.other) } else { (&pair.other, &pair.one) };
        let lease = one.leases().try_acquire("x").await.unwrap().expect("a free lease");
        assert!(lease.is_held().await.unwrap());
        for refused in [one, other] {
            assert!(refused.leases().try_acquire("x").await.unwrap().is_none(), "{round}");
        }
        other.leases().try_acquire("y").await.unwrap().expect("another lease").release().await;
        lease.release().await;
    }
    let lease = pair.one.leases().try_acquire("x").await.unwrap().unwrap();
    drop(lease);
    eventually("the dropped lease", async || pair.other.leases().try_acquire("x").await.unwrap()).await;
}

#[tokio::test]
async fn one_of_many_tasks_gets_a_lease() {
    let pair = Pair::new("many").await;
    let attempts = (0..40).map(|task| {
        let leases = if task % 2 == 0 { pair.one.leases() } else { pair.other.leases() };
        async move { leases.try_acquire("x").await.unwrap() }
    });
    let taken = futures::future::join_all(attempts).await.into_iter().flatten().collect::<Vec<_>>();
    assert_eq!(taken.len(), 1);
    assert_eq!(pair.holders().await.len(), 1);
}

#[tokio::test]
async fn lease_of_a_dead_replica_is_taken_over_and_lost() {
    let pair = Pair::new("dead").await;
    let lease = pair.one.leases().try_acquire("x").await.unwrap().unwrap();
    pair.age("r0").await;
    assert!(lease.is_held().await.unwrap(), "nobody has taken it yet");
    let taken = pair.other.leases().try_acquire("x").await.unwrap().expect("the lease of a dead replica");
    assert!(!lease.is_held().await.unwrap());
    let fence = lease.fence();
    let refused =
        pair.store.write(move |transaction| Box::pin(async move { fence.confirm(transaction).await }));
    assert_eq!(refused.await.unwrap_err().kind, ErrorKind::Conflict);
    lease.release().await;
    assert_eq!(pair.holders().await, ["r1 x"], "a lost lease was given back");
    assert!(pair.one.leases().try_acquire("y").await.unwrap().is_none(), "a dead replica took a lease");
    assert!(taken.is_held().await.unwrap());
}

#[tokio::test]
async fn takeover_waits_for_the_write_that_confirmed() {
    let pair = Pair::new("confirmed").await;
    let lease = pair.one.leases().try_acquire("x").await.unwrap().unwrap();
    let ((confirmed, confirming), (end, ending)) = (oneshot::channel(), oneshot::channel::<()>());
    let (store, fence) = (pair.store.clone(), lease.fence());
    let writing = tokio::spawn(async move {
        let job = store.write(move |transaction| {
            Box::pin(async move {
                fence.confirm(transaction).await?;
                confirmed.send(()).unwrap();
                ending.await.unwrap();
                fence.confirm(transaction).await
            })
        });
        job.await
    });
    confirming.await.unwrap();
    pair.age("r0").await;
    let leases = pair.other.leases().clone();
    let taking = tokio::spawn(async move { leases.try_acquire("x").await });
    eventually("a takeover that waits", async || {
        let text = "SELECT COUNT(*) FROM pg_stat_activity \
                    WHERE datname = current_database() AND wait_event_type = 'Lock'";
        let count: Vec<(i64,)> = read(&pair.store, text, vec![]).await;
        (count[0].0 == 1).then_some(())
    })
    .await;
    end.send(()).unwrap();
    writing.await.unwrap().unwrap();
    assert!(taking.await.unwrap().unwrap().is_some());
    assert!(!lease.is_held().await.unwrap());
}

#[tokio::test]
async fn row_of_a_lost_answer_blocks_its_own_process_no_longer() {
    let pair = Pair::new("answer").await;
    let text = "INSERT INTO leases (name, process) SELECT 'x', process FROM replicas WHERE id = 'r0'";
    postgres::query(&pair.url, text).await;
    assert!(pair.other.leases().try_acquire("x").await.unwrap().is_none());
    let lease = pair.one.leases().try_acquire("x").await.unwrap().expect("its own row");
    lease.release().await;
    assert!(pair.other.leases().try_acquire("x").await.unwrap().is_some());
}

#[tokio::test]
async fn acquisition_whose_caller_went_away_leaves_no_lease() {
    let pair = Pair::new("caller").await;
    for _ in 0..50 {
        let leases = pair.one.leases().clone();
        let acquiring = tokio::spawn(async move { leases.try_acquire("x").await });
        tokio::task::yield_now().await;
        acquiring.abort();
        drop(acquiring.await);
    }
    eventually("the lease", async || pair.other.leases().try_acquire("x").await.unwrap()).await;
}

#[tokio::test]
async fn rows_of_dead_holders_are_removed() {
    let pair = Pair::new("orphans").await;
    let _dead = pair.one.leases().try_acquire("dead").await.unwrap().unwrap();
    let _alive = pair.other.leases().try_acquire("alive").await.unwrap().unwrap();
    let text = "INSERT INTO leases (name, process) VALUES ('unknown', 'none')";
    postgres::query(&pair.url, text).await;
    pair.age("r0").await;
    pair.other.leases().remove_orphans().await.unwrap();
    let names: Vec<(String,)> = read(&pair.store, "SELECT name FROM leases", vec![]).await;
    assert_eq!(names, [("alive".to_owned(),)]);
}
