use serde_json::{Value, json};

use crate::util::{
    app::TestApp, browser::Browser, eventually, items::item, login::LoginSetup, webdriver::Client,
};

async fn at(client: &Client, start: &str) -> String {
    eventually(start, async || {
        let url = client.current_url().await.unwrap().to_string();
        url.starts_with(start).then_some(url)
    })
    .await
}

async fn ask(client: &Client, method: &str, path: &str, header: bool) -> Value {
    let script = include_str!("../util/scripts/fetch.js");
    let arguments = vec![json!(method), json!(path), json!(header)];
    client.execute_async(script, arguments).await.unwrap()
}

async fn start(app: &TestApp, client: &Client, to: &str) {
    client.goto(&format!("{}/session/start?to={to}", app.base)).await.unwrap();
    at(client, &format!("{}/oauth2/authorize", app.base)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn person_signs_in_and_out_by_the_login_page() {
    let setup = LoginSetup::start().await;
    let app = &setup.app;
    app.put_contents(&setup.acme.caller, "article", &[item("1", "harbour", 1)]).await;
    let browser = Browser::start().await;
    let client = &browser.client;
    start(app, client, "/healthz%3Fq=harbour").await;
    assert_eq!(browser.ask("return document.title").await, "Sign in · trawl");
    browser.fill_in_login("mei", "wrong").await;
    let message = client.find("[role=alert]").await.unwrap();
    assert!(message.text().await.unwrap().contains("do not belong together"));
    browser.fill_in_login("mei", "correct horse").await;
    assert_eq!(at(client, &format!("{}/healthz", app.base)).await, format!("{}/healthz?q=harbour", app.base));

    let shown = ask(client, "GET", "/session", true).await;
    assert_eq!(shown["body"]["data"]["person"]["userId"], "mei", "{shown}");
    let found = ask(client, "GET", "/contents/search?keyword=harbour&moduleId=article", true).await;
    assert_eq!(found["body"]["data"][0]["id"], "1", "{found}");
    assert_eq!(ask(client, "POST", "/modules", false).await["status"], 401);
    let read = client.execute("return document.cookie", Vec::new()).await.unwrap();
    assert_eq!(read, "", "a script reads a cookie");
    let held = client.get_named_cookie("trawl-session").await.unwrap();
    assert_eq!(
        (&held["httpOnly"], &held["path"], &held["sameSite"]),
        (&json!(true), &json!("/"), &json!("Strict"))
    );

    // A fetch from another origin sends no session and reads no response.
    let elsewhere = TestApp::start().await;
    client.goto(&format!("{}/healthz", elsewhere.base.replace("127.0.0.1", "localhost"))).await.unwrap();
    let url = format!("{}/session", app.base);
    for header in [true, false] {
        let answer = ask(client, "GET", &url, header).await;
        assert!(answer["error"].is_string(), "{answer}");
    }

    client.goto(&format!("{}/healthz", app.base)).await.unwrap();
    assert_eq!(ask(client, "POST", "/session/end", true).await["status"], 200);
    assert!(client.get_named_cookie("trawl-session").await.is_err(), "the cookie is left");
    assert_eq!(ask(client, "GET", "/session", true).await["body"]["data"]["signedIn"], false);
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sign_in_moves_to_the_public_url() {
    let setup = LoginSetup::start().await;
    let app = &setup.app;
    let session = app.web_session("mei").await;
    let browser = Browser::start().await;
    let client = &browser.client;
    let other = app.base.replace("127.0.0.1", "localhost");
    client.goto(&format!("{other}/session/start?to=/healthz")).await.unwrap();
    at(client, &format!("{}/oauth2/authorize", app.base)).await;
    browser.fill_in_login("mei", "correct horse").await;
    at(client, &format!("{}/healthz", app.base)).await;
    assert_eq!(ask(client, "GET", "/session", true).await["body"]["data"]["signedIn"], true);
    // The test's own sign-in sets the same cookie.
    browser.hold(&session).await;
    let held = client.get_named_cookie("trawl-session").await.unwrap();
    assert!(session.cookie.ends_with(held["value"].as_str().unwrap()), "{held}");
    assert_eq!(ask(client, "GET", "/session", true).await["body"]["data"]["signedIn"], true);
    browser.close().await;
}
