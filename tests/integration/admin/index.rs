use serde_json::{Value, json};

use crate::util::{
    app::{Application, TestApp},
    caller::Caller,
    items::{NEW_YEAR, item, many},
};

#[tokio::test]
async fn status_reports_size_and_indexing_delay() {
    let app = TestApp::start().await;
    let operator = app.operator().await.caller;
    let empty = operator.get("/admin/v1/index").await.ok();
    let empty = empty.data();
    assert_eq!(
        (&empty["documents"], &empty["position"], &empty["behind"]),
        (&0.into(), &0.into(), &0.into())
    );
    assert!(empty["freshnessMs"].is_null(), "nothing was written: {empty}");

    let (acme, other) = (app.tenant("acme").await, app.tenant("other").await);
    app.put_contents(&acme.caller, "article", &many("i", "harbour", 120, 7)).await;
    app.put_contents(&other.caller, "article", &[item("x", "harbour", NEW_YEAR)]).await;
    app.wait_for_rebuild().await;
    let index = operator.get("/admin/v1/index").await.ok();
    let index = index.data();
    assert_eq!(index["documents"], 121, "the index counts all tenants: {index}");
    assert!(index["bytes"].as_u64().unwrap() > 1_000, "{index}");
    assert_eq!((&index["position"], &index["behind"]), (&index["storePosition"], &0.into()));
    assert_eq!(index["position"], 121);
    let freshness = &index["freshnessMs"];
    assert!(freshness["p50"].as_u64().unwrap() <= freshness["p99"].as_u64().unwrap(), "{index}");
    assert_eq!((&index["ready"], &index["rebuilding"]), (&true.into(), &false.into()));
    assert!(index["itemsDone"].is_u64() && index["itemsKnown"].is_u64());
    acme.caller.get("/admin/v1/index").await.fails(403, "admin");
}

/// Makes a rebuild take longer than a few calls.
const ITEMS: usize = 12_000;
const HARBOUR: [(&str, &str); 2] = [("moduleId", "article"), ("keyword", "harbour")];
const REBUILD: &str = "/admin/v1/index/rebuild";

async fn filled(count: usize) -> (TestApp, Application, Application) {
    let app = TestApp::start_with(|config| config.index.writer_memory_bytes = 32 << 20).await;
    let (acme, operator) = (app.tenant("acme").await, app.operator().await);
    app.put_contents(&acme.caller, "article", &many("i", "harbour", count, 7)).await;
    app.wait_for_rebuild().await;
    (app, acme, operator)
}

async fn index(operator: &Caller) -> Value {
    operator.get("/admin/v1/index").await.ok().data().clone()
}

async fn until_rebuilt(operator: &Caller, caller: &Caller, total: u64) {
    loop {
        let is_rebuilding = index(operator).await["rebuilding"] == true;
        let answer = caller.search(&HARBOUR).await.ok();
        assert_eq!(answer.total(), total, "{}", answer.body["sources"]);
        assert_eq!(caller.get("/readyz").await.status, 200, "a complete index is not rebuilt");
        if !is_rebuilding {
            return;
        }
    }
}

#[tokio::test]
async fn searches_stay_complete_during_a_single_rebuild() {
    let (app, acme, operator) = filled(ITEMS).await;
    let before = index(&operator.caller).await;
    let begun = operator.caller.post_empty(REBUILD).await.ok();
    assert_eq!((&begun.data()["rebuilding"], &begun.data()["ready"]), (&true.into(), &true.into()));
    assert_eq!((&begun.data()["itemsKnown"], &begun.data()["documents"]), (&ITEMS.into(), &ITEMS.into()));
    operator.caller.post_empty(REBUILD).await.fails(409, "being rebuilt already");
    let meanwhile = acme.caller.search(&HARBOUR).await.ok();
    assert_eq!((meanwhile.total(), &meanwhile.body["partial"]), (ITEMS as u64, &false.into()));
    acme.caller.put("/v1/contents/article", &json!([item("new", "harbour", NEW_YEAR)])).await.ok();
    app.wait_for_index().await;
    until_rebuilt(&operator.caller, &acme.caller, ITEMS as u64 + 1).await;

    app.wait_for_rebuild().await;
    let after = index(&operator.caller).await;
    assert_eq!((&after["documents"], &after["behind"]), (&(ITEMS + 1).into(), &0.into()));
    assert_eq!(after["itemsDone"], after["documents"], "{after}");
    assert!(after["position"].as_i64() > before["position"].as_i64());
    let answer = acme.caller.search(&HARBOUR).await.ok();
    assert_eq!((answer.total(), &answer.body["partial"]), (ITEMS as u64 + 1, &false.into()));
    acme.caller.post("/v1/contents/article/delete", &json!(["new"])).await.ok();
    app.wait_for_index().await;
    assert_eq!(acme.caller.search(&HARBOUR).await.ok().total(), ITEMS as u64, "the new index has a log");
    operator.caller.post_empty(REBUILD).await.ok();
    until_rebuilt(&operator.caller, &acme.caller, ITEMS as u64).await;
    acme.caller.post_empty(REBUILD).await.fails(403, "admin");
}

#[tokio::test]
async fn writes_during_a_rebuild_are_all_found() {
    let (app, acme, operator) = filled(300).await;
    let writing = async {
        for number in 0..60 {
            let written = item(&format!("w{number}"), "harbour", NEW_YEAR + number);
            acme.caller.put("/v1/contents/article", &json!([written])).await.ok();
        }
    };
    let rebuilding = async {
        let mut begun = 0;
        for _ in 0..6 {
            let answer = operator.caller.post_empty(REBUILD).await;
            assert!([200, 409].contains(&answer.status), "{}", answer.text);
            begun += usize::from(answer.status == 200);
        }
        assert!(begun > 0);
    };
    tokio::join!(writing, rebuilding);
    app.wait_for_rebuild().await;
    assert_eq!(acme.caller.search(&HARBOUR).await.ok().total(), 360);
    assert_eq!(index(&operator.caller).await["documents"], 360);
}

#[tokio::test]
async fn rebuild_without_disk_space_is_refused() {
    let (app, acme, operator) = filled(20).await;
    let app = app.restart_with(|config| config.store.reserve_bytes = u64::MAX / 2).await;
    let [caller, of_operator] = [&acme, &operator].map(|application| app.caller(&application.caller.token));
    let refused = of_operator.post_empty(REBUILD).await.fails(503, "no room");
    assert_eq!(refused.header("retry-after"), "60");
    assert_eq!(index(&of_operator).await["rebuilding"], false);
    assert_eq!(caller.search(&HARBOUR).await.ok().total(), 20);

    let app = app.restart_with(|config| {
        config.store.reserve_bytes = 0;
        config.index.writer_memory_bytes = 16 << 20;
    });
    let app = app.await;
    let [caller, of_operator] = [&acme, &operator].map(|application| app.caller(&application.caller.token));
    of_operator.post_empty(REBUILD).await.fails(409, "index.writer_memory_bytes");
    assert_eq!(index(&of_operator).await["rebuilding"], false);
    assert_eq!(caller.search(&HARBOUR).await.ok().total(), 20);
}
