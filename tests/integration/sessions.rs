//! `/session`, `/session/start`, `/session/callback` and `/session/end`: signing in to the pages, and out.

use reqwest::Method;
use serde_json::json;

use crate::util::{
    answer::Answer,
    caller::send,
    items::{item, user},
    login::{CHALLENGE, Landscape, VERIFIER, location, parameter},
};

#[tokio::test]
async fn who_signs_in_is_known_by_a_cookie_that_no_script_reads() {
    let landscape = Landscape::start().await;
    let app = &landscape.app;
    app.keep(&landscape.acme.caller, "article", &[item("1", "harbour", 1)]).await;
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
        session.shown().await,
        json!({
            "signedIn": true, "tenant": {"code": "acme", "name": "acme"}, "operator": false,
            "person": {"userId": "mei", "loginId": "mei", "name": "User mei", "picture": null},
        })
    );
    let picture = "https://pictures.example/mei.png";
    let row = json!({"userId": "mei", "pictureParam": {"type": 1, "data": picture}});
    app.sync(&landscape.acme.caller, "users", &json!([row])).await;
    assert_eq!(session.shown().await["person"]["picture"], picture);
    let found =
        session.post("/contents/search", &json!({"keyword": "harbour", "moduleId": "article"})).await.ok();
    assert_eq!(found.ids(), ["1"]);

    let ended = session.post_empty("/session/end").await.ok();
    assert!(ended.header("set-cookie").starts_with("trawl-session=;"), "{:?}", ended.headers);
    assert!(ended.header("set-cookie").contains("Max-Age=0"));
    session.is_over().await;
    session.post_empty("/session/end").await.ok();
}

#[tokio::test]
async fn by_https_the_session_is_of_this_host_alone() {
    let change = |config: &mut trawl::config::Config| {
        config.public_url = Some("https://search.example/trawl/".parse().unwrap());
    };
    let landscape = Landscape::start_with(change).await;
    let app = &landscape.app;
    let here = |url: url::Url| url.as_str().replace("https://search.example/trawl", &app.base);
    let mut browser = app.browser();
    // As whoever came by another address: cookies are of hosts.
    let started = location(&browser.follow(&format!("{}/session/start?to=/x", app.base)).await);
    assert_eq!(started.as_str(), "https://search.example/trawl/session/start?to=/x&moved=1");
    assert!(browser.cookie.is_none());
    let page = location(&browser.follow(&here(started)).await);
    assert_eq!(parameter(&page, "redirect_uri"), "https://search.example/trawl/session/callback");
    let page = browser.follow(&here(page)).await;
    let back = location(&browser.submit(&page, "mei", "correct horse").await);
    let answer = browser.follow(&here(back)).await;
    assert_eq!(location(&answer).as_str(), "https://search.example/trawl/x");
    let cookie = answer.header("set-cookie");
    assert!(cookie.starts_with("__Host-trawl-session=") && cookie.contains("; Secure"), "{cookie}");
    app.session_of(&answer).post_empty("/modules").await.ok();
}

#[tokio::test]
async fn the_tenant_is_said_or_known() {
    let landscape = Landscape::start().await;
    let app = landscape.app;
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
    assert_eq!(session.shown().await["tenant"]["code"], "other");

    let app = app.restart_with(|config| config.web.tenant = "other".to_owned()).await;
    assert_eq!(app.caller("").get("/session").await.ok().data()["tenant"], "other");
    let page = start(&app, "").await;
    assert!(parameter(&page, "client_id").ends_with(&other.tenant_id.to_string()));
    // A session outlives the server.
    let mut session = session;
    (session.base, session.http) = (app.base.clone(), app.http.clone());
    assert_eq!(session.shown().await["person"]["userId"], "elsewhere");
}

/// Another site's page has the browser send the cookie along, and can do nothing with it.
#[tokio::test]
async fn a_session_is_good_in_pages_of_the_server_alone() {
    let landscape = Landscape::start().await;
    let session = landscape.app.web_session("mei").await;
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
    send(modules().header("x-trawl-session", "1").header("origin", &landscape.app.base)).await.ok();
    // Nobody is told who is signed in, or signs him out.
    let shown = send(session.bare_request(Method::GET, "/session")).await.ok();
    assert_eq!(shown.data()["signedIn"], false);
    let end = || session.bare_request(Method::POST, "/session/end");
    send(end()).await.fails(401, "x-trawl-session");
    send(end().header("x-trawl-session", "1").header("sec-fetch-site", "cross-site"))
        .await
        .fails(403, "pages");
    assert_eq!(session.shown().await["signedIn"], true);
    // Without the cookie, which a browser keeps from them: what is answered is not to have it forgotten.
    let end = || landscape.app.http.post(format!("{}/session/end", landscape.app.base));
    let bare = send(end()).await.fails(401, "x-trawl-session");
    let foreign = end().header("x-trawl-session", "1").header("origin", "https://evil.example");
    let foreign = send(foreign).await.fails(403, "Origin");
    for answer in [bare, foreign] {
        assert!(answer.header("set-cookie").is_empty(), "{:?}", answer.headers);
    }
    let own = send(end().header("x-trawl-session", "1")).await.ok();
    assert!(own.header("set-cookie").contains("Max-Age=0"), "{:?}", own.headers);
    // A token wins, and where it is wrong the session does not help.
    let request = session.request(Method::POST, "/modules");
    send(request.bearer_auth("x")).await.fails(401, "not valid");
    // What a browser sends for a proxy on the way is no token.
    for other in ["Basic bWVpOng=", "Negotiate x", "x"] {
        let proxied = |request: reqwest::RequestBuilder| request.header("authorization", other);
        send(proxied(session.request(Method::POST, "/modules"))).await.ok();
        send(proxied(modules())).await.fails(401, "Bearer");
    }
    let request = session.request(Method::POST, "/modules").header("authorization", "Bearer");
    send(request).await.fails(401, "Bearer");
    let token = session.cookie.split_once('=').unwrap().1;
    landscape.app.caller(token).post_empty("/modules").await.fails(401, "not valid");
}

/// Nobody is signed in by what another browser began, or by what another sign-in is worth.
#[tokio::test]
async fn a_sign_in_ends_in_the_browser_that_began_it() {
    let landscape = Landscape::start().await;
    let app = &landscape.app;
    let start = format!("{}/session/start?to=/x", app.base);
    let failed = |answer: &Answer, to: &str| {
        assert_eq!(location(answer).as_str(), format!("{}{to}", app.base));
        assert!(answer.header("set-cookie").is_empty(), "{:?}", answer.headers);
    };
    // An attacker signs in himself, and has someone else's browser come back.
    let mut attacker = app.browser();
    let page = location(&attacker.follow(&start).await);
    let page = attacker.follow(page.as_str()).await;
    let back = location(&attacker.submit(&page, "mei", "correct horse").await);
    failed(&app.browser().follow(back.as_str()).await, "/?signin=failed");
    let mut victim = app.browser();
    let begun = location(&victim.follow(&start).await);
    failed(&victim.follow(back.as_str()).await, "/?signin=failed");
    // His code with what the victim's browser began, or with something made up.
    let with_state = |state: &str| {
        let mut url = back.clone();
        let (code, iss) = (parameter(&back, "code"), parameter(&back, "iss"));
        url.query_pairs_mut().clear().extend_pairs([("code", &*code), ("iss", &iss), ("state", state)]);
        url
    };
    failed(&victim.follow(with_state(&parameter(&begun, "state")).as_str()).await, "/x?signin=failed");
    failed(&victim.follow(with_state("x").as_str()).await, "/?signin=failed");
    failed(&victim.follow(&format!("{}/session/callback", app.base)).await, "/?signin=failed");
    // That was one wrong use of the code: it is spent.
    failed(&attacker.follow(back.as_str()).await, "/x?signin=failed");
}

#[tokio::test]
async fn a_page_is_told_why_nobody_is_signed_in() {
    let landscape = Landscape::start().await;
    let app = &landscape.app;
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
    // What only wants to know of it does nothing.
    let head = app.http.head(format!("{}/session/start", app.base)).send().await.unwrap();
    assert_eq!(head.status(), 405);
}

#[tokio::test]
async fn nobody_is_sent_to_another_server() {
    let landscape = Landscape::start().await;
    let app = &landscape.app;
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
}

/// The longest keyword there is survives the sign-in.
#[tokio::test]
async fn a_long_search_is_come_back_to() {
    let landscape = Landscape::start().await;
    let app = &landscape.app;
    let to = format!("/?q={}", "%E6%B8%AF".repeat(256));
    let answer = app.sign_in_to_pages(&mut app.browser(), "acme", "mei", &to).await;
    assert_eq!(location(&answer).as_str(), format!("{}{to}", app.base));
    app.session_of(&answer);
}

/// A browser cannot be sent to an address that is none.
#[tokio::test]
async fn a_server_that_does_not_know_its_address_signs_nobody_in() {
    for nowhere in ["http://0.0.0.0:8080", "http://[::]:8080"] {
        let landscape =
            Landscape::start_with(|config| config.public_url = Some(nowhere.parse().unwrap())).await;
        let answer = landscape.app.browser().follow(&format!("{}/session/start", landscape.app.base)).await;
        assert_eq!(location(&answer).as_str(), format!("{nowhere}/?signin=failed"));
    }
}

/// Nothing on the way, and no history of a browser, keeps what a cookie let someone see.
#[tokio::test]
async fn what_a_session_sees_is_kept_by_nobody() {
    let landscape =
        Landscape::start_with(|config| config.console.operators = vec!["mei@acme".to_owned()]).await;
    let session = landscape.app.web_session("mei").await;
    for path in ["/contents/search?keyword=x&moduleId=article", "/admin/v1/applications"] {
        let answer = session.get(path).await.ok();
        assert_eq!(answer.header("cache-control"), "private, no-store", "{path}");
    }
    let answer = session.post("/contents/search", &json!({"keyword": 1})).await;
    assert_eq!((answer.status, answer.header("cache-control")), (400, "private, no-store"));
    let answer = landscape.acme.caller.post_empty("/modules").await.ok();
    assert_eq!(answer.header("cache-control"), "");
}

/// What grows too long on its way by way of the login page is not come back to, and the sign-in goes on.
#[tokio::test]
async fn a_page_with_too_long_an_address_hinders_no_sign_in() {
    let landscape = Landscape::start().await;
    let app = &landscape.app;
    let to = format!("/?q={}", "港".repeat(800));
    let answer = app.sign_in_to_pages(&mut app.browser(), "acme", "mei", &to).await;
    assert_eq!(location(&answer).as_str(), format!("{}/", app.base));
    app.session_of(&answer).post_empty("/modules").await.ok();
}

/// A server that is called by a name which it does not know as its own sends browsers on once, whatever they make of it.
#[tokio::test]
async fn a_browser_is_sent_to_the_right_address_once() {
    let change = |config: &mut trawl::config::Config| {
        config.public_url = Some("https://search.example".parse().unwrap());
    };
    let landscape = Landscape::start_with(change).await;
    let app = &landscape.app;
    for query in ["moved=1", "moved", "moved=", "moved=1&moved=1", "moved=2&to=/x"] {
        let answer = app.browser().follow(&format!("{}/session/start?{query}", app.base)).await;
        assert_eq!(location(&answer).path(), "/oauth2/authorize", "{query}");
    }
}

/// Its codes are worth a session, which this server alone begins.
#[tokio::test]
async fn the_application_of_the_pages_gets_no_tokens() {
    let landscape = Landscape::start().await;
    let app = &landscape.app;
    let (client_id, redirect_uri) =
        (format!("search-page-{}", landscape.acme.tenant_id), format!("{}/session/callback", app.base));
    // The application is there from the first sign-in on.
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

/// Who goes back in his browser, or loads anew what he came back to, has done nothing that anybody has to be told of.
#[tokio::test]
async fn a_callback_that_is_loaded_anew_is_no_deed() {
    let landscape = Landscape::start().await;
    let app = &landscape.app;
    let mut browser = app.browser();
    let page = location(&browser.follow(&format!("{}/session/start?to=/x", app.base)).await);
    let page = browser.follow(page.as_str()).await;
    let back = location(&browser.submit(&page, "mei", "correct horse").await);
    let kept = browser.cookie.clone();
    let session = app.session_of(&browser.follow(back.as_str()).await);
    browser.cookie = kept;
    let again = browser.follow(back.as_str()).await;
    assert_eq!(location(&again).as_str(), format!("{}/x?signin=failed", app.base));
    let operator = app.operator().await.caller.on("acme");
    let audit = operator.get("/admin/v1/audit?limit=50").await.ok();
    assert!(audit.items().iter().all(|deed| deed["action"] != "revoke"), "{}", audit.text);
    session.post_empty("/modules").await.ok();
}
