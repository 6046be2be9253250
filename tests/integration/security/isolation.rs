//! Shared caches never cross a tenant or a person's visibility.

use std::{
    ops::RangeInclusive,
    sync::atomic::{
        AtomicI64,
        Ordering::{Acquire, Release},
    },
};

use futures::{StreamExt, stream};
use serde_json::{Value, json};

use crate::util::{
    app::TestApp,
    caller::Caller,
    external::ExternalSystem,
    groups,
    items::{NEW_YEAR, item, user},
    sizes::size,
};

const AT_ONCE: usize = 16;
/// Milliseconds: some searches hit the cache, others call the source.
const FRESH_MS: u64 = 20;

struct Searcher {
    caller: Caller,
    finds: Vec<&'static str>,
}

async fn tenant(app: &TestApp, code: &str, system: &ExternalSystem, articles: &[Value]) -> Vec<Caller> {
    let application = app.tenant(code).await;
    let people = json!([user("mei", ""), user("omar", "")]);
    app.sync(&application.caller, "users", &people).await;
    app.put_contents(&application.caller, "article", articles).await;
    app.register_source(&application, system.registration("x"), "all", &["builtin:article", "x"]).await;
    vec![app.user(&application, "mei").await, app.user(&application, "omar").await]
}

fn for_one(id: &str, user: &str) -> Value {
    let mut item = item(id, "harbour", NEW_YEAR);
    item["visibility"] = json!({"users": [user]});
    item
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_searches_stay_isolated() {
    let app = TestApp::start_with(|config| {
        (config.cache.fresh_ms, config.cache.stale_ms) = (FRESH_MS, FRESH_MS);
    })
    .await;
    let systems = [
        ExternalSystem::start(vec![item("acme-x", "harbour", 1)]).await,
        ExternalSystem::start(vec![item("other-x", "harbour", 1)]).await,
    ];
    let acme = [for_one("acme-mei", "mei"), for_one("acme-omar", "omar")];
    let other = [for_one("other-mei", "mei"), for_one("other-omar", "omar")];
    let callers =
        [tenant(&app, "acme", &systems[0], &acme).await, tenant(&app, "other", &systems[1], &other).await];
    let expected = [
        ["acme-mei", "acme-x"],
        ["acme-omar", "acme-x"],
        ["other-mei", "other-x"],
        ["other-omar", "other-x"],
    ];
    let searchers: Vec<Searcher> = callers
        .into_iter()
        .flatten()
        .zip(expected)
        .map(|(caller, finds)| Searcher { caller, finds: finds.to_vec() })
        .collect();
    // Concurrent equal searches come from different callers.
    let rounds = size(500, 2_500);
    let in_turn = (0..rounds).flat_map(|_| &searchers);
    stream::iter(in_turn)
        .for_each_concurrent(AT_ONCE, async |searcher| {
            let answer = searcher.caller.search(&[("keyword", "harbour"), ("moduleId", "all")]).await.ok();
            assert_eq!((answer.ids(), answer.total()), (searcher.finds.clone(), 2), "{}", answer.text);
        })
        .await;
    for system in systems {
        let asked = system.requests().len();
        assert!((1..rounds * 2).contains(&asked), "{asked} calls: all shared or none");
    }
}

const WRITES: i64 = 40;

/// A caller, their private item, and the tenant's last searchable write.
struct Reader<'a> {
    caller: &'a Caller,
    finds: String,
    written: &'a AtomicI64,
}

impl Reader<'_> {
    async fn search(&self, sort: &str, keyword: &str) {
        loop {
            let written = self.written.load(Acquire);
            let parameters = [("keyword", keyword), ("moduleId", "article"), ("sort", sort)];
            let answer = self.caller.search(&parameters).await.ok();
            // The private item and the common one, as of the last write or newer.
            let mut ids = answer.ids();
            ids.sort_unstable();
            assert_eq!((ids, answer.total()), (vec![self.finds.as_str(), "zz"], 2), "{}", answer.text);
            for item in answer.items() {
                let of = item["displayTime"].as_i64().unwrap() - NEW_YEAR;
                assert!(of >= written, "a stale answer of write {of} after {written}: {}", answer.text);
            }
            if written == WRITES {
                return;
            }
        }
    }
}

async fn people(app: &TestApp, code: &str) -> (Caller, [Caller; 2]) {
    let application = app.tenant(code).await;
    let people = groups::people(app, &application, ["mei", "omar"]).await;
    (application.caller, people)
}

async fn write(app: &TestApp, code: &str, caller: &Caller, written: &AtomicI64, writes: RangeInclusive<i64>) {
    for number in writes {
        let of = |id: &str, sees: Option<&str>| {
            let mut item = item(id, "the harbour at the quay", NEW_YEAR + number);
            if let Some(user) = sees {
                item["visibility"] = json!({"users": [user]});
            }
            item
        };
        let (mei, omar) = (format!("{code}-mei"), format!("{code}-omar"));
        let items = [of("zz", None), of(&mei, Some("mei")), of(&omar, Some("omar"))];
        app.put_contents(caller, "article", &items).await;
        written.store(number, Release);
    }
}

/// Built-in pages are cached until the index changes.
#[tokio::test(flavor = "multi_thread")]
async fn writes_are_found_at_once_and_only_by_permitted_people() {
    let app = TestApp::start().await;
    let tenants = [("acme", people(&app, "acme").await), ("other", people(&app, "other").await)];
    let written = [AtomicI64::new(0), AtomicI64::new(0)];
    for ((code, (application, _)), written) in tenants.iter().zip(&written) {
        write(&app, code, application, written, 1..=1).await;
    }
    let readers: Vec<Reader<'_>> = tenants
        .iter()
        .zip(&written)
        .flat_map(|((code, (_, people)), written)| {
            let names = people.iter().zip(["mei", "omar"]);
            names.map(move |(caller, name)| Reader { caller, finds: format!("{code}-{name}"), written })
        })
        .collect();
    let ways = [
        ("time", "harbour quay "),
        ("relevance", "harbour "),
        ("relevance", "\"the quay\""),
        ("time", "har"),
    ];
    let searching =
        readers.iter().flat_map(|reader| ways.map(|(sort, keyword)| reader.search(sort, keyword)));
    let writing = tenants
        .iter()
        .zip(&written)
        .map(|((code, (application, _)), written)| write(&app, code, application, written, 2..=WRITES));
    tokio::join!(futures::future::join_all(searching), futures::future::join_all(writing));
}
