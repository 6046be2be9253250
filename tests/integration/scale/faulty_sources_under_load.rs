//! Ten sources under load, six of them faulty.
//!
//! Every answer holds all items of the good sources unless it reports them late. In the end no task, socket or
//! memory is left behind.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use super::systems::{Behaviour, System};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::util::{
    TIMEOUT,
    answer::Answer,
    caller::Caller,
    eventually,
    items::{NEW_YEAR, item},
    postgres,
    program::{Server, create_application, create_operator},
};

const HALF: usize = 5_000;
const AT_ONCE: usize = 24;
/// Milliseconds between the good sources' time and the hanging source's limit.
const DEADLINE_MS: &str = "3000";
/// Milliseconds: one source is below the deadline, another above.
const DRIPS_MS: u64 = 150;
const HANGS_MS: u64 = 3_200;
const REGISTER_INTERVAL: usize = 500;
/// Some callers disconnect, one after this many searches.
const LEAVE_INTERVAL: usize = 8;
/// Minimum calls of a source, although it is mostly suspended.
const MIN_CALLS: usize = 20;
/// Late answers of good sources on a busy machine: 1 %.
const MAX_LATE: usize = 2 * HALF * 4 / 100;
const ITEMS: i64 = 10;
/// Connections of PostgreSQL that are kept once opened.
///
/// They are the readers', the indexer's and the writers'.
const POOLED_CONNECTIONS: usize = 12;
/// Bytes that the second half of the load may add: 200 for each search.
const MEMORY_ALLOWANCE: u64 = 200 * HALF as u64;
/// Memory has settled after this many samples without a lower one.
const LOOKS: usize = 50;

/// Short suspensions make for many calls; a small cache fills up early.
const SETTINGS: &str = "
[connectors]
allow_http_hosts = [\"127.0.0.1\"]
allow_auth_none = true
[cache]
bytes = 1048576
[index]
writer_memory_bytes = 16777216
[suspension]
unavailable = { failures = 3, least_ms = 20, most_ms = 20 }
unauthorized = { failures = 3, least_ms = 20, most_ms = 20 }
invalid = { failures = 3, least_ms = 20, most_ms = 20 }
error = { failures = 3, least_ms = 20, most_ms = 20 }
timeout = { failures = 1, least_ms = 1, most_ms = 1 }
";

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn ten_thousand_searches_with_bad_sources_lose_and_leak_nothing() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("trawl.toml"), SETTINGS).unwrap();
    let server = Server::start(directory.path()).await;
    let at_first = Rest::of(&server).await;
    let systems = start_systems().await;
    let operator = server.caller(&create_operator(directory.path(), "acme").await).await;
    for system in &systems {
        operator.post("/admin/v1/sources", &registration(system, 0)).await.ok();
    }
    let ids: Vec<&str> = systems.iter().map(|system| system.id).collect();
    operator.register_module("all", &ids).await;
    let caller = server.caller(&create_application(directory.path(), "acme").await).await;
    let load =
        Arc::new(Load { systems, caller, operator, next: AtomicUsize::new(0), late: AtomicUsize::new(0) });

    let first = load.run(HALF).await;
    let before = load.wait_until_idle(&server, at_first).await;
    let slowest = load.run(HALF).await.max(first);
    let after = load.wait_until_idle(&server, at_first).await;
    println!(
        "{} searches; the slowest took {} ms at a deadline of {DEADLINE_MS} ms; memory: {before} bytes, then {after}",
        2 * HALF,
        slowest.as_millis()
    );
    assert!(
        after < before + MEMORY_ALLOWANCE,
        "{after} bytes are in use, and {before} were after the first half"
    );
    let late = load.late.load(Ordering::Relaxed);
    assert!(late <= MAX_LATE, "{late} late answers of good sources");
    for system in &load.systems {
        println!("{}: {} calls", system.id, system.searches());
        assert!(system.searches() >= MIN_CALLS, "{}: {} calls", system.id, system.searches());
    }
}

#[derive(Clone, Copy, Debug)]
struct Rest {
    tasks: u64,
    sockets: usize,
    /// Allocated bytes; 0 in a release build.
    memory: u64,
}

impl Rest {
    async fn of(server: &Server) -> Self {
        let tasks = server.gauge("trawl_runtime_tasks").await.unwrap();
        let memory = server.gauge("trawl_allocated_bytes").await.unwrap_or_default();
        Self { tasks, sockets: server.sockets(), memory }
    }
}

async fn start_systems() -> Vec<Arc<System>> {
    let manners = [
        ("gets", Behaviour::Keeps),
        ("hangs", Behaviour::Hangs),
        ("posts", Behaviour::Keeps),
        ("fails", Behaviour::Fails),
        ("babbles", Behaviour::Babbles),
        ("signs", Behaviour::Keeps),
        ("drips", Behaviour::Drips),
        ("closes", Behaviour::Closes),
        ("flaps", Behaviour::Flaps),
        ("last", Behaviour::Keeps),
    ];
    let mut systems = Vec::new();
    for (place, (id, behaviour)) in (0..).zip(manners) {
        // Unique timestamps over all sources fix the order of an answer.
        let items = (0..ITEMS)
            .map(|number| item(&format!("{id}-{number}"), "harbour", NEW_YEAR - 10 * number - place));
        systems.push(System::start(id, behaviour, items.collect()).await);
    }
    systems
}

fn registration(system: &System, edition: usize) -> Value {
    let timeout_ms = match system.behaviour {
        Behaviour::Drips => DRIPS_MS,
        Behaviour::Hangs => HANGS_MS,
        _ => 10_000,
    };
    system.registration(timeout_ms - u64::try_from(edition % 2).unwrap())
}

struct Load {
    systems: Vec<Arc<System>>,
    caller: Caller,
    operator: Caller,
    next: AtomicUsize,
    /// Late answers of good sources, and calls skipped because of them.
    late: AtomicUsize,
}

impl Load {
    /// Returns the longest time.
    async fn run(self: &Arc<Self>, searches: usize) -> Duration {
        let http = reqwest::Client::builder().no_proxy().timeout(TIMEOUT).build().unwrap();
        let caller = Caller { http: http.clone(), ..self.caller.clone() };
        let operator = Caller { http, ..self.operator.clone() };
        let end = self.next.load(Ordering::Relaxed) + searches;
        let mut callers = JoinSet::new();
        for _ in 0..AT_ONCE {
            callers.spawn(Arc::clone(self).search_until(end, caller.clone(), operator.clone()));
        }
        let slowest = callers.join_all().await.into_iter().max().unwrap();
        self.next.store(end, Ordering::Relaxed);
        slowest
    }

    async fn search_until(self: Arc<Self>, end: usize, caller: Caller, operator: Caller) -> Duration {
        let mut slowest = Duration::ZERO;
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= end {
                return slowest;
            }
            if number.is_multiple_of(LEAVE_INTERVAL) {
                let patience = Duration::from_millis(fastrand::u64(..100));
                drop(tokio::time::timeout(patience, search(&caller, &format!("left {number}"))).await);
            }
            if number.is_multiple_of(REGISTER_INTERVAL) {
                let edition = number / REGISTER_INTERVAL;
                let bad: Vec<_> =
                    self.systems.iter().filter(|system| system.behaviour != Behaviour::Keeps).collect();
                let system = bad[edition % bad.len()];
                let path = format!("/admin/v1/sources/{}", system.id);
                operator.put(&path, &registration(system, edition / bad.len() + 1)).await.ok();
            }
            let started = Instant::now();
            // A third of the searches repeats keywords.
            let keyword = if number.is_multiple_of(3) { number % 40 } else { number };
            let answer = search(&caller, &format!("harbour {keyword}")).await.ok();
            slowest = slowest.max(started.elapsed());
            self.check(&answer);
        }
    }

    fn check(&self, answer: &Answer) {
        let of = |system: &System| -> Vec<Value> {
            let prefix = format!("{}-", system.id);
            let items = answer.items().iter();
            let mut items: Vec<Value> =
                items.filter(|item| item["id"].as_str().unwrap().starts_with(&prefix)).cloned().collect();
            for item in &mut items {
                assert_eq!(item.as_object_mut().unwrap().remove("source"), Some(json!(system.id)));
            }
            items
        };
        let mut shown = 0;
        for system in &self.systems {
            let report = answer.source(system.id);
            let status = report["status"].as_str().unwrap();
            let found = of(system);
            shown += found.len();
            let possible: &[&str] = match system.behaviour {
                Behaviour::Keeps => &["ok", "timeout", "late", "unavailable"],
                Behaviour::Hangs | Behaviour::Drips => &["timeout", "late", "unavailable"],
                Behaviour::Fails => &["error", "unavailable"],
                Behaviour::Babbles => &["invalid", "unavailable"],
                Behaviour::Closes => &["unavailable"],
                Behaviour::Flaps => &["ok", "invalid", "timeout", "late", "unavailable"],
            };
            assert!(possible.contains(&status), "{}: {report}", system.id);
            if system.behaviour == Behaviour::Keeps && status != "ok" {
                println!("{report}");
                self.late.fetch_add(1, Ordering::Relaxed);
            }
            if status == "ok" {
                assert_eq!(found, system.items, "{report}: {}", answer.text);
            } else if matches!(system.behaviour, Behaviour::Keeps | Behaviour::Flaps) {
                // A first page stays when the next one is late or invalid.
                assert!(system.items.starts_with(&found), "{report}: {}", answer.text);
            } else {
                assert_eq!(found, [] as [Value; 0], "{report}");
            }
        }
        assert_eq!(answer.items().len(), shown, "{}", answer.text);
        let times = answer.items().iter().map(|item| item["displayTime"].as_i64().unwrap());
        assert!(times.is_sorted_by(|earlier, later| earlier > later), "{}", answer.text);
        assert_eq!(answer.body["partial"], json!(true), "{}", answer.text);
    }

    /// Returns the allocated bytes. Pooled connections of each source and token endpoint keep a task each.
    async fn wait_until_idle(&self, server: &Server, at_first: Rest) -> u64 {
        self.systems.iter().for_each(|system| system.hang_up());
        let most_tasks = at_first.tasks + self.systems.len() as u64 + 1;
        let most_sockets = at_first.sockets + if postgres::is_store() { POOLED_CONNECTIONS } else { 0 };
        let mut now = at_first;
        let waiting = eventually("rest", async || {
            now = Rest::of(server).await;
            (now.tasks <= most_tasks && now.sockets <= most_sockets).then_some(())
        });
        waiting.await;
        println!("at rest: {now:?}, and at first {at_first:?}");
        // Caches free memory a little later: the lowest sample counts.
        let (mut least, mut looks) = (u64::MAX, 0);
        let memory = eventually("the memory to be given back", async || {
            let held = Rest::of(server).await.memory;
            looks = if held < least { 0 } else { looks + 1 };
            least = least.min(held);
            (looks >= LOOKS).then_some(least)
        })
        .await;
        self.systems.iter().for_each(|system| system.listens_again());
        memory
    }
}

async fn search(caller: &Caller, keyword: &str) -> Answer {
    let terms = [("keyword", keyword), ("moduleId", "all"), ("limit", "100"), ("timeout", DEADLINE_MS)];
    caller.search(&terms).await
}
