use serde_json::{Value, json};

use crate::util::{
    favorites::{add, add_text, ids, remove, start},
    paging::{walk_by_cursor, walk_by_time},
};

#[tokio::test]
async fn add_change_and_removal_are_searchable_at_once() {
    let (app, acme, mei, omar) = start().await;
    let favorite = json!({
        "itemId": "i/1", "content": "Harbour plan", "keyword": "berth", "sourceName": "office", "sourceDisplayName": "港务局",
    });
    let added = add(&mei, &favorite).await.ok();
    app.wait_for_index().await;
    for keyword in ["harbour", "berth", "office", "港务", "plan"] {
        assert_eq!(mei.find("favorite", keyword).await, ["i/1"], "{keyword}");
        assert_eq!(omar.find("favorite", keyword).await, [] as [&str; 0], "{keyword}");
        assert_eq!(acme.caller.find("favorite", keyword).await, [] as [&str; 0], "{keyword}");
    }
    let found =
        mei.search(&[("moduleId", "favorite"), ("keyword", "harbour"), ("highlight", "true")]).await.ok();
    let item = &found.items()[0];
    assert_eq!((&item["id"], &item["title"]), (&json!("i/1"), &json!("Harbour plan")));
    assert_eq!((&item["subTitle"], &item["brief"]), (&json!("港务局"), &json!("berth")));
    assert_eq!(item["displayTime"], added.data()["createdDate"]);
    assert_eq!(item["highlight"]["title"], "<em>Harbour</em> plan");
    assert_eq!(found.total(), 1);

    remove(&mei, "i/1", &[]).await.ok();
    app.wait_for_index().await;
    assert_eq!(mei.find("favorite", "harbour").await, [] as [&str; 0]);
    add(&mei, &json!({"itemId": "i/1", "content": "Quay"})).await.ok();
    app.wait_for_index().await;
    assert_eq!(mei.find("favorite", "quay").await, ["i/1"]);
    assert_eq!(mei.find("favorite", "harbour").await, [] as [&str; 0]);
}

#[tokio::test]
async fn long_content_is_searched_whole_and_shown_shortened() {
    let (app, _, mei, _) = start().await;
    let content =
        format!("{}\n{} harbour {}", "opening ".repeat(30), "filling ".repeat(900), "end ".repeat(900));
    add(&mei, &json!({"itemId": "long", "content": content, "keyword": "berth"})).await.ok();
    app.wait_for_index().await;
    for keyword in ["opening", "harbour", "end", "berth"] {
        assert_eq!(mei.find("favorite", keyword).await, ["long"], "{keyword}");
    }
    let found =
        mei.search(&[("moduleId", "favorite"), ("keyword", "harbour"), ("highlight", "true")]).await.ok();
    let title = found.items()[0]["title"].as_str().unwrap();
    assert!(title.starts_with("opening opening") && title.ends_with('…') && title.len() < 200, "{title}");
    let brief = found.items()[0]["highlight"]["brief"].as_str().unwrap();
    assert!(brief.contains("<em>harbour</em>") && brief.len() < 1_000, "{brief}");
    assert_eq!(found.items()[0]["brief"], content.trim());
    add(&mei, &json!({"itemId": "bare-77", "contentType": 3})).await.ok();
    app.wait_for_index().await;
    assert_eq!(mei.find("favorite", "bare-77").await, ["bare-77"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_with_either_cursor_hold_each_item_once() {
    let (app, acme, mei, omar) = start().await;
    for number in 0..40 {
        for person in [&mei, &omar] {
            add_text(person, &format!("{:02}", (number * 7) % 40), "harbour").await;
        }
    }
    let feed_only: Value = json!({"itemId": "feed only", "content": "harbour", "syncBlogFavor": true});
    add(&mei, &feed_only).await.ok();
    remove(&mei, "feed only", &[]).await.ok();
    app.wait_for_index().await;
    let expected = || (0..40).map(|number| format!("{number:02}"));
    let parameters = [("moduleId", "favorite"), ("keyword", "harbour")];
    for limit in [1, 7, 40] {
        walk_by_cursor(&mei, &parameters, limit).await.assert_met(expected());
        walk_by_time(&mei, &parameters, limit).await.assert_met(expected());
    }
    let relevance = [parameters[0], parameters[1], ("sort", "relevance")];
    let mut pages = Vec::new();
    let mut cursor = None;
    loop {
        let page = crate::util::paging::page_after(&mei, &relevance, 7, cursor.as_deref()).await;
        assert_eq!(page.total(), 40);
        pages.extend(page.ids().into_iter().map(str::to_owned));
        cursor = page.cursor();
        if cursor.is_none() {
            break;
        }
    }
    pages.sort();
    assert_eq!(pages, expected().collect::<Vec<_>>());

    let app = app.restart_rebuilding().await;
    app.wait_for_rebuild().await;
    let mei = app.user(&acme, "mei").await;
    walk_by_cursor(&mei, &parameters, 7).await.assert_met(expected());
    assert_eq!(ids(&mei, &[]).await.len(), 40);
}
