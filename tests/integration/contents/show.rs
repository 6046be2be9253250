//! `GET /v1/contents/{moduleCode}/{id}`.

use reqwest::Method;
use serde_json::{Value, json};

use crate::util::{
    answer::Answer,
    app::TestApp,
    caller::{Caller, send},
    eventually,
    external::ExternalSystem,
    favorites::{add_text, remove, start},
    files::{delete, put_file},
    folders::{folder, give},
    groups::{group, group_of, people, put_messages, set_role},
    internals::Config,
    items::{NEW_YEAR, department, item, many, user},
    tasks::Office,
};

async fn show(caller: &Caller, module: &str, id: &str, parameters: &[(&str, &str)]) -> Answer {
    let mut url = url::Url::parse("http://host").unwrap();
    url.path_segments_mut().unwrap().extend(["v1", "contents", module, id]);
    send(caller.request(Method::GET, url.path()).query(parameters)).await
}

/// `role name userId` of each person.
fn people_of(answer: &Answer) -> Vec<String> {
    let people = answer.data()["people"].as_array().unwrap();
    let text = |person: &Value, field: &str| person[field].as_str().unwrap_or("-").to_owned();
    people
        .iter()
        .map(|person| ["role", "name", "userId"].map(|field| text(person, field)).join(" "))
        .collect()
}

/// `relation module id title` of each item.
fn related_to(answer: &Answer) -> Vec<String> {
    let related = answer.data()["related"].as_array().unwrap();
    let text = |item: &Value, field: &str| item[field].as_str().unwrap().to_owned();
    related
        .iter()
        .map(|item| ["relation", "module", "id", "title"].map(|field| text(item, field)).join(" "))
        .collect()
}

#[tokio::test]
async fn article_is_shown_as_sent_with_its_surroundings() {
    let (app, acme) = TestApp::start_with_acme().await;
    let action = json!({"web": "[OpenUrl]\nurl=https://wiki.example:8443/1"}).to_string();
    let sent = json!({
        "id": "a/b?c=1&文", "title": "Harbour <b>plan</b>", "brief": "All about\nthe harbour", "author": "Mei Chen",
        "displayTime": NEW_YEAR, "action": action,
    });
    let mut other = item("o", "Quay rules", NEW_YEAR);
    let untitled =
        json!({"id": "u", "brief": "No title\nbut a line", "author": "Mei Chen", "displayTime": 1});
    other["author"] = json!("Mei Chen");
    app.put_contents(&acme.caller, "article", &[sent.clone(), other, untitled]).await;
    let answer = show(&acme.caller, "article", "a/b?c=1&文", &[("keyword", "harbours")]).await.ok();
    let mut expected = sent;
    let details = json!({
        "module": "article", "source": "builtin:article", "text": "All about\nthe harbour", "textLength": 21,
        "highlight": {
            "title": "<em>Harbour</em> &lt;b&gt;plan&lt;/b&gt;", "brief": "All about\nthe <em>harbour</em>",
            "text": "All about\nthe <em>harbour</em>",
        },
        "opens": {"address": "https://wiki.example:8443/1", "host": "wiki.example:8443"},
        "people": [{"role": "author", "name": "Mei Chen", "userId": null}],
        "related": [
            {"relation": "sameAuthor", "module": "article", "id": "o", "title": "Quay rules"},
            {"relation": "sameAuthor", "module": "article", "id": "u", "title": "No title"},
        ],
    });
    expected.as_object_mut().unwrap().extend(details.as_object().unwrap().clone());
    assert_eq!(*answer.data(), expected);

    let bare = show(&acme.caller, "article", "o", &[]).await.ok();
    assert_eq!((&bare.data()["opens"], &bare.data()["text"]), (&Value::Null, &json!("")));
    assert!(bare.data().get("highlight").is_none());
}

#[tokio::test]
async fn hidden_item_is_answered_like_an_absent_one() {
    let (app, acme, [mei, omar]) = TestApp::start_with_people(["mei", "omar"]).await;
    let mut secret = item("s", "harbour", NEW_YEAR);
    secret["visibility"] = json!({"users": ["mei"]});
    secret["author"] = json!("Ann");
    let mut open = item("o", "quay", NEW_YEAR);
    open["author"] = json!("Ann");
    app.put_contents(&acme.caller, "article", &[secret, open]).await;
    let seen = show(&mei, "article", "s", &[]).await.ok();
    assert_eq!(related_to(&seen), ["sameAuthor article o quay"]);
    for caller in [&omar, &acme.caller] {
        let [hidden, absent] =
            [show(caller, "article", "s", &[]).await, show(caller, "article", "n", &[]).await];
        assert_eq!(hidden.fails(404, "id").message(), absent.fails(404, "id").message());
        let beside = show(caller, "article", "o", &[]).await.ok();
        assert_eq!(related_to(&beside), [""; 0], "an unseen item is related");
    }
    let other = app.tenant("other").await;
    show(&other.caller, "article", "o", &[]).await.fails(404, "id");
}

#[tokio::test]
async fn wrong_parameters_are_named() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.put_contents(&acme.caller, "article", &[item("1", "harbour", NEW_YEAR)]).await;
    let long = "x".repeat(300);
    for (parameter, value) in [
        ("keyword", long.as_str()),
        ("offset", "-1"),
        ("offset", "x"),
        ("length", "3"),
        ("length", "65537"),
        ("source", "nope"),
    ] {
        show(&acme.caller, "article", "1", &[(parameter, value)]).await.fails(400, parameter);
    }
    show(&acme.caller, "nope", "1", &[]).await.fails(404, "module");
    show(&acme.caller, "article", &"x".repeat(3_000), &[]).await.fails(404, "id");
}

#[tokio::test]
async fn file_text_is_read_in_parts() {
    let (app, _, [mei, omar]) = TestApp::start_with_people(["mei", "omar"]).await;
    let plans = folder(&mei, "root", "Plans").await;
    let text = (0..9_000).map(|number| format!("{number} 港口 quay")).collect::<Vec<_>>().join("\n");
    let file = put_file(&mei, &plans, "harbour.txt", text.as_bytes()).await;
    let beside = put_file(&mei, &plans, "lighthouse.txt", b"light").await;
    let secret = folder(&mei, "root", "Secret").await;
    put_file(&mei, &secret, "secret.txt", b"quay").await;
    app.wait_for_index().await;
    eventually("the text is read", async || {
        let length = show(&mei, "file", &file, &[]).await.ok().data()["textLength"].clone();
        (length == text.len()).then_some(())
    })
    .await;
    let mut read = String::new();
    for offset in (0..text.len()).step_by(65_536) {
        let offset = offset.to_string();
        let answer =
            show(&mei, "file", &file, &[("offset", offset.as_str()), ("keyword", "quay")]).await.ok();
        let part = answer.data()["text"].as_str().unwrap();
        assert!(part.len() <= 65_536 + 3);
        let marked = answer.data()["highlight"]["text"].as_str().unwrap();
        assert!(marked.contains("<em>quay</em>"));
        assert_eq!(marked.replace("<em>", "").replace("</em>", ""), part, "the highlight is cut");
        read.push_str(part);
    }
    assert!(read == text, "parts do not join");
    let behind = show(&mei, "file", &file, &[("offset", "99999999"), ("length", "4")]).await.ok();
    assert_eq!(behind.data()["text"], "");
    let answer = show(&mei, "file", &file, &[]).await.ok();
    assert_eq!(people_of(&answer), ["creator User mei mei"]);
    let same_folder = format!("sameFolder file {beside} lighthouse.txt");
    assert!(related_to(&answer).contains(&same_folder), "{}", answer.text);

    show(&omar, "file", &file, &[]).await.fails(404, "id");
    give(&mei, &plans, "viewer", &["omar"]).await;
    let given = show(&omar, "file", &file, &[]).await.ok();
    assert!(!given.text.contains("secret.txt"), "{}", given.text);
    delete(&mei, &[&beside]).await.ok();
    app.wait_for_index().await;
    assert!(!related_to(&show(&omar, "file", &file, &[]).await.ok()).contains(&same_folder));
}

#[tokio::test]
async fn task_names_creator_and_assignee() {
    let office = Office::open().await;
    let task = office.task("t1", 0).await;
    office.app.wait_for_index().await;
    let (mei, lin) = (office.person("mei").await, office.person("lin").await);
    let answer = show(&mei, "todo", &task, &[]).await.ok();
    assert_eq!(people_of(&answer), ["creator User omar omar", "assignee User mei mei"]);
    show(&lin, "todo", &task, &[]).await.fails(404, "id");
    show(&mei, "done", &task, &[]).await.fails(404, "id");
}

#[tokio::test]
async fn favorite_is_shown_to_its_owner_by_the_id_in_its_row() {
    let (app, acme, mei, omar) = start().await;
    app.put_contents(&acme.caller, "article", &[item("a1", "Harbour plan", NEW_YEAR)]).await;
    add_text(&mei, "a1", "The plan to keep").await;
    add_text(&omar, "a1", "A plan to forget").await;
    app.wait_for_index().await;
    for (owner, title) in [(&mei, "The plan to keep"), (&omar, "A plan to forget")] {
        let found = owner.search(&[("moduleId", "favorite"), ("keyword", "plan")]).await;
        let id = found.data()[0]["id"].as_str().unwrap();
        let shown = show(owner, "favorite", id, &[]).await.ok();
        assert_eq!((shown.data()["id"].as_str(), shown.data()["title"].as_str()), (Some("a1"), Some(title)));
        assert_eq!(show(owner, "article", "a1", &[]).await.ok().data()["title"], "Harbour plan");
    }
    show(&acme.caller, "favorite", "a1", &[]).await.fails(404, "no such item");
    remove(&mei, "a1", &[]).await.ok();
    show(&mei, "favorite", "a1", &[]).await.fails(404, "no such item");
}

#[tokio::test]
async fn group_and_message_lead_to_each_other() {
    let (app, acme, [mei, _, lin]) = TestApp::start_with_people(["mei", "omar", "lin"]).await;
    let id = group(&mei, "Harbour", &["omar", "lin"]).await;
    set_role(&mei, &id, "omar", 1).await.ok();
    put_messages(&app, &acme, &id, "m", "high tide", 3).await;
    let shown = show(&lin, "group", &id, &[]).await.ok();
    assert_eq!(
        people_of(&shown),
        ["owner User mei mei", "administrator User omar omar", "member User lin lin"]
    );
    let messages = ["m2", "m1", "m0"].map(|message| format!("message message {message} high tide"));
    assert_eq!(related_to(&shown), messages);
    let message = show(&lin, "message", "m1", &[]).await.ok();
    let around = [
        format!("group group {id} Harbour"),
        "previous message m0 high tide".into(),
        "next message m2 high tide".into(),
    ];
    assert_eq!(related_to(&message)[..3], around);
    assert_eq!(people_of(&message), ["author Robot -"]);

    let public = group_of(&mei, json!({"name": "Open to all", "isPublic": true, "users": ["omar"]})).await;
    app.wait_for_index().await;
    assert_eq!(people_of(&show(&lin, "group", &public, &[]).await.ok()).len(), 2);
    let told = show(&acme.caller, "group", &public, &[]).await.ok();
    assert_eq!(people_of(&told), [""; 0], "an application is told of members");

    let [ann] = people(&app, &acme, ["ann"]).await;
    show(&ann, "group", &id, &[]).await.fails(404, "id");
    show(&ann, "message", "m1", &[]).await.fails(404, "id");
}

#[tokio::test]
async fn person_and_department_lead_to_each_other() {
    let (app, acme) = TestApp::start_with_acme().await;
    let departments = json!([department("top", ""), department("port", "top"), department("pilots", "port")]);
    app.sync(&acme.caller, "organizations", &departments).await;
    let mut hidden = user("gone", "port");
    hidden["isHidden"] = json!(true);
    app.sync(&acme.caller, "users", &json!([user("mei", "port"), user("omar", "top"), hidden])).await;
    let mut article = item("a", "Quay rules", NEW_YEAR);
    article["author"] = json!("User mei");
    app.put_contents(&acme.caller, "news", &[article]).await;
    let omar = app.user(&acme, "omar").await;
    let person = show(&omar, "people", "mei", &[]).await.ok();
    assert_eq!(
        related_to(&person),
        ["department department port Department port", "wrote news a Quay rules"]
    );
    let port = show(&omar, "department", "port", &[]).await.ok();
    assert_eq!(people_of(&port), ["member User mei mei"]);
    let around = ["above department top Department top", "below department pilots Department pilots"];
    assert_eq!(related_to(&port), around);
    show(&omar, "people", "gone", &[]).await.fails(404, "id");
}

#[tokio::test]
async fn external_item_is_that_of_the_last_search() {
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let keep_pages = |config: &mut Config| (config.cache.fresh_ms, config.cache.stale_ms) = (0, 600_000);
    let (app, acme) = TestApp::start_acme_with(keep_pages).await;
    app.put_contents(&acme.caller, "article", &[item("a", "harbour", NEW_YEAR)]).await;
    app.register_source(&acme, system.registration("x"), "all", &["builtin:article", "x"]).await;
    show(&acme.caller, "all", "x00001", &[]).await.fails(404, "id");
    acme.caller.search(&[("keyword", "harbour"), ("moduleId", "all")]).await.ok();
    let asked = system.requests().len();
    let answer = show(&acme.caller, "all", "x00001", &[("keyword", "harbour")]).await.ok();
    assert_eq!((&answer.data()["source"], &answer.data()["module"]), (&json!("x"), &json!("all")));
    assert_eq!(answer.data()["highlight"]["title"], "<em>harbour</em>");
    assert_eq!(show(&acme.caller, "all", "a", &[]).await.ok().data()["source"], "builtin:article");
    show(&acme.caller, "all", "x00001", &[("source", "builtin:article")]).await.fails(404, "id");
    show(&acme.caller, "article", "x00001", &[]).await.fails(404, "id");
    assert_eq!(system.requests().len(), asked, "the system was called");
    let other = app.tenant("other").await;
    app.register_source(&other, system.registration("x"), "all", &["x"]).await;
    show(&other.caller, "all", "x00001", &[]).await.fails(404, "id");
}
