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

#[tokio::test]
async fn waiting_write_of_a_tenant_delays_no_other_tenant() {
    let url = database("tenant_locks");
    let app = TestApp::start_with(|config| config.store.url = Some(url.as_str().into())).await;
    let (acme, other) = (app.tenant("acme").await, app.tenant("other").await);
    put(&acme.caller, "held").await.ok();
    let mut session = Session::open(&url);
    session.run("BEGIN; SELECT * FROM contents WHERE id = 'held' FOR UPDATE");
    let waiting = ["held", "next"].map(|id| {
        let caller = acme.caller.clone();
        tokio::spawn(async move { put(&caller, id).await })
    });
    let waits = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    eventually("a wait for the row", async || (value(&url, waits).await == "1").then_some(())).await;

    for number in 0..20 {
        put(&other.caller, &number.to_string()).await.ok();
    }
    app.wait_for_index().await;
    assert_eq!(other.caller.find("article", "harbour").await.len(), 20);
    assert!(waiting.iter().all(|write| !write.is_finished()));
    session.run("COMMIT");
    for write in waiting {
        write.await.unwrap().ok();
    }
    app.wait_for_index().await;
    assert_eq!(acme.caller.find("article", "harbour").await.len(), 2);
}

/// People of one tenant may be members of another tenant's groups.
#[tokio::test]
async fn directory_write_waits_for_writes_of_every_tenant() {
    let url = database("tenant_locks_of_all");
    let app = TestApp::start_with(|config| config.store.url = Some(url.as_str().into())).await;
    let (acme, other) = (app.tenant("acme").await, app.tenant("other").await);
    put(&acme.caller, "held").await.ok();
    let mut session = Session::open(&url);
    session.run("BEGIN; SELECT * FROM contents WHERE id = 'held' FOR UPDATE");
    let caller = acme.caller.clone();
    let waiting = tokio::spawn(async move { put(&caller, "held").await });
    let waits = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    eventually("a wait for the row", async || (value(&url, waits).await == "1").then_some(())).await;
    let people = json!([user("mei", "")]);
    let across = other.caller.put("/v1/users/sync", &people);
    let released = async {
        eventually("a wait for all tenants", async || (value(&url, waits).await == "2").then_some(())).await;
        session.run("COMMIT");
    };
    let (across, ()) = tokio::join!(across, released);
    across.ok();
    waiting.await.unwrap().ok();
}
