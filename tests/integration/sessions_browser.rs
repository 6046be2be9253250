//! A browser signs in by the login page, and holds a session that its scripts cannot read.

use fantoccini::{Client, Locator};
use serde_json::{Value, json};

use crate::util::{app::TestApp, browser::Browser, eventually, items::item, login::Landscape};

/// Waits until the browser is at an address that begins so, and answers it.
async fn at(client: &Client, start: &str) -> String {
    eventually(start, async || {
        let url = client.current_url().await.unwrap().to_string();
        url.starts_with(start).then_some(url)
    })
    .await
}

/// What a page of the server gets that asks this, with the header of its pages where it is one.
async fn ask(client: &Client, method: &str, path: &str, header: bool) -> Value {
    let script = "const [method, path, header, done] = arguments; \
        const headers = header ? {'x-trawl-session': '1'} : {}; \
        fetch(path, {method, headers}).then(async (answer) => done({status: answer.status, body: await answer.json()})) \
        .catch((error) => done({error: String(error)}));";
    let arguments = vec![json!(method), json!(path), json!(header)];
    client.execute_async(script, arguments).await.unwrap()
}

async fn start(app: &TestApp, client: &Client, to: &str) {
    client.goto(&format!("{}/session/start?to={to}", app.base)).await.unwrap();
    at(client, &format!("{}/oauth2/authorize", app.base)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn someone_signs_in_by_the_login_page_and_out_again() {
    let landscape = Landscape::start().await;
    let app = &landscape.app;
    app.keep(&landscape.acme.caller, "article", &[item("1", "harbour", 1)]).await;
    let browser = Browser::start().await;
    let client = &browser.client;
    // A page of the server that is there whatever else is.
    start(app, client, "/healthz%3Fq=harbour").await;
    assert_eq!(client.title().await.unwrap(), "Sign in · trawl");
    browser.fill_in_login("mei", "wrong").await;
    let message = client.wait().for_element(Locator::Css("[role=alert]")).await.unwrap();
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
    assert_eq!((held.http_only(), held.path()), (Some(true), Some("/")));
    assert_eq!(held.same_site(), Some(cookie::SameSite::Strict));

    // A page elsewhere has the browser ask; it neither sends the session along nor shows what is answered.
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

/// Whoever calls the server by another name of its machine is signed in under the one that it has.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sign_in_goes_to_the_address_that_the_server_has() {
    let landscape = Landscape::start().await;
    let app = &landscape.app;
    let session = app.web_session("mei").await;
    let browser = Browser::start().await;
    let client = &browser.client;
    let other = app.base.replace("127.0.0.1", "localhost");
    client.goto(&format!("{other}/session/start?to=/healthz")).await.unwrap();
    at(client, &format!("{}/oauth2/authorize", app.base)).await;
    browser.fill_in_login("mei", "correct horse").await;
    at(client, &format!("{}/healthz", app.base)).await;
    assert_eq!(ask(client, "GET", "/session", true).await["body"]["data"]["signedIn"], true);
    // A test need not fill in anything.
    browser.hold(&session).await;
    let held = client.get_named_cookie("trawl-session").await.unwrap();
    assert!(session.cookie.ends_with(held.value()), "{held}");
    assert_eq!(ask(client, "GET", "/session", true).await["body"]["data"]["signedIn"], true);
    browser.close().await;
}
