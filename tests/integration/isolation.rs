//! Nothing that is kept or shared between searches crosses a tenant or what a person may see (decisions 3.6, 6.5).

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
