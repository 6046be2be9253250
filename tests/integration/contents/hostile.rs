//! Addresses and texts of strangers, by every way in.

use std::fs;

use serde_json::{Value, json};

use crate::util::{
    app::TestApp,
    external::{ExternalSystem, with},
    feed_server::{FeedReply, FeedServer},
    items::{NEW_YEAR, item, lines, todo},
    subscriptions::{counts, feed},
};

fn opens(address: &str) -> Value {
    json!({"web": format!("[OpenUrl]\nurl={address}")}).to_string().into()
}

/// None of them may reach a client.
const BAD_ADDRESSES: [&str; 9] = [
    "javascript:alert(1)",
    " JaVa\tScript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "data:image/svg+xml,<svg onload=alert(1)>",
    "vbscript:x",
    "//evil.example/x",
    "https:\\\\evil.example",
    "https://bank.example@evil.example/",
    "https://a.example/\u{202e}gnp.exe",
];

#[tokio::test]
async fn put_refuses_bad_addresses_by_field() {
    let (app, acme) = TestApp::start_with_acme().await;
    let actions = BAD_ADDRESSES.iter().map(|address| ("action", opens(address)));
    let images = BAD_ADDRESSES.iter().map(|address| ("image", Value::from(*address)));
    let hidden = [
        json!({"ios": "open", "web": "[OpenUrl]\nurl=javascript:x"}),
        json!({"web": "[OpenUrl]\nurl=https://a.example\nurl=javascript:x"}),
        json!({"pc": {"address": ["javascript:x"]}}),
    ];
    let hidden = hidden.iter().map(|action| ("action", Value::from(action.to_string())));
    for (field, value) in actions.chain(images).chain(hidden) {
        let sent = with(item("bad", "harbour", NEW_YEAR), field, value.clone());
        let answer = acme.caller.put("/v1/contents/article", &json!([sent])).await.ok();
        let [failure] = answer.items() else { panic!("{field} {value}: {}", answer.text) };
        let message = failure["message"].as_str().unwrap();
        assert!(message.starts_with(&format!("{field}: must lead to http")), "{value}: {message}");
    }
    let good = [
        ("action", opens("wxwork://open?id=1")),
        ("action", opens("/console?view=overview")),
        ("action", opens("https://a.example/@mei?mail=a@b.example")),
        ("image", json!("data:image/png;base64,AAAA")),
        ("image", json!("http://a.example/i.png")),
    ];
    for (place, (field, value)) in good.into_iter().enumerate() {
        let sent = with(item(&format!("good{place}"), "harbour", NEW_YEAR), field, value.clone());
        app.put_contents(&acme.caller, "article", &[sent]).await;
        let found =
            acme.caller.search(&[("moduleId", "article"), ("keyword", "harbour"), ("limit", "9")]).await;
        let shown = found.items().iter().any(|item| item[field] == value);
        assert!(shown, "{value}: {}", found.text);
    }
}

const TURNED: &str = "invoice\u{202e}\u{7}fdp.\u{2066}harbour\u{2069}";
const PLAIN: &str = "invoicefdp.harbour";

#[tokio::test]
async fn texts_lose_controls_and_overrides_in_every_module() {
    let (app, acme) = TestApp::start_with_acme().await;
    let sent = json!({"id": "1", "title": TURNED, "subTitle": TURNED, "brief": "one\n\u{202e}two\u{1b}[31m", "author": TURNED,
        "displayTime": NEW_YEAR});
    let persian = item("2", "می\u{200c}خواهم harbour \u{200f}א", NEW_YEAR);
    app.put_contents(&acme.caller, "article", &[sent, persian.clone()]).await;
    let found = acme.caller.search(&[("moduleId", "article"), ("keyword", "harbour")]).await.ok();
    let shown = &found.items()[0];
    assert_eq!([&shown["title"], &shown["subTitle"], &shown["author"]], [PLAIN; 3]);
    assert_eq!(shown["brief"], "one\ntwo[31m");
    assert_eq!(found.items()[1]["title"], persian["title"]);
    let failed = json!([item("3", "\u{202e}\u{2069}", NEW_YEAR)]);
    let failed = acme.caller.put("/v1/contents/article", &failed).await.ok();
    assert!(failed.items()[0]["message"].as_str().unwrap().starts_with("title:"), "{}", failed.text);

    let task = todo("t", "harbour \u{202e}fdp.exe", "mei");
    acme.caller.post("/api/todo/create", &task).await.ok();
    app.sync(&acme.caller, "users", &json!([crate::util::items::user("mei", "")])).await;
    app.wait_for_index().await;
    let mei = app.user(&acme, "mei").await;
    let found = mei.search(&[("moduleId", "todo"), ("keyword", "harbour")]).await.ok();
    assert_eq!(found.items()[0]["title"], "harbour fdp.exe");
}

/// A server of before kept what this one refuses.
#[tokio::test]
async fn row_of_an_earlier_version_is_shown_without_its_address() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.put_contents(&acme.caller, "article", &[item("1", "harbour", NEW_YEAR)]).await;
    let old =
        json!({"title": "harbour \u{202e}exe", "image": "javascript:x", "action": opens("data:text/html,x")});
    app.execute(&format!("UPDATE contents SET item = '{old}' WHERE id = '1'")).await;
    let app = app.restart_rebuilding().await;
    app.wait_for_rebuild().await;
    let caller = app.caller(&acme.caller.token);
    let found = caller.search(&[("moduleId", "article"), ("keyword", "harbour")]).await.ok();
    let expected = with(item("1", "harbour exe", NEW_YEAR), "source", "builtin:article");
    assert_eq!(found.items(), [expected]);
}

#[tokio::test]
async fn import_rejects_rows_of_bad_addresses_by_line() {
    let (app, _acme, operator) = operated().await;
    let rows = [
        json!({"id": "1", "title": "quay", "url": "javascript:x"}),
        json!({"id": "2", "title": "quay", "image": "vbscript:x"}),
        json!({"id": "3", "title": "quay \u{202e}", "url": "/a"}),
        json!({"id": "4", "title": "quay", "link": "//evil.example"}),
    ];
    let request = operator.request(reqwest::Method::POST, "/admin/v1/contents/article/import");
    let request = request.header("content-type", "application/octet-stream").body(lines(&rows));
    let report = crate::util::caller::send(request).await.ok();
    let told: Vec<_> = report.data()["rejections"].as_array().unwrap().iter().collect();
    let told: Vec<_> = told
        .iter()
        .map(|one| {
            (one["line"].as_u64().unwrap(), one["reason"].as_str().unwrap().split(':').next().unwrap())
        })
        .collect();
    assert_eq!(told, [(1, "action"), (2, "image"), (4, "action")], "{}", report.text);
    assert_eq!(app.titles(&operator, "quay").await, ["quay "]);
}

async fn operated() -> (TestApp, crate::util::app::Application, crate::util::caller::Caller) {
    let (app, acme) = TestApp::start_with_acme().await;
    let operator = app.operator().await.caller.on("acme");
    (app, acme, operator)
}

#[tokio::test]
async fn feed_keeps_entries_of_bad_pictures_without_them() {
    let (app, acme, operator) = operated().await;
    let server = FeedServer::start().await;
    let document = "<rss version=\"2.0\"><channel><title>F</title>\
        <item><guid>1</guid><title>quay &#x202E;exe</title><link>https://a.example/1</link><enclosure type=\"image/png\" url=\"javascript:x\"/></item>\
        <item><guid>2</guid><title>quay</title><link>data:text/html,x</link></item></channel></rss>";
    server.reply_once("/a", FeedReply::Body(document.to_owned()));
    let shown = operator.subscribe(&feed("a", &server.url("127.0.0.1", "/a"))).await;
    assert_eq!(counts(&shown), json!(["read", 2, 1, 0, 0, 1]), "{shown}");
    assert!(shown["lastRun"]["notes"][0].as_str().unwrap().contains("unsafe"), "{shown}");
    assert_eq!(app.titles(&acme.caller, "quay").await, ["quay exe"]);
    let kept = operator.get("/admin/v1/contents/article/a:1").await.ok();
    assert_eq!(kept.data()["image"], Value::Null);
}

#[tokio::test]
async fn name_of_a_subscribed_file_cannot_turn_its_line() {
    let root = tempfile::tempdir().unwrap();
    let (app, acme) =
        TestApp::start_acme_with(|config| config.subscriptions.folders = vec![root.path().to_owned()]).await;
    let operator = app.operator().await.caller.on("acme");
    fs::create_dir(root.path().join("a\u{202e}b")).unwrap();
    for name in ["harbour\u{202e}fdp.exe", "a\u{202e}b/harbour\nplan\u{7}.txt"] {
        fs::write(root.path().join(name), "quay").unwrap();
    }
    let form = json!({"id": "plans", "name": "Plans", "module": "article", "folder": {"path": root.path()}});
    operator.subscribe(&form).await;
    assert_eq!(app.titles(&acme.caller, "harbour").await, ["harbour plan.txt", "harbourfdp.exe"]);
    let found = acme.caller.search(&[("moduleId", "article"), ("keyword", "plan")]).await.ok();
    assert_eq!(found.items()[0]["subTitle"], "ab");
}

#[tokio::test]
async fn source_loses_bad_addresses_and_is_told() {
    let (app, acme) = TestApp::start_with_acme().await;
    let items = BAD_ADDRESSES.iter().enumerate().map(|(place, address)| {
        let made = item(&format!("x{place}"), "harbour", NEW_YEAR);
        with(with(made, "action", opens(address)), "image", *address)
    });
    let system = ExternalSystem::start(items.collect()).await;
    app.register_source(&acme, system.registration("x"), "all", &["x"]).await;
    let found = acme.caller.search(&[("moduleId", "all"), ("keyword", "harbour"), ("limit", "9")]).await.ok();
    assert_eq!(found.items().len(), BAD_ADDRESSES.len());
    let texts: Vec<_> = found.items().iter().flat_map(|item| [&item["action"], &item["image"]]).collect();
    // A tab and an override are cleaned away first: a space is in no scheme.
    let is_harmless = |text: &&Value| {
        text.is_null()
            || [" JaVa Script:alert(1)", "https://a.example/gnp.exe"].contains(&text.as_str().unwrap())
    };
    assert!(texts.iter().all(is_harmless), "{}", found.text);
    let message = found.body["sources"][0]["message"].as_str().unwrap();
    for told in ["`action` opens a script", "`image` opens a script", "credentials", "backslash"] {
        assert!(message.contains(told), "{told}: {message}");
    }
}
