//! `kill -9` at random moments under every kind of write.
//!
//! `KILLS` sets the number of kills; `KILL_SEED` repeats the choices, not the moments.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
    time::Duration,
};

use fastrand::Rng;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::util::{
    caller::Caller,
    database::read,
    internals::Json,
    items::{NEW_YEAR, item, todo, user},
    paging::{Walk, page_after},
    postgres::open_store,
    program::{Server, create_with_scopes},
    sizes::size,
};

const WRITERS: usize = 4;
const ITEMS: usize = 40;
/// A kill comes after a random number of acknowledged calls, at most this many.
const MAX_CALLS_BEFORE_KILL: u32 = 24;
/// Some kills then hit a rebuild.
const REBUILD_INTERVAL: usize = 7;
const PAGE: usize = 30;
const SCOPES: [&str; 5] = ["directory:write", "tasks", "contents:read", "contents:write", "act-as-user"];

type State = BTreeMap<String, String>;

#[derive(Clone, Debug)]
enum Call {
    Put(Vec<(String, String)>),
    Delete(Vec<String>),
    Create(Vec<String>),
}

impl Call {
    fn any(random: &mut Rng, writer: usize, version: &str) -> Self {
        let kind = random.u8(..10);
        let mut ids = |most: usize| {
            let count = random.usize(1..=most);
            let ids: BTreeSet<usize> = (0..count).map(|_| random.usize(..ITEMS)).collect();
            ids.into_iter().map(|number| format!("{writer}-{number:02}")).collect::<Vec<_>>()
        };
        let with_title = |id: String| (id, format!("harbour {version}"));
        match kind {
            0..4 => Self::Put(ids(1).into_iter().map(with_title).collect()),
            4..8 => Self::Put(ids(12).into_iter().map(with_title).collect()),
            _ => Self::Delete(ids(5)),
        }
    }

    fn apply(&self, state: &mut State) {
        match self {
            Self::Put(items) => state.extend(items.iter().cloned()),
            Self::Delete(ids) => state.retain(|id, _| !ids.contains(id)),
            Self::Create(ids) => state.extend(ids.iter().map(|id| (id.clone(), id.clone()))),
        }
    }

    /// Returns whether the call was acknowledged.
    async fn make(&self, caller: &Caller) -> bool {
        let (method, path, body) = match self {
            Self::Put(items) => {
                let item_of = |(id, title): &(String, String)| item(id, title, time_of(id, title));
                let items: Vec<Value> = items.iter().map(item_of).collect();
                (reqwest::Method::PUT, "/v1/contents/article", Value::from(items))
            }
            Self::Delete(ids) => (reqwest::Method::POST, "/v1/contents/article/delete", json!(ids)),
            Self::Create(ids) => {
                let todos: Vec<Value> = ids.iter().map(|id| todo(id, id, "mei")).collect();
                (reqwest::Method::POST, "/api/todo/batch_create", Value::from(todos))
            }
        };
        match caller.request(method, path).json(&body).send().await {
            Ok(response) => {
                assert_eq!(response.status(), 200, "{self:?}: {:?}", response.text().await);
                response.bytes().await.is_ok()
            }
            Err(_) => false,
        }
    }
}

fn time_of(id: &str, title: &str) -> i64 {
    let sum = id.bytes().chain(title.bytes()).fold(0_i64, |sum, byte| (sum * 31 + i64::from(byte)) % 97);
    NEW_YEAR + sum
}

#[derive(Clone, Debug, Default)]
struct Writer {
    acknowledged: State,
    unanswered: Option<Call>,
}

impl Writer {
    async fn write_until_killed(
        mut self,
        caller: Caller,
        mut random: Rng,
        name: String,
        writer: usize,
        acknowledged: Arc<Semaphore>,
    ) -> Self {
        for number in 0.. {
            let version = format!("{name}.{number}");
            let call = if writer == WRITERS {
                let count = random.usize(1..=5);
                Call::Create((0..count).map(|place| format!("harbour {version}.{place}")).collect())
            } else {
                Call::any(&mut random, writer, &version)
            };
            if !call.make(&caller).await {
                self.unanswered = Some(call);
                break;
            }
            call.apply(&mut self.acknowledged);
            acknowledged.add_permits(1);
        }
        self
    }

    /// Expects the acknowledged state, with or without the call in flight.
    #[track_caller]
    fn settle(&mut self, found: State) {
        let mut with_unanswered = self.acknowledged.clone();
        let call = self.unanswered.take();
        if let Some(call) = &call {
            call.apply(&mut with_unanswered);
        }
        if found != self.acknowledged && found != with_unanswered {
            let differs = |(id, title): &(&String, &String)| found.get(*id) != Some(title);
            let lost: Vec<_> = self.acknowledged.iter().filter(differs).collect();
            let unknown: Vec<_> =
                found.iter().filter(|(id, title)| self.acknowledged.get(*id) != Some(title)).collect();
            panic!("unanswered: {call:?}\nacknowledged and not there: {lost:?}\nthere: {unknown:?}");
        }
        self.acknowledged = found;
    }
}

async fn walk(caller: &Caller, module: &str) -> (Walk, BTreeMap<String, (String, i64)>) {
    let parameters = [("keyword", "harbour"), ("moduleId", module)];
    let (mut walk, mut found, mut cursor) = (Walk::default(), BTreeMap::new(), None::<String>);
    loop {
        let page = page_after(caller, &parameters, PAGE, cursor.as_deref()).await;
        assert_eq!(page.body["partial"], false, "{}", page.text);
        for item in page.items() {
            let text = |name: &str| item[name].as_str().unwrap().to_owned();
            let told = (text("title"), item["displayTime"].as_i64().unwrap());
            assert!(found.insert(text("id"), told).is_none(), "repeated: {item}");
        }
        walk.take(&page);
        cursor = page.cursor();
        if cursor.is_none() {
            assert_eq!(page.total(), found.len() as u64, "the total differs from the items");
            return (walk, found);
        }
    }
}

async fn rows(data: &Path, statement: &str) -> BTreeMap<String, (String, i64)> {
    let store = open_store(data).await;
    let rows: Vec<_> = read(&store, statement, Vec::new()).await;
    let titled = |(id, content, time): (String, Json<Value>, i64)| {
        (id, (content["title"].as_str().unwrap().to_owned(), time))
    };
    let rows = rows.into_iter().map(titled).collect();
    store.close().await.unwrap();
    rows
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_9_at_random_moments_keeps_acknowledged_writes() {
    let from_environment = |name| std::env::var(name).ok().map(|value| value.parse::<u64>().unwrap());
    let kills =
        from_environment("KILLS").map_or_else(|| size(8, 100), |kills| usize::try_from(kills).unwrap());
    let seed = from_environment("KILL_SEED").unwrap_or_else(|| fastrand::u64(..));
    eprintln!("KILL_SEED={seed} KILLS={kills}");
    let mut random = Rng::with_seed(seed);

    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let mut server = Server::start(data).await;
    let application = create_with_scopes(data, "acme", &SCOPES).await;
    let caller = server.caller(&application).await;
    caller.put("/v1/users/sync", &json!([user("mei", "")])).await.ok();
    let mei = server.user(&application, "mei").await;
    let mut writers = vec![Writer::default(); WRITERS + 1];
    for round in 0..kills {
        let here = |caller: &Caller| caller.at(&server.base);
        let acknowledged = Arc::new(Semaphore::new(0));
        let writing: Vec<_> = std::mem::take(&mut writers)
            .into_iter()
            .enumerate()
            .map(|(place, writer)| {
                let (random, name) = (random.fork(), format!("{round}.{place}"));
                let acknowledged = Arc::clone(&acknowledged);
                tokio::spawn(writer.write_until_killed(here(&caller), random, name, place, acknowledged))
            })
            .collect();
        let _calls = acknowledged.acquire_many(random.u32(..=MAX_CALLS_BEFORE_KILL)).await.unwrap();
        tokio::time::sleep(Duration::from_micros(random.u64(..10_000))).await;
        server.kill();
        for writer in writing {
            writers.push(writer.await.unwrap());
        }
        let arguments: &[&str] = if round % REBUILD_INTERVAL == 3 { &["--rebuild-index"] } else { &[] };
        server = Server::launch(data, "127.0.0.1:0", arguments).await;
        if random.usize(..4) == 0 || !arguments.is_empty() {
            // Kills during startup recovery.
            tokio::time::sleep(Duration::from_micros(random.u64(..20_000))).await;
            server.kill();
            server = Server::launch(data, "127.0.0.1:0", &[]).await;
        }
        server.wait_until_complete().await;

        let here = |caller: &Caller| caller.at(&server.base);
        let (_, articles) = walk(&here(&caller), "article").await;
        for (place, writer) in writers[..WRITERS].iter_mut().enumerate() {
            let own = format!("{place}-");
            let found = articles.iter().filter(|(id, _)| id.starts_with(&own));
            let found: State = found.map(|(id, (title, _))| (id.clone(), title.clone())).collect();
            writer.settle(found);
        }
        let (_, todos) = walk(&here(&mei), "todo").await;
        writers[WRITERS].settle(todos.values().map(|(title, _)| (title.clone(), title.clone())).collect());
    }

    let here = |caller: &Caller| caller.at(&server.base);
    let contents = rows(data, "SELECT id, item, display_time FROM contents").await;
    assert_eq!(walk(&here(&caller), "article").await.1, contents);
    let tasks = rows(data, "SELECT id, task, created_at FROM tasks").await;
    assert_eq!(walk(&here(&mei), "todo").await.1, tasks);
    server.terminate();
    assert!(server.wait_for_end().await.success(), "{}", server.log());
    let (index, _writer) =
        trawl_index::Index::open(&data.join("index"), &trawl_index::Options::default()).unwrap();
    // The extra document is the person who owns the to-dos.
    assert_eq!(index.snapshot().documents(), (contents.len() + tasks.len() + 1) as u64);
    eprintln!("{kills} kills, {} items in the end", contents.len() + tasks.len());
}
