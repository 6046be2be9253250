//! `trawl store copy` between both kinds of database.

use std::process::Output;

use serde_json::{Value, json};
use sqlx::{Connection as _, raw_sql};
use sqlx_postgres::PgConnection;

use crate::util::{
    app::TestApp,
    database::{read, write},
    eventually,
    groups::group,
    internals::Store,
    items::{many, user},
    postgres::{database, environment_of, open, query, url_of},
    program::{text, trawl},
};

fn copy(from: &str, to: &str) -> Output {
    trawl(&["store", "copy", "--from", from, "--to", to, "--json"]).output().unwrap()
}

fn serve_over(url: &str) -> Output {
    let directory = tempfile::tempdir().unwrap();
    let mut command = trawl(&["serve", "--listen", "127.0.0.1:0"]);
    command.arg("--data").arg(directory.path()).current_dir(directory.path());
    command.envs(environment_of(url, directory.path(), "127.0.0.1:1")).output().unwrap()
}

/// Rows by table, which are those of the source.
#[track_caller]
fn copied(output: &Output) -> Value {
    assert!(output.status.success(), "{}{}", text(&output.stderr), text(&output.stdout));
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    for table in printed["tables"].as_array().unwrap() {
        assert_eq!(table["from"], table["to"], "{table}");
    }
    printed["tables"].clone()
}

#[track_caller]
fn refused(output: &Output, reason: &str) {
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains(reason), "{}", text(&output.stderr));
}

async fn filled() -> (TestApp, crate::util::app::Application) {
    let (app, acme) = TestApp::start_with_acme().await;
    app.sync(&acme.caller, "users", &json!([user("mei", ""), user("omar", "")])).await;
    app.put_contents(&acme.caller, "article", &many("a", "harbour", 1_300, 1)).await;
    let mei = app.user(&acme, "mei").await;
    group(&mei, "Harbour watch", &["omar"]).await;
    // The number of a tenant that is gone is not given again.
    app.tenant("gone").await;
    app.execute("DELETE FROM tenants WHERE code = 'gone'").await;
    (app, acme)
}

#[tokio::test]
async fn store_is_copied_to_the_other_database_and_back() {
    let (app, acme) = filled().await;
    let token = acme.caller.token.clone();
    let last_tenant = app.number("SELECT MAX(id) FROM tenants").await + 1;
    let source = url_of(app.data()).unwrap_or(app.data().display().to_string());
    let (there, back) = (database("copied"), tempfile::tempdir().unwrap());
    let home = back.path().join("data").display().to_string();
    let mut tables = Value::Null;
    let app = app
        .restart_with(|config| {
            tables = copied(&copy(&source, &there));
            config.store.url = Some(there.as_str().into());
        })
        .await;
    let caller = app.caller(&token);
    assert_eq!(caller.find("article", "harbour").await.len(), 1_000, "tokens and the index stay good");
    assert_eq!(app.number("SELECT COUNT(*) FROM contents").await, 1_300);
    let next = app.tenant("next").await;
    assert!(next.tenant_id > last_tenant, "{} after {last_tenant}", next.tenant_id);
    app.put_contents(&next.caller, "article", &many("b", "harbour", 2, 1)).await;
    refused(&copy(&source, &there), "the target is not empty");

    let mut again = Value::Null;
    let app = app.restart_with(|_| again = copied(&copy(&there, &home))).await;
    let count = |tables: &Value, name: &str| {
        let tables = tables.as_array().unwrap();
        tables.iter().find(|table| table["table"] == name).unwrap()["to"].as_u64().unwrap()
    };
    assert_eq!(count(&again, "contents"), count(&tables, "contents") + 2);
    assert_eq!(count(&again, "group_members"), 2);
    drop(app);
    let third = database("copied_again");
    assert_eq!(copied(&copy(&home, &third)), again);
}

/// Ends a copy at an item of its second batch.
const CUT: &str = "CREATE FUNCTION cut() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN RAISE 'cut'; END $$; \
    CREATE TRIGGER cut BEFORE INSERT ON contents FOR EACH ROW WHEN (new.sequence > 700) EXECUTE FUNCTION cut()";

#[tokio::test]
async fn copy_that_was_cut_short_is_completed() {
    let (app, _) = filled().await;
    let source = url_of(app.data()).unwrap_or(app.data().display().to_string());
    let there = database("resumed");
    app.wait_for_index().await;
    let target = open(&there).await;
    query(&there, CUT).await;
    let app = app.restart_with(|_| {
        refused(&copy(&source, &there), "");
        refused(&copy(&there, &database("of_a_half")), "unfinished copy");
        refused(&serve_over(&there), "unfinished copy");
        let undo = "DROP FUNCTION cut CASCADE; UPDATE contents SET module = 'kept' WHERE sequence = 1";
        std::thread::scope(|scope| {
            scope.spawn(|| tokio::runtime::Runtime::new().unwrap().block_on(query(&there, undo)));
        });
        copied(&copy(&source, &there));
    });
    drop(app.await);
    let kept =
        read::<(i64,)>(&target, "SELECT sequence FROM contents WHERE module = 'kept'", Vec::new()).await;
    assert_eq!(kept, [(1,)], "the second run goes on behind the first");
    refused(&copy("/nothing/here", &there), "there is no database");
    refused(&copy(&database("unrelated"), &there), "not empty");
    refused(&copy("mysql://u:hunter2@host/x", &there), "postgres://");
}

#[tokio::test]
async fn copy_of_a_source_that_changed_stays_unfinished() {
    let home = tempfile::tempdir().unwrap();
    let source = Store::open(home.path(), 1).await.unwrap();
    let change = async |text: &str| write(&source, vec![(text.to_owned(), Vec::new())], Vec::new()).await;
    change("INSERT INTO tenants (code, name, created_at) VALUES ('acme', 'Acme', 0)").await;
    let (from, there) = (home.path().display().to_string(), database("changed"));
    let target = open(&there).await;

    let mut holder = PgConnection::connect(&there).await.unwrap();
    raw_sql("BEGIN; LOCK TABLE tenants IN SHARE MODE").execute(&mut holder).await.unwrap();
    let copying = tokio::task::spawn_blocking({
        let (from, there) = (from.clone(), there.clone());
        move || copy(&from, &there)
    });
    let waiting = "SELECT pid::bigint FROM pg_locks WHERE NOT granted AND relation = 'tenants'::regclass";
    eventually("the copy to wait for the lock", async || {
        read::<(i64,)>(&target, waiting, Vec::new()).await.pop()
    })
    .await;
    change("INSERT INTO tenants (code, name, created_at) VALUES ('other', 'Other', 0)").await;
    holder.close().await.unwrap();
    refused(&copying.await.unwrap(), "the source changed");
    refused(&serve_over(&there), "unfinished copy");

    change("UPDATE tenants SET name = 'Harbour' WHERE code = 'acme'").await;
    copied(&copy(&from, &there));
    let names = read::<(String,)>(&target, "SELECT name FROM tenants ORDER BY code", Vec::new()).await;
    assert_eq!(names, [("Harbour".to_owned(),), ("Other".to_owned(),)], "the second run begins anew");
}
