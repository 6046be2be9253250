//! Queries in other databases.

use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Executor as _};
use sqlx_mysql::MySqlConnectOptions;
use sqlx_sqlite::SqliteConnectOptions;

use crate::util::{
    app::{Application, TestApp},
    caller::Caller,
    external::with,
    postgres,
    subscriptions::SUBSCRIPTIONS,
    systems::mariadb,
};

/// More than two pages.
const ROWS: usize = 450;

async fn start(change: impl FnOnce(&mut trawl::config::Subscriptions)) -> (TestApp, Application, Caller) {
    let app = TestApp::start_with(|config| change(&mut config.subscriptions)).await;
    let acme = app.tenant("acme").await;
    let operator = app.operator().await.caller.on("acme");
    (app, acme, operator)
}

fn form(address: &str) -> Value {
    json!({"id": "crm", "name": "Customers", "module": "article", "sql": {
        "address": address, "password": "hunter-2", "cursorColumn": "version",
        "query": "SELECT id, title, version, seen_at AS display_time FROM notes -- all",
    }})
}

fn counts(shown: &Value) -> Value {
    let run = &shown["lastRun"];
    json!([run["outcome"], run["received"], run["added"], run["changed"], run["removed"], run["refused"]])
}

/// Rows of one cursor span pages, and come later beside those that were read.
async fn follow(
    app: &TestApp,
    acme: &Application,
    operator: &Caller,
    form: &Value,
    run: impl AsyncFn(String),
) {
    run("CREATE TABLE notes (id BIGINT, title VARCHAR(200), version BIGINT, seen_at VARCHAR(40))".into())
        .await;
    let rows: Vec<String> =
        (0..ROWS).map(|number| format!("({number}, 'harbour {number}', 7, '2024-01-01 00:00:00')")).collect();
    run(format!("INSERT INTO notes VALUES {}", rows.join(", "))).await;
    let shown = operator.subscribe(form).await;
    assert_eq!(counts(&shown), json!(["read", ROWS, ROWS, 0, 0, 0]), "{shown}");
    assert!(!shown.to_string().contains("hunter-2"));
    assert_eq!(app.titles(&acme.caller, "harbour").await.len(), ROWS);
    let item = operator.get("/admin/v1/contents/article/crm:10").await.ok();
    assert_eq!(item.data()["displayTime"], json!(1_704_067_200_000_i64));

    let again = operator.run_subscription("crm").await;
    assert_eq!(counts(&again), json!(["read", ROWS, 0, 0, 0, 0]));
    run("INSERT INTO notes VALUES (-1, 'harbour late', 7, NULL), (-2, NULL, 7, NULL), (-3, 'harbour none', NULL, NULL)".into()).await;
    run("UPDATE notes SET title = 'lighthouse', version = 8 WHERE id = 10".into()).await;
    let more = operator.run_subscription("crm").await;
    assert_eq!(counts(&more), json!(["read", ROWS + 2, 1, 1, 0, 1]), "{more}");
    let more = operator.run_subscription("crm").await;
    assert_eq!(counts(&more), json!(["read", 1, 0, 0, 0, 0]));
    assert_eq!(app.titles(&acme.caller, "lighthouse").await, ["lighthouse"]);

    let mut wrong = form.clone();
    wrong["sql"]["query"] = json!("SELECT id, title, version FROM absent");
    operator.put(&format!("{SUBSCRIPTIONS}/crm"), &wrong).await.ok();
    let failed = operator.wait_for_runs("crm", 5).await;
    assert!(failed["lastRun"]["error"].as_str().unwrap().contains("absent"), "{failed}");
    wrong["sql"]["query"] = json!("SELECT id, title, title AS version FROM notes");
    wrong["sql"]["cursorColumn"] = json!("nothing");
    operator.put(&format!("{SUBSCRIPTIONS}/crm"), &wrong).await.ok();
    let failed = operator.wait_for_runs("crm", 6).await;
    assert!(failed["lastRun"]["error"].as_str().unwrap().starts_with("sql.cursorColumn: "), "{failed}");
    assert!(!postgres::holds(app.data(), "hunter-2").await);
}

#[tokio::test]
async fn rows_of_sqlite_are_followed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.db");
    let options = SqliteConnectOptions::new().filename(&file).create_if_missing(true);
    let connection = tokio::sync::Mutex::new(options.connect().await.unwrap());
    let (app, acme, operator) = start(|settings| settings.folders = vec![folder.path().to_owned()]).await;
    let run = async |text: String| {
        connection.lock().await.execute(AssertSqlSafe(text)).await.unwrap();
    };
    follow(&app, &acme, &operator, &form(&format!("sqlite:{}", file.display())), run).await;
}

#[tokio::test]
async fn rows_of_mysql_are_followed_with_a_password() {
    let database = mariadb().await;
    database.run("CREATE DATABASE crm; CREATE USER reader@'127.0.0.1' IDENTIFIED BY 'hunter-2'; GRANT SELECT ON crm.* TO reader@'127.0.0.1'").await;
    let writer = MySqlConnectOptions::new().socket(database.socket()).username("root").database("crm");
    let connection = tokio::sync::Mutex::new(writer.connect().await.unwrap());
    let host = format!("127.0.0.1:{}", database.port);
    let (app, acme, operator) = start(|settings| settings.databases = vec![host.clone()]).await;
    let run = async |text: String| {
        connection.lock().await.execute(AssertSqlSafe(text)).await.unwrap();
    };
    let form = form(&format!("mysql://reader@{host}/crm"));
    follow(&app, &acme, &operator, &form, run).await;
    // The password stays where it was sent.
    let mut kept = form.clone();
    kept["sql"].as_object_mut().unwrap().remove("password");
    let path = format!("{SUBSCRIPTIONS}/crm");
    operator.put(&path, &kept).await.ok();
    let shown = operator.wait_for_runs("crm", 7).await;
    assert_eq!(shown["lastRun"]["outcome"], "read", "{shown}");
    kept["sql"]["address"] = json!(format!("mysql://other@{host}/crm"));
    operator.put(&path, &kept).await.fails(400, "sql.password: must be given again");
    let mut wrong = form.clone();
    wrong["sql"]["password"] = json!("wrong");
    wrong["sql"]["query"] = json!("SELECT id, title, version FROM notes");
    operator.put(&path, &wrong).await.ok();
    let shown = operator.wait_for_runs("crm", 8).await;
    assert!(shown["lastRun"]["error"].as_str().unwrap().contains("denied"), "{shown}");
}

/// Where a server of PostgreSQL is at hand.
#[tokio::test]
async fn rows_of_postgresql_are_followed_and_never_written() {
    let name = tempfile::tempdir().unwrap();
    let Some(url) = postgres::url_of(name.path()) else {
        eprintln!("left out: TRAWL_TEST_STORE is not postgres");
        return;
    };
    let mut address = url::Url::parse(&url).unwrap();
    address.set_query(None);
    let host = format!("{}:{}", address.host_str().unwrap(), address.port().unwrap());
    let (app, acme, operator) = start(|settings| settings.databases = vec![host]).await;
    let run = async |text: String| postgres::query(&url, &text).await;
    follow(&app, &acme, &operator, &form(address.as_str()), run).await;
    let mut writing = form(address.as_str());
    run("CREATE FUNCTION wipe() RETURNS bigint LANGUAGE sql AS 'DELETE FROM notes RETURNING id'".into())
        .await;
    writing["sql"]["query"] = json!("SELECT wipe() AS id, 'x' AS title, 1 AS version");
    operator.put(&format!("{SUBSCRIPTIONS}/crm"), &writing).await.ok();
    let shown = operator.wait_for_runs("crm", 7).await;
    assert!(shown["lastRun"]["error"].as_str().unwrap().contains("read-only"), "{shown}");
}

#[tokio::test]
async fn wrong_field_of_a_query_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (_app, _, operator) = start(|settings| {
        settings.folders = vec![folder.path().to_owned()];
        settings.databases = vec!["db.example:5432".to_owned()];
    })
    .await;
    let good = form("postgres://reader@db.example:5432/crm");
    let wrong =
        |field: &str, value: Value| with(good.clone(), "sql", with(good["sql"].clone(), field, value));
    let check = format!("{SUBSCRIPTIONS}?dryRun=true");
    operator.post(&check, &good).await.ok();
    for (address, reason) in [
        ("nothing", "must begin with"),
        ("https://db.example/", "must begin with"),
        ("postgres://reader:secret-1@db.example:5432/crm", "sql.password"),
        ("postgres://reader@db.example/crm", "subscriptions.databases"),
        ("postgres://reader@127.0.0.1:5432/crm", "subscriptions.databases"),
        ("postgres://db.example:5432/crm", "must name a user"),
        ("postgres://reader@db.example:5432/", "must name a user"),
        ("postgres://reader@db.example:5432/crm?sslrootcert=/etc/passwd", "tls=required"),
        ("sqlite:/etc/passwd", "subscriptions.folders"),
        ("sqlite://host/file", "absolute path"),
    ] {
        let answer =
            operator.post(&check, &wrong("address", json!(address))).await.fails(400, "sql.address: ");
        assert!(answer.message().contains(reason) && !answer.text.contains("secret-1"), "{}", answer.text);
    }
    for query in ["", "DELETE FROM notes", "SELECT 1; SELECT 2", "ATTACH 'x' AS y"] {
        operator.post(&check, &wrong("query", json!(query))).await.fails(400, "sql.query: ");
    }
    operator.post(&check, &wrong("query", json!("select 1 as id;"))).await.ok();
    operator.post(&check, &wrong("cursorColumn", Value::Null)).await.fails(400, "sql.cursorColumn: ");
    operator.post(&check, &wrong("password", json!(["hunter-3"]))).await.fails(400, "sql.password");
}
