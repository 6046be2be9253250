//! `/session`, `/session/start`, `/session/callback` and `/session/end`.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use reqwest::Method;
use serde_json::json;

use crate::util::{
    answer::Answer,
    caller::send,
    internals::Config,
    items::{item, user},
    login::{CHALLENGE, LoginSetup, VERIFIER, location, parameter},
    session::same_bytes,
};

#[tokio::test]
async fn sign_in_sets_a_cookie_hidden_from_scripts() {
    let setup = LoginSetup::start().await;
    let app = &setup.app;
    app.put_contents(&setup.acme.caller, "article", &[item("1", "harbour", 1)]).await;
    let before = app.caller("").get("/session").await.ok();
    let expected = json!({"signedIn": false, "tenant": "acme", "issuers": []});
    assert_eq!(before.data(), &expected);
    assert_eq!(before.header("cache-control"), "no-store");

    let mut browser = app.browser();
    let answer = app.sign_in_to_pages(&mut browser, "acme", "mei", "/?q=harbour").await;
    assert_eq!(location(&answer).as_str(), format!("{}/?q=harbour", app.base));
    assert_eq!(answer.header("referrer-policy"), "no-referrer");
    let cookie = answer.header("set-cookie");
    let attributes: Vec<&str> = cookie.split("; ").skip(1).collect();
    assert_eq!(attributes, ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=604800"], "{cookie}");
    let session = app.session_of(&answer);
    assert_eq!(
        session.info().await,
        json!({
            "signedIn": true, "tenant": {"code": "acme", "name": "acme", "searchInsights": false}, "operator": false,
            "needsSecondFactor": false,
            "person": {"userId": "mei", "loginId": "mei", "name": "User mei", "picture": null},
        })
    );
    let picture = "https://pictures.example/mei.png";
    let row = json!({"userId": "mei", "pictureParam": {"type": 1, "data": picture}});
    app.sync(&setup.acme.caller, "users", &json!([row])).await;
    assert_eq!(session.info().await["person"]["picture"], picture);
    let found =
        session.post("/contents/search", &json!({"keyword": "harbour", "moduleId": "article"})).await.ok();
    assert_eq!(found.ids(), ["1"]);

    let ended = session.post_empty("/session/end").await.ok();
    assert!(ended.header("set-cookie").starts_with("trawl-session=;"), "{:?}", ended.headers);
    assert!(ended.header("set-cookie").contains("Max-Age=0"));
    session.assert_ended().await;
    session.post_empty("/session/end").await.ok();
}

#[tokio::test]
async fn cookie_of_each_sign_in_is_256_random_bits() {
    let LoginSetup { app, .. } = LoginSetup::start().await;
    let mut secrets = Vec::new();
    for _ in 0..2 {
        let session = app.web_session("mei").await;
        let (_, value) = session.cookie.split_once('=').unwrap();
        secrets.push(BASE64_URL_SAFE_NO_PAD.decode(value).unwrap());
    }
    assert!(secrets.iter().all(|secret| secret.len() == 32), "{secrets:?}");
    assert!(same_bytes(&secrets[0], &secrets[1]) < 7, "{secrets:?}");
}

#[tokio::test]
async fn cookies_over_https_have_the_host_prefix() {
    let change = |config: &mut Config| {
        config.public_url = Some("https://search.example/trawl/".parse().unwrap());
    };
    let setup = LoginSetup::start_with(change).await;
    let app = &setup.app;
    let here = |url: url::Url| url.as_str().replace("https://search.example/trawl", &app.base);
    let mut browser = app.browser();
    let started = location(&browser.follow(&format!("{}/session/start?to=/x", app.base)).await);
    assert_eq!(started.as_str(), "https://search.example/trawl/session/start?to=/x&moved=1");
    assert!(browser.cookie.is_none());
    let page = location(&browser.follow(&here(started)).await);
    assert_eq!(parameter(&page, "redirect_uri"), "https://search.example/trawl/session/callback");
    let page = browser.follow(&here(page)).await;
    let cookie = page.header("set-cookie");
    assert!(cookie.starts_with("__Host-trawl-login=") && cookie.contains("Secure"), "{cookie}");
    let back = location(&browser.submit(&page, "mei", "correct horse").await);
    assert_eq!(parameter(&back, "iss"), "https://search.example/trawl");
    let answer = browser.follow(&here(back)).await;
    assert_eq!(location(&answer).as_str(), "https://search.example/trawl/x");
    let cookie = answer.header("set-cookie");
    assert!(cookie.starts_with("__Host-trawl-session=") && cookie.contains("; Secure"), "{cookie}");
    app.session_of(&answer).post_empty("/modules").await.ok();
}

#[tokio::test]
async fn tenant_is_a_parameter_or_the_only_one() {
    let setup = LoginSetup::start().await;
    let app = setup.app;
    let start = async |app: &crate::util::app::TestApp, query: &str| {
        location(&app.browser().follow(&format!("{}/session/start{query}", app.base)).await)
    };
    assert_eq!(start(&app, "").await.path(), "/oauth2/authorize");
    let unknown = start(&app, "?tenant=nobody&to=/console?x=1").await;
    assert_eq!(unknown.as_str(), format!("{}/console?x=1&signin=unknown", app.base));
    let other = app.tenant("other").await;
    app.sync(&other.caller, "users", &json!([user("elsewhere", "")])).await;
    assert_eq!(app.caller("").get("/session").await.ok().data()["tenant"], json!(null));
    assert_eq!(start(&app, "").await.query(), Some("signin=unknown"));
    let session = app.web_session_at("other", "elsewhere").await;
    assert_eq!(session.info().await["tenant"]["code"], "other");

    let app = app.restart_with(|config| config.web.tenant = "other".to_owned()).await;
    assert_eq!(app.caller("").get("/session").await.ok().data()["tenant"], "other");
    let page = start(&app, "").await;
    assert!(parameter(&page, "client_id").ends_with(&other.tenant_id.to_string()));
    assert_eq!(session.at(&app.base).info().await["person"]["userId"], "elsewhere");
}

/// Other sites can make a browser send the cookie.
#[tokio::test]
async fn session_is_valid_in_own_pages_only() {
    let setup = LoginSetup::start().await;
    let session = setup.app.web_session("mei").await;
    let modules = || session.bare_request(Method::POST, "/modules");
    send(modules()).await.fails(401, "a token is needed");
    send(modules().header("x-trawl-session", "yes")).await.fails(401, "a token is needed");
    for site in ["cross-site", "same-site", "none"] {
        let request = modules().header("x-trawl-session", "1").header("sec-fetch-site", site);
        send(request).await.fails(403, "Sec-Fetch-Site");
    }
    for origin in ["https://evil.example", "null", "http://127.0.0.1:1"] {
        let request = modules().header("x-trawl-session", "1").header("origin", origin);
        send(request).await.fails(403, "Origin");
    }
    send(modules().header("x-trawl-session", "1").header("origin", &setup.app.base)).await.ok();
    let shown = send(session.bare_request(Method::GET, "/session")).await.ok();
    assert_eq!(shown.data()["signedIn"], false);
    let end = || session.bare_request(Method::POST, "/session/end");
    send(end()).await.fails(401, "x-trawl-session");
    send(end().header("x-trawl-session", "1").header("sec-fetch-site", "cross-site"))
        .await
        .fails(403, "pages");
    assert_eq!(session.info().await["signedIn"], true);
    // The answer must not delete the cookie if none was sent.
    let end = || setup.app.http.post(format!("{}/session/end", setup.app.base));
    let bare = send(end()).await.fails(401, "x-trawl-session");
    let foreign = end().header("x-trawl-session", "1").header("origin", "https://evil.example");
    let foreign = send(foreign).await.fails(403, "Origin");
    for answer in [bare, foreign] {
        assert!(answer.header("set-cookie").is_empty(), "{:?}", answer.headers);
    }
    let own = send(end().header("x-trawl-session", "1")).await.ok();
    assert!(own.header("set-cookie").contains("Max-Age=0"), "{:?}", own.headers);
    // A token, even an invalid one, overrides the session.
    let request = session.request(Method::POST, "/modules");
    send(request.bearer_auth("x")).await.fails(401, "not valid");
    // Proxy credentials are not tokens.
    for other in ["Basic bWVpOng=", "Negotiate x", "x"] {
        let proxied = |request: reqwest::RequestBuilder| request.header("authorization", other);
        send(proxied(session.request(Method::POST, "/modules"))).await.ok();
        send(proxied(modules())).await.fails(401, "Bearer");
    }
    let request = session.request(Method::POST, "/modules").header("authorization", "Bearer");
    send(request).await.fails(401, "Bearer");
    let token = session.cookie.split_once('=').unwrap().1;
    setup.app.caller(token).post_empty("/modules").await.fails(401, "not valid");
}

/// Protects against login CSRF.
#[tokio::test]
async fn sign_in_completes_only_in_its_browser() {
    let setup = LoginSetup::start().await;
    let app = &setup.app;
    let start = format!("{}/session/start?to=/x", app.base);
    let failed = |answer: &Answer, to: &str| {
        assert_eq!(location(answer).as_str(), format!("{}{to}", app.base));
        assert!(answer.header("set-cookie").is_empty(), "{:?}", answer.headers);
    };
    let mut attacker = app.browser();
    let back = attacker.sign_in_at(&start, "mei", "correct horse").await;
    failed(&app.browser().follow(back.as_str()).await, "/?signin=failed");
    let mut victim = app.browser();
    let begun = location(&victim.follow(&start).await);
    failed(&victim.follow(back.as_str()).await, "/?signin=failed");
    let with_state = |state: &str| {
        let mut url = back.clone();
        let (code, iss) = (parameter(&back, "code"), parameter(&back, "iss"));
        url.query_pairs_mut().clear().extend_pairs([("code", &*code), ("iss", &iss), ("state", state)]);
        url
    };
    failed(&victim.follow(with_state(&parameter(&begun, "state")).as_str()).await, "/x?signin=failed");
    failed(&victim.follow(with_state("x").as_str()).await, "/?signin=failed");
    failed(&victim.follow(&format!("{}/session/callback", app.base)).await, "/?signin=failed");
    // The failed use has spent the code.
    failed(&attacker.follow(back.as_str()).await, "/x?signin=failed");
}

#[tokio::test]
async fn page_is_told_why_the_sign_in_failed() {
    let setup = LoginSetup::start().await;
    let app = &setup.app;
    let issuer = app.app.config.public_url();
    let mut browser = app.browser();
    let begun = location(&browser.follow(&format!("{}/session/start?to=/x%3Fq%3D1", app.base)).await);
    let state = parameter(&begun, "state");
    for (parameters, told) in [
        (vec![("error", "access_denied"), ("iss", &*issuer)], "refused"),
        (vec![("error", "invalid_scope"), ("iss", &issuer)], "refused"),
        (vec![("error", "temporarily_unavailable"), ("iss", &issuer)], "busy"),
        (vec![("error", "server_error"), ("iss", &issuer)], "failed"),
        (vec![("error", "access_denied"), ("iss", "https://other.example")], "failed"),
        (vec![("error", "access_denied")], "failed"),
        (vec![("code", "made-up"), ("iss", &issuer)], "failed"),
        (vec![("iss", &issuer)], "failed"),
    ] {
        let mut url = url::Url::parse(&format!("{}/session/callback", app.base)).unwrap();
        url.query_pairs_mut().extend_pairs(&parameters).append_pair("state", &state);
        let answer = browser.follow(url.as_str()).await;
        let expected = format!("{}/x?q=1&signin={told}", app.base);
        assert_eq!(location(&answer).as_str(), expected, "{parameters:?}");
    }
    let head = app.http.head(format!("{}/session/start", app.base)).send().await.unwrap();
    assert_eq!(head.status(), 405);
}

#[tokio::test]
async fn return_path_to_another_server_or_overlong_is_refused() {
    let setup = LoginSetup::start().await;
    let app = &setup.app;
    for to in
        ["//evil.example", "/\\evil.example", "https://evil.example", "/..//evil.example", "/\t/evil.example"]
    {
        let answer = app.sign_in_to_pages(&mut app.browser(), "acme", "mei", to).await;
        assert_eq!(location(&answer).as_str(), format!("{}/", app.base), "{to:?}");
        let url = url::Url::parse_with_params(
            &format!("{}/session/start", app.base),
            [("tenant", "nobody"), ("to", to)],
        );
        let answer = app.browser().follow(url.unwrap().as_str()).await;
        assert_eq!(location(&answer).as_str(), format!("{}/?signin=unknown", app.base), "{to:?}");
    }
    let long = format!("/?q={}", "%E6%B8%AF".repeat(256));
    let overlong = format!("/?q={}", "港".repeat(800));
    for (to, expected) in [(&long, long.as_str()), (&overlong, "/")] {
        let answer = app.sign_in_to_pages(&mut app.browser(), "acme", "mei", to).await;
        assert_eq!(location(&answer).as_str(), format!("{}{expected}", app.base));
        app.session_of(&answer).post_empty("/modules").await.ok();
    }
}

#[tokio::test]
async fn server_without_its_public_url_signs_nobody_in() {
    for nowhere in ["http://0.0.0.0:8080", "http://[::]:8080"] {
        let setup = LoginSetup::start_with(|config| config.public_url = Some(nowhere.parse().unwrap())).await;
        let answer = setup.app.browser().follow(&format!("{}/session/start", setup.app.base)).await;
        assert_eq!(location(&answer).as_str(), format!("{nowhere}/?signin=failed"));
    }
}

/// Neither caches nor the browser's history keep them.
#[tokio::test]
async fn session_responses_are_not_cached() {
    let setup = LoginSetup::start_with(|config| config.console.operators = vec!["mei@acme".to_owned()]).await;
    let session = setup.app.web_session("mei").await;
    for path in ["/contents/search?keyword=x&moduleId=article", "/admin/v1/applications"] {
        let answer = session.get(path).await.ok();
        assert_eq!(answer.header("cache-control"), "private, no-store", "{path}");
    }
    let answer = session.post("/contents/search", &json!({"keyword": 1})).await;
    assert_eq!((answer.status, answer.header("cache-control")), (400, "private, no-store"));
    let answer = setup.acme.caller.post_empty("/modules").await.ok();
    assert_eq!(answer.header("cache-control"), "no-store");
}

#[tokio::test]
async fn browser_is_redirected_to_the_public_url_once() {
    let change = |config: &mut Config| {
        config.public_url = Some("https://search.example".parse().unwrap());
    };
    let setup = LoginSetup::start_with(change).await;
    let app = &setup.app;
    for query in ["moved=1", "moved", "moved=", "moved=1&moved=1", "moved=2&to=/x"] {
        let answer = app.browser().follow(&format!("{}/session/start?{query}", app.base)).await;
        assert_eq!(location(&answer).path(), "/oauth2/authorize", "{query}");
    }
}

/// Its codes buy a session only, which this server alone starts.
#[tokio::test]
async fn application_of_the_pages_gets_no_tokens() {
    let setup = LoginSetup::start().await;
    let app = &setup.app;
    let (client_id, redirect_uri) =
        (format!("search-page-{}", setup.acme.tenant_id), format!("{}/session/callback", app.base));
    // The first sign-in creates the application.
    app.web_session("mei").await;
    let mut browser = app.browser();
    let url = url::Url::parse_with_params(
        &format!("{}/oauth2/authorize", app.base),
        [
            ("response_type", "code"),
            ("client_id", &client_id),
            ("redirect_uri", &redirect_uri),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
        ],
    );
    let page = browser.follow(url.unwrap().as_str()).await;
    let back = location(&browser.submit(&page, "mei", "correct horse").await);
    let code = parameter(&back, "code");
    let form = [
        ("grant_type", "authorization_code"),
        ("client_id", &client_id),
        ("redirect_uri", &redirect_uri),
        ("code", &code),
        ("code_verifier", VERIFIER),
    ];
    let answer = send(app.http.post(format!("{}/oauth2/token", app.base)).form(&form)).await;
    assert_eq!(
        (answer.status, &answer.body["error"]),
        (400, &json!("unauthorized_client")),
        "{}",
        answer.text
    );
}

#[tokio::test]
async fn reloaded_callback_is_not_audited() {
    let setup = LoginSetup::start().await;
    let app = &setup.app;
    let mut browser = app.browser();
    let back = browser.sign_in_at(&format!("{}/session/start?to=/x", app.base), "mei", "correct horse").await;
    let kept = browser.cookie.clone();
    let session = app.session_of(&browser.follow(back.as_str()).await);
    browser.cookie = kept;
    let again = browser.follow(back.as_str()).await;
    assert_eq!(location(&again).as_str(), format!("{}/x?signin=failed", app.base));
    let operator = app.operator().await.caller.on("acme");
    let audit = operator.get("/admin/v1/audit?limit=50").await.ok();
    assert!(audit.items().iter().all(|event| event["action"] != "revoke"), "{}", audit.text);
    session.post_empty("/modules").await.ok();
}
