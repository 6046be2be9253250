//! PostgreSQL crashes, fails over, or waits for a stopped replica, while two replicas write.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use serde_json::json;
use tokio::task::JoinSet;

use crate::util::{
    caller::Caller,
    cluster::{Cluster, at},
    eventually,
    items::{NEW_YEAR, item},
    postgres::{query, value},
    postgres_server::PostgresServer,
    program::Server,
    relay::Relay,
    sizes::size,
};

const WRITERS: usize = 4;

/// Acknowledged writes before an outage, and after it at each replica.
const SOME: usize = 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Written,
    NothingChanged,
    Unknown,
}

/// Writes at two replicas, and what each answer told.
struct Load {
    callers: [Caller; 2],
    writers: JoinSet<()>,
    is_over: Arc<AtomicBool>,
    /// Answers by replica and id.
    told: Arc<Mutex<BTreeMap<(usize, String), Told>>>,
}

impl Load {
    async fn start(cluster: &Cluster, servers: [&Server; 2]) -> Self {
        let application = cluster.application("acme", "application").await;
        let first = servers[0].caller(&application).await;
        let callers = [first.clone(), at(servers[1], &first)];
        let mut load =
            Self { callers, writers: JoinSet::new(), is_over: Arc::default(), told: Arc::default() };
        for (replica, caller) in load.callers.iter().enumerate() {
            for writer in 0..WRITERS {
                let (caller, is_over, told) =
                    (caller.clone(), Arc::clone(&load.is_over), Arc::clone(&load.told));
                load.writers.spawn(async move {
                    for number in 0.. {
                        if is_over.load(Ordering::Relaxed) {
                            break;
                        }
                        let id = format!("{replica}-{writer}-{number}");
                        let answer = put(&caller, &id).await;
                        told.lock().unwrap().insert((replica, id), answer);
                    }
                });
            }
        }
        load
    }

    fn written(&self, replica: usize) -> usize {
        let told = self.told.lock().unwrap();
        told.iter().filter(|((at, _), told)| *at == replica && **told == Told::Written).count()
    }

    /// Waits for further acknowledged writes of a replica.
    async fn goes_on(&self, replica: usize) {
        let before = self.written(replica);
        eventually("acknowledged writes", async || (self.written(replica) >= before + SOME).then_some(()))
            .await;
    }

    /// Ends the load and checks its answers.
    ///
    /// They are compared with the rows of the database and the finds of each replica.
    async fn ends_true(mut self, url: &str) {
        self.is_over.store(true, Ordering::Relaxed);
        while let Some(ended) = self.writers.join_next().await {
            ended.unwrap();
        }
        let rows = value(url, "SELECT COALESCE(string_agg(id, ' '), '') FROM contents").await;
        let rows: BTreeSet<&str> = rows.split_whitespace().collect();
        let total = rows.len() as u64;
        let told = self.told.lock().unwrap().clone();
        for ((_, id), told) in &told {
            match told {
                Told::Written => assert!(rows.contains(id.as_str()), "{id} is lost"),
                Told::NothingChanged => assert!(!rows.contains(id.as_str()), "{id} was written"),
                Told::Unknown => {}
            }
        }
        let count = |kind| told.values().filter(|told| **told == kind).count();
        println!(
            "{} written, {} refused, {} unknown",
            count(Told::Written),
            count(Told::NothingChanged),
            count(Told::Unknown)
        );
        for caller in &self.callers {
            eventually("each replica to find the rows", async || {
                let parameters = [("moduleId", "article"), ("keyword", "harbour"), ("limit", "1")];
                let answer = caller.search(&parameters).await;
                (answer.status == 200 && answer.total() == total).then_some(())
            })
            .await;
        }
    }
}

async fn put(caller: &Caller, id: &str) -> Told {
    let answer = caller.put("/v1/contents/article", &json!([item(id, "harbour", NEW_YEAR)])).await;
    match answer.status {
        200 => Told::Written,
        503 if answer.text.contains("it may have been made") => Told::Unknown,
        503 => {
            assert!(
                ["nothing was changed", "the database does not answer"]
                    .iter()
                    .any(|part| answer.text.contains(part)),
                "{}",
                answer.text
            );
            Told::NothingChanged
        }
        status => panic!("{status}: {}", answer.text),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_go_on_after_a_crash_of_the_database() {
    let postgres = PostgresServer::start().await;
    let url = PostgresServer::url(&postgres.address);
    let mut cluster = Cluster::over(&url);
    let (one, two) = (cluster.add().await, cluster.add().await);
    let load = Load::start(&cluster, [&one, &two]).await;
    for _ in 0..size(1, 3) {
        load.goes_on(0).await;
        load.goes_on(1).await;
        postgres.crash().await;
        postgres.start_again().await;
    }
    load.goes_on(0).await;
    load.goes_on(1).await;
    load.ends_true(&url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn synchronous_standby_has_every_acknowledged_write() {
    let primary = PostgresServer::start().await;
    let standby = primary.standby(&primary.address).await;
    let alter = "ALTER SYSTEM SET synchronous_standby_names = '*'";
    query(&PostgresServer::url(&primary.address), alter).await;
    query(&PostgresServer::url(&primary.address), "SELECT pg_reload_conf()").await;
    let relay = Relay::to(&format!("http://{}", primary.address)).await;
    let mut cluster = Cluster::over(&PostgresServer::url(relay.address()));
    let (one, two) = (cluster.add().await, cluster.add().await);
    let load = Load::start(&cluster, [&one, &two]).await;
    load.goes_on(0).await;
    load.goes_on(1).await;
    relay.cut();
    primary.crash().await;
    standby.promote().await;
    relay.redirect(&standby.address);
    load.goes_on(0).await;
    load.goes_on(1).await;
    load.ends_true(&cluster.url).await;
}

/// Positions of the lost changes are not given to later ones, which indexes would pass over.
#[tokio::test(flavor = "multi_thread")]
async fn changes_lost_by_a_failover_are_removed_from_indexes() {
    let primary = PostgresServer::start().await;
    let replication = Relay::to(&format!("http://{}", primary.address)).await;
    let standby = primary.standby(replication.address()).await;
    let relay = Relay::to(&format!("http://{}", primary.address)).await;
    let mut cluster = Cluster::over(&PostgresServer::url(relay.address()));
    let (one, two) = (cluster.add().await, cluster.add().await);
    let application = cluster.application("acme", "application").await;
    let here = one.caller(&application).await;
    let there = at(&two, &here);
    assert_eq!(put(&here, "kept").await, Told::Written);
    let replayed = "SELECT COUNT(*) FROM contents";
    let standby_url = PostgresServer::url(&standby.address);
    eventually("the standby to follow", async || (value(&standby_url, replayed).await == "1").then_some(()))
        .await;
    replication.cut();
    for number in 0..3 {
        assert_eq!(put(&here, &format!("lost-{number}")).await, Told::Written);
    }
    for caller in [&here, &there] {
        eventually("all items", async || (found(caller).await?.len() == 4).then_some(())).await;
    }
    relay.cut();
    primary.crash().await;
    standby.promote().await;
    relay.redirect(&standby.address);
    for number in 0..3 {
        let id = format!("later-{number}");
        eventually("a write", async || (put(&there, &id).await == Told::Written).then_some(())).await;
    }
    for caller in [&here, &there] {
        eventually("the kept ones and the later ones", async || {
            (found(caller).await? == ["kept", "later-0", "later-1", "later-2"]).then_some(())
        })
        .await;
    }
    let checked = crate::util::program::run(cluster.command(&["store", "check"])).await;
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
}

async fn found(caller: &Caller) -> Option<Vec<String>> {
    let answer = caller.search(&[("moduleId", "article"), ("keyword", "harbour")]).await;
    if answer.status != 200 {
        return None;
    }
    let mut ids: Vec<String> = answer.ids().into_iter().map(str::to_owned).collect();
    ids.sort();
    Some(ids)
}

/// PostgreSQL ends the transaction of the stopped replica.
#[tokio::test(flavor = "multi_thread")]
async fn stopped_holder_of_the_write_lock_delays_others_for_a_while() {
    let mut cluster = Cluster::new("stopped");
    let (one, two) = (cluster.add().await, cluster.add().await);
    let load = Load::start(&cluster, [&one, &two]).await;
    load.goes_on(0).await;
    let of_its_own = "SELECT COUNT(DISTINCT pid) FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory' AND granted \
        AND datname = current_database() AND state LIKE 'idle in transaction%' AND state_change < now() - interval '1 second'";
    eventually("a stop of the lock's holder", async || {
        one.pause();
        tokio::time::sleep(std::time::Duration::from_millis(1_200)).await;
        let is_held = value(&cluster.url, of_its_own).await == "1";
        if !is_held {
            one.resume();
        }
        is_held.then_some(())
    })
    .await;
    load.goes_on(1).await;
    one.resume();
    load.goes_on(0).await;
    load.ends_true(&cluster.url).await;
}
