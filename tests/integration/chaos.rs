//! Ten sources under load, six of which misbehave, each in its way, while callers go away and the operator registers
//! sources anew: every answer holds all that the good ones have, but for what it says was late, and when it is over nothing
//! is left behind: no task, no socket, no memory (decisions 6.2, 6.3, 6.6).

mod systems;

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use systems::{Manner, System};
use tokio::task::JoinSet;

use crate::util::{
    PATIENCE,
    answer::Answer,
    caller::Caller,
    eventually,
    items::{NEW_YEAR, item},
    program::{Server, create_application, create_operator},
};

/// Searches of one half of the load.
const HALF: usize = 5_000;
/// Callers at once.
const AT_ONCE: usize = 24;
/// The deadline of a search, in milliseconds: far more than the good sources take together, and less than the one that hangs has.
const DEADLINE_MS: &str = "3000";
/// The time that one call of a source may take, in milliseconds; one of them less than the deadline, one more.
const DRIPS_MS: u64 = 150;
const HANGS_MS: u64 = 3_200;
/// So often the operator registers a bad source anew.
const REGISTER_EVERY: usize = 500;
/// Every so many searches one caller more begins one and goes away.
const LEAVE_EVERY: usize = 8;
/// So often each source is called at the least, though it is suspended most of the time.
const LEAST_CALLS: usize = 20;
/// So many answers of good sources may be late, on a machine that has too much to do: a hundredth of what they answer. Then that is
/// what is said of them.
const MOST_LATE: usize = 2 * HALF * 4 / 100;
/// Items of each source.
const ITEMS: i64 = 10;
/// What the second half of the load may add to the memory in use, in bytes: a fifth of a kilobyte for each search.
const MEMORY_ALLOWANCE: u64 = 200 * HALF as u64;
/// So many looks at the memory that find no less.
const LOOKS: usize = 50;

/// All sources may be called by http and without credentials. A bad one is probed again very soon, so that its
/// calls are many. What is kept of answers is little, so that it is soon as much as it will ever be.
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
async fn ten_thousand_searches_beside_six_bad_sources_lose_nothing_and_leak_nothing() {
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
    operator.show_module("all", &ids).await;
    let caller = server.caller(&create_application(directory.path(), "acme").await).await;
    let load =
        Arc::new(Load { systems, caller, operator, next: AtomicUsize::new(0), late: AtomicUsize::new(0) });

    let first = load.run(HALF).await;
    let before = load.comes_to_rest(&server, at_first).await;
    let slowest = load.run(HALF).await.max(first);
    let after = load.comes_to_rest(&server, at_first).await;
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
    assert!(late <= MOST_LATE, "{late} answers of good sources were late");
    for system in &load.systems {
        println!("{}: {} calls", system.id, system.searches());
        assert!(system.searches() >= LEAST_CALLS, "{}: {} calls", system.id, system.searches());
    }
}

/// What the server holds when nobody asks it anything.
#[derive(Clone, Copy, Debug)]
struct Rest {
    tasks: u64,
    sockets: usize,
    /// Bytes that are allocated; those of a release build are not counted.
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
        ("gets", Manner::Keeps),
        ("hangs", Manner::Hangs),
        ("posts", Manner::Keeps),
        ("fails", Manner::Fails),
        ("babbles", Manner::Babbles),
        ("signs", Manner::Keeps),
        ("drips", Manner::Drips),
        ("closes", Manner::Closes),
        ("flaps", Manner::Flaps),
        ("last", Manner::Keeps),
    ];
    let mut systems = Vec::new();
    for (place, (id, manner)) in (0..).zip(manners) {
        // No two items of all have one time: the order of the answer is known.
        let items = (0..ITEMS)
            .map(|number| item(&format!("{id}-{number}"), "harbour", NEW_YEAR - 10 * number - place));
        systems.push(System::start(id, manner, items.collect()).await);
    }
    systems
}

/// The registration of a source; another one for each `edition`.
fn registration(system: &System, edition: usize) -> Value {
    let timeout_ms = match system.manner {
        Manner::Drips => DRIPS_MS,
        Manner::Hangs => HANGS_MS,
        _ => 10_000,
    };
    system.registration(timeout_ms - u64::try_from(edition % 2).unwrap())
}

/// Searches without end, and what they are to find.
struct Load {
    systems: Vec<Arc<System>>,
    caller: Caller,
    operator: Caller,
    /// The number of the next search.
    next: AtomicUsize,
    /// Answers that good sources gave too late, or were not asked for because of that.
    late: AtomicUsize,
}

impl Load {
    /// Makes so many searches, each of which has to be answered as it should be; answers how long the slowest took.
    async fn run(self: &Arc<Self>, searches: usize) -> Duration {
        // Their connections end with the load.
        let http = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build().unwrap();
        let caller = Caller { http: http.clone(), ..self.caller.clone() };
        let operator = Caller { http, ..self.operator.clone() };
        let end = self.next.load(Ordering::Relaxed) + searches;
        let mut callers = JoinSet::new();
        for _ in 0..AT_ONCE {
            callers.spawn(Arc::clone(self).search_until(end, caller.clone(), operator.clone()));
        }
        let slowest = callers.join_all().await.into_iter().max().unwrap();
        // Those who were one too many took a number too.
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
            if number.is_multiple_of(LEAVE_EVERY) {
                // At another moment each time, which may be when all is over.
                let patience = Duration::from_millis(fastrand::u64(..100));
                drop(tokio::time::timeout(patience, search(&caller, &format!("left {number}"))).await);
            }
            if number.is_multiple_of(REGISTER_EVERY) {
                let edition = number / REGISTER_EVERY;
                let bad: Vec<_> =
                    self.systems.iter().filter(|system| system.manner != Manner::Keeps).collect();
                let system = bad[edition % bad.len()];
                let path = format!("/admin/v1/sources/{}", system.id);
                operator.put(&path, &registration(system, edition / bad.len() + 1)).await.ok();
            }
            let started = Instant::now();
            // Some are asked for again and again.
            let keyword = if number.is_multiple_of(3) { number % 40 } else { number };
            let answer = search(&caller, &format!("harbour {keyword}")).await.ok();
            slowest = slowest.max(started.elapsed());
            self.check(&answer);
        }
    }

    /// All items of the good sources in order, and the truth about the bad ones.
    fn check(&self, answer: &Answer) {
        let of = |system: &System| -> Vec<&Value> {
            let prefix = format!("{}-", system.id);
            let items = answer.items().iter();
            items.filter(|item| item["id"].as_str().unwrap().starts_with(&prefix)).collect()
        };
        let mut shown = 0;
        for system in &self.systems {
            let report = answer.source(system.id);
            let status = report["status"].as_str().unwrap();
            let found = of(system);
            shown += found.len();
            let possible: &[&str] = match system.manner {
                Manner::Keeps => &["ok", "timeout", "unavailable"],
                Manner::Hangs | Manner::Drips => &["timeout", "unavailable"],
                Manner::Fails => &["error", "unavailable"],
                Manner::Babbles => &["invalid", "unavailable"],
                Manner::Closes => &["unavailable"],
                Manner::Flaps => &["ok", "invalid", "unavailable"],
            };
            assert!(possible.contains(&status), "{}: {report}", system.id);
            if system.manner == Manner::Keeps && status != "ok" {
                println!("{report}");
                self.late.fetch_add(1, Ordering::Relaxed);
            }
            if status == "ok" {
                assert_eq!(found, system.items.iter().collect::<Vec<_>>(), "{report}: {}", answer.text);
            } else if system.manner == Manner::Flaps {
                assert!(
                    system.items.iter().collect::<Vec<_>>().starts_with(&found),
                    "{report}: {}",
                    answer.text
                );
            } else {
                assert_eq!(found, [] as [&Value; 0], "{report}");
            }
        }
        assert_eq!(answer.items().len(), shown, "{}", answer.text);
        let times = answer.items().iter().map(|item| item["displayTime"].as_i64().unwrap());
        assert!(times.is_sorted_by(|earlier, later| earlier > later), "{}", answer.text);
        assert_eq!(answer.body["partial"], json!(true), "{}", answer.text);
    }

    /// Hangs up on the server and waits until nothing is left of the load but, of each source and of the one token endpoint,
    /// the task that tends its idle connections; answers the memory that is held then, in bytes.
    async fn comes_to_rest(&self, server: &Server, at_first: Rest) -> u64 {
        self.systems.iter().for_each(|system| system.hang_up());
        let most_tasks = at_first.tasks + self.systems.len() as u64 + 1;
        let mut now = at_first;
        let waiting = eventually("rest", async || {
            now = Rest::of(server).await;
            (now.tasks <= most_tasks && now.sockets <= at_first.sockets).then_some(())
        });
        waiting.await;
        println!("at rest: {now:?}, and at first {at_first:?}");
        // Caches let go of what they hold a little later: the least of many looks is what stays.
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
