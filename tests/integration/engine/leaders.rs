//! Replicas over one PostgreSQL and one cluster, of which one fills the indexes.

use serde_json::{Value, json};
use tempfile::TempDir;
use trawl::config::EngineSettings;

use crate::util::{
    caller::Caller,
    cluster::{Cluster, at},
    eventually,
    items::{NEW_YEAR, item, many},
    opensearch::{self, environment_of, on_node},
    postgres,
    program::Server,
};

struct World {
    cluster: Cluster,
    /// The leader comes first.
    servers: [Server; 2],
    acme: Caller,
    operator: Caller,
    engine: EngineSettings,
    /// Names the indexes.
    _unique: TempDir,
}

impl World {
    async fn new(name: &str) -> Self {
        let unique = tempfile::tempdir().unwrap();
        let engine = on_node(unique.path());
        let environment = environment_of(&engine);
        let settings: Vec<(&'static str, &str)> =
            environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let mut cluster = Cluster::new(name);
        let first = cluster.launch_new(&settings).await;
        first.wait_until_ready().await;
        let second = cluster.launch_new(&settings).await;
        second.wait_until_ready().await;
        let scopes = ["contents:read", "contents:write"];
        let application = cluster.application_with("acme", "application", &scopes).await;
        let operator = cluster.application("acme", "admin").await;
        let (acme, operator) = (first.caller(&application).await, first.caller(&operator).await);
        Self { cluster, servers: [first, second], acme, operator, engine, _unique: unique }
    }

    async fn put(&self, replica: usize, items: &[Value]) {
        let caller = at(&self.servers[replica], &self.acme);
        caller.put("/v1/contents/article", &Value::from(items)).await.ok();
    }

    async fn wait_until_found(&self, replica: usize, keyword: &str, count: u64) {
        wait_until_found(&at(&self.servers[replica], &self.acme), keyword, count).await;
    }

    /// Has another replica take over, as after 15 s.
    async fn count_as_dead(&self, replica: &str) {
        let update = format!("UPDATE replicas SET seen_at = seen_at - 20000 WHERE id = '{replica}'");
        postgres::query(&self.cluster.url, &update).await;
    }

    async fn wait_for_leader(&self, asked: usize, leader: &str) {
        let operator = at(&self.servers[asked], &self.operator);
        eventually("the leader of the index", async || {
            let replicas = operator.get("/admin/v1/replicas").await.ok();
            let leads = |row: &Value| {
                row["id"] == leader && row["leads"].as_array().unwrap().contains(&"index".into())
            };
            replicas.items().iter().any(leads).then_some(())
        })
        .await;
    }
}

/// Grows with each rebuild.
async fn searched_generation(world: &World) -> u64 {
    let trawl::config::OpenSearchSettings { urls, index_prefix, .. } = &world.engine.opensearch;
    let state = format!("{}{index_prefix}-state/_doc/state", urls[0]);
    let state: Value = reqwest::get(state).await.unwrap().json().await.unwrap();
    state["_source"]["served"].as_u64().unwrap()
}

async fn wait_until_found(acme: &Caller, keyword: &str, count: u64) {
    let parameters = [("moduleId", "article"), ("keyword", keyword)];
    eventually(&format!("{count} matches of {keyword}"), async || {
        let answer = acme.search(&parameters).await;
        (answer.status == 200 && answer.total() == count).then_some(())
    })
    .await;
}

#[tokio::test]
async fn write_at_one_replica_is_found_at_the_other() {
    let Some(_) = opensearch::node() else { return };
    let world = World::new("shared_index").await;
    world.wait_for_leader(1, "r0").await;
    for number in 0..20 {
        let written = item(&format!("w{number:02}"), "harbour", NEW_YEAR + number);
        world.put(usize::from(number % 2 == 1), &[written]).await;
        for replica in 0..2 {
            world.wait_until_found(replica, "harbour", number.unsigned_abs() + 1).await;
        }
    }
}

#[tokio::test]
async fn rebuild_asked_at_any_replica_is_made_by_the_leader() {
    let Some(_) = opensearch::node() else { return };
    let world = World::new("shared_rebuild").await;
    world.put(0, &many("i", "harbour", 900, 3)).await;
    for asked in [1, 0] {
        world.wait_until_found(asked, "harbour", 900).await;
    }
    let rebuild_ends = async || {
        for server in &world.servers {
            let operator = at(server, &world.operator);
            eventually("the end of the rebuild", async || {
                let acme = at(server, &world.acme);
                let found = acme.search(&[("moduleId", "article"), ("keyword", "harbour")]).await;
                // A busy node may be late, which is no incomplete answer.
                assert!(found.status != 200 || found.total() == 900, "{}", found.text);
                let index = operator.get("/admin/v1/index").await.ok();
                assert_eq!(index.data()["rebuildFailed"], false, "{}", index.text);
                (index.data()["rebuilding"] == false).then_some(())
            })
            .await;
        }
    };
    // The first fill is a rebuild, too.
    rebuild_ends().await;
    for asked in [1, 0] {
        let operator = at(&world.servers[asked], &world.operator);
        let before = searched_generation(&world).await;
        // One replica learns of the end of the last rebuild after the other.
        eventually("a rebuild that is taken up", async || {
            let answer = operator.post_empty("/admin/v1/index/rebuild").await;
            (![409, 503].contains(&answer.status)).then(|| answer.ok())
        })
        .await;
        rebuild_ends().await;
        assert!(searched_generation(&world).await > before);
    }
}

#[tokio::test]
async fn leader_that_dies_is_replaced_and_loses_nothing() {
    let Some(_) = opensearch::node() else { return };
    let World { cluster, servers: [first, second], acme, operator, engine: _, _unique } =
        World::new("shared_death").await;
    let acme = at(&second, &acme);
    let items = many("i", "harbour", 2_000, 3);
    let (early, late) = items.split_at(1_000);
    acme.put("/v1/contents/article", &Value::from(early)).await.ok();
    first.kill();
    acme.put("/v1/contents/article", &Value::from(late)).await.ok();
    postgres::query(&cluster.url, "UPDATE replicas SET seen_at = 0 WHERE id = 'r0'").await;
    wait_until_found(&acme, "harbour", 2_000).await;
    let replicas = at(&second, &operator).get("/admin/v1/replicas").await.ok();
    let leads = replicas.items().iter().find(|row| row["id"] == "r1").unwrap()["leads"].clone();
    assert!(leads.as_array().unwrap().contains(&"index".into()), "{leads}");
}

/// It stops in the middle of its work, and goes on when another has replaced it.
#[tokio::test]
async fn leader_that_wakes_up_late_changes_nothing() {
    let Some(_) = opensearch::node() else { return };
    let world = World::new("shared_sleep").await;
    world.put(1, &[item("changed", "harbour", NEW_YEAR), item("removed", "harbour", NEW_YEAR)]).await;
    world.wait_until_found(1, "harbour", 2).await;
    // Words far from each other, as a search that finds nothing is corrected.
    for (round, marker) in ["quartz", "zebra", "almond"].into_iter().enumerate() {
        // Some of these are in its bulk.
        let before: Vec<Value> =
            (0..500).map(|n| item(&format!("k{n:03}"), "harbour old", NEW_YEAR - n)).collect();
        for (number, batch) in before.chunks(100).enumerate() {
            world.put(1, batch).await;
            if number == 2 {
                world.servers[0].pause();
            }
        }
        world.count_as_dead("r0").await;
        world.wait_for_leader(1, "r1").await;
        let after: Vec<Value> =
            (0..500).map(|n| item(&format!("k{n:03}"), "harbour new", NEW_YEAR - n)).collect();
        world.put(1, &after).await;
        let acme = at(&world.servers[1], &world.acme);
        let removed: Vec<String> =
            (0..100).map(|n| format!("k{n:03}")).chain(["removed".to_owned()]).collect();
        acme.post("/v1/contents/article/delete", &json!(removed)).await.ok();
        world.wait_until_found(1, "new", 400).await;
        world.servers[0].resume();
        // It follows the new leader again.
        world.wait_for_leader(0, "r1").await;
        world.put(1, &[item("changed", &format!("harbour {marker}"), NEW_YEAR)]).await;
        for replica in [0, 1] {
            world.wait_until_found(replica, marker, 1).await;
            let caller = at(&world.servers[replica], &world.acme);
            assert_eq!(caller.find("article", "old").await, [] as [String; 0], "round {round} at {replica}");
            assert_eq!(caller.find("article", "harbour").await.len(), 401, "round {round} at {replica}");
        }
        // The first leads again.
        world.servers[1].pause();
        world.count_as_dead("r1").await;
        world.wait_for_leader(0, "r0").await;
        world.servers[1].resume();
        world.wait_until_found(0, "harbour", 401).await;
    }
}
