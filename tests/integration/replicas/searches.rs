//! Searches at replicas that follow one change log.

use serde_json::json;

use crate::util::{
    caller::Caller,
    cluster::{Cluster, at},
    eventually,
    items::{NEW_YEAR, many},
    paging::page_after,
};

async fn wait_until_found(caller: &Caller, count: usize) {
    eventually("the other replica to find all", async || {
        (caller.find("article", "harbour").await.len() == count).then_some(())
    })
    .await;
}

#[tokio::test]
async fn cursor_of_one_replica_goes_on_at_another() {
    let mut cluster = Cluster::new("cursors");
    let (one, other) = (cluster.add().await, cluster.add().await);
    let caller = one.caller(&cluster.application("acme", "application").await).await;
    let elsewhere = at(&other, &caller);
    caller.put("/v1/contents/article", &json!(many("a", "Harbour", 500, 3))).await.ok();
    wait_until_found(&elsewhere, 500).await;
    wait_until_found(&caller, 500).await;

    let parameters = [("moduleId", "article"), ("keyword", "harbour")];
    let (mut found, mut cursor) = (Vec::new(), None);
    for asked in [&caller, &elsewhere].into_iter().cycle() {
        let page = page_after(asked, &parameters, 37, cursor.as_deref()).await;
        found.extend(page.ids().into_iter().map(str::to_owned));
        cursor = page.cursor();
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(found, caller.find("article", "harbour").await);
}

#[tokio::test]
async fn vocabulary_put_at_one_replica_is_in_force_at_another_in_the_next_search() {
    let mut cluster = Cluster::new("vocabulary");
    let (one, other) = (cluster.add().await, cluster.add().await);
    let caller = one.caller(&cluster.application("acme", "application").await).await;
    let operator = one.caller(&cluster.application("acme", "admin").await).await;
    let elsewhere = at(&other, &caller);
    caller.put("/v1/contents/article", &json!(many("a", "Harbour", 9, 1))).await.ok();
    wait_until_found(&elsewhere, 9).await;
    for round in 1..9 {
        let id = format!("a{round:05}");
        let items = json!([{"module": "article", "id": id}]);
        let vocabulary = json!({"pinned": [{"keyword": "harbour", "items": items}]});
        operator.put("/admin/v1/vocabulary", &vocabulary).await.ok();
        let found = elsewhere.find("article", "harbour").await;
        assert_eq!((&found[0], found.len()), (&id, 9));
    }
}

#[tokio::test]
async fn new_replica_is_ready_when_it_has_caught_up() {
    let mut cluster = Cluster::new("new");
    let one = cluster.add().await;
    let caller = one.caller(&cluster.application("acme", "application").await).await;
    caller.put("/v1/contents/article", &json!(many("a", "Harbour", 500, 3))).await.ok();
    let two = cluster.add().await;
    assert_eq!(at(&two, &caller).find("article", "harbour").await.len(), 500);

    two.kill();
    let late = json!([{"id": "late", "title": "Harbour", "displayTime": NEW_YEAR + 1}]);
    caller.put("/v1/contents/article", &late).await.ok();
    let again = cluster.launch(1, &[]).await;
    again.wait_until_ready().await;
    assert_eq!(at(&again, &caller).find("article", "harbour").await.len(), 501);
}

#[tokio::test]
async fn search_at_another_replica_after_a_write_finds_it() {
    let mut cluster = Cluster::new("after");
    let replicas = [cluster.add().await, cluster.add().await];
    let caller = replicas[0].caller(&cluster.application("acme", "application").await).await;
    let callers = [at(&replicas[0], &caller), at(&replicas[1], &caller)];
    for round in 0..20 {
        let (writer, reader) = (&callers[round % 2], &callers[(round + 1) % 2]);
        let id = format!("a{round}");
        let items = json!([{"id": id, "title": "Harbour", "displayTime": NEW_YEAR}]);
        let written = writer.put("/v1/contents/article", &items).await.ok();
        let after = written.header("x-trawl-position");
        let parameters =
            [("moduleId", "article"), ("keyword", "harbour"), ("after", after), ("timeout", "10000")];
        let found = eventually("a whole answer", async || {
            Some(reader.search(&parameters).await.ok()).filter(|found| found.body["partial"] == false)
        });
        assert!(found.await.ids().contains(&id.as_str()), "{id}");
    }
}
