//! `/contents/search`.

use reqwest::Method;
use serde_json::{Value, json};

use crate::util::{
    all_modules::PATH as ALL_MODULES,
    app::{Application, TestApp},
    caller::send,
    external::ExternalSystem,
    items::{NEW_YEAR, item, many, todo, user},
    tasks::created,
};

const SEARCH: &str = "/contents/search";

async fn with_items(items: &[Value]) -> (TestApp, Application) {
    let (app, acme) = TestApp::start_with_acme().await;
    app.put_contents(&acme.caller, "article", items).await;
    (app, acme)
}

#[tokio::test]
async fn wrong_parameters_are_400_and_named() {
    let (_app, acme) = with_items(&[item("1", "harbour", 1)]).await;
    let long = "x".repeat(257);
    let terms = [
        ("keyword", ""),
        ("keyword", " \t\u{3000}"),
        ("keyword", long.as_str()),
        ("limit", "0"),
        ("limit", "-1"),
        ("limit", "1001"),
        ("limit", "abc"),
        ("limit", "1.5"),
        ("limit", "99999999999999999999"),
        ("from", "yesterday"),
        ("to", "1e3"),
        ("timeout", "49"),
        ("timeout", "10001"),
        ("sort", "name"),
        ("highlight", "yes"),
        ("highlight", "True"),
    ];
    let place = [
        ("moduleId", ""),
        ("paging", "offset"),
        ("cursor", "99999999999999999999"),
        ("cursor", "abc"),
        ("cursor", "-5x"),
        ("source", "nothing"),
    ];
    for (path, wrong) in [(SEARCH, [&terms[..], &place].concat()), (ALL_MODULES, terms.to_vec())] {
        for (name, value) in wrong {
            let mut parameters = vec![("keyword", "harbour"), ("moduleId", "article")];
            parameters.retain(|(other, _)| *other != name);
            parameters.push((name, value));
            for method in [Method::GET, Method::POST] {
                send(acme.caller.request(method, path).query(&parameters)).await.fails(400, name);
            }
            let body: Value =
                parameters.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))).collect();
            acme.caller.post(path, &body).await.fails(400, name);
        }
        for (name, value) in [
            ("limit", json!(1.5)),
            ("limit", json!(true)),
            ("keyword", json!(5)),
            ("from", json!([])),
            ("highlight", json!(1)),
            ("highlight", json!({"title": true})),
        ] {
            let mut body = json!({"keyword": "harbour", "moduleId": "article"});
            body[name] = value;
            acme.caller.post(path, &body).await.fails(400, name);
        }
        let twice = [("keyword", "a"), ("keyword", "b"), ("moduleId", "article")];
        send(acme.caller.request(Method::GET, path).query(&twice)).await.fails(400, "keyword");
        send(acme.caller.request(Method::GET, path).query(&twice[2..])).await.fails(400, "keyword");
    }
    acme.caller.search(&[("keyword", "harbour")]).await.fails(400, "moduleId");
    let longest = "港".repeat(256);
    let most = [("keyword", longest.as_str()), ("moduleId", "article"), ("limit", "1000")];
    acme.caller.search(&most).await.ok();
}

#[tokio::test]
async fn module_of_another_tenant_is_unknown() {
    let app = TestApp::start().await;
    let (acme, other) = (app.tenant("acme").await, app.tenant("other").await);
    let modules = other.caller.post_empty("/modules").await.ok();
    let foreign = modules.items()[0]["id"].as_str().unwrap();
    other.caller.search(&[("keyword", "x"), ("moduleId", foreign)]).await.ok();
    let refused = acme.caller.search(&[("keyword", "x"), ("moduleId", foreign)]).await.fails(404, "moduleId");
    let unknown =
        acme.caller.search(&[("keyword", "x"), ("moduleId", "nothing")]).await.fails(404, "moduleId");
    assert_eq!(refused.message(), unknown.message());
}

/// Book: reference/search.md.
#[tokio::test]
async fn query_body_and_get_answer_the_same() {
    let (_app, acme) = with_items(&many("i", "harbour", 30, 3)).await;
    let modules = acme.caller.post_empty("/modules").await.ok();
    let id = modules.items()[0]["id"].as_str().unwrap();
    let parameters = [
        ("keyword", "harbour"),
        ("moduleId", id),
        ("limit", "4"),
        ("from", "1704067199993"),
        ("colour", "unknown"),
    ];
    let by_query = acme.caller.search(&parameters).await.ok();
    let by_get = send(acme.caller.request(Method::GET, SEARCH).query(&parameters)).await.ok();
    let body =
        json!({"keyword": "harbour", "moduleId": id, "limit": 4, "from": 1_704_067_199_993_i64, "other": 1});
    let by_body = acme.caller.post(SEARCH, &body).await.ok();
    let by_text = json!({"keyword": "harbour", "moduleId": "article", "limit": "4", "from": "1704067199993"});
    let by_text = acme.caller.post(SEARCH, &by_text).await.ok();
    let mixed = acme.caller.request(Method::POST, SEARCH).query(&[("limit", "4"), ("moduleId", id)]);
    let mixed = send(mixed.json(&json!({"keyword": "harbour", "limit": 9, "from": 1_704_067_199_993_i64})))
        .await
        .ok();
    assert_eq!(by_query.ids(), ["i00000", "i00001", "i00002", "i00003", "i00004", "i00005"]);
    for answer in [by_get, by_body, by_text, mixed] {
        assert_eq!((answer.ids(), answer.total()), (by_query.ids(), by_query.total()));
    }
}

#[tokio::test]
async fn order_is_time_then_place_then_id() {
    let (app, acme) = TestApp::start_with_acme().await;
    let at = |prefix: &str| {
        vec![
            item(&format!("{prefix}b"), "harbour", 5),
            item(&format!("{prefix}a"), "harbour", 5),
            item(&format!("{prefix}old"), "harbour", 1),
            item(&format!("{prefix}new"), "harbour", 9),
        ]
    };
    app.put_contents(&acme.caller, "article", &at("a-")).await;
    app.put_contents(&acme.caller, "news", &at("n-")).await;
    let system = ExternalSystem::start(vec![item("x-1", "harbour", 5)]).await;
    app.register_source(&acme, system.registration("x"), "all", &["builtin:news", "x", "builtin:article"])
        .await;
    let answer = acme.caller.search(&[("keyword", "harbour"), ("moduleId", "all")]).await.ok();
    let expected = ["n-new", "a-new", "n-a", "n-b", "x-1", "a-a", "a-b", "n-old", "a-old"];
    assert_eq!(answer.ids(), expected);
    assert_eq!((answer.total(), &answer.body["count"], answer.cursor()), (9, &json!(9), None));
    assert_eq!(answer.body["partial"], false);
    for (id, total) in [("builtin:news", 4), ("x", 1), ("builtin:article", 4)] {
        let source = answer.source(id);
        assert_eq!((&source["status"], &source["total"]), (&json!("ok"), &json!(total)), "{source}");
        assert!(source["tookMs"].is_u64() && source["name"].is_string(), "{source}");
    }
}

/// Book: reference/search.md, "Answer".
#[tokio::test]
async fn total_counts_every_match_and_count_the_page() {
    let (_app, acme) = with_items(&[many("h", "harbour", 120, 1), many("q", "quay", 30, 1)].concat()).await;
    let mut cursor = None;
    for _ in 0..4 {
        let page = crate::util::paging::page_after(
            &acme.caller,
            &[("keyword", "harbour"), ("moduleId", "article")],
            40,
            cursor.as_deref(),
        )
        .await;
        assert_eq!(page.total(), 120);
        assert_eq!(page.body["count"], page.items().len());
        cursor = page.cursor();
    }
    let digits = acme
        .caller
        .search(&[("keyword", "harbour"), ("moduleId", "article"), ("cursor", "1704067199990")])
        .await
        .ok();
    assert_eq!((digits.total(), digits.ids()[0]), (120, "h00011"), "the time condition is no filter");
}

#[tokio::test]
async fn filters_apply_to_the_total() {
    let mut items = many("i", "harbour", 10, 1);
    for (number, item) in items.iter_mut().enumerate() {
        item["author"] = json!(if number % 2 == 0 { "Mei Chen" } else { "Omar Haddad" });
    }
    let (_app, acme) = with_items(&items).await;
    let found = async |filters: &[(&str, &str)]| {
        let parameters = [&[("keyword", "harbour"), ("moduleId", "article")], filters].concat();
        let answer = acme.caller.search(&parameters).await.ok();
        assert_eq!(answer.total(), answer.items().len() as u64);
        answer.ids().iter().map(|id| id.trim_start_matches("i0000").to_owned()).collect::<String>()
    };
    let (t3, t6) = ((NEW_YEAR - 3).to_string(), (NEW_YEAR - 6).to_string());
    assert_eq!(found(&[("from", &t3)]).await, "0123", "from is inclusive");
    assert_eq!(found(&[("to", &t6)]).await, "789", "to is exclusive");
    assert_eq!(found(&[("from", &t6), ("to", &t3)]).await, "456");
    assert_eq!(found(&[("from", &t3), ("to", &t6)]).await, "");
    assert_eq!(found(&[("author", "mei chen")]).await, "02468");
    assert_eq!(found(&[("author", "haddad"), ("from", &t3)]).await, "13");
    assert_eq!(found(&[("author", "nobody")]).await, "");
    assert_eq!(found(&[("source", "builtin:article")]).await, "0123456789");
    assert_eq!(found(&[("source", "Articles")]).await, "0123456789");
    let by_syntax = acme.caller.find("article", "harbour author:omar").await;
    assert_eq!(by_syntax.len(), 5);
}

#[tokio::test]
async fn relevance_puts_the_better_match_first() {
    let better = json!({"id": "better", "title": "harbour", "brief": "harbour master of the harbour", "displayTime": 1});
    let worse = json!({"id": "worse", "title": "minutes", "brief": format!("{} harbour", "other words ".repeat(200)), "displayTime": 9});
    let (_app, acme) = with_items(&[better, worse]).await;
    let by = async |sort: &str| {
        let parameters = [("keyword", "harbour"), ("moduleId", "article"), ("sort", sort)];
        acme.caller.search(&parameters).await.ok().ids().join(" ")
    };
    assert_eq!(by("relevance").await, "better worse");
    assert_eq!(by("time").await, "worse better");
    let digits = [("keyword", "harbour"), ("moduleId", "article"), ("sort", "relevance"), ("cursor", "5")];
    acme.caller.search(&digits).await.fails(400, "cursor");
}

#[tokio::test]
async fn item_is_found_by_the_id_that_people_know() {
    let (app, acme) = with_items(&[
        item("A-1042", "Harbour dues", 1),
        item("mention", "A-1042 and T-7003: about A-1042 and T-7003", 9),
        item("news-12", "Quay walls", 3),
        item("7f0e3a526c4b4e0e9f570b8c7d1a2e3f", "Cranes", 4),
    ])
    .await;
    app.sync(&acme.caller, "users", &json!([user("mei", "")])).await;
    let create = async |id: &str, title: &str| {
        created(&acme.caller.post("/api/todo/create", &todo(id, title, "mei")).await.ok())
    };
    let task = create("T-7003", "Approve the budget").await;
    create("T-7004", "Approve what T-7003 says: T-7003").await;
    app.wait_for_index().await;
    let mei = app.user(&acme, "mei").await;
    for (module, keywords, id) in [
        ("article", ["A-1042", "a1042", "a_1042", "A 1042", "A-104"], "A-1042"),
        ("todo", ["T-7003", "t7003", "T/7003 ", "t 7003", "T-7003"], task.as_str()),
    ] {
        for keyword in keywords {
            let found = mei.find(module, keyword).await;
            assert!(found.contains(&id.to_owned()), "{keyword}: {found:?}");
            let parameters = [("keyword", keyword), ("moduleId", module), ("sort", "relevance")];
            let ranked = mei.search(&parameters).await.ok().ids().join(" ");
            assert!(ranked.starts_with(id) || keyword == "A-104", "{keyword}: {ranked}");
        }
    }
    for keyword in ["news-12", "news", "7f0e3a526c4b4e0e9f570b8c7d1a2e3f"] {
        assert_eq!(mei.find("article", keyword).await, [""; 0], "{keyword}");
    }
}

#[tokio::test]
async fn keyword_without_a_word_is_told_in_the_report() {
    let (_app, acme) = with_items(&[item("1", "harbour 🚀", 1)]).await;
    for sort in ["time", "relevance"] {
        for (keyword, total, is_told) in
            [("!?", 0, true), ("«—»", 0, true), ("🚀", 1, false), ("quay", 0, false)]
        {
            let parameters = [("keyword", keyword), ("moduleId", "article"), ("sort", sort)];
            let answer = acme.caller.search(&parameters).await.ok();
            let message = answer.body["sources"][0]["message"].as_str();
            assert_eq!(answer.total(), total, "{keyword} by {sort}");
            let told = message.is_some_and(|message| message.contains("holds no word"));
            assert_eq!(told, is_told, "{keyword} by {sort}: {message:?}");
        }
    }
}

/// Book: reference/search.md, "Query language".
#[tokio::test]
async fn no_query_is_a_syntax_error() {
    let (_app, acme) = with_items(&[item("1", "harbour ship", 1)]).await;
    for keyword in ["!!!", "\"\"", "🚢", "' OR 1=1 --"] {
        assert_eq!(acme.caller.find("article", keyword).await, [""; 0], "{keyword:?} finds something");
    }
    let longest = format!("harbour {}", "ship ".repeat(49));
    for keyword in
        ["harbour AND", "(harbour)", "harbour^", "harbour\\", "+harbour", "𝕳𝖆𝖗𝖇𝖔𝖚𝖗", longest.trim()]
    {
        assert_eq!(acme.caller.find("article", keyword).await, ["1"], "{keyword:?}");
    }
    for keyword in ["a\u{0}b", &"\"".repeat(256), &"-".repeat(256), &"a ".repeat(128), &"🚢".repeat(256)] {
        acme.caller.search(&[("moduleId", "article"), ("keyword", keyword)]).await.ok();
    }
}
