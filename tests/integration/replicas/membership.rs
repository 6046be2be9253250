//! Replicas that start, stop and share an id.

use std::process::{Output, Stdio};

use serde_json::json;

use crate::util::{
    cluster::{Cluster, at},
    eventually,
    items::{NEW_YEAR, item, todo, user},
    postgres,
    program::{run, text},
};

#[tokio::test]
async fn replicas_are_listed_until_they_stop() {
    let mut cluster = Cluster::new("listed");
    let (one, mut other) = (cluster.add().await, cluster.add().await);
    let operator = one.caller(&cluster.application("acme", "admin").await).await;
    let listed = operator.get("/admin/v1/replicas").await.ok();
    assert_eq!(listed.header("x-trawl-replica"), "r0");
    let replicas = listed.body["data"].as_array().unwrap();
    let ids: Vec<_> = replicas.iter().map(|replica| replica["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["r0", "r1"]);
    for replica in replicas {
        assert_eq!(replica["version"], env!("CARGO_PKG_VERSION"));
        assert!(replica["seenAt"].as_i64() >= replica["startedAt"].as_i64(), "{replica}");
        assert!(replica["leads"].is_array() && replica["position"].is_i64(), "{replica}");
    }
    eventually("both followers to be level", async || {
        let listed = operator.get("/admin/v1/replicas").await.ok();
        listed.body["data"].as_array().unwrap().iter().all(|replica| replica["behind"] == 0).then_some(())
    })
    .await;
    eventually("both to count two", async || {
        let counts = [one.gauge("trawl_replicas").await?, other.gauge("trawl_replicas").await?];
        (counts == [2, 2]).then_some(())
    })
    .await;
    assert_eq!(at(&other, &operator).get("/admin/v1/replicas").await.ok().header("x-trawl-replica"), "r1");

    other.terminate();
    assert!(other.wait_for_end().await.success());
    let listed = operator.get("/admin/v1/replicas").await.ok();
    assert_eq!(listed.body["data"].as_array().unwrap().len(), 1, "{}", listed.text);
}

#[tokio::test]
async fn process_with_the_same_id_replaces_the_earlier_one() {
    let mut cluster = Cluster::new("replaced");
    let mut earlier = cluster.add().await;
    let later = cluster.launch_new(&[("TRAWL_CLUSTER__REPLICA", "r0")]).await;
    assert_eq!(earlier.wait_for_end().await.code(), Some(1));
    assert!(earlier.log().contains("cluster.replica: another process"), "{}", earlier.log());
    later.wait_until_ready().await;
}

async fn serve(cluster: &Cluster, changes: &[(&str, &str)]) -> Output {
    let directory = tempfile::tempdir().unwrap();
    let mut command = cluster.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.arg("--data").arg(directory.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env("TRAWL_CLUSTER__REPLICA", "stranger").env("TRAWL_LOG__FILTER", "off");
    run({
        command.envs(changes.iter().copied());
        command
    })
    .await
}

#[tokio::test]
async fn replica_with_other_settings_is_refused_with_both_values() {
    let mut cluster = Cluster::new("settings");
    let _running = cluster.add().await;
    for (variable, value, parts) in [
        ("TRAWL_PUBLIC_URL", "http://elsewhere.example", ["public_url", "elsewhere.example", "127.0.0.1:1"]),
        ("TRAWL_STORAGE__S3__BUCKET", "another", ["storage.s3.bucket", "another", "trawl-"]),
        ("TRAWL_STORAGE__KIND", "none", ["storage.kind", "none", "s3"]),
        (
            "TRAWL_MASTER_KEY",
            "HwECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
            ["master_key: is ", "running replica r0 has ", "must agree"],
        ),
        ("TRAWL_CLUSTER__REPLICA", "a b", ["cluster.replica", "must be", ""]),
    ] {
        let output = serve(&cluster, &[(variable, value)]).await;
        let printed = text(&output.stderr);
        assert_ne!(output.status.code(), Some(0), "{variable}: {printed}");
        assert_eq!(printed.lines().count(), 1, "{variable}: {printed}");
        for part in parts {
            assert!(printed.contains(part), "{part:?} is not in {printed}");
        }
        assert!(!printed.contains("HwECAwQF"), "{printed}");
    }
}

/// The next version's migrations run while this one serves.
#[tokio::test]
async fn replica_works_on_when_a_newer_one_adds_columns() {
    let mut cluster = Cluster::new("upgrade");
    let server = cluster.add().await;
    let scopes = ["contents:read", "contents:write", "directory:write", "tasks", "act-as-user"];
    let application = cluster.application_with("acme", "application", &scopes).await;
    let caller = server.caller(&application).await;
    let users = json!([user("mei", "")]);
    let write_and_find = async |id: &str| {
        caller.put("/v1/users/sync", &users).await.ok();
        caller.put("/v1/contents/article", &json!([item(id, "Harbour", NEW_YEAR)])).await.ok();
        caller.post("/api/todo/create", &todo(id, "Lighthouse", "mei")).await.ok();
        let mei = server.user(&application, "mei").await;
        eventually("the item", async || {
            mei.find("article", "harbour").await.contains(&id.to_owned()).then_some(())
        })
        .await;
    };
    write_and_find("before").await;

    let newer = "INSERT INTO seaql_migrations (version, applied_at) VALUES ('9999_later', 0)";
    postgres::query(&cluster.url, newer).await;
    // Each by itself, as one transaction and the server could wait for each other.
    let tables = "SELECT string_agg(tablename, ' ') FROM pg_tables WHERE schemaname = 'public'";
    for table in postgres::value(&cluster.url, tables).await.split(' ') {
        let column = format!("ALTER TABLE {table} ADD COLUMN later BIGINT NOT NULL DEFAULT 0");
        postgres::query(&cluster.url, &column).await;
    }
    write_and_find("after").await;
    assert_eq!(caller.find("article", "harbour").await, ["after", "before"]);

    let output = serve(&cluster, &[]).await;
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("newer trawl"), "{}", text(&output.stderr));
}
