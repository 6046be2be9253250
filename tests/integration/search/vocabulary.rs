//! An operator's vocabulary in searches: words never corrected, and pinned items.

use serde_json::{Value, json};

use crate::util::{
    all_modules::{module_entry, search_all},
    answer::Answer,
    app::{Application, TestApp},
    caller::Caller,
    external::ExternalSystem,
    items::{NEW_YEAR, item, many, user},
    paging::{ids_of, page_after},
};

const SORTS: [&str; 2] = ["time", "relevance"];

async fn put(app: &TestApp, acme: &Application, vocabulary: Value) {
    let operator = app.operator().await.caller.on(&acme.tenant);
    operator.put("/admin/v1/vocabulary", &vocabulary).await.ok();
}

fn pins(keyword: &str, items: &[(&str, &str)]) -> Value {
    let items = items.iter().map(|(module, id)| json!({"module": module, "id": id}));
    json!({"pinned": [{"keyword": keyword, "items": items.collect::<Vec<_>>()}]})
}

async fn find(caller: &Caller, module: &str, keyword: &str, more: &[(&str, &str)]) -> Answer {
    let parameters = [&[("moduleId", module), ("keyword", keyword)][..], more].concat();
    caller.search(&parameters).await.ok()
}

#[track_caller]
fn assert_pinned(answer: &Answer, pinned: &[&str], others: &[&str]) {
    let (first, rest) = answer.items().split_at(pinned.len().min(answer.items().len()));
    assert_eq!((ids_of(first), ids_of(rest)), (owned(pinned), owned(others)), "{}", answer.text);
    assert!(first.iter().all(|item| item["pinned"] == true), "{}", answer.text);
    assert!(rest.iter().all(|item| item.get("pinned").is_none()), "{}", answer.text);
}

fn owned(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|&id| id.to_owned()).collect()
}

#[tokio::test]
async fn words_of_the_vocabulary_are_not_corrected_and_others_are() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.put_contents(&acme.caller, "article", &[item("1", "harbour budget of the company", 1)]).await;
    let other = app.tenant("other").await;
    app.put_contents(&other.caller, "article", &[item("1", "harbour budget", 1)]).await;
    let corrected = async |caller: &Caller, keyword: &str| {
        let answer = find(caller, "article", keyword, &[("sort", "relevance")]).await;
        answer.body.get("corrected").and_then(Value::as_str).map(str::to_owned)
    };
    assert_eq!(corrected(&acme.caller, "harbuor").await.as_deref(), Some("harbour"));
    let vocabulary = json!({
        "synonyms": [["bugdet", "cost plan"], ["compony law", "act"]], "oneWay": [{"from": "compani", "to": ["firm"]}],
        "neverCorrect": ["Harbuor"],
    });
    put(&app, &acme, vocabulary).await;
    for (keyword, meant) in [
        ("HARBUORS", None),
        ("bugdet", None),
        ("compani", None),
        // Words of longer terms are ordinary ones.
        ("harbuor budgte compony", Some("harbuor budget company")),
    ] {
        assert_eq!(corrected(&acme.caller, keyword).await.as_deref(), meant, "{keyword}");
    }
    assert_eq!(corrected(&other.caller, "harbuor").await.as_deref(), Some("harbour"));
    let all = search_all(&acme.caller, &[("keyword", "harbuor")]).await.ok();
    assert_eq!(module_entry(all.items(), "article").get("corrected"), None);
    put(&app, &acme, json!({})).await;
    assert_eq!(corrected(&acme.caller, "harbuor").await.as_deref(), Some("harbour"), "in the next search");
}

#[tokio::test]
async fn synonyms_find_each_other_from_the_next_search_on() {
    let (app, acme) = TestApp::start_with_acme().await;
    let articles = [
        item("capitals", "Ask IT for a laptop", 1),
        item("chinese", "信息技术服务台", 2),
        item("pronoun", "How to do it yourself", 3),
        item("vacation", "Vacation calendar", 4),
        item("leave", "Annual leave is 25 days", 5),
        item("apart", "Leave the annual report here", 6),
    ];
    app.put_contents(&acme.caller, "article", &articles).await;
    let other = app.tenant("other").await;
    app.put_contents(&other.caller, "article", &articles).await;
    let found = async |caller: &Caller, keyword: &str, more: &[(&str, &str)]| {
        let mut ids = ids_of(find(caller, "article", keyword, more).await.items());
        ids.sort();
        ids
    };
    assert_eq!(found(&acme.caller, "信息技术", &[]).await, ["chinese"]);
    let vocabulary = json!({
        "synonyms": [["IT", "信息技术"]], "oneWay": [{"from": "vacation", "to": ["annual leave"]}],
    });
    put(&app, &acme, vocabulary).await;
    for sort in SORTS {
        let sort = ("sort", sort);
        for (keyword, expected) in [
            ("IT", &["capitals", "chinese"][..]),
            ("信息技术", &["capitals", "chinese"]),
            ("\"信息技术\"", &["chinese"]),
            ("-\"信息技术\" IT", &["capitals"]),
        ] {
            assert_eq!(found(&acme.caller, keyword, &[sort]).await, expected, "{keyword}");
        }
        assert_eq!(found(&acme.caller, "信息技术", &[sort, ("exact", "true")]).await, ["chinese"]);
        assert_eq!(found(&other.caller, "信息技术", &[sort]).await, ["chinese"]);
    }
    assert_eq!(found(&acme.caller, "vacation", &[]).await, ["leave", "vacation"]);
    assert_eq!(found(&acme.caller, "vacation 25 days", &[]).await, ["leave"]);
    assert_eq!(
        found(&acme.caller, "annual leave calendar", &[]).await,
        ["apart", "leave"],
        "one way, so relaxed"
    );
    let marked = find(&acme.caller, "article", "vacation", &[("highlight", "true")]).await;
    assert!(marked.text.contains("<em>Annual leave</em>"), "{}", marked.text);
    put(&app, &acme, json!({})).await;
    assert_eq!(found(&acme.caller, "信息技术", &[]).await, ["chinese"]);
}

#[tokio::test]
async fn pinned_items_stand_first_in_either_order_and_only_once() {
    let (app, acme) = TestApp::start_with_acme().await;
    let articles = [
        item("new", "Leave calendar", NEW_YEAR),
        item("mid", "Leave form", NEW_YEAR - 1),
        item("old", "Leave rules", NEW_YEAR - 2),
        item("other", "Harbour map", NEW_YEAR - 3),
    ];
    app.put_contents(&acme.caller, "article", &articles).await;
    app.put_contents(&acme.caller, "news", &[item("new", "Leave news", NEW_YEAR + 5)]).await;
    let pinned = [("article", "other"), ("article", "gone"), ("news", "new"), ("article", "old")];
    put(&app, &acme, pins("Leave", &pinned)).await;
    for sort in SORTS {
        let sort = ("sort", sort);
        let answer = find(&acme.caller, "article", " LEAVE", &[sort]).await;
        assert_pinned(&answer, &["other", "old"], &["new", "mid"]);
        assert_eq!(answer.total(), 4, "a pinned item without the words counts in addition");
        assert_eq!(answer.source("builtin:article")["total"], 3);
        let answer = find(&acme.caller, "news", "leave", &[sort]).await;
        assert_pinned(&answer, &["new"], &[]);
        assert_eq!(answer.total(), 1);
        // Another keyword, and a longer one.
        assert_pinned(&find(&acme.caller, "article", "rules", &[sort]).await, &[], &["old"]);
        let longer = find(&acme.caller, "article", "\"leave form\"", &[sort]).await;
        assert_pinned(&longer, &[], &["mid"]);
        // Filters hold for them as well.
        let time = (NEW_YEAR - 2).to_string();
        let from = find(&acme.caller, "article", "leave", &[sort, ("from", &time)]).await;
        assert_pinned(&from, &["old"], &["new", "mid"]);
        let to = find(&acme.caller, "article", "leave", &[sort, ("to", &time)]).await;
        assert_pinned(&to, &["other"], &[]);
        assert_eq!(to.total(), 1);
        let author = find(&acme.caller, "article", "leave", &[sort, ("author", "chen")]).await;
        assert_pinned(&author, &[], &[]);
        let marked = find(&acme.caller, "article", "leave", &[sort, ("highlight", "true")]).await;
        assert_eq!(marked.items()[1]["highlight"]["title"], "<em>Leave</em> rules");
    }
    let all = search_all(&acme.caller, &[("keyword", "leave")]).await.ok();
    assert_eq!(
        ids_of(module_entry(all.items(), "article")["data"].as_array().unwrap()),
        ["other", "old", "new", "mid"]
    );
    assert_eq!(module_entry(all.items(), "article")["total"], 4);
    assert_eq!(module_entry(all.items(), "news")["data"][0]["pinned"], true);
    put(&app, &acme, json!({})).await;
    assert_pinned(&find(&acme.caller, "article", "leave", &[]).await, &[], &["new", "mid", "old"]);
}

#[tokio::test]
async fn pinned_item_is_shown_to_its_viewers_alone() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.sync(&acme.caller, "users", &json!([user("mei", ""), user("tom", "")])).await;
    let mut secret = item("secret", "Plan of the merger", 2);
    secret["visibility"] = json!({"users": ["mei"]});
    app.put_contents(&acme.caller, "article", &[item("open", "Leave rules", 1), secret]).await;
    let (mei, tom) = (app.user(&acme, "mei").await, app.user(&acme, "tom").await);
    let before = find(&tom, "article", "leave", &[]).await;
    put(&app, &acme, pins("leave", &[("article", "secret"), ("people", "tom")])).await;
    for sort in SORTS {
        let seen = find(&mei, "article", "leave", &[("sort", sort)]).await;
        assert_pinned(&seen, &["secret"], &["open"]);
        assert_eq!(seen.total(), 2);
        for caller in [&tom, &acme.caller] {
            let unseen = find(caller, "article", "leave", &[("sort", sort)]).await;
            assert_pinned(&unseen, &[], &["open"]);
            assert_eq!((unseen.total(), &unseen.body["partial"]), (1, &before.body["partial"]));
        }
    }
    assert_pinned(&find(&mei, "people", "leave", &[]).await, &["tom"], &[]);
}

/// Other items have the same times and ids.
///
/// They are in two sources of the index and one outside.
#[tokio::test]
async fn pages_lose_and_repeat_no_item_though_pinned_ones_and_the_vocabulary_change() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.put_contents(&acme.caller, "article", &many("i", "harbour", 60, 3)).await;
    app.put_contents(&acme.caller, "news", &many("n", "harbour", 30, 2)).await;
    let system = ExternalSystem::start(many("x", "harbour", 20, 4)).await;
    let sources = ["builtin:article", "builtin:news", "x"];
    app.register_source(&acme, system.registration("x"), "mixed", &sources).await;
    let pinned = [("article", "i00031"), ("news", "n00000"), ("article", "i00000"), ("news", "n00029")];
    let vocabulary = pins("harbour", &pinned);
    let pinned = pinned.map(|(_, id)| id.to_owned());
    let of = |prefix: &str, count: usize| (0..count).map(|n| format!("{prefix}{n:05}")).collect::<Vec<_>>();
    for (module, expected) in
        [("article", of("i", 60)), ("mixed", [of("i", 60), of("n", 30), of("x", 20)].concat())]
    {
        let on_top: Vec<&String> = pinned.iter().filter(|id| expected.contains(id)).collect();
        for sort in SORTS {
            for limit in [1, 7, 200] {
                put(&app, &acme, vocabulary.clone()).await;
                let plain = [("keyword", "harbour"), ("moduleId", module), ("sort", sort)];
                let page = page_after(&acme.caller, &plain, limit, None).await;
                assert_eq!(page.items().len(), limit.min(expected.len()), "`paging=cursor` alone shows none");
                assert!(page.items().iter().all(|item| item.get("pinned").is_none()), "{}", page.text);
                let query = [&plain[..], &[("pinned", "true")]].concat();
                let first = page_after(&acme.caller, &query, limit, None).await;
                let mut ids = ids_of(first.items());
                assert_eq!(ids.iter().take(on_top.len()).collect::<Vec<_>>(), on_top, "{module} by {sort}");
                assert_eq!(ids.len(), on_top.len() + limit.min(expected.len() - on_top.len()));
                assert_eq!(first.total(), expected.len() as u64);
                // The first page decided.
                put(&app, &acme, pins("harbour", &[("article", "i00005")])).await;
                let mut cursor = first.cursor();
                while cursor.is_some() {
                    let page = page_after(&acme.caller, &query, limit, cursor.as_deref()).await;
                    assert_eq!(page.total(), expected.len() as u64);
                    assert!(page.items().iter().all(|item| item.get("pinned").is_none()), "{}", page.text);
                    ids.extend(ids_of(page.items()));
                    cursor = page.cursor();
                }
                let mut sorted = ids.clone();
                sorted.sort();
                let mut all = expected.clone();
                all.sort();
                assert_eq!(sorted, all, "{module} by {sort}, {limit} a page: {ids:?}");
            }
        }
    }
}

#[tokio::test]
async fn pages_below_a_time_leave_out_pinned_items() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.put_contents(&acme.caller, "article", &many("i", "harbour", 40, 3)).await;
    put(&app, &acme, pins("harbour", &[("article", "i00025"), ("article", "i00001")])).await;
    let query = [("moduleId", "article"), ("keyword", "harbour"), ("limit", "6")];
    let (mut ids, mut before) = (Vec::new(), None);
    loop {
        let mut parameters = query.to_vec();
        parameters.extend(before.as_deref().map(|before| ("cursor", before)));
        let page = acme.caller.search(&parameters).await.ok();
        assert_eq!(page.total(), 40);
        let Some(last) = page.items().last() else { break };
        before = Some(last["displayTime"].to_string());
        ids.extend(ids_of(page.items()));
    }
    assert_eq!(ids[..2], owned(&["i00025", "i00001"]));
    ids.sort();
    assert_eq!(ids, (0..40).map(|number| format!("i{number:05}")).collect::<Vec<_>>());
}

#[tokio::test]
async fn pinned_items_stay_above_a_corrected_or_relaxed_search() {
    let (app, acme) = TestApp::start_with_acme().await;
    let articles = [item("1", "harbour budget", 3), item("2", "quay", 2), item("pin", "opening hours", 1)];
    app.put_contents(&acme.caller, "article", &articles).await;
    let item = json!([{"module": "article", "id": "pin"}]);
    let keywords = ["harbuor", "harbour zeppelin", "zzzzzz", "!?"];
    let pinned = keywords.map(|keyword| json!({"keyword": keyword, "items": item}));
    put(&app, &acme, json!({"pinned": pinned})).await;
    for (keyword, others, field) in [
        ("harbuor", vec!["1"], "corrected"),
        ("harbour zeppelin", vec!["1"], "relaxed"),
        ("zzzzzz", vec![], ""),
        ("!?", vec![], ""),
    ] {
        let answer = find(&acme.caller, "article", keyword, &[]).await;
        assert_pinned(&answer, &["pin"], &others);
        assert_eq!(answer.total(), 1 + others.len() as u64, "{keyword}");
        assert!(field.is_empty() || answer.body.get(field).is_some(), "{keyword}: {}", answer.text);
        let all = search_all(&acme.caller, &[("keyword", keyword)]).await.ok();
        let article = module_entry(all.items(), "article");
        let expected = [vec!["pin"], others].concat();
        assert_eq!(ids_of(article["data"].as_array().unwrap()), owned(&expected), "{keyword}");
    }
    // Items are pinned to what is typed.
    assert_pinned(&find(&acme.caller, "article", "harbour", &[]).await, &[], &["1"]);
    let exact = find(&acme.caller, "article", "harbuor", &[("exact", "true")]).await;
    assert_pinned(&exact, &["pin"], &[]);
}

#[tokio::test]
async fn duplicates_of_a_pinned_item_are_not_shown_where_modules_show_them_once() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.put_contents(&acme.caller, "article", &[item("a", "harbour", 2), item("b", "quay", 1)]).await;
    let system = ExternalSystem::start(vec![item("b", "harbour", 4), item("c", "harbour", 3)]).await;
    app.register_source(&acme, system.registration("x"), "mixed", &["builtin:article", "x"]).await;
    let operator = app.operator().await.caller.on("acme");
    let module = json!({
        "code": "once", "name": "Once", "type": 101, "sources": ["builtin:article", "x"], "duplicates": "byId",
    });
    operator.post("/admin/v1/modules", &module).await.ok();
    put(&app, &acme, pins("harbour", &[("article", "b")])).await;
    assert_pinned(&find(&acme.caller, "mixed", "harbour", &[]).await, &["b"], &["b", "c", "a"]);
    assert_pinned(&find(&acme.caller, "once", "harbour", &[]).await, &["b"], &["c", "a"]);
    let outside = find(&acme.caller, "mixed", "harbour", &[("source", "x")]).await;
    assert_pinned(&outside, &[], &["b", "c"]);
}
