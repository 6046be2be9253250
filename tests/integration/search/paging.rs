//! Paging to the end by either cursor.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::util::{
    app::{Application, TestApp},
    caller::Caller,
    external::{ExternalSystem, Reply},
    items::{item, many, user},
    paging::{Walk, ids_of, page_after, walk_by_cursor, walk_by_time},
};

const ARTICLES: [(&str, &str); 2] = [("keyword", "harbour"), ("moduleId", "article")];
const ALL: [(&str, &str); 2] = [("keyword", "harbour"), ("moduleId", "all")];

async fn with_items(items: &[Value]) -> (TestApp, Application) {
    let (app, acme) = TestApp::start_with_acme().await;
    app.put_contents(&acme.caller, "article", items).await;
    (app, acme)
}

async fn both_ways(caller: &Caller, parameters: &[(&str, &str)], limits: &[usize], expected: &[String]) {
    for &limit in limits {
        let exact = walk_by_cursor(caller, parameters, limit).await;
        exact.assert_met(expected.iter().cloned());
        assert_eq!(
            exact.lengths.iter().filter(|length| **length < limit).count().min(2),
            usize::from(!expected.len().is_multiple_of(limit))
        );
        walk_by_time(caller, parameters, limit).await.assert_met(expected.iter().cloned());
    }
}

#[tokio::test]
async fn distinct_times_are_paged_completely() {
    let items = many("i", "harbour", 500, 1);
    let (_app, acme) = with_items(&items).await;
    both_ways(&acme.caller, &ARTICLES, &[1, 7, 100, 499, 500, 501, 1_000], &ids_of(&items)).await;
}

#[tokio::test]
async fn small_tie_groups_are_paged_completely() {
    let items = many("i", "harbour", 1_000, 7);
    let (_app, acme) = with_items(&items).await;
    both_ways(&acme.caller, &ARTICLES, &[1, 6, 7, 8, 333, 1_000], &ids_of(&items)).await;
}

/// The commits leave several segments with deleted documents.
#[tokio::test]
async fn large_tie_groups_over_many_commits_are_paged_completely() {
    let items = many("i", "harbour", 4_000, 2_500);
    let (app, acme) = with_items(&[]).await;
    for batch in items.chunks(450) {
        app.put_contents(&acme.caller, "article", batch).await;
    }
    app.put_contents(&acme.caller, "article", &items[300..900]).await;
    let gone: Vec<String> = ids_of(&items[2_000..2_100]);
    acme.caller.post("/v1/contents/article/delete", &json!(gone)).await.ok();
    app.wait_for_index().await;
    let left = ids_of(&[&items[..2_000], &items[2_100..]].concat());
    both_ways(&acme.caller, &ARTICLES, &[90, 1_000], &left).await;

    // Whole milliseconds: all 2,400 items of the first.
    let first = acme.caller.search(&ARTICLES).await.ok();
    assert_eq!((first.items().len(), first.total()), (2_400, 3_900));
    let ids = walk_by_cursor(&acme.caller, &ARTICLES, 1_000).await.ids;
    assert!(ids[..2_400].is_sorted() && ids[2_400..].is_sorted());
}

/// Decisions 5.3.
#[tokio::test]
async fn tie_group_above_ten_thousand_is_cut_and_marked() {
    let items = many("i", "harbour", 10_050, 10_040);
    let (_app, acme) = with_items(&items).await;
    let first = acme.caller.search(&ARTICLES).await.ok();
    assert_eq!((first.items().len(), &first.body["partial"]), (10_000, &Value::from(true)));
    assert_eq!(first.total(), 10_050);
    let mut ids: Vec<String> = first.ids().into_iter().map(str::to_owned).collect();
    let mut cursor = first.cursor();
    while let Some(after) = cursor {
        let page =
            acme.caller.search(&[ARTICLES[0], ARTICLES[1], ("limit", "30"), ("cursor", &after)]).await.ok();
        ids.extend(page.ids().into_iter().map(str::to_owned));
        cursor = page.cursor();
    }
    Walk { ids, ..Walk::default() }.assert_met(ids_of(&items));
    walk_by_cursor(&acme.caller, &ARTICLES, 1_000).await.assert_met(ids_of(&items));
}

#[tokio::test]
async fn cursors_continue_after_a_restart() {
    let items = many("i", "harbour", 300, 20);
    let (app, acme) = with_items(&items).await;
    let token = acme.caller.token.clone();
    let mut exact = Vec::new();
    let mut by_time = Vec::new();
    let first = page_after(&acme.caller, &ARTICLES, 25, None).await;
    exact.extend(ids_of(first.items()));
    let mut cursor = first.cursor();
    let first = acme.caller.search(&ARTICLES).await.ok();
    by_time.extend(ids_of(first.items()));
    let mut before = first.items().last().map(|item| item["displayTime"].to_string());
    drop(acme);
    let mut app = app;
    for _ in 0..2 {
        app = app.restart().await;
        let caller = app.caller(&token);
        let page = page_after(&caller, &ARTICLES, 25, cursor.as_deref()).await;
        exact.extend(ids_of(page.items()));
        cursor = page.cursor();
        let page = caller.search(&[ARTICLES[0], ARTICLES[1], ("cursor", &before.take().unwrap())]).await.ok();
        by_time.extend(ids_of(page.items()));
        before = page.items().last().map(|item| item["displayTime"].to_string());
    }
    assert_eq!(exact, ids_of(&items[..75]));
    assert_eq!(by_time, ids_of(&items[..60]));
}

/// Several built-in sources and an external one.
#[tokio::test]
async fn sources_with_equal_times_are_paged_completely() {
    let (app, acme) = TestApp::start_with_acme().await;
    let (articles, news) = (many("a", "harbour", 400, 9), many("n", "harbour", 300, 20));
    let external = many("x", "harbour", 230, 13);
    app.put_contents(&acme.caller, "article", &articles).await;
    app.put_contents(&acme.caller, "news", &news).await;
    let system = ExternalSystem::start(external.clone()).await;
    app.register_source(&acme, system.registration("x"), "all", &["builtin:article", "x", "builtin:news"])
        .await;
    let expected = ids_of(&[articles, news, external].concat());
    both_ways(&acme.caller, &ALL, &[9, 64, 930], &expected).await;
    for limit in [10, 1_000] {
        let relevance = walk_by_relevance(&acme.caller, &ALL, limit).await;
        Walk { ids: relevance, ..Walk::default() }.assert_met(expected.iter().cloned());
    }
}

async fn walk_by_relevance(caller: &Caller, parameters: &[(&str, &str)], limit: usize) -> Vec<String> {
    let parameters = [parameters, &[("sort", "relevance")]].concat();
    let mut ids = Vec::new();
    let mut cursor = None;
    loop {
        let page = page_after(caller, &parameters, limit, cursor.as_deref()).await;
        ids.extend(ids_of(page.items()));
        cursor = page.cursor();
        if cursor.is_none() {
            return ids;
        }
    }
}

#[tokio::test]
async fn source_failing_on_a_page_is_caught_up() {
    let (app, acme) = TestApp::start_with_acme().await;
    let (articles, external) = (many("a", "harbour", 60, 3), many("x", "harbour", 60, 4));
    app.put_contents(&acme.caller, "article", &articles).await;
    let system = ExternalSystem::start(external.clone()).await;
    app.register_source(&acme, system.registration("x"), "all", &["builtin:article", "x"]).await;

    system.set_reply_at(Some(("30", Reply::Status(503))));
    let mut ids = Vec::new();
    let mut cursor = None;
    let mut failures = 0;
    loop {
        let page = page_after(&acme.caller, &ALL, 10, cursor.as_deref()).await;
        ids.extend(ids_of(page.items()));
        if page.body["partial"] == true {
            assert_eq!(page.source("x")["status"], "unavailable");
            failures += 1;
            if failures == 2 {
                system.set_reply_at(None);
            }
        }
        cursor = page.cursor();
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(failures, 2);
    Walk { ids, ..Walk::default() }.assert_met(ids_of(&[articles, external].concat()));
}

#[tokio::test]
async fn writes_between_pages_move_nothing() {
    let items = many("i", "harbour", 200, 10);
    let (app, acme) = with_items(&items).await;
    let mut ids = Vec::new();
    let mut cursor = None;
    for round in 0.. {
        let page = page_after(&acme.caller, &ARTICLES, 17, cursor.as_deref()).await;
        ids.extend(ids_of(page.items()));
        cursor = page.cursor();
        if cursor.is_none() {
            break;
        }
        let newer = item(&format!("new-{round}"), "harbour", 1_800_000_000_000 + round);
        app.put_contents(&acme.caller, "article", &[items.clone(), vec![newer]].concat()).await;
    }
    Walk { ids, ..Walk::default() }.assert_met(ids_of(&items));
}

/// Decisions 5.4.
#[tokio::test]
async fn foreign_or_altered_cursor_is_400() {
    let items = many("i", "harbour quay", 50, 5);
    let (app, acme) = with_items(&items).await;
    app.put_contents(&acme.caller, "news", &items).await;
    let other = app.tenant("other").await;
    app.put_contents(&other.caller, "article", &items).await;
    app.sync(&acme.caller, "users", &json!([user("mei", "")])).await;
    let cursor = page_after(&acme.caller, &ARTICLES, 10, None).await.cursor().unwrap();
    assert!(!cursor.bytes().all(|byte| byte.is_ascii_digit()));

    for changed in [
        vec![("keyword", "quay"), ("moduleId", "article")],
        vec![("keyword", "harbour "), ("moduleId", "article")],
        vec![("keyword", "harbour"), ("moduleId", "news")],
        vec![("keyword", "harbour"), ("moduleId", "article"), ("sort", "relevance")],
        vec![("keyword", "harbour"), ("moduleId", "article"), ("from", "5")],
        vec![("keyword", "harbour"), ("moduleId", "article"), ("author", "mei")],
    ] {
        let parameters = [changed, vec![("cursor", cursor.as_str())]].concat();
        acme.caller.search(&parameters).await.fails(400, "cursor");
    }
    let same = |cursor: &str| {
        vec![
            ("keyword", "harbour".to_owned()),
            ("moduleId", "article".to_owned()),
            ("cursor", cursor.to_owned()),
        ]
    };
    let search = async |caller: &Caller, cursor: &str| {
        let parameters = same(cursor);
        let parameters: Vec<(&str, &str)> =
            parameters.iter().map(|(name, value)| (*name, value.as_str())).collect();
        caller.search(&parameters).await
    };
    search(&other.caller, &cursor).await.fails(400, "cursor");

    let sealed = BASE64_URL_SAFE_NO_PAD.decode(cursor.strip_prefix("v6.").unwrap()).unwrap();
    for place in 0..sealed.len() {
        let mut tampered = sealed.clone();
        tampered[place] ^= 1;
        let tampered = format!("v6.{}", BASE64_URL_SAFE_NO_PAD.encode(tampered));
        search(&acme.caller, &tampered).await.fails(400, "cursor");
    }
    for wrong in [
        "v6.",
        "v6.AAAA",
        &cursor.replacen("v6.", "v5.", 1),
        "null",
        &cursor[3..],
        &cursor[..cursor.len() - 4],
        &format!("{cursor}AAAA"),
        &"v6.A".repeat(5_000),
    ] {
        search(&acme.caller, wrong).await.fails(400, "cursor");
    }
    // Another caller cannot reuse it: totals depend on visibility.
    let again = search(&acme.caller, &cursor).await.ok();
    assert_eq!(again.ids()[0], "i00010");
    search(&app.user(&acme, "mei").await, &cursor).await.fails(400, "cursor");
}
