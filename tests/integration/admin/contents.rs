//! Contents as they were written, and their import from files, for operators.

use std::io::Write;

use reqwest::Method;
use serde_json::{Value, json};

use crate::util::{
    answer::Answer,
    app::{Application, TestApp},
    caller::{Caller, send},
    external::with,
    items::{item, lines},
};

const ARTICLES: &str = "/admin/v1/contents/article";

async fn start() -> (TestApp, Application, Caller) {
    let (app, acme) = TestApp::start_with_acme().await;
    let operator = app.operator().await.caller.on("acme");
    (app, acme, operator)
}

async fn import(operator: &Caller, module: &str, file: impl Into<reqwest::Body>) -> Answer {
    let request = operator.request(Method::POST, &format!("/admin/v1/contents/{module}/import"));
    send(request.header("content-type", "application/octet-stream").body(file)).await
}

async fn written(operator: &Caller, file: impl Into<reqwest::Body>) -> Value {
    import(operator, "article", file).await.ok().data().clone()
}

#[tokio::test]
async fn item_is_shown_as_it_was_written_whoever_may_see_it() {
    let (app, acme, operator) = start().await;
    let visibility = json!({"users": ["mei"], "departments": [], "groups": ["g1"]});
    let hidden = with(with(item("a/1", "harbour", 5), "visibility", visibility.clone()), "author", "Ann");
    app.put_contents(&acme.caller, "article", &[hidden.clone(), json!({"id": "b", "title": "Bare"})]).await;
    let shown = operator.get(&format!("{ARTICLES}/a%2F1")).await.ok();
    let data = shown.data();
    for field in ["id", "title", "displayTime", "author"] {
        assert_eq!(data[field], hidden[field], "{field}");
    }
    assert_eq!(data["visibility"], visibility);
    assert!(data["createdAt"].as_i64().unwrap() > 1_600_000_000_000);
    let bare = operator.get(&format!("{ARTICLES}/b")).await.ok();
    assert!(bare.data()["visibility"].is_null() && bare.data()["displayTime"].is_null());

    operator.get(&format!("{ARTICLES}/none")).await.fails(404, "id");
    operator.get("/admin/v1/contents/nothing/b").await.fails(404, "moduleCode");
    operator.get("/admin/v1/contents/todo/b").await.fails(400, "moduleCode");
    app.tenant("other").await;
    operator.on("other").get(&format!("{ARTICLES}/b")).await.fails(404, "id");
}

#[tokio::test]
async fn items_are_listed_by_id_restricted_ones_included() {
    let (app, acme, operator) = start().await;
    let nobodys = with(item("n3", "harbour", 3), "visibility", json!({}));
    let long = json!({"id": "n4", "brief": "é".repeat(1_000)});
    app.put_contents(&acme.caller, "article", &[item("n1", "one", 1), long, nobodys, item("n2", "two", 2)])
        .await;
    app.put_contents(&acme.caller, "news", &[item("n0", "news", 1)]).await;
    let mut found = Vec::new();
    let mut path = format!("{ARTICLES}?limit=3");
    loop {
        let page = operator.get(&path).await.ok();
        found.extend(page.items().to_vec());
        let Some(cursor) = page.cursor() else { break };
        path = format!("{ARTICLES}?limit=3&cursor={cursor}");
    }
    let ids: Vec<_> = found.iter().map(|item| json!([item["id"], item["isRestricted"]])).collect();
    assert_eq!(ids, [json!(["n1", false]), json!(["n2", false]), json!(["n3", true]), json!(["n4", false])]);
    assert_eq!(found[3]["brief"].as_str().unwrap().len(), 300);
    operator.get(&format!("{ARTICLES}?limit=1001")).await.fails(400, "limit");
    operator.get("/admin/v1/contents/people").await.fails(400, "moduleCode");
}

#[tokio::test]
async fn removed_item_is_no_longer_found_and_the_removal_is_audited() {
    let (app, acme, operator) = start().await;
    app.put_contents(&acme.caller, "article", &[item("a", "harbour", 1), item("b", "harbour", 2)]).await;
    operator.delete(&format!("{ARTICLES}/a")).await.ok();
    operator.delete(&format!("{ARTICLES}/a")).await.fails(404, "id");
    app.wait_for_index().await;
    assert_eq!(acme.caller.find("article", "harbour").await, ["b"]);
    let events = operator.get("/admin/v1/audit?objectKind=content").await.ok();
    let [event] = events.items() else { panic!("{}", events.text) };
    assert_eq!(
        [&event["action"], &event["objectId"], &event["details"]],
        [&json!("delete"), &json!("a"), &json!({"module": "article"})]
    );
}

#[tokio::test]
async fn file_is_imported_and_rejected_rows_are_told_by_line() {
    let (app, acme, operator) = start().await;
    let lines = "{\"id\":\"1\",\"title\":\"Harbour plan\",\"date\":\"2024-05-01\"}\n\
        not json\n\n\
        {\"id\":\"2\"}\n\
        {\"id\":\"3\",\"title\":\"Quay\",\"action\":\"[]\"}\n\
        {\"id\":\"4\",\"text\":\"The harbour\",\"url\":\"https://a.example/\"}\n";
    let report = written(&operator, lines).await;
    assert_eq!(
        [&report["read"], &report["written"], &report["rejected"], &report["truncated"], &report["error"]],
        [&json!(5), &json!(2), &json!(3), &json!(0), &Value::Null]
    );
    let rejections = report["rejections"].as_array().unwrap();
    let told: Vec<_> = rejections.iter().map(|one| json!([one["line"], one["id"]])).collect();
    assert_eq!(told, [json!([2, null]), json!([4, "2"]), json!([5, "3"])]);
    let reason = |place: usize| rejections[place]["reason"].as_str().unwrap().to_owned();
    assert!(reason(0).contains("JSON") && reason(1).contains("title") && reason(2).contains("action"));
    app.wait_for_index().await;
    assert_eq!(acme.caller.find("article", "harbour").await.len(), 2);
    let stored = operator.get(&format!("{ARTICLES}/1")).await.ok();
    assert_eq!(stored.data()["displayTime"], 1_714_521_600_000_i64);
    let event = operator.get("/admin/v1/audit?action=import").await.ok().items()[0].clone();
    assert_eq!([&event["objectKind"], &event["objectId"]], [&json!("content"), &json!("article")]);
}

#[tokio::test]
async fn every_format_and_compression_is_imported() {
    let (app, acme, operator) = start().await;
    let rows = |from: u32, to: u32| -> Vec<Value> {
        (from..to).map(|number| json!({"id": number, "title": format!("harbour {number}")})).collect()
    };
    // More than one batch.
    let array = Value::from(rows(0, 2_500)).to_string();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(lines(&rows(2_500, 2_510)).as_bytes()).unwrap();
    let zstd = zstd::encode_all(lines(&rows(2_510, 2_520)).as_bytes(), 1).unwrap();
    let feed = "<rss version=\"2.0\"><channel><title>t</title><item><guid>g</guid><title>harbour feed</title></item></channel></rss>";
    for (file, count) in [
        (array.into_bytes(), 2_500),
        (gzip.finish().unwrap(), 10),
        (zstd, 10),
        (feed.as_bytes().to_vec(), 1),
        (b"[]".to_vec(), 0),
    ] {
        let report = written(&operator, file).await;
        assert_eq!([&report["written"], &report["rejected"]], [&json!(count), &json!(0)], "{report}");
    }
    app.wait_for_index().await;
    let found = acme.caller.search(&[("keyword", "harbour"), ("moduleId", "article")]).await.ok();
    assert_eq!(found.total(), 2_521);
}

#[tokio::test]
async fn unreadable_file_keeps_its_good_rows_and_tells_why_it_ended() {
    let (app, acme, operator) = start().await;
    let report = written(&operator, "[{\"id\":\"1\",\"title\":\"harbour\"},{\"id\":\"2\",").await;
    assert_eq!(report["written"], 1);
    assert_eq!(report["error"], "the file ends before its array is closed");
    let cut = "<rss><channel><item><guid>2</guid><title>harbour</title></item>\n<item><title>cut";
    let report = written(&operator, cut).await;
    assert_eq!([&report["read"], &report["written"]], [&json!(1), &json!(1)]);
    assert_eq!(report["error"], "the feed breaks off in line 2; 1 entries before that are whole");
    let page = import(&operator, "article", "<html><body>no feed</body></html>").await;
    page.fails(400, "HTML page");
    import(&operator, "article", vec![0x1f, 0x8b, 1, 2, 3]).await.fails(400, "reading stopped");
    for (file, reason) in [
        (&b""[..], "is empty"),
        (b"id,title\n1,harbour\n", "row 1: malformed JSON at column 1; must be JSON Lines"),
        (b"{\n  \"id\": \"1\",\n  \"title\": \"harbour\"\n}\n", "an object in each line"),
        (b"PK\x03\x04\x14\0\0\0", "zip archive"),
    ] {
        import(&operator, "article", file).await.fails(400, reason);
    }
    let deep = format!("<rss><channel><item>{}", "<media:group>".repeat(900));
    import(&operator, "article", deep).await.fails(400, "at most 64 levels");
    let row = format!("{{\"id\":\"1\",\"title\":{}{}}}", "[".repeat(900), "]".repeat(900));
    let report = written(&operator, row).await;
    assert_eq!(report["rejected"], 1, "{report}");
    assert!(report.to_string().contains("must be nested at most 64 levels deep"), "{report}");
    app.wait_for_index().await;
    assert_eq!(acme.caller.find("article", "harbour").await.len(), 2);
}

#[tokio::test]
async fn imported_feed_tells_what_it_did_not_understand() {
    let (app, acme, operator) = start().await;
    let feed = "<rss><channel>\n<item><guid>1</guid><title>harbour</title><author>lin@harbour.example（林）</author>\
        <pubDate>last spring</pubDate></item>\n</channel></rss>";
    let report = written(&operator, feed).await;
    assert_eq!(
        [&report["written"], &report["undated"], &report["error"]],
        [&json!(1), &json!(1), &Value::Null]
    );
    assert!(report["notes"][0].as_str().unwrap().contains("line 2"), "{report}");
    let stored = operator.get(&format!("{ARTICLES}/1")).await.ok();
    let (author, time) = (&stored.data()["author"], &stored.data()["displayTime"]);
    assert_eq!([author, time], [&json!("lin@harbour.example（林）"), &json!(0)]);
    app.wait_for_index().await;
    assert_eq!(acme.caller.find("article", "harbour").await, ["1"]);
    let empty = written(&operator, "<rss><channel></channel></rss>").await;
    assert_eq!([&empty["read"], &empty["notes"]], [&json!(0), &json!(["the feed has no entry"])]);
}

#[tokio::test]
async fn import_is_refused_where_other_operations_write() {
    let (app, acme) = TestApp::start_acme_with(|config| config.limits.sync_body_bytes = 1_000).await;
    let operator = app.operator().await.caller.on("acme");
    import(&operator, "todo", "{}").await.fails(400, "moduleCode");
    import(&operator, "nothing", "{}").await.fails(404, "moduleCode");
    import(&operator, "article", "x".repeat(1_001)).await.fails(413, "body");
    import(&acme.caller, "article", "{}").await.fails(403, "scope admin");
}
