//! Spelling correction.

use serde_json::{Value, json};

use crate::util::{
    all_modules::{PATH, module_entry},
    app::TestApp,
    external::{ExternalSystem, with},
    items::{item, many, user},
    paging::{ids_of, walk_by_cursor, walk_by_time},
};

#[tokio::test]
async fn misspelt_query_is_corrected_and_reported() {
    let (app, acme) = TestApp::start_with_acme().await;
    let items = [
        item("1", "Harbour budget 2026", 3),
        item("2", "劳动合同范本", 2),
        item("3", "苏州仓库盘点", 1),
        item("4", "报销流程", 1),
    ];
    app.put_contents(&acme.caller, "article", &items).await;
    for (keyword, corrected, id) in [
        ("harbuor budget", "harbour budget", "1"),
        ("budget harbuor", "budget harbour", "1"),
        ("劳动合约", "劳动合同", "2"),
        ("\"harbour bugdet\"", "\"harbour budget\"", "1"),
        ("budgte", "budget", "1"),
        ("苏洲仓库", "苏州仓库", "3"),
        ("报肖流程", "报销流程", "4"),
    ] {
        for sort in ["time", "relevance"] {
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
async fn rewritten_search_pages_are_complete_with_either_cursor() {
    let correction = |from: &str, to: &str| json!([{"from": from, "to": to}]);
    for (title, keyword, field, rewritten) in [
        ("harbour", "harbuor", "corrected", json!("harbour")),
        ("harbour budget", "harbour budgte", "corrections", correction("budgte", "budget")),
        ("harbour", "harbour zzzzzz", "relaxed", json!({"leftOut": ["zzzzzz"]})),
    ] {
        let (app, acme) = TestApp::start_with_acme().await;
        let items = many("i", title, 120, 3);
        app.put_contents(&acme.caller, "article", &items).await;
        let disabled = with(ExternalSystem::start(Vec::new()).await.registration("off"), "enabled", false);
        app.register_source(&acme, disabled, "mixed", &["builtin:article", "off"]).await;
        for module in ["article", "mixed"] {
            let query = [("keyword", keyword), ("moduleId", module)];
            walk_by_cursor(&acme.caller, &query, 40).await.assert_met(ids_of(&items));
            walk_by_time(&acme.caller, &query, 40).await.assert_met(ids_of(&items));
        }

        // A cursor stays with its words, even once those that were typed are found.
        let query = [("keyword", keyword), ("moduleId", "article")];
        let first = acme.caller.search(&query).await.ok();
        app.put_contents(&acme.caller, "article", &[item("new", keyword, 1)]).await;
        let cursor = first.cursor().unwrap();
        let next = [query[0], query[1], ("cursor", cursor.as_str()), ("exact", "true")];
        let second = acme.caller.search(&next[..3]).await.ok();
        assert_eq!((second.ids()[0], &second.body[field]), ("i00012", &rewritten), "{keyword}");
        acme.caller.search(&next).await.fails(400, "cursor");
        let anew = acme.caller.search(&query).await.ok();
        assert_eq!((anew.ids(), anew.body.get(field)), (vec!["new"], None), "{keyword}");
    }
}

#[tokio::test]
async fn only_words_that_are_found_nowhere_are_corrected() {
    let (app, acme) = TestApp::start_with_acme().await;
    let mut fang = user("wang.fang", "");
    fang["name"] = "Wang Fang".into();
    app.sync(&acme.caller, "users", &json!([fang])).await;
    let mut by_qiang = item("by", "Tape and lease rates", 3);
    by_qiang["author"] = "Leaf Qiang".into();
    let articles = [
        item("want", "We want rang budget lists", 5),
        item("tape", "The tape was about plans of the lease", 4),
        by_qiang,
        item("code", "Drawing AB2052C", 2),
        item("mail", "Ask mei.chan@example.com", 1),
    ];
    app.put_contents(&acme.caller, "article", &articles).await;
    app.put_contents(&acme.caller, "news", &[item("leave", "Parental leave", 1)]).await;
    for keyword in [
        // A name, its beginnings, an author, and words of another module.
        "wang fang",
        "fang",
        "wang.fang",
        "paren",
        "qiang",
        "leave",
        "leave lists",
        // Idle words.
        "whom budget",
        "about",
        // Operators, codes, numbers, addresses, excluded and short words.
        "type:file",
        "budget type:tapt",
        "type：tapt",
        "author:leav",
        "AB2053C",
        "DrawingAB2052D",
        "20521",
        "mei.chen@example.com",
        "lists -leese",
        "lst",
    ] {
        for sort in ["time", "relevance"] {
            let parameters = [("keyword", keyword), ("moduleId", "article"), ("sort", sort)];
            let answer = acme.caller.search(&parameters).await.ok();
            let changed = ["corrected", "corrections"].map(|field| answer.body.get(field));
            assert_eq!(changed, [None, None], "{keyword} by {sort}");
            let all = acme.caller.post(PATH, &json!({"keyword": keyword, "sort": sort})).await.ok();
            assert!(all.items().iter().all(|entry| entry.get("corrected").is_none()), "{keyword} by {sort}");
        }
    }
}

#[tokio::test]
async fn unknown_words_are_corrected_beside_found_ones() {
    let (app, acme) = TestApp::start_with_acme().await;
    let mut fang = user("wang.fang", "");
    fang["name"] = "Wang Fang".into();
    app.sync(&acme.caller, "users", &json!([fang])).await;
    let articles = [item("budget", "Budget of Wang Fang", 5), item("want", "want rang", 4)];
    app.put_contents(&acme.caller, "article", &articles).await;
    for (keyword, corrected, corrections) in [
        ("wang fang budgte", "wang fang budget", json!([{"from": "budgte", "to": "budget"}])),
        ("Bugdet wang fang", "budget wang fang", json!([{"from": "Bugdet", "to": "budget"}])),
        (
            "budgte Budgte",
            "budget budget",
            json!([{"from": "budgte", "to": "budget"}, {"from": "Budgte", "to": "budget"}]),
        ),
    ] {
        for sort in ["time", "relevance"] {
            let parameters = [("keyword", keyword), ("moduleId", "article"), ("sort", sort)];
            let answer = acme.caller.search(&parameters).await.ok();
            assert_eq!(answer.ids()[0], "budget", "{keyword} by {sort}");
            let shown = |body: &Value| (body["corrected"].clone(), body["corrections"].clone());
            assert_eq!(shown(&answer.body), (json!(corrected), corrections.clone()), "{keyword} by {sort}");
            let all = acme.caller.post(PATH, &json!({"keyword": keyword, "sort": sort})).await.ok();
            assert_eq!(
                shown(module_entry(all.items(), "article")),
                shown(&answer.body),
                "{keyword} by {sort}"
            );

            let exact = [parameters.as_slice(), &[("exact", "true")]].concat();
            let exact = acme.caller.search(&exact).await.ok();
            assert_eq!(exact.body.get("corrections"), None, "{keyword} by {sort}");
        }
    }
}

#[tokio::test]
async fn word_that_an_external_item_shows_is_not_corrected() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.put_contents(&acme.caller, "article", &[item("1", "harbour budget", 3)]).await;
    let system = ExternalSystem::start(Vec::new()).await;
    app.register_source(&acme, system.registration("sys"), "mixed", &["builtin:article", "sys"]).await;
    let search = async |keyword: &str, sort: &str| {
        let parameters = [("keyword", keyword), ("moduleId", "mixed"), ("sort", sort)];
        acme.caller.search(&parameters).await.ok()
    };
    let answer = search("harbuor", "time").await;
    assert_eq!((answer.ids(), &answer.body["corrected"]), (vec!["1"], &json!("harbour")));
    assert_eq!(system.requests().len(), 2);

    system.put_first(item("external", "about the harbuor", 5));
    for sort in ["time", "relevance"] {
        let answer = search("harbuor", sort).await;
        assert_eq!((answer.ids(), answer.body.get("corrected")), (vec!["external"], None));
        let answer = search("harbuor budgte", sort).await;
        let corrections = json!([{"from": "budgte", "to": "budget"}]);
        assert_eq!(answer.body["corrections"], corrections, "by {sort}");
        let all = acme.caller.post(PATH, &json!({"keyword": "harbuor", "sort": sort})).await.ok();
        assert!(all.items().iter().all(|entry| entry.get("corrected").is_none()), "by {sort}");
        assert_eq!(module_entry(all.items(), "mixed")["data"][0]["id"], "external");
    }
    system.remove_first(1);
    let all = acme.caller.post(PATH, &json!({"keyword": "harbuor"})).await.ok();
    for module in ["article", "mixed"] {
        assert_eq!(module_entry(all.items(), module)["corrected"], "harbour", "{module}");
    }
}

#[tokio::test]
async fn silent_source_leaves_time_to_correct_the_other_modules() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.put_contents(&acme.caller, "article", &[item("1", "harbour", 3)]).await;
    let system = ExternalSystem::start(Vec::new()).await;
    app.register_source(&acme, system.registration("sys"), "silent", &["sys"]).await;
    system.hold_answers();
    let all = acme.caller.post(PATH, &json!({"keyword": "harbuor"})).await.ok();
    let article = module_entry(all.items(), "article");
    assert_eq!((&article["data"][0]["id"], &article["corrected"]), (&json!("1"), &json!("harbour")));
    assert_eq!(module_entry(all.items(), "silent")["code"], 504);
}
