//! The directory: how fast an HR system's people come in and go out, what a push of everything costs where nothing changed, and
//! whether a follower of the cursor finds each change once.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use sea_orm::{ConnectionTrait, Value};
use serde_json::json;
use trawl::{
    auth::applications::Kind,
    store::{ROWS_PER_STATEMENT, Store, sql},
};

use crate::{
    Scale,
    common::{
        data::Prepared,
        load::{Connection, Target, block_on},
        server::Server,
    },
};

/// Rows of one call.
const CALL: usize = 10_000;
/// Rows of a page.
const PAGE: usize = 1_000;
/// Changes that a follower is to find, and how many of them come in one call.
const CHANGES: usize = 1_000;
const CHANGES_OF_A_CALL: usize = 10;
/// Rows with passwords.
const PASSWORDS: usize = 400;
/// How long a person may take to be found.
const PATIENCE: Duration = Duration::from_secs(30);
/// Between two looks for him.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// Measures the synchronisation of so many departments and users.
pub(crate) fn run(scale: &Scale) {
    let [departments, users] = scale.directory;
    println!("\n## The directory: {departments} departments, {users} users\n");
    println!(
        "Calls of {CALL} rows with every field, one after the other; pages of {PAGE} rows. The peer inserts the same rows into the same \
         tables, as many in a transaction, in this process: no HTTP, no rules, no change log, no audit.\n"
    );
    let calls: Vec<String> =
        (0..users).step_by(CALL).map(|first| people(first, CALL.min(users - first))).collect();
    let bare = users as f64 / rows_alone(users).as_secs_f64();

    let prepared = Prepared::new(Kind::Application);
    let trawl = Server::trawl(prepared.directory.path(), &[("LOG__FILTER", "warn")]);
    let token = trawl.token(&prepared);
    let bench = Directory { trawl: &trawl, token: &token };
    let memory_before = resident_bytes(&trawl);
    block_on(async {
        let mut connection = Connection::open(trawl.address).await;
        println!("| what | rows | a second | × of the peer |\n|---|---|---|---|");
        let row = |what: &str, rows: usize, took: Duration| {
            let rate = rows as f64 / took.as_secs_f64();
            println!("| {what} | {rows} | {rate:.0} | {:.2} |", rate / bare);
        };
        println!("| the peer: users inserted | {users} | {bare:.0} | 1 |");
        let tree = tree(departments);
        row(
            "departments in",
            departments,
            bench.put(&mut connection, "organizations", std::slice::from_ref(&tree)).await,
        );
        row("users in", users, bench.put(&mut connection, "users", &calls).await);
        let found = bench.find(&mut connection, users - 1).await;
        let memory_after = resident_bytes(&trawl);
        row("users in again, nothing changed", users, bench.put(&mut connection, "users", &calls).await);
        let (read, took) = bench.read(&mut connection).await;
        assert_eq!(read, users, "a reader did not find everybody");
        row("users out", users, took);
        let passwords = [passwords()];
        row("users with a new password", PASSWORDS, bench.put(&mut connection, "users", &passwords).await);
        row(
            "users with the password that they had",
            PASSWORDS,
            bench.put(&mut connection, "users", &passwords).await,
        );
        match found {
            Some(found) => println!(
                "\n- last acknowledgement → last user found in `people`: {:.0} ms",
                found.as_secs_f64() * 1_000.0
            ),
            None => println!(
                "\n- last acknowledgement → last user found in `people`: not within {} s",
                PATIENCE.as_secs()
            ),
        }
        let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        println!(
            "- memory behind it: {:.0} MiB above the start ({:.0} MiB)",
            mebibytes(memory_after.saturating_sub(memory_before)),
            mebibytes(memory_before)
        );
        bench.follow(users).await;
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

    /// Sends the calls, every row of which must be taken, one after the other.
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

    /// Reads all users, and says how many there were.
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

    /// A page after the cursor: the time of change and the id of each row.
    async fn page(&self, connection: &mut Connection, cursor: i64, limit: usize) -> Vec<(i64, String)> {
        let path = format!("/v1/users/sync?cursor={cursor}&limit={limit}");
        let answer = connection.call(&self.target("GET", path, None, "\"count\":")).await;
        let text = std::str::from_utf8(&answer).unwrap();
        // Looked for rather than parsed: the reader's own work is not what is measured.
        let fields = |name: &str| -> Vec<String> {
            let name = format!("\"{name}\":\"");
            text.split(&name).skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
        };
        let times = fields("lastUpdatedDate").into_iter().map(|time| time.parse().unwrap());
        times.zip(fields("userId")).collect()
    }

    /// How long it takes until a person is found by his name; nothing where he is not.
    async fn find(&self, connection: &mut Connection, number: usize) -> Option<Duration> {
        let path = format!("/contents/search?moduleId=people&keyword={}+", word(number));
        let search = self.target("POST", path, None, "\"total\":");
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            let answer = connection.call(&search).await;
            if std::str::from_utf8(&answer).unwrap().contains("\"total\":1,") {
                return Some(started.elapsed());
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        None
    }

    /// A writer changes people while a reader follows the cursor.
    async fn follow(&self, users: usize) {
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
            while found.len() < CHANGES && started.elapsed() < PATIENCE {
                for (time, id) in self.page(&mut reading, cursor, 100).await {
                    cursor = time;
                    *found.entry(id).or_default() += 1;
                }
                pages += 1;
            }
            pages
        });
        let repeated = found.values().filter(|times| **times > 1).count();
        println!(
            "- {CHANGES} changes in calls of {CHANGES_OF_A_CALL} ({:.0} a second), followed meanwhile in {pages} pages: {} found, {repeated} \
             of them more than once",
            CHANGES as f64 / took.as_secs_f64(),
            found.len()
        );
        assert_eq!((found.len(), repeated), (CHANGES, 0), "the cursor lost or repeated a change");
    }
}

/// The memory that a server holds, as far as the system tells.
fn resident_bytes(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.process.id())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kibibytes.unwrap_or(0) * 1_024
}

fn id(number: usize) -> String {
    format!("user-{number:06}")
}

/// A word of one person alone.
fn word(number: usize) -> String {
    format!("person{:08x}", number.wrapping_mul(0x9e37_79b1) & 0xffff_ffff)
}

/// Departments, ten below each.
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

/// Users with every field that an HR system has of them.
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

/// The database alone: the same rows in as many durable transactions as there are calls.
fn rows_alone(users: usize) -> Duration {
    const COLUMNS: &str = "tenant_id, user_id, platform_user_id, login_id, name, sex, mobile, org_id, order_no, status, is_hidden, \
                           is_deleted, details, created_at, updated_at";
    const VALUES: &str = "(?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 0, 0, ?, 0, ?)";
    let prepared = Prepared::new(Kind::Application);
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
                        transaction.execute_raw(sql(text, values)).await?;
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
