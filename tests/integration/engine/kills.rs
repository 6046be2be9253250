//! `kill -9` of OpenSearch's nodes under pages, totals and writes.
//!
//! `TRAWL_TEST_KILLS` sets the number of rounds; `KILL_SEED` repeats the choices, not the moments.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use fastrand::Rng;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use trawl::config::{EngineKind, EngineSettings};

use crate::util::{
    TIMEOUT,
    answer::Answer,
    caller::Caller,
    eventually,
    items::{NEW_YEAR, item, many, user},
    opensearch::environment_of,
    opensearch_nodes::{NODES, Nodes},
    paging::{ids_of, page_after, walk_by_time},
    program::{Server, create_with_scopes},
};

const SCOPES: [&str; 4] = ["directory:write", "contents:read", "contents:write", "act-as-user"];
/// Their pages come from different copies of a shard.
const VIEWERS: [&str; 4] = ["mei", "li", "tom", "ana"];
/// Holds [`FIXED_ITEMS`] that nobody writes meanwhile.
const FIXED: &str = "article";
const FIXED_ITEMS: usize = 1_500;
/// Items are put, changed and removed.
const CHANGED: &str = "news";
const CHANGED_ITEMS: usize = 300;
/// Items are added in bulk.
const GROWING: &str = "feed";
const BULK_ITEMS: usize = 50;
/// A complete answer may miss what was acknowledged this long ago.
const MAX_BEHIND: Duration = Duration::from_secs(30);
const MISSING: &str = "behind";

/// Ids and titles.
type State = BTreeMap<String, String>;

#[derive(Clone, Copy, Debug)]
enum Trouble {
    KillPrimary,
    KillTwo,
    KillClusterManager,
    PausePrimary,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Paging {
    Cursor,
    Time,
    Relevance,
}

/// Completeness of an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Complete,
    Partial,
    Unavailable,
}

/// Answers of one caller.
struct Answers {
    complete: usize,
    partial: usize,
    unavailable: usize,
    slowest: Duration,
    without_complete: Gap,
    without_any: Gap,
}

/// Time without a kind of answer.
struct Gap {
    since: Instant,
    longest: Duration,
}

/// Counts of acknowledged items of [`GROWING`], each with its time.
#[derive(Default)]
struct Growth {
    sent: usize,
    acknowledged: Vec<(Instant, usize)>,
}

struct World {
    nodes: Nodes,
    server: Server,
    application: Caller,
    viewers: Vec<Caller>,
    changed: Vec<State>,
    growth: Arc<Mutex<Growth>>,
    _data: TempDir,
}

impl Kind {
    /// Fails on an answer that is no search's, or names no reason.
    #[track_caller]
    fn of(answer: &Answer, module: &str) -> Self {
        let source = answer.source(&format!("builtin:{module}"));
        let message = source["message"].as_str().unwrap_or_default();
        match (answer.status, &answer.body["partial"]) {
            (200, Value::Bool(false)) => Self::Complete,
            (200, Value::Bool(true)) => {
                assert!(message.contains(MISSING), "{}", answer.text);
                Self::Partial
            }
            (502 | 504, _) => {
                let status = source["status"].as_str();
                assert!(matches!(status, Some("unavailable" | "timeout")), "{}", answer.text);
                assert!(!message.is_empty(), "{}", answer.text);
                Self::Unavailable
            }
            _ => panic!("HTTP {}: {}", answer.status, answer.text),
        }
    }
}

impl Gap {
    fn new() -> Self {
        Self { since: Instant::now(), longest: Duration::ZERO }
    }

    fn note(&mut self, is_over: bool) {
        self.longest = self.longest.max(self.since.elapsed());
        if is_over {
            self.since = Instant::now();
        }
    }
}

impl Answers {
    fn new() -> Self {
        let (without_complete, without_any) = (Gap::new(), Gap::new());
        Self {
            complete: 0,
            partial: 0,
            unavailable: 0,
            slowest: Duration::ZERO,
            without_complete,
            without_any,
        }
    }

    async fn ask(&mut self, caller: &Caller, module: &str, parameters: &[(&str, &str)]) -> (Kind, Answer) {
        let mut all = vec![("moduleId", module), ("keyword", "harbour")];
        all.extend(parameters);
        let began = Instant::now();
        let answer = caller.search(&all).await;
        self.slowest = self.slowest.max(began.elapsed());
        let kind = Kind::of(&answer, module);
        match kind {
            Kind::Complete => self.complete += 1,
            Kind::Partial => self.partial += 1,
            Kind::Unavailable => self.unavailable += 1,
        }
        self.without_complete.note(kind == Kind::Complete);
        self.without_any.note(kind != Kind::Unavailable);
        (kind, answer)
    }
}

impl fmt::Display for Answers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { complete, partial, unavailable, slowest, without_complete, without_any } = self;
        write!(
            formatter,
            "{complete} complete, {partial} partial, {unavailable} unavailable; slowest {slowest:.1?}; none for \
             {:.1?}, no complete one for {:.1?}",
            without_any.longest, without_complete.longest
        )
    }
}

/// Walks over the fixed items, from where an answer fails; ends with a walk.
async fn read(caller: Caller, paging: Paging, mut random: Rng, stop: CancellationToken) -> Answers {
    let expected = ids_of(&many("f", "harbour", FIXED_ITEMS, 3));
    let mut answers = Answers::new();
    while !stop.is_cancelled() {
        let (mut met, mut cursor, mut since) = (0, None::<String>, Instant::now());
        loop {
            // Other pages are not cached.
            let size = random.usize(20..=300);
            let limit = size.to_string();
            let mut parameters = vec![("limit", limit.as_str())];
            match paging {
                Paging::Cursor => parameters.push(("paging", "cursor")),
                Paging::Time => {}
                Paging::Relevance => parameters.push(("sort", "relevance")),
            }
            parameters.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
            sleep(Duration::from_millis(random.u64(..200))).await;
            let (kind, answer) = answers.ask(&caller, FIXED, &parameters).await;
            if kind == Kind::Unavailable {
                assert!(since.elapsed() < 5 * TIMEOUT, "{paging:?}: no answer: {}", answer.text);
                sleep(Duration::from_millis(20)).await;
                continue;
            }
            // These items are not written meanwhile, so an index that is behind has them all.
            assert_eq!(answer.total(), FIXED_ITEMS as u64, "{paging:?} after {met}");
            if paging == Paging::Relevance {
                assert_eq!(answer.items().len(), size);
                break;
            }
            let ids = answer.ids();
            assert_eq!(ids, expected[met..][..ids.len().min(expected.len() - met)], "{paging:?} after {met}");
            (met, since) = (met + ids.len(), Instant::now());
            assert!(ids.len() >= size || met == FIXED_ITEMS, "{paging:?}: a short page of {}", ids.len());
            cursor = match paging {
                Paging::Time if ids.is_empty() => None,
                Paging::Time => Some(answer.items().last().unwrap()["displayTime"].to_string()),
                Paging::Cursor | Paging::Relevance => answer.cursor(),
            };
            if cursor.is_none() {
                assert_eq!(met, FIXED_ITEMS, "{paging:?}: a short walk");
                break;
            }
        }
    }
    answers
}

/// Compares totals with what is acknowledged.
///
/// It also returns the age of the oldest change that a complete answer missed.
async fn count(caller: Caller, growth: Arc<Mutex<Growth>>, stop: CancellationToken) -> (Answers, Duration) {
    let (mut answers, mut most_behind) = (Answers::new(), Duration::ZERO);
    while !stop.is_cancelled() {
        let acknowledged = growth.lock().unwrap().acknowledged.len();
        let (kind, answer) = answers.ask(&caller, GROWING, &[("limit", "1")]).await;
        if kind != Kind::Unavailable {
            let found = usize::try_from(answer.total()).unwrap();
            let growth = growth.lock().unwrap();
            assert!(found <= growth.sent, "{found} of {} items are there", growth.sent);
            let missing = growth.acknowledged[..acknowledged].iter().find(|(_, count)| *count > found);
            if let Some((at, _)) = missing.filter(|_| kind == Kind::Complete) {
                most_behind = most_behind.max(at.elapsed());
                assert!(
                    most_behind < MAX_BEHIND,
                    "missing for {most_behind:?} without a word: {}",
                    answer.text
                );
            }
        }
        sleep(Duration::from_millis(200)).await;
    }
    (answers, most_behind)
}

/// Adds items; returns how many calls were acknowledged.
async fn grow(caller: Caller, growth: Arc<Mutex<Growth>>, stop: CancellationToken) -> usize {
    let (mut calls, mut pace) = (0, paced(Duration::from_millis(500)));
    while !stop.is_cancelled() {
        pace.tick().await;
        let first = growth.lock().unwrap().sent;
        growth.lock().unwrap().sent += BULK_ITEMS;
        let items: Vec<Value> = (first..first + BULK_ITEMS)
            .map(|number| {
                item(&format!("g{number:07}"), "harbour", NEW_YEAR + i64::try_from(number).unwrap())
            })
            .collect();
        if put(&caller, GROWING, &items).await {
            growth.lock().unwrap().acknowledged.push((Instant::now(), first + BULK_ITEMS));
            calls += 1;
        } else {
            growth.lock().unwrap().sent = first;
        }
    }
    calls
}

/// Puts, changes and removes items of its own; returns what they are in the end.
async fn change(
    caller: Caller,
    writer: usize,
    mut state: State,
    mut random: Rng,
    stop: CancellationToken,
) -> (State, usize) {
    let (mut calls, mut pace) = (0, paced(Duration::from_millis(150)));
    while !stop.is_cancelled() {
        pace.tick().await;
        let count = random.usize(1..=20);
        let mut any = || {
            let id = format!("{writer}-{:03}", random.usize(..CHANGED_ITEMS));
            (id, format!("harbour {}", random.u64(..)))
        };
        let ids: State = (0..count).map(|_| any()).collect();
        if random.usize(..4) == 0 {
            let removed: Vec<&String> = ids.keys().collect();
            caller.post(&format!("/v1/contents/{CHANGED}/delete"), &json!(removed)).await.ok();
            state.retain(|id, _| !ids.contains_key(id));
        } else {
            let time = NEW_YEAR + random.i64(0..97);
            let items: Vec<Value> = ids.iter().map(|(id, title)| item(id, title, time)).collect();
            if !put(&caller, CHANGED, &items).await {
                continue;
            }
            state.extend(ids);
        }
        calls += 1;
    }
    (state, calls)
}

/// Whether items were acknowledged; bulk writes are refused while the index is far behind.
async fn put(caller: &Caller, module: &str, items: &[Value]) -> bool {
    let answer = caller.put(&format!("/v1/contents/{module}"), &Value::from(items)).await;
    if answer.status == 503 {
        answer.fails(503, "too far behind; nothing was changed");
        return false;
    }
    let answer = answer.ok();
    assert!(answer.items().is_empty(), "{}", answer.text);
    true
}

fn paced(period: Duration) -> tokio::time::Interval {
    let mut pace = interval(period);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    pace
}

impl World {
    async fn new() -> Option<Self> {
        let mut nodes = Nodes::start().await?;
        let data = tempfile::tempdir().unwrap();
        let engine = EngineSettings { kind: EngineKind::OpenSearch, opensearch: nodes.settings() };
        let mut environment = environment_of(&engine);
        environment.push(("TRAWL_LIMITS__WRITES_PER_MINUTE", "1000000".to_owned()));
        environment.push(("TRAWL_AUTH__TOKEN_SECONDS", "86400".to_owned()));
        let server = Server::launch_by(data.path(), "127.0.0.1:0", environment, &[]).await;
        server.wait_until_ready().await;
        let created = create_with_scopes(data.path(), "acme", &SCOPES).await;
        let application = server.caller(&created).await;
        application
            .put("/v1/users/sync", &Value::from(VIEWERS.map(|login| user(login, "")).to_vec()))
            .await
            .ok();
        let mut viewers = Vec::new();
        for login in VIEWERS {
            viewers.push(server.user(&created, login).await);
        }
        for items in many("f", "harbour", FIXED_ITEMS, 3).chunks(1_000) {
            assert!(put(&application, FIXED, items).await);
        }
        server.wait_for_index().await;
        nodes.wait_until_green().await;
        let (changed, growth) = (vec![State::new(); 2], Arc::default());
        Some(Self { nodes, server, application, viewers, changed, growth, _data: data })
    }

    /// The nodes that a trouble meets.
    async fn nodes_of(&self, trouble: Trouble) -> Vec<usize> {
        let primary = self.nodes.primary_of("trawl-contents-g*").await;
        match trouble {
            Trouble::KillPrimary | Trouble::PausePrimary => vec![primary],
            Trouble::KillClusterManager => vec![self.nodes.cluster_manager().await],
            Trouble::KillTwo => vec![primary, (primary + 1) % NODES],
        }
    }

    /// Makes trouble and waits until the cluster is whole again.
    async fn make(&mut self, trouble: Trouble, random: &mut Rng) {
        let nodes = self.nodes_of(trouble).await;
        sleep(Duration::from_millis(random.u64(..2_000))).await;
        eprintln!("  {trouble:?}: nodes {nodes:?}");
        let is_pause = matches!(trouble, Trouble::PausePrimary);
        for node in &nodes {
            if is_pause { self.nodes.pause(*node) } else { self.nodes.kill(*node) }
        }
        sleep(Duration::from_millis(random.u64(1_000..10_000))).await;
        for node in nodes {
            if is_pause { self.nodes.resume(node) } else { self.nodes.restart(node) }
        }
        self.nodes.wait_until_green().await;
    }

    async fn round(&mut self, trouble: Trouble, random: &mut Rng) {
        let stop = CancellationToken::new();
        let spawn_reader = |(place, paging): (usize, Paging)| {
            let reading =
                read(self.viewers[place].clone(), paging, Rng::with_seed(place as u64), stop.clone());
            (paging, AbortOnDropHandle::new(tokio::spawn(reading)))
        };
        let readers = [Paging::Cursor, Paging::Time, Paging::Relevance, Paging::Cursor];
        let readers: Vec<_> = readers.into_iter().enumerate().map(spawn_reader).collect();
        let counting = count(self.viewers[0].clone(), Arc::clone(&self.growth), stop.clone());
        let counting = AbortOnDropHandle::new(tokio::spawn(counting));
        let growing = grow(self.application.clone(), Arc::clone(&self.growth), stop.clone());
        let growing = AbortOnDropHandle::new(tokio::spawn(growing));
        let changing = std::mem::take(&mut self.changed).into_iter().enumerate().map(|(writer, state)| {
            let changing = change(self.application.clone(), writer, state, random.fork(), stop.clone());
            AbortOnDropHandle::new(tokio::spawn(changing))
        });
        let changing: Vec<_> = changing.collect();

        let began = Instant::now();
        self.make(trouble, random).await;
        eprintln!("  green after {:.1?}", began.elapsed());
        stop.cancel();
        let mut calls = growing.await.unwrap();
        for changing in changing {
            let (state, made) = changing.await.unwrap();
            self.changed.push(state);
            calls += made;
        }
        let began = Instant::now();
        self.server.wait_for_index().await;
        eprintln!("  {calls} acknowledged calls; level {:.1?} after the last one", began.elapsed());
        for (paging, reader) in readers {
            eprintln!("  {paging:?}: {}", reader.await.unwrap());
        }
        let (answers, most_behind) = counting.await.unwrap();
        eprintln!("  totals: {answers}; a complete one missed changes of the last {most_behind:.1?}");
    }

    /// Compares all that is acknowledged with all that each viewer finds.
    async fn compare(&self) {
        let changed: State =
            self.changed.iter().flatten().map(|(id, title)| (id.clone(), title.clone())).collect();
        let grown = self.growth.lock().unwrap().sent;
        for viewer in &self.viewers {
            eventually("a complete answer", async || {
                let answer = viewer.search(&[("moduleId", GROWING), ("keyword", "harbour")]).await;
                (answer.status == 200 && answer.body["partial"] == false).then_some(())
            })
            .await;
            assert_same(&titles(viewer, CHANGED).await, &changed);
            let walk = walk_by_time(viewer, &[("moduleId", GROWING), ("keyword", "harbour")], 1_000).await;
            walk.assert_met((0..grown).map(|number| format!("g{number:07}")));
        }
    }
}

#[track_caller]
fn assert_same(found: &State, acknowledged: &State) {
    let differing = |one: &State, other: &State| {
        let differs = |(id, title): &(&String, &String)| other.get(*id) != Some(*title);
        one.iter().filter(differs).take(5).map(|(id, title)| format!("{id}: {title}")).collect::<Vec<_>>()
    };
    let (lost, unknown) = (differing(acknowledged, found), differing(found, acknowledged));
    assert_eq!((lost, unknown), Default::default(), "acknowledged and not found; found and not acknowledged");
}

/// All items of a module; fails on one that is repeated.
async fn titles(caller: &Caller, module: &str) -> State {
    let (mut found, mut cursor) = (State::new(), None::<String>);
    loop {
        let parameters = [("moduleId", module), ("keyword", "harbour")];
        let page = page_after(caller, &parameters, 200, cursor.as_deref()).await;
        assert_eq!(page.body["partial"], false, "{}", page.text);
        for item in page.items() {
            let text = |name: &str| item[name].as_str().unwrap().to_owned();
            assert!(found.insert(text("id"), text("title")).is_none(), "repeated: {item}");
        }
        cursor = page.cursor();
        if cursor.is_none() {
            assert_eq!(page.total(), found.len() as u64, "the total differs from the items");
            return found;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_nodes_lose_and_repeat_nothing_acknowledged() {
    let from_environment = |name| std::env::var(name).ok().map(|value| value.parse::<u64>().unwrap());
    // A round takes one to four minutes.
    let Some(rounds) = from_environment("TRAWL_TEST_KILLS") else {
        eprintln!("skipped: TRAWL_TEST_KILLS sets no number of rounds");
        return;
    };
    let rounds = usize::try_from(rounds).unwrap();
    let Some(mut world) = World::new().await else { return };
    let seed = from_environment("KILL_SEED").unwrap_or_else(|| fastrand::u64(..));
    eprintln!("KILL_SEED={seed} TRAWL_TEST_KILLS={rounds}");
    let mut random = Rng::with_seed(seed);
    let troubles =
        [Trouble::KillPrimary, Trouble::KillTwo, Trouble::KillClusterManager, Trouble::PausePrimary];
    for (round, trouble) in troubles.into_iter().cycle().take(rounds).enumerate() {
        eprintln!("round {round}");
        world.round(trouble, &mut random).await;
        world.compare().await;
    }
}
