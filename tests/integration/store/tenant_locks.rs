//! Writes of one tenant that wait for another session do not delay those of other tenants.

use serde_json::json;

use crate::util::{
    answer::Answer,
    app::TestApp,
    caller::Caller,
    eventually,
    items::{NEW_YEAR, item, user},
    postgres::{Session, database, value},
};

async fn put(caller: &Caller, id: &str) -> Answer {
    caller.put("/v1/contents/article", &json!([item(id, "harbour", NEW_YEAR)])).await
}

const WAITS: &str =
    "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";

/// Two tenants; a session holds the row of the first one's item `held`.
async fn start(name: &str) -> (String, TestApp, [Caller; 2], Session) {
    let url = database(name);
    let app = TestApp::start_with(|config| config.store.url = Some(url.as_str().into())).await;
    let callers = [app.tenant("acme").await.caller, app.tenant("other").await.caller];
    put(&callers[0], "held").await.ok();
    let mut session = Session::open(&url);
    session.run("BEGIN; SELECT * FROM contents WHERE id = 'held' FOR UPDATE");
    (url, app, callers, session)
}

#[tokio::test]
async fn waiting_write_of_a_tenant_delays_no_other_tenant() {
    let (url, app, [acme, other], mut session) = start("tenant_locks").await;
    let waiting = ["held", "next"].map(|id| {
        let caller = acme.clone();
        tokio::spawn(async move { put(&caller, id).await })
    });
    eventually("a wait for the row", async || (value(&url, WAITS).await == "1").then_some(())).await;

    // Few, as a write waits for a row for ten seconds at most.
    for number in 0..3 {
        put(&other, &number.to_string()).await.ok();
    }
    app.wait_for_index().await;
    assert_eq!(other.find("article", "harbour").await.len(), 3);
    assert!(waiting.iter().all(|write| !write.is_finished()));
    session.run("COMMIT");
    for write in waiting {
        write.await.unwrap().ok();
    }
    app.wait_for_index().await;
    assert_eq!(acme.find("article", "harbour").await.len(), 2);
}

/// People of one tenant may be members of another tenant's groups.
#[tokio::test]
async fn directory_write_waits_for_writes_of_every_tenant() {
    let (url, _app, [acme, other], mut session) = start("tenant_locks_of_all").await;
    let caller = acme.clone();
    let waiting = tokio::spawn(async move { put(&caller, "held").await });
    eventually("a wait for the row", async || (value(&url, WAITS).await == "1").then_some(())).await;
    let people = json!([user("mei", "")]);
    let across = other.put("/v1/users/sync", &people);
    let released = async {
        eventually("a wait for all tenants", async || (value(&url, WAITS).await == "2").then_some(())).await;
        session.run("COMMIT");
    };
    let (across, ()) = tokio::join!(across, released);
    across.ok();
    waiting.await.unwrap().ok();
}
