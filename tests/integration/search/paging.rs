//! Paging to the end by either cursor.

use serde_json::json;

use crate::util::{
    app::TestApp,
    caller::Caller,
    external::ExternalSystem,
    items::{item, many, user},
    paging::{Walk, ids_of, items_by_cursor, page_after, walk_by_cursor, walk_by_time},
};

const ARTICLES: [(&str, &str); 2] = [("keyword", "harbour"), ("moduleId", "article")];

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
    let query = [("keyword", "harbour"), ("moduleId", "all"), ("sort", "relevance")];
    for limit in [9, 64, 930] {
        walk_by_cursor(&acme.caller, &query[..2], limit).await.assert_met(expected.iter().cloned());
        walk_by_time(&acme.caller, &query[..2], limit).await.assert_met(expected.iter().cloned());
    }
    let ids = ids_of(&items_by_cursor(&acme.caller, &query, 10).await);
    Walk { ids, ..Walk::default() }.assert_met(expected);
}

#[tokio::test]
async fn writes_between_pages_move_nothing() {
    let items = many("i", "harbour", 200, 10);
    let (app, acme) = TestApp::start_with_acme().await;
    app.put_contents(&acme.caller, "article", &items).await;
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

/// Book: explanation/cursors.md.
#[tokio::test]
async fn foreign_or_altered_cursor_is_400() {
    let items = many("i", "harbour quay", 50, 5);
    let (app, acme) = TestApp::start_with_acme().await;
    app.put_contents(&acme.caller, "article", &items).await;
    let other = app.tenant("other").await;
    app.sync(&acme.caller, "users", &json!([user("mei", "")])).await;
    let cursor = page_after(&acme.caller, &ARTICLES, 10, None).await.cursor().unwrap();
    let search = async |caller: &Caller, keyword: &str, cursor: &str| {
        caller.search(&[("keyword", keyword), ("moduleId", "article"), ("cursor", cursor)]).await
    };
    assert_eq!(search(&acme.caller, "harbour", &cursor).await.ok().ids()[0], "i00010");
    // Totals depend on visibility, so another caller cannot use it.
    let mei = app.user(&acme, "mei").await;
    for (caller, keyword) in [(&acme.caller, "quay"), (&other.caller, "harbour"), (&mei, "harbour")] {
        search(caller, keyword, &cursor).await.fails(400, "cursor");
    }
    for wrong in ["v8.AAAA", &cursor.replacen("v8.", "v7.", 1), &cursor[3..], &cursor[..cursor.len() - 4]] {
        search(&acme.caller, "harbour", wrong).await.fails(400, "cursor");
    }
}
