//! Sign-in to the pages by a real `OpenID` provider.

use serde_json::{Value, json};

use crate::util::{
    app::TestApp, browser::Browser, eventually, fake_issuer::FakeIssuer, internals::IssuerSettings,
    issuer::people, items::user, login::location, openid::Provider, program::own_address, webdriver::Client,
};

const NAME: &str = "Staff login";

async fn start(client_id: &str, method: &str) -> (TestApp, Provider) {
    start_with(client_id, method, |_, _| {}).await
}

/// `change` gets the provider's settings and the client.
async fn start_with(
    client_id: &str,
    method: &str,
    change: impl FnOnce(&mut Value, &mut Value),
) -> (TestApp, Provider) {
    let address = own_address();
    let mut sign_in = json!({"name": NAME, "client_id": client_id, "scope": "openid"});
    let mut client = json!({
        "client_id": client_id, "token_endpoint_auth_method": method, "scope": "openid",
        "grant_types": ["authorization_code"], "response_types": ["code"],
    });
    if method != "none" {
        sign_in["client_secret"] = "secret-of-the-pages".into();
        client["client_secret"] = "secret-of-the-pages".into();
    }
    let issuer: IssuerSettings = serde_json::from_value(json!({
        "issuer": format!("http://{address}"), "audience": "x", "tenant": "acme", "scopes": ["contents:read"],
        "sign_in": sign_in,
    }))
    .unwrap();
    let (app, acme) = TestApp::start_acme_with(|config| config.auth.issuers = vec![issuer]).await;
    app.sync(&acme.caller, "users", &json!([user("mei", "")])).await;
    client["redirect_uris"] = json!([format!("{}/session/callback", app.base)]);
    let mut settings = people("ES256");
    settings["port"] = address.rsplit_once(':').unwrap().1.parse::<u16>().unwrap().into();
    settings["authMethods"] = json!([method]);
    change(&mut settings, &mut client);
    settings["clients"] = json!([client]);
    (app, Provider::start(settings).await)
}

async fn start_address(app: &TestApp) -> String {
    let shown = app.caller("").get("/session").await.ok();
    let issuer = &shown.data()["issuers"][0];
    assert_eq!(issuer["name"], NAME);
    format!("{}/session/start?to=/healthz&issuer={}", app.base, issuer["id"].as_str().unwrap())
}

#[tokio::test]
async fn provider_signs_in_by_every_client_authentication() {
    for method in ["client_secret_basic", "client_secret_post", "none"] {
        let (app, _provider) = start("pages", method).await;
        for (name, signs_in) in [("mei", true), ("nobody", false)] {
            let mut browser = app.browser();
            let url = location(&browser.follow(&start_address(&app).await).await);
            let callback = Provider::prove(url, name).await;
            let answer = browser.follow(callback.as_str()).await;
            let told = if signs_in { "" } else { "?signin=refused" };
            assert_eq!(location(&answer).as_str(), format!("{}/healthz{told}", app.base), "{method}");
            if signs_in {
                assert_eq!(app.session_of(&answer).info().await["person"]["loginId"], "mei");
            }
        }
    }
}

#[tokio::test]
async fn provider_that_tells_the_name_at_userinfo_only_signs_in() {
    for algorithm in [None, Some("ES256")] {
        let (app, _provider) = start_with("pages", "client_secret_basic", |settings, client| {
            settings["userinfo"] = json!(true);
            if let Some(algorithm) = algorithm {
                client["userinfo_signed_response_alg"] = json!(algorithm);
            }
        })
        .await;
        let mut browser = app.browser();
        let url = location(&browser.follow(&start_address(&app).await).await);
        let callback = Provider::prove(url, "Mei").await;
        let answer = browser.follow(callback.as_str()).await;
        assert_eq!(app.session_of(&answer).info().await["person"]["loginId"], "mei", "{algorithm:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn browser_returns_from_a_provider_signed_in() {
    let (app, provider) = start("pages", "client_secret_basic").await;
    let browser = Browser::start().await;
    let client = &browser.client;
    client.goto(&format!("{}/healthz", app.base)).await.unwrap();
    let click = "const link = document.createElement('a'); link.href = arguments[0]; document.body.append(link); link.click();";
    client.execute(click, vec![json!(start_address(&app).await)]).await.unwrap();
    let field = client.find("input[name=login]").await.unwrap();
    assert!(client.current_url().await.unwrap().as_str().starts_with(&provider.issuer));
    field.send_keys("mei").await.unwrap();
    client.find("input[name=password]").await.unwrap().send_keys("any").await.unwrap();
    client.find("button[type=submit]").await.unwrap().click().await.unwrap();
    let consent = client.find("input[name=prompt][value=consent]").await;
    consent.unwrap();
    client.find("button[type=submit]").await.unwrap().click().await.unwrap();
    let page = format!("{}/healthz", app.base);
    eventually("the page", async || (client.current_url().await.unwrap().as_str() == page).then_some(()))
        .await;
    is_signed_in(client).await;
    browser.close().await;
}

/// Cookies ignore ports, hence another host name here.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn browser_returns_from_another_site_signed_in() {
    let issuer = FakeIssuer::start().await;
    let app = TestApp::start_with(|config| {
        config.auth.issuers = vec![issuer.trusted()];
        config.connectors.allow_http_hosts.push("localhost".to_owned());
    })
    .await;
    let acme = app.tenant("acme").await;
    app.sync(&acme.caller, "users", &json!([user("mei", "")])).await;
    let elsewhere = issuer.issuer.replace("127.0.0.1", "localhost");
    issuer.describe(|described| described["authorization_endpoint"] = json!(format!("{elsewhere}/auth")));
    let shown = app.caller("").get("/session").await.ok();
    let id = shown.data()["issuers"][0]["id"].as_str().unwrap();

    let browser = Browser::start().await;
    let client = &browser.client;
    client.goto(&format!("{}/session/start?to=/healthz&issuer={id}", app.base)).await.unwrap();
    let back = client.find("#back").await.unwrap();
    assert!(client.current_url().await.unwrap().as_str().starts_with(&elsewhere));
    back.click().await.unwrap();
    let page = format!("{}/healthz", app.base);
    eventually("the page", async || (client.current_url().await.unwrap().as_str() == page).then_some(()))
        .await;
    is_signed_in(client).await;
    browser.close().await;
}

async fn is_signed_in(client: &Client) {
    let script = include_str!("../util/scripts/fetch.js");
    let arguments = vec![json!("GET"), json!("/session"), json!(true)];
    let shown: Value = client.execute_async(script, arguments).await.unwrap();
    assert_eq!(shown["body"]["data"]["person"]["userId"], "mei", "{shown}");
}
