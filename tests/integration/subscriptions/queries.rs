//! Queries in other databases.

use std::{fs, path::Path, time::Duration};

use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _};
use sqlx_mysql::MySqlConnectOptions;
use sqlx_sqlite::{SqliteConnectOptions, SqliteConnection};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::{Mutex, mpsc},
};

use crate::util::{
    app::{Application, TestApp},
    caller::Caller,
    external::with,
    postgres,
    program::{Server, create_application, create_operator, own_address},
    subscriptions::{SUBSCRIPTIONS, counts},
    systems::mariadb,
};

/// More than two pages.
const ROWS: usize = 450;
/// Rows may be committed ten minutes late.
const LATE: Duration = Duration::from_mins(11);

async fn start(change: impl FnOnce(&mut trawl::config::Subscriptions)) -> (TestApp, Application, Caller) {
    let (app, acme) = TestApp::start_acme_with(|config| change(&mut config.subscriptions)).await;
    let operator = app.operator().await.caller.on("acme");
    (app, acme, operator)
}

fn form(address: &str) -> Value {
    json!({"id": "crm", "name": "Customers", "module": "article", "sql": {
        "address": address, "password": "hunter-2", "cursorColumn": "version",
        "query": "SELECT id, title, version, seen_at AS display_time FROM notes -- all",
    }})
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
    let row = |number: usize| {
        // The same time as a date, in seconds and in microseconds.
        let seen = ["2024-01-01 00:00:00", "1704067200", "1704067200000000"][number % 3];
        format!("({number}, 'harbour {number}', 7, '{seen}')")
    };
    let rows: Vec<String> = (0..ROWS).map(row).collect();
    run(format!("INSERT INTO notes VALUES {}", rows.join(", "))).await;
    let shown = operator.subscribe(form).await;
    assert_eq!(counts(&shown), json!(["read", ROWS, ROWS, 0, 0, 0]), "{shown}");
    assert!(!shown.to_string().contains("hunter-2"));
    assert_eq!(app.titles(&acme.caller, "harbour").await.len(), ROWS);
    for number in 9..12 {
        let item = operator.get(&format!("/admin/v1/contents/article/crm:{number}")).await.ok();
        assert_eq!(item.data()["displayTime"], json!(1_704_067_200_000_i64));
    }

    let again = operator.run_subscription("crm").await;
    assert_eq!(counts(&again), json!(["read", ROWS, 0, 0, 0, 0]));
    run("INSERT INTO notes VALUES (-1, 'harbour late', 7, NULL), (-2, NULL, 7, NULL), (-3, 'harbour none', NULL, NULL)".into()).await;
    run("UPDATE notes SET title = 'lighthouse', version = 8 WHERE id = 10".into()).await;
    let more = operator.run_subscription("crm").await;
    assert_eq!(counts(&more), json!(["read", ROWS + 2, 1, 1, 0, 1]), "{more}");
    for (received, refused) in [(ROWS + 2, 1), (ROWS + 2, 1), (1, 0)] {
        app.clock.pass(LATE);
        let more = operator.run_subscription("crm").await;
        assert_eq!(counts(&more), json!(["read", received, 0, 0, 0, refused]), "{more}");
    }
    assert_eq!(app.titles(&acme.caller, "lighthouse").await, ["lighthouse"]);

    let mut wrong = form.clone();
    wrong["sql"]["query"] = json!("SELECT id, title, version FROM absent");
    let failed = operator.replace_subscription(&wrong).await;
    assert!(failed["lastRun"]["error"].as_str().unwrap().contains("absent"), "{failed}");
    wrong["sql"]["query"] = json!("SELECT id, title, title AS version FROM notes");
    wrong["sql"]["cursorColumn"] = json!("nothing");
    let failed = operator.replace_subscription(&wrong).await;
    assert!(failed["lastRun"]["error"].as_str().unwrap().starts_with("sql.cursorColumn: "), "{failed}");
    assert!(!postgres::holds(app.data(), "hunter-2").await);
}

/// A database of SQLite.
struct Notes {
    connection: Mutex<SqliteConnection>,
    address: String,
}

impl Notes {
    async fn open(folder: &Path) -> Self {
        let file = folder.join("notes.db");
        let options = SqliteConnectOptions::new().filename(&file).create_if_missing(true);
        let connection = Mutex::new(options.connect().await.unwrap());
        Self { connection, address: format!("sqlite:{}", file.display()) }
    }

    async fn run(&self, text: impl Into<String>) {
        self.connection.lock().await.execute(AssertSqlSafe(text.into())).await.unwrap();
    }
}

#[tokio::test]
async fn rows_of_sqlite_are_followed() {
    let folder = tempfile::tempdir().unwrap();
    let notes = Notes::open(folder.path()).await;
    let (app, acme, operator) = start(|settings| settings.folders = vec![folder.path().to_owned()]).await;
    follow(&app, &acme, &operator, &form(&notes.address), async |text: String| notes.run(text).await).await;
}

#[tokio::test]
async fn log_of_sqlite_is_read_and_nothing_is_made_beside_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let notes = Notes::open(folder.path()).await;
    notes.run("PRAGMA journal_mode = WAL").await;
    notes
        .run("CREATE TABLE notes (id BIGINT, title VARCHAR(200), version BIGINT, seen_at VARCHAR(40))")
        .await;
    notes.run("INSERT INTO notes VALUES (1, 'harbour', 1, NULL)").await;
    let (_app, _, operator) = start(|settings| settings.folders = vec![folder.path().to_owned()]).await;
    let shown = operator.subscribe(&form(&notes.address)).await;
    assert_eq!(counts(&shown), json!(["read", 1, 1, 0, 0, 0]), "{shown}");
    notes.run("INSERT INTO notes VALUES (2, 'pier', 2, NULL)").await;
    notes.connection.into_inner().close().await.unwrap();
    let names =
        || fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
    assert_eq!(names(), ["notes.db"]);
    let shown = operator.run_subscription("crm").await;
    assert_eq!(counts(&shown), json!(["read", 2, 1, 0, 0, 0]), "{shown}");
    assert_eq!(names(), ["notes.db"]);
}

#[tokio::test]
async fn copy_of_sqlite_with_its_log_alone_is_read() {
    let (folder, copies) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let notes = Notes::open(folder.path()).await;
    notes.run("PRAGMA journal_mode = WAL").await;
    notes
        .run("CREATE TABLE notes (id BIGINT, title VARCHAR(200), version BIGINT, seen_at VARCHAR(40))")
        .await;
    notes.run("PRAGMA wal_checkpoint(TRUNCATE)").await;
    notes.run("INSERT INTO notes VALUES (1, 'harbour', 1, NULL), (2, 'pier', 2, NULL)").await;
    for name in ["notes.db", "notes.db-wal"] {
        fs::copy(folder.path().join(name), copies.path().join(name)).unwrap();
    }
    let (_app, _, operator) = start(|settings| settings.folders = vec![copies.path().to_owned()]).await;
    let shown =
        operator.subscribe(&form(&format!("sqlite:{}", copies.path().join("notes.db").display()))).await;
    assert_eq!(counts(&shown), json!(["read", 2, 2, 0, 0, 0]), "{shown}");
    assert_eq!(fs::read_dir(copies.path()).unwrap().count(), 2);
}

#[tokio::test]
async fn long_rows_are_read_on_shorter_pages() {
    let folder = tempfile::tempdir().unwrap();
    let notes = Notes::open(folder.path()).await;
    // A control character is six bytes of JSON.
    notes
        .run(
            "CREATE VIEW notes AS WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 210) \
             SELECT n AS id, 'harbour' AS title, n AS version, replace(hex(zeroblob(32768)), '0', char(1)) AS brief FROM n",
        )
        .await;
    let (_app, _, operator) = start(|settings| settings.folders = vec![folder.path().to_owned()]).await;
    let mut form = form(&notes.address);
    form["sql"]["query"] = json!("SELECT id, title, version, brief FROM notes");
    let shown = operator.subscribe(&form).await;
    assert_eq!(counts(&shown), json!(["read", 210, 210, 0, 0, 0]), "{shown}");
}

/// A file of `tests/wild/sql_cursors`: a column's type, and cursors as SQL writes them.
#[derive(Deserialize)]
struct OddCursors {
    database: String,
    #[serde(rename = "type")]
    column_type: String,
    rows: Vec<String>,
    /// Cursors of rows that do not count.
    odd: Vec<String>,
    /// The cursor of a row that comes after.
    later: String,
}

/// Tests that rows with odd cursors are read and named.
async fn follow_beside_odd_rows(
    app: &TestApp,
    operator: &Caller,
    (database, address): (&str, &str),
    run: impl AsyncFn(String),
) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wild/sql_cursors");
    let mut cases: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    cases.sort();
    for file in cases {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let case: OddCursors = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        if case.database != database {
            continue;
        }
        let table = format!("table_{}", name.replace('-', "_"));
        let insert = async |id: &str, version: &str| {
            run(format!("INSERT INTO {table} VALUES ('{id}', 'harbour', {version})")).await;
        };
        run(format!("CREATE TABLE {table} (id VARCHAR(9), title VARCHAR(99), version {})", case.column_type))
            .await;
        for (number, version) in case.rows.iter().enumerate() {
            insert(&format!("row-{number}"), version).await;
        }
        for (number, version) in case.odd.iter().enumerate() {
            insert(&format!("odd-{number}"), version).await;
        }
        let mut form = with(form(address), "id", name);
        form["sql"]["query"] = json!(format!("SELECT id, title, version FROM {table}"));
        let shown = operator.subscribe(&form).await;
        let all = case.rows.len() + case.odd.len();
        assert_eq!(counts(&shown), json!(["read", all, all, 0, 0, 0]), "{name}: {shown}");
        assert_eq!(shown["lastRun"]["passedOver"], case.odd.len(), "{name}: {shown}");
        let mut named: Vec<_> = shown["lastRun"]["problems"].as_array().unwrap().iter().collect();
        named.sort_by_key(|problem| problem["id"].to_string());
        let expected: Vec<_> = (0..case.odd.len()).map(|number| format!("odd-{number}")).collect();
        let ids: Vec<_> = named.iter().map(|problem| problem["id"].as_str().unwrap()).collect();
        assert_eq!(ids, expected, "{name}: {shown}");
        assert!(named[0]["reason"].as_str().unwrap().starts_with("sql.cursorColumn: "), "{name}: {shown}");

        for _ in 0..3 {
            app.clock.pass(LATE);
            operator.run_subscription(name).await;
        }
        insert("later", &case.later).await;
        let shown = operator.run_subscription(name).await;
        assert_eq!(shown["lastRun"]["added"], 1, "{name}: {shown}");
        let mend =
            format!("UPDATE {table} SET title = 'mended', version = {} WHERE id LIKE 'odd-%'", case.later);
        run(mend).await;
        let shown = operator.run_subscription(name).await;
        assert_eq!(shown["lastRun"]["changed"], case.odd.len(), "{name}: {shown}");
        assert_eq!(shown["lastRun"]["passedOver"], 0, "{name}: {shown}");
    }
}

#[tokio::test]
async fn rows_beside_odd_cursors_of_sqlite_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let notes = Notes::open(folder.path()).await;
    let (app, _, operator) = start(|settings| settings.folders = vec![folder.path().to_owned()]).await;
    let run = async |text: String| notes.run(text).await;
    follow_beside_odd_rows(&app, &operator, ("sqlite", &notes.address), run).await;
}

#[tokio::test]
async fn odd_row_on_a_page_of_its_own_is_passed_over() {
    const PAGE: usize = 200;
    let folder = tempfile::tempdir().unwrap();
    let notes = Notes::open(folder.path()).await;
    let (_app, _, operator) = start(|settings| settings.folders = vec![folder.path().to_owned()]).await;
    notes
        .run("CREATE TABLE notes (id BIGINT, title VARCHAR(200), version BIGINT, seen_at VARCHAR(40))")
        .await;
    let rows: Vec<String> =
        (1..=PAGE).map(|number| format!("({number}, 'harbour', {number}, NULL)")).collect();
    notes.run(format!("INSERT INTO notes VALUES {}, (0, 'harbour', x'41', NULL)", rows.join(", "))).await;
    let shown = operator.subscribe(&form(&notes.address)).await;
    assert_eq!(counts(&shown), json!(["read", PAGE + 1, PAGE + 1, 0, 0, 0]), "{shown}");
    assert_eq!(shown["lastRun"]["passedOver"], 1, "{shown}");
    notes
        .run(format!(
            "DELETE FROM notes WHERE id = {PAGE}; INSERT INTO notes VALUES (-1, 'lighthouse', {PAGE}, NULL)"
        ))
        .await;
    let shown = operator.run_subscription("crm").await;
    assert_eq!(counts(&shown)[2], 1, "{shown}");
}

#[tokio::test]
async fn row_that_is_no_item_is_refused_alone() {
    let folder = tempfile::tempdir().unwrap();
    let notes = Notes::open(folder.path()).await;
    let (app, acme, operator) = start(|settings| settings.folders = vec![folder.path().to_owned()]).await;
    notes.run("CREATE TABLE notes (id TEXT, title TEXT, version BIGINT, seen_at TEXT)").await;
    notes
        .run("INSERT INTO notes VALUES ('a', 'harbour one', 1, NULL), (NULL, 'harbour none', 1, NULL)")
        .await;
    notes.run("INSERT INTO notes VALUES ('b', CAST(x'686172626f757220636166e9' AS TEXT), 2, NULL)").await;
    // A replacement character of the row's own.
    notes.run("INSERT INTO notes VALUES ('\u{fffd}', 'harbour two', 3, NULL)").await;
    let mut form = form(&notes.address);
    form["sql"]["query"] = json!(
        "SELECT id, title, version, 'javascript:alert(' || id || ')' AS link FROM notes WHERE id = 'a' \
               UNION ALL SELECT id, title, version, NULL FROM notes"
    );
    let shown = operator.subscribe(&form).await;
    assert_eq!(counts(&shown), json!(["read", 5, 3, 0, 0, 2]), "{shown}");
    let problems = shown["lastRun"]["problems"].as_array().unwrap();
    let reasons: Vec<&str> = problems.iter().map(|problem| problem["reason"].as_str().unwrap()).collect();
    for reason in ["id: is required", "action: opens a script instead of an address"] {
        assert!(reasons.contains(&reason), "{shown}");
    }
    assert_eq!(
        app.titles(&acme.caller, "harbour").await,
        ["harbour caf\u{fffd}", "harbour one", "harbour two"]
    );
    notes.run("UPDATE notes SET id = CAST(x'e9' AS TEXT) WHERE id = 'b'").await;
    let shown = operator.run_subscription("crm").await;
    assert!(shown["lastRun"]["error"].as_str().unwrap().contains("in UTF-8"), "{shown}");
    notes.run("DELETE FROM notes").await;
    notes
        .run(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) \
               INSERT INTO notes SELECT NULL, 'harbour', i, NULL FROM n",
        )
        .await;
    let shown = operator.run_subscription("crm").await;
    assert!(shown["lastRun"]["error"].as_str().unwrap().contains("without an id"), "{shown}");
}

#[tokio::test]
async fn row_that_is_committed_late_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let notes = Notes::open(folder.path()).await;
    let (app, _, operator) = start(|settings| settings.folders = vec![folder.path().to_owned()]).await;
    notes.run("CREATE TABLE notes (id BIGINT, title TEXT, version BIGINT, seen_at TEXT)").await;
    notes.run("INSERT INTO notes VALUES (1, 'harbour 1', 10, NULL)").await;
    operator.subscribe(&form(&notes.address)).await;
    app.clock.pass(LATE);
    notes.run("INSERT INTO notes VALUES (2, 'harbour 2', 20, NULL)").await;
    let shown = operator.run_subscription("crm").await;
    assert_eq!(counts(&shown), json!(["read", 2, 1, 0, 0, 0]), "{shown}");
    notes.run("INSERT INTO notes VALUES (3, 'harbour 3', 15, NULL)").await;
    let shown = operator.run_subscription("crm").await;
    assert_eq!(counts(&shown), json!(["read", 3, 1, 0, 0, 0]), "{shown}");
    // Rows from long ago are not read for ever.
    for received in [3, 1] {
        app.clock.pass(LATE);
        let shown = operator.run_subscription("crm").await;
        assert_eq!(counts(&shown), json!(["read", received, 0, 0, 0, 0]), "{shown}");
    }
}

#[tokio::test]
async fn old_row_is_not_taken_again_when_it_changes() {
    let folder = tempfile::tempdir().unwrap();
    let notes = Notes::open(folder.path()).await;
    let (app, acme, operator) = start(|settings| settings.folders = vec![folder.path().to_owned()]).await;
    notes.run("CREATE TABLE notes (id BIGINT, title TEXT, version BIGINT, seen_at TEXT)").await;
    notes.run("INSERT INTO notes VALUES (1, 'harbour one', 1, NULL), (2, 'harbour two', 2, NULL)").await;
    let form = with(with(form(&notes.address), "enabled", false), "keepDays", 10);
    operator.post(SUBSCRIPTIONS, &form).await.ok();
    operator.run_subscription("crm").await;
    app.clock.pass(Duration::from_hours(11 * 24));
    app.app.maintenance.make_round().await.unwrap();
    assert_eq!(operator.subscription("crm").await["items"], json!(0));
    notes.run("INSERT INTO notes VALUES (3, 'harbour three', 3, NULL)").await;
    // The first of these reads all rows, the second not the old one.
    for (received, added) in [(3, 1), (2, 0)] {
        let shown = operator.run_subscription("crm").await;
        assert_eq!(counts(&shown), json!(["read", received, added, 0, 0, 0]), "{shown}");
    }
    notes.run("UPDATE notes SET title = 'harbour again', version = 4 WHERE id = 1").await;
    let shown = operator.run_subscription("crm").await;
    assert_eq!(counts(&shown), json!(["read", 3, 0, 0, 0, 0]), "{shown}");
    assert_eq!(app.titles(&acme.caller, "harbour").await, ["harbour three"]);
}

#[tokio::test]
async fn rows_of_mysql_are_followed_with_a_password() {
    let database = mariadb().await;
    database.run("CREATE DATABASE crm; CREATE USER reader@'127.0.0.1' IDENTIFIED BY 'hunter-2'; GRANT SELECT ON crm.* TO reader@'127.0.0.1'").await;
    let writer = MySqlConnectOptions::new().socket(database.socket()).username("root").database("crm");
    let connection = Mutex::new(writer.connect().await.unwrap());
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
    let shown = operator.replace_subscription(&kept).await;
    assert_eq!(shown["lastRun"]["outcome"], "read", "{shown}");
    kept["sql"]["address"] = json!(format!("mysql://other@{host}/crm"));
    let path = format!("{SUBSCRIPTIONS}/crm");
    operator.put(&path, &kept).await.fails(400, "sql.password: must be given again");
    // Another password alone is tried at once.
    let mut wrong = form.clone();
    wrong["sql"]["password"] = json!("wrong");
    let shown = operator.replace_subscription(&wrong).await;
    assert!(shown["lastRun"]["error"].as_str().unwrap().contains("denied"), "{shown}");
    assert_eq!(operator.put(&path, &form).await.ok().data()["failures"], 0);
    let shown = operator.wait_for_runs("crm", shown["runs"].as_u64().unwrap() + 1).await;
    assert_eq!(shown["lastRun"]["outcome"], "read", "{shown}");
}

/// A database's addresses for `psql` and for subscriptions, and its host.
fn postgresql(name: &str) -> (String, String, String) {
    let url = postgres::database(name);
    let mut address = url::Url::parse(&url).unwrap();
    address.set_query(None);
    let host = format!("{}:{}", address.host_str().unwrap(), address.port().unwrap());
    (url, address.into(), host)
}

#[tokio::test]
async fn rows_beside_odd_cursors_of_mysql_are_found() {
    let database = mariadb().await;
    database.run("CREATE DATABASE crm; CREATE USER reader@'127.0.0.1' IDENTIFIED BY 'hunter-2'; GRANT SELECT ON crm.* TO reader@'127.0.0.1'").await;
    let writer = MySqlConnectOptions::new().socket(database.socket()).username("root").database("crm");
    let connection = Mutex::new(writer.connect().await.unwrap());
    let host = format!("127.0.0.1:{}", database.port);
    let (app, _, operator) = start(|settings| settings.databases = vec![host.clone()]).await;
    let run = async |text: String| {
        connection.lock().await.execute(AssertSqlSafe(text)).await.unwrap();
    };
    follow_beside_odd_rows(&app, &operator, ("mysql", &format!("mysql://reader@{host}/crm")), run).await;
}

#[tokio::test]
async fn rows_beside_odd_cursors_of_postgresql_are_found() {
    let (url, address, host) = postgresql("odd_cursors");
    let (app, _, operator) = start(|settings| settings.databases = vec![host]).await;
    let run = async |text: String| postgres::query(&url, &text).await;
    follow_beside_odd_rows(&app, &operator, ("postgres", &address), run).await;
}

/// Functions of superusers write in a read-only transaction, too.
#[tokio::test]
async fn superuser_of_postgresql_is_noted() {
    let (url, address, host) = postgresql("superusers");
    let (_app, _, operator) = start(|settings| settings.databases = vec![host]).await;
    for text in [
        "CREATE TABLE notes (id BIGINT, title TEXT, version BIGINT, seen_at TEXT)",
        "INSERT INTO notes VALUES (1, 'harbour', 1, NULL)",
        "DROP ROLE IF EXISTS careful",
        "CREATE ROLE careful LOGIN",
        "GRANT pg_read_all_data TO careful",
    ] {
        postgres::query(&url, text).await;
    }
    let shown = operator.subscribe(&form(&address)).await;
    let notes = shown["lastRun"]["notes"].as_array().unwrap();
    assert!(notes[0].as_str().unwrap().starts_with("sql.address: its user is a superuser"), "{shown}");
    let careful = form(&address.replace("trawl@", "careful@"));
    let shown = operator.replace_subscription(&careful).await;
    assert_eq!((counts(&shown), &shown["lastRun"]["notes"]), (json!(["read", 1, 0, 0, 0, 0]), &json!([])));
}

#[tokio::test]
async fn rows_of_postgresql_are_followed_and_never_written() {
    let (url, address, host) = postgresql("followed_rows");
    let (app, acme, operator) = start(|settings| settings.databases = vec![host]).await;
    let run = async |text: String| postgres::query(&url, &text).await;
    follow(&app, &acme, &operator, &form(&address), run).await;
    let mut writing = form(&address);
    run("CREATE FUNCTION wipe() RETURNS bigint LANGUAGE sql AS 'DELETE FROM notes RETURNING id'".into())
        .await;
    writing["sql"]["query"] = json!("SELECT wipe() AS id, 'x' AS title, 1 AS version");
    let shown = operator.replace_subscription(&writing).await;
    assert!(shown["lastRun"]["error"].as_str().unwrap().contains("read-only"), "{shown}");
}

#[tokio::test]
async fn padded_cursors_of_postgresql_are_read_to_the_last() {
    let (url, address, host) = postgresql("padded_cursors");
    let (_app, _, operator) = start(|settings| settings.databases = vec![host]).await;
    postgres::query(&url, "CREATE TABLE notes (id BIGINT, title TEXT, version CHAR(8), seen_at TEXT)").await;
    let rows: Vec<String> =
        (0..ROWS).map(|number| format!("({number}, 'harbour', 'v{number:04}', NULL)")).collect();
    postgres::query(&url, &format!("INSERT INTO notes VALUES {}", rows.join(", "))).await;
    let shown = operator.subscribe(&form(&address)).await;
    assert_eq!(counts(&shown), json!(["read", ROWS, ROWS, 0, 0, 0]), "{shown}");
}

/// Starts a PostgreSQL that refuses all passwords; returns its host, and them.
async fn refusing_postgresql() -> (String, mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let (passwords, received) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        loop {
            let (mut client, _) = listener.accept().await.unwrap();
            passwords.send(refuse(&mut client).await).unwrap();
        }
    });
    (host, received)
}

async fn refuse(client: &mut TcpStream) -> String {
    // No TLS.
    message(client).await;
    client.write_all(b"N").await.unwrap();
    message(client).await;
    // The password in clear text.
    client.write_all(b"R\0\0\0\x08\0\0\0\x03").await.unwrap();
    assert_eq!(client.read_u8().await.unwrap(), b'p');
    let mut password = message(client).await;
    assert_eq!(password.pop(), Some(0));
    let fields = b"SFATAL\0VFATAL\0C28P01\0Mrefused\0\0";
    client.write_all(b"E").await.unwrap();
    client.write_u32(u32::try_from(fields.len()).unwrap() + 4).await.unwrap();
    client.write_all(fields).await.unwrap();
    String::from_utf8(password).unwrap()
}

async fn message(client: &mut TcpStream) -> Vec<u8> {
    let length = client.read_u32().await.unwrap();
    let mut body = vec![0; usize::try_from(length).unwrap() - 4];
    client.read_exact(&mut body).await.unwrap();
    body
}

/// A server that may read of this host, and its operator.
async fn launch(directory: &Path, host: &str, variable: (&'static str, String)) -> (Server, Caller) {
    let settings = format!("[subscriptions]\ndatabases = [\"{host}\"]\n");
    fs::write(directory.join("trawl.toml"), settings).unwrap();
    let listen = own_address();
    let mut environment = postgres::environment(directory, &listen);
    environment.push(variable);
    let server = Server::launch_by(directory, &listen, environment, &[]).await;
    server.wait_until_ready().await;
    create_application(directory, "acme").await;
    let operator = create_operator(directory, "operations").await;
    let operator = server.caller(&operator).await.on("acme");
    (server, operator)
}

#[tokio::test]
async fn required_tls_trusts_the_authorities_of_the_system() {
    let (_, address, host) = postgresql("required_tls");
    let certificates =
        std::env::var("TRAWL_TEST_POSTGRES_CERTIFICATES").expect("./tests/run makes certificates");
    let address = address.replace("127.0.0.1", "localhost") + "?tls=required";
    let host = host.replace("127.0.0.1", "localhost");
    let mut form = form(&address);
    form["sql"]["query"] = json!("SELECT 1 AS id, 'harbour' AS title, 1 AS version");
    for (authority, read) in [("authority", true), ("other", false)] {
        let directory = tempfile::tempdir().unwrap();
        let file = format!("{certificates}/{authority}.pem");
        let (_server, operator) = launch(directory.path(), &host, ("SSL_CERT_FILE", file)).await;
        let shown = operator.subscribe(&form).await;
        let error = shown["lastRun"]["error"].as_str().unwrap_or_default();
        assert_eq!(error.contains("certificate"), !read, "{shown}");
        assert_eq!(shown["lastRun"]["outcome"] == "read", read, "{shown}");
    }
}

#[tokio::test]
async fn own_password_alone_is_sent_until_it_is_removed() {
    let (host, mut passwords) = refusing_postgresql().await;
    let directory = tempfile::tempdir().unwrap();
    let (_server, operator) =
        launch(directory.path(), &host, ("PGPASSWORD", "of-the-store".to_owned())).await;
    let with_password = |password: Value| {
        let form = form(&format!("postgres://reader@{host}/crm"));
        with(form.clone(), "sql", with(form["sql"].clone(), "password", password))
    };
    let shown = operator.subscribe(&with_password(Value::Null)).await;
    assert!(shown["lastRun"]["error"].as_str().unwrap().contains("refused"), "{shown}");
    assert_eq!(passwords.recv().await.unwrap(), "");
    operator.replace_subscription(&with_password(json!("hunter-2"))).await;
    assert_eq!(passwords.recv().await.unwrap(), "hunter-2");
    operator.put(&format!("{SUBSCRIPTIONS}/crm"), &with_password(Value::Null)).await.ok();
    operator.run_subscription("crm").await;
    assert_eq!(passwords.recv().await.unwrap(), "hunter-2");
    operator.replace_subscription(&with_password(json!(""))).await;
    assert_eq!(passwords.recv().await.unwrap(), "");
}

#[tokio::test]
async fn host_that_left_the_settings_is_not_called() {
    let (host, mut passwords) = refusing_postgresql().await;
    let (app, _, operator) = start(|settings| settings.databases = vec![host.clone()]).await;
    operator.subscribe(&form(&format!("postgres://reader@{host}/crm"))).await;
    assert_eq!(passwords.recv().await.unwrap(), "hunter-2");
    let app = app.restart_with(|config| config.subscriptions.databases = Vec::new()).await;
    let operator = app.operator().await.caller.on("acme");
    let shown = operator.run_subscription("crm").await;
    assert!(shown["lastRun"]["error"].as_str().unwrap().contains("subscriptions.databases"), "{shown}");
    assert!(passwords.try_recv().is_err());
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
