//! Directory synchronisation.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::json;
use trawl::{
    auth::applications::Kind,
    store::{ROWS_PER_STATEMENT, Store, Value, sql},
};

use crate::{
    Scale,
    common::{
        data_directory::DataDirectory,
        load::{Connection, Target, block_on},
        report::Report,
        server::Server,
    },
    process::resident_mib,
};

const CALL: usize = 10_000;
const PAGE: usize = 1_000;
/// In total, and per call.
const CHANGES: usize = 1_000;
const CHANGES_OF_A_CALL: usize = 10;
const PASSWORDS: usize = 400;
const FIND_TIMEOUT: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(1);

pub(crate) fn run(scale: &Scale, report: &mut Report) {
    let [departments, users] = scale.directory;
    writeln!(report, "\n## The directory: {departments} departments, {users} users\n");
    writeln!(
        report,
        "Calls of {CALL} rows with every field, in sequence; pages of {PAGE} rows. Peer: bare inserts of the same rows, as many per transaction, \
         in this process: no HTTP, rules, change log or audit.\n"
    );
    let calls: Vec<String> =
        (0..users).step_by(CALL).map(|first| people(first, CALL.min(users - first))).collect();
    let bare = users as f64 / bare_inserts(users).as_secs_f64();

    let prepared = DataDirectory::new(Kind::Application);
    let trawl = Server::trawl(prepared.directory.path(), &[("LOG__FILTER", "warn")]);
    let token = trawl.token(&prepared);
    let bench = Directory { trawl: &trawl, token: &token };
    let memory_before = resident_mib(trawl.process.id());
    block_on(async {
        let mut connection = Connection::open(trawl.address).await;
        writeln!(report, "| operation | rows | per second | × of the peer |\n|---|---|---|---|");
        writeln!(report, "| peer: users inserted | {users} | {bare:.0} | 1 |");
        let mut row = |what: &str, rows: usize, took: Duration| {
            let rate = rows as f64 / took.as_secs_f64();
            writeln!(report, "| {what} | {rows} | {rate:.0} | {:.2} |", rate / bare);
        };
        let tree = tree(departments);
        row(
            "departments in",
            departments,
            bench.put(&mut connection, "organizations", std::slice::from_ref(&tree)).await,
        );
        row("users in", users, bench.put(&mut connection, "users", &calls).await);
        let found = bench.find(&mut connection, users - 1).await;
        let memory_after = resident_mib(trawl.process.id());
        row("users in again, nothing changed", users, bench.put(&mut connection, "users", &calls).await);
        let (read, took) = bench.read(&mut connection).await;
        assert_eq!(read, users, "a reader did not find everybody");
        row("users out", users, took);
        let passwords = [passwords()];
        row("users with a new password", PASSWORDS, bench.put(&mut connection, "users", &passwords).await);
        row(
            "users with their old password",
            PASSWORDS,
            bench.put(&mut connection, "users", &passwords).await,
        );
        match found {
            Some(found) => writeln!(
                report,
                "\n- last acknowledgement → last user found in `people`: {:.0} ms",
                found.as_secs_f64() * 1_000.0
            ),
            None => writeln!(
                report,
                "\n- last acknowledgement → last user found in `people`: not within {} s",
                FIND_TIMEOUT.as_secs()
            ),
        }
        writeln!(
            report,
            "- memory after it: {:.0} MiB above the start ({:.0} MiB)",
            memory_after - memory_before,
            memory_before
        );
        bench.follow(users, report).await;
    });
}

struct Directory<'a> {
    trawl: &'a Server,
    token: &'a str,
}

impl Directory<'_> {
    fn target(&self, method: &'static str, path: String, body: Option<String>, expected: &str) -> Target {
        Target {
            address: self.trawl.address,
            method,
            path,
            token: Some(self.token.to_owned()),
            body,
            expected: expected.to_owned(),
        }
    }

    /// In sequence; every row must be accepted.
    async fn put(&self, connection: &mut Connection, area: &str, calls: &[String]) -> Duration {
        let targets: Vec<Target> = calls
            .iter()
            .map(|rows| self.target("PUT", format!("/v1/{area}/sync"), Some(rows.clone()), "\"total\":0"))
            .collect();
        let started = Instant::now();
        for target in &targets {
            connection.call(target).await;
        }
        started.elapsed()
    }

    /// Returns the number of users.
    async fn read(&self, connection: &mut Connection) -> (usize, Duration) {
        let (mut cursor, mut read) = (0, 0);
        let started = Instant::now();
        loop {
            let page = self.page(connection, cursor, PAGE).await;
            let Some((last, _)) = page.last() else { return (read, started.elapsed()) };
            cursor = *last;
            read += page.len();
        }
    }

    /// Time of change and id of each row.
    async fn page(&self, connection: &mut Connection, cursor: i64, limit: usize) -> Vec<(i64, String)> {
        let path = format!("/v1/users/sync?cursor={cursor}&limit={limit}");
        let answer = connection.call(&self.target("GET", path, None, "\"count\":")).await;
        let text = std::str::from_utf8(&answer).unwrap();
        // String search: parsing would add the reader's own work.
        let fields = |name: &str| -> Vec<String> {
            let name = format!("\"{name}\":\"");
            text.split(&name).skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
        };
        let times = fields("lastUpdatedDate").into_iter().map(|time| time.parse().unwrap());
        times.zip(fields("userId")).collect()
    }

    /// By name; none after the timeout.
    async fn find(&self, connection: &mut Connection, number: usize) -> Option<Duration> {
        let path = format!("/contents/search?moduleId=people&keyword={}+", word(number));
        let search = self.target("POST", path, None, "\"total\":");
        let started = Instant::now();
        while started.elapsed() < FIND_TIMEOUT {
            let answer = connection.call(&search).await;
            if std::str::from_utf8(&answer).unwrap().contains("\"total\":1,") {
                return Some(started.elapsed());
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        None
    }

    async fn follow(&self, users: usize, report: &mut Report) {
        let mut reading = Connection::open(self.trawl.address).await;
        let mut writing = Connection::open(self.trawl.address).await;
        let mut cursor = 0;
        while let Some((last, _)) = self.page(&mut reading, cursor, PAGE).await.last() {
            cursor = *last;
        }
        let calls: Vec<String> = (0..CHANGES)
            .step_by(CHANGES_OF_A_CALL)
            .map(|first| {
                let rows: Vec<_> = (first..first + CHANGES_OF_A_CALL)
                    .map(|number| json!({"userId": id(number * (users / CHANGES)), "description": "another signature"}))
                    .collect();
                serde_json::Value::from(rows).to_string()
            })
            .collect();
        let mut found: HashMap<String, usize> = HashMap::new();
        let started = Instant::now();
        let (took, pages) = tokio::join!(self.put(&mut writing, "users", &calls), async {
            let mut pages = 0;
            while found.len() < CHANGES && started.elapsed() < FIND_TIMEOUT {
                for (time, id) in self.page(&mut reading, cursor, 100).await {
                    cursor = time;
                    *found.entry(id).or_default() += 1;
                }
                pages += 1;
            }
            pages
        });
        let repeated = found.values().filter(|times| **times > 1).count();
        writeln!(
            report,
            "- {CHANGES} changes in calls of {CHANGES_OF_A_CALL} ({:.0} per second), followed concurrently in {pages} pages: {} found, \
             {repeated} more than once",
            CHANGES as f64 / took.as_secs_f64(),
            found.len()
        );
        assert_eq!((found.len(), repeated), (CHANGES, 0), "the cursor lost or repeated a change");
    }
}

fn id(number: usize) -> String {
    format!("user-{number:06}")
}

fn word(number: usize) -> String {
    format!("person{:08x}", number.wrapping_mul(0x9e37_79b1) & 0xffff_ffff)
}

/// Ten children per department.
fn tree(departments: usize) -> String {
    let rows: Vec<_> = (0..departments)
        .map(|number| {
            let parent = if number == 0 { String::new() } else { format!("department-{}", (number - 1) / 10) };
            json!({
                "orgId": format!("department-{number}"), "parentId": parent, "orgNum": number.to_string(),
                "name": format!("Department {number} 部门"), "fullName": format!("The department number {number}"),
                "telephone": "+86 10 5555 0100", "email": format!("department-{number}@example.org"), "orderNo": number,
            })
        })
        .collect();
    serde_json::Value::from(rows).to_string()
}

/// With every field.
fn people(first: usize, count: usize) -> String {
    let rows: Vec<_> = (first..first + count)
        .map(|number| {
            json!({
                "userId": id(number), "userNum": number.to_string(), "loginId": id(number),
                "name": format!("Mei Chen 陈梅 {}", word(number)), "fullName": "Mei Chen of the Northern Harbour",
                "sex": 1 + number % 2, "mobile": format!("+86 139 {number:08}"), "email": format!("{}@example.org", id(number)),
                "telephone": "+86 10 5555 0100", "homeTelephone": "+86 10 5555 0200", "address": "1 Harbour Road, Ningbo 宁波",
                "birthday": "1990-01-01", "description": "Ships leave on time.", "postDescription": "Harbour master 港务长",
                "type": 1, "orgId": format!("department-{}", number % 500), "orderNo": number, "extendFields": "{\"badge\":7}",
            })
        })
        .collect();
    serde_json::Value::from(rows).to_string()
}

fn passwords() -> String {
    let rows: Vec<_> = (0..PASSWORDS)
        .map(|number| {
            let digest = u128::try_from(number).unwrap().to_be_bytes();
            json!({"userId": id(number), "password": BASE64_STANDARD.encode(digest)})
        })
        .collect();
    serde_json::Value::from(rows).to_string()
}

/// The same rows, one durable transaction per call.
fn bare_inserts(users: usize) -> Duration {
    const COLUMNS: &str = "tenant_id, user_id, platform_user_id, login_id, name, sex, mobile, org_id, order_no, status, is_hidden, \
                           is_deleted, details, created_at, updated_at";
    const VALUES: &str = "(?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 0, 0, ?, 0, ?)";
    let prepared = DataDirectory::new(Kind::Application);
    let tenant_id = prepared.registered.tenant.id;
    let details = json!({
        "userNum": "100000", "fullName": "Mei Chen of the Northern Harbour", "email": "user-100000@example.org",
        "telephone": "+86 10 5555 0100", "homeTelephone": "+86 10 5555 0200", "address": "1 Harbour Road, Ningbo 宁波",
        "birthday": "1990-01-01", "description": "Ships leave on time.", "postDescription": "Harbour master 港务长",
        "extendFields": "{\"badge\":7}",
    })
    .to_string();
    block_on(async {
        let store = Store::open(prepared.directory.path(), 1).await.unwrap();
        let started = Instant::now();
        for first in (0..users).step_by(CALL) {
            let details = details.clone();
            let last = users.min(first + CALL);
            let job = store.write(move |transaction| {
                Box::pin(async move {
                    for first in (first..last).step_by(ROWS_PER_STATEMENT) {
                        let numbers = first..last.min(first + ROWS_PER_STATEMENT);
                        let rows = vec![VALUES; numbers.len()].join(", ");
                        let values = numbers.flat_map(|number| {
                            let id = id(number);
                            [
                                Value::from(tenant_id),
                                id.clone().into(),
                                format!("{number:032x}").into(),
                                id.into(),
                                format!("Mei Chen 陈梅 {}", word(number)).into(),
                                1.into(),
                                format!("+86 139 {number:08}").into(),
                                format!("department-{}", number % 500).into(),
                                (number as u64).into(),
                                details.as_str().into(),
                                (number as u64).into(),
                            ]
                        });
                        let text = format!("INSERT INTO users ({COLUMNS}) VALUES {rows}");
                        sql(text, values).execute(transaction).await?;
                    }
                    Ok(())
                })
            });
            job.await.unwrap();
        }
        let took = started.elapsed();
        store.close().await.unwrap();
        took
    })
}
