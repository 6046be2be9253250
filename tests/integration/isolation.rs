//! Nothing that is kept or shared between searches crosses a tenant or what a person may see (decisions 3.6, 6.5).

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
    items::{NEW_YEAR, item, user},
};

/// Searches of each of the four who search.
const SEARCHES: usize = 2_500;
/// Searches at once.
const AT_ONCE: usize = 16;
/// Answers are kept for so long: some searches are answered by what others asked for, some call anew.
const FRESH_MS: u64 = 20;

/// Someone who searches, and what he is to find.
struct Searcher {
    caller: Caller,
    finds: Vec<&'static str>,
}

/// A tenant whose module `all` shows articles and the system `x`.
async fn tenant(app: &TestApp, code: &str, system: &ExternalSystem, articles: &[Value]) -> Vec<Caller> {
    let application = app.tenant(code).await;
    let people = json!([user("mei", ""), user("omar", "")]);
    app.sync(&application.caller, "users", &people).await;
    app.keep(&application.caller, "article", articles).await;
    app.show(&application, system.registration("x"), "all", &["builtin:article", "x"]).await;
    vec![app.user(&application, "mei").await, app.user(&application, "omar").await]
}

fn for_one(id: &str, user: &str) -> Value {
    let mut item = item(id, "harbour", NEW_YEAR);
    item["visibility"] = json!({"users": [user]});
    item
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_searches_at_once_see_their_own_only() {
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
    // In turn, so that those who ask the same at once are different ones.
    let in_turn = (0..SEARCHES).flat_map(|_| &searchers);
    stream::iter(in_turn)
        .for_each_concurrent(AT_ONCE, async |searcher| {
            let answer = searcher.caller.search(&[("keyword", "harbour"), ("moduleId", "all")]).await.ok();
            assert_eq!((answer.ids(), answer.total()), (searcher.finds.clone(), 2), "{}", answer.text);
        })
        .await;
    for system in systems {
        let asked = system.asked().len();
        assert!(
            (1..SEARCHES * 2).contains(&asked),
            "{asked} calls: nothing was shared, or nothing asked anew"
        );
    }
}

/// Writes of each tenant while its people search.
const WRITES: i64 = 40;

/// Someone who searches, what only he is to find, and the write that his tenant found last.
struct Reader<'a> {
    caller: &'a Caller,
    finds: String,
    written: &'a AtomicI64,
}

impl Reader<'_> {
    /// Searches in one of the ways in which pages are kept, until all is written.
    async fn search(&self, sort: &str, keyword: &str) {
        loop {
            let written = self.written.load(Acquire);
            let parameters = [("keyword", keyword), ("moduleId", "article"), ("sort", sort)];
            let answer = self.caller.search(&parameters).await.ok();
            // One of his own and the one for all, both as they were written last before the search, or later.
            let mut ids = answer.ids();
            ids.sort_unstable();
            assert_eq!((ids, answer.total()), (vec![self.finds.as_str(), "zz"], 2), "{}", answer.text);
            for item in answer.items() {
                let of = item["displayTime"].as_i64().unwrap() - NEW_YEAR;
                assert!(of >= written, "an answer of write {of} after {written} was found: {}", answer.text);
            }
            if written == WRITES {
                return;
            }
        }
    }
}

/// Those of a tenant who search, and its application.
async fn people(app: &TestApp, code: &str) -> (Caller, [Caller; 2]) {
    let application = app.tenant(code).await;
    app.sync(&application.caller, "users", &json!([user("mei", ""), user("omar", "")])).await;
    let people = [app.user(&application, "mei").await, app.user(&application, "omar").await];
    (application.caller, people)
}

/// Writes everything of a tenant anew, and says which write is found.
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
        app.keep(caller, "article", &items).await;
        written.store(number, Release);
    }
}

/// Pages of built-in content are kept and shared too, until the index changes.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_is_found_at_once_and_by_those_only_who_may_see_it() {
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
