//! Runs that take long, and those of others beside them.

use std::{fs, path::Path, time::Duration};

use serde_json::{Value, json};

use crate::util::{
    app::TestApp,
    caller::Caller,
    eventually,
    feed_server::{FeedReply, FeedServer},
    items::NEW_YEAR,
    subscriptions::{SUBSCRIPTIONS, feed, form_of_view, write_views},
};

const HOUR: Duration = Duration::from_hours(1);

async fn operator_of(app: &TestApp, tenant: &str) -> Caller {
    app.tenant(tenant).await;
    app.operator().await.caller.on(tenant)
}

async fn app_beside(folder: &Path, change: impl FnOnce(&mut trawl::config::Subscriptions)) -> TestApp {
    TestApp::start_with(|config| {
        config.subscriptions.folders = vec![folder.to_owned()];
        config.connectors.allow_http_hosts = (1..=9).map(|number| format!("127.0.0.{number}")).collect();
        change(&mut config.subscriptions);
    })
    .await
}

/// A view of so many rows, each page of which sorts all of them.
fn numbers(count: usize) -> String {
    format!(
        "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {count}) \
         SELECT n, 'harbour ' || n, n FROM n"
    )
}

/// Subscribes without a schedule; returns what is shown behind the first run.
async fn run_once(operator: &Caller, form: &mut Value) -> Value {
    form["enabled"] = json!(false);
    operator.post(SUBSCRIPTIONS, form).await.ok();
    operator.run_subscription(form["id"].as_str().unwrap()).await
}

#[tokio::test]
async fn long_run_goes_on_as_the_next_until_all_rows_are_read() {
    const ROWS: usize = 900;
    let directory = tempfile::tempdir().unwrap();
    let file = write_views(&directory.path().join("views"), &[("numbers", &numbers(ROWS))]).await;
    let app = app_beside(directory.path(), |settings| settings.run_seconds = 0).await;
    let operator = operator_of(&app, "acme").await;
    let mut form = form_of_view(&file, "numbers");
    let first = run_once(&operator, &mut form).await;
    let note = first["lastRun"]["notes"].to_string();
    assert!(note.contains("the next one goes on where it stopped"), "{first}");
    assert!(first["items"].as_u64().unwrap() < ROWS as u64, "{first}");
    form["enabled"] = json!(true);
    operator.replace_subscription(&form).await;
    let last = eventually("all rows", async || {
        let shown = operator.subscription("numbers").await;
        (shown["items"] == json!(ROWS)).then_some(shown)
    })
    .await;
    assert_eq!(last["failures"], json!(0), "{last}");
}

#[tokio::test]
async fn long_run_of_a_folder_gives_way_behind_any_file() {
    let directory = tempfile::tempdir().unwrap();
    for number in 1..=3 {
        fs::write(directory.path().join(format!("{number}.txt")), "high water").unwrap();
    }
    let app = app_beside(directory.path(), |settings| settings.run_seconds = 0).await;
    let operator = operator_of(&app, "acme").await;
    let path = directory.path();
    let mut form = json!({"id": "shelf", "name": "Shelf", "module": "article", "folder": {"path": path}});
    assert_eq!(run_once(&operator, &mut form).await["items"], json!(1));
    for items in [2, 3, 3] {
        assert_eq!(operator.run_subscription("shelf").await["items"], json!(items));
    }
}

#[tokio::test]
async fn long_run_that_would_repeat_itself_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let view = numbers(900).replace("n, 'harbour ' || n, n FROM", "n, 'harbour ' || n, 7 FROM");
    let file = write_views(&directory.path().join("views"), &[("alike", &view)]).await;
    let app = app_beside(directory.path(), |settings| settings.run_seconds = 0).await;
    let operator = operator_of(&app, "acme").await;
    operator.subscribe(&form_of_view(&file, "alike")).await;
    let all = async || operator.subscription("alike").await["items"] == json!(900);
    eventually("all rows of one cursor", async || all().await.then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_views_give_their_places_to_readers_of_another_tenant() {
    const ROWS: usize = 60_000;
    let directory = tempfile::tempdir().unwrap();
    let file =
        write_views(&directory.path().join("views"), &[("numbers", &numbers(ROWS)), ("few", &numbers(3))])
            .await;
    let app = app_beside(directory.path(), |_| {}).await;
    // Runs of one file take turns.
    let subscribe = async |tenant: &str, view: &str| {
        let copy = directory.path().join(format!("{tenant}.db"));
        fs::copy(&file, &copy).unwrap();
        let operator = operator_of(&app, tenant).await;
        operator.post(SUBSCRIPTIONS, &form_of_view(&copy, view)).await.ok();
        operator
    };
    let slow = [subscribe("slow", "numbers").await, subscribe("sluggish", "numbers").await];
    for operator in &slow {
        let has_items = async || operator.subscription("numbers").await["items"] != json!(0);
        eventually("a page", async || has_items().await.then_some(())).await;
    }
    subscribe("acme", "few").await.wait_for_runs("few", 1).await;
    for operator in &slow {
        let shown = operator.subscription("numbers").await;
        assert_eq!(shown["runs"], json!(0), "the other file waited for it: {shown}");
    }
}

#[tokio::test]
async fn slow_feeds_of_a_tenant_leave_runs_to_another() {
    let directory = tempfile::tempdir().unwrap();
    let app = app_beside(directory.path(), |settings| settings.at_once = 4).await;
    let server = FeedServer::start().await;
    let [slow, quick] = [operator_of(&app, "slow").await, operator_of(&app, "acme").await];
    server.set_entries("/quick", &[("q", "harbour")]);
    for number in 1..=4 {
        let path = format!("/slow{number}");
        server.reply_once(&path, FeedReply::Slow(HOUR));
        let form = feed(&format!("slow{number}"), &server.url(&format!("127.0.0.{number}"), &path));
        slow.post(SUBSCRIPTIONS, &form).await.ok();
    }
    eventually("three slow feeds to be asked", async || (server.open_requests() == 3).then_some(())).await;
    quick.subscribe(&feed("quick", &server.url("127.0.0.9", "/quick"))).await;
    for shown in slow.get(SUBSCRIPTIONS).await.ok().items() {
        assert_eq!(shown["runs"], json!(0), "the other feed waited for it: {shown}");
    }
}

#[tokio::test]
async fn run_that_begins_goes_behind_all_that_are_due() {
    let directory = tempfile::tempdir().unwrap();
    let app = app_beside(directory.path(), |settings| settings.at_once = 1).await;
    let server = FeedServer::start().await;
    let operator = operator_of(&app, "acme").await;
    for (id, host) in [("first", "127.0.0.1"), ("second", "127.0.0.2")] {
        let path = format!("/{id}");
        server.set_entries(&path, &[(id, "harbour")]);
        operator.subscribe(&feed(id, &server.url(host, &path))).await;
    }
    server.reply_once("/first", FeedReply::Slow(HOUR));
    app.clock.pass(3 * HOUR);
    app.app.subscriptions.wake();
    eventually("the first feed to be asked again", async || (server.open_requests() == 1).then_some(()))
        .await;
    let due = async |id| operator.subscription(id).await["nextRunAt"].clone();
    let hours = |hours: i64| -> Value { json!(NEW_YEAR + hours * 3_600_000) };
    assert_eq!([due("first").await, due("second").await], [hours(3), hours(1)]);
}
