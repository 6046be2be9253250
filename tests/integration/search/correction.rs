//! Spelling correction (decisions 5.7).

use serde_json::{Value, json};

use crate::util::{
    all_modules::module_entry,
    app::TestApp,
    external::{ExternalSystem, with},
    items::{item, many},
    paging::{walk_by_cursor, walk_by_time},
};

#[tokio::test]
async fn misspelt_query_is_corrected_and_reported() {
    let (app, acme) = TestApp::start_with_acme().await;
    let items = [item("1", "Harbour budget 2026", 3), item("2", "劳动合同范本", 2)];
    app.put_contents(&acme.caller, "article", &items).await;
    for (keyword, corrected, id, sorts) in [
        // Sorted by relevance, one matching word is enough for a result.
        ("harbuor budget", "harbour budget", "1", &["time"][..]),
        ("劳动合约", "劳动合同", "2", &["time"]),
        ("\"harbour bugdet\"", "\"harbour budget\"", "1", &["time", "relevance"]),
        ("budgte", "budget", "1", &["time", "relevance"]),
    ] {
        for sort in sorts {
            let answer = acme
                .caller
                .search(&[("keyword", keyword), ("moduleId", "article"), ("sort", sort)])
                .await
                .ok();
            assert_eq!(answer.ids(), [id], "{keyword} by {sort}");
            assert_eq!(
                (answer.total(), &answer.body["corrected"]),
                (1, &json!(corrected)),
                "{keyword} by {sort}"
            );
        }
    }
    let marked = [("keyword", "budgte"), ("moduleId", "article"), ("highlight", "true")];
    let answer = acme.caller.search(&marked).await.ok();
    assert_eq!(answer.items()[0]["highlight"]["title"], "Harbour <em>budget</em> 2026");
    // The query has results, a filter empties it, or no word is similar.
    let search = async |keyword: &str, more: Option<(&'static str, &'static str)>| {
        let mut parameters = vec![("keyword", keyword), ("moduleId", "article")];
        parameters.extend(more);
        acme.caller.search(&parameters).await.ok()
    };
    assert_eq!(search("harbour", None).await.body.get("corrected"), None);
    for (keyword, more) in [("harbour", Some(("from", "100"))), ("zzzzzz", None), ("!?", None)] {
        let answer = search(keyword, more).await;
        assert_eq!((answer.total(), answer.body.get("corrected")), (0, None), "{keyword}");
    }
    let other = app.tenant("other").await;
    let answer = other.caller.search(&[("keyword", "harbuor"), ("moduleId", "article")]).await.ok();
    assert_eq!((answer.total(), answer.body.get("corrected")), (0, None));
}

#[tokio::test]
async fn corrected_search_pages_are_complete_with_either_cursor() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.put_contents(&acme.caller, "article", &many("i", "harbour", 250, 3)).await;
    let ids: Vec<String> = (0..250).map(|number| format!("i{number:05}")).collect();
    let query = [("keyword", "harbuor"), ("moduleId", "article")];
    walk_by_cursor(&acme.caller, &query, 40).await.assert_met(ids.iter().cloned());
    walk_by_time(&acme.caller, &query, 40).await.assert_met(ids.iter().cloned());
    let by_relevance = [query[0], query[1], ("sort", "relevance")];
    walk_by_cursor(&acme.caller, &by_relevance, 40).await.assert_met(ids.iter().cloned());

    let disabled = with(ExternalSystem::start(Vec::new()).await.registration("off"), "enabled", false);
    app.register_source(&acme, disabled, "mixed", &["builtin:article", "off"]).await;
    let mixed = [query[0], ("moduleId", "mixed")];
    walk_by_time(&acme.caller, &mixed, 40).await.assert_met(ids.iter().cloned());
    walk_by_cursor(&acme.caller, &mixed, 40).await.assert_met(ids.iter().cloned());

    // Every page reports it, even once the original words are findable.
    let first = acme.caller.search(&query).await.ok();
    assert_eq!(first.body["corrected"], "harbour");
    app.put_contents(&acme.caller, "article", &[item("new", "harbuor", 1)]).await;
    let cursor = first.cursor().unwrap();
    let second = acme.caller.search(&[query[0], query[1], ("cursor", &cursor)]).await.ok();
    assert_eq!((second.ids()[0], &second.body["corrected"]), ("i00012", &json!("harbour")));
}

#[tokio::test]
async fn correction_is_sent_to_sources_only_when_none_has_results() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.put_contents(&acme.caller, "article", &[item("1", "harbour", 3)]).await;
    let system = ExternalSystem::start(Vec::new()).await;
    app.register_source(&acme, system.registration("sys"), "mixed", &["builtin:article", "sys"]).await;
    let search =
        async |keyword: &str| acme.caller.search(&[("keyword", keyword), ("moduleId", "mixed")]).await.ok();
    let answer = search("harbuor").await;
    assert_eq!((answer.ids(), &answer.body["corrected"]), (vec!["1"], &json!("harbour")));
    assert_eq!(system.requests().len(), 2);

    system.put_first(item("external", "about the harbuor", 5));
    let answer = search("harbuor").await;
    assert_eq!((answer.ids(), answer.body.get("corrected")), (vec!["external"], None));
    assert_eq!(system.requests().len(), 3);
}

#[tokio::test]
async fn search_of_all_modules_is_corrected_only_without_matches() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.put_contents(&acme.caller, "article", &[item("1", "harbour budget", 3)]).await;
    app.put_contents(&acme.caller, "news", &[item("2", "harbuor", 3)]).await;
    for (keyword, article, news) in [
        ("harbuor", (Value::Null, Value::Null), (json!("2"), Value::Null)),
        ("budgte", (json!("1"), json!("budget")), (Value::Null, Value::Null)),
    ] {
        for sort in ["time", "relevance"] {
            let parameters = json!({"keyword": keyword, "sort": sort});
            let answer = acme.caller.post("/contents/search/all", &parameters).await.ok();
            let of = |code: &str| {
                let entry = module_entry(answer.items(), code);
                (entry["data"][0]["id"].clone(), entry["corrected"].clone())
            };
            assert_eq!((of("article"), of("news")), (article.clone(), news.clone()), "{keyword} by {sort}");
        }
    }
}
