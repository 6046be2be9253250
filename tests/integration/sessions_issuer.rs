//! Signing in to the pages at an issuer (`auth.issuers`, `sign_in`): what is asked of it, and what it may answer.

use std::fs;

use aws_lc_rs::digest::{SHA256, digest};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey};
use serde_json::{Value, json};
use trawl::{auth::scopes::Scopes, config::Issuer};
use url::{Url, form_urlencoded};

use crate::util::{
    answer::Answer,
    app::{Application, TestApp},
    caller::send,
    fake_issuer::{CLIENT, FakeIssuer, new_key, sign},
    items::user,
    login::{Browser, location, parameter},
    program::{Server, create_application, own_address, run, text, trawl},
    session::WebSession,
};

struct Landscape {
    issuer: FakeIssuer,
    app: TestApp,
    acme: Application,
}

/// A browser that was sent to the issuer.
struct Begun {
    browser: Browser,
    /// Where it was sent to.
    url: Url,
    /// Where it is to come back to.
    callback: String,
}

impl Begun {
    /// It comes back with these parameters, besides `state`.
    async fn come_back(&mut self, parameters: &[(&str, &str)]) -> Answer {
        let mut url = Url::parse(&self.callback).unwrap();
        url.query_pairs_mut().extend_pairs(parameters).append_pair("state", &parameter(&self.url, "state"));
        self.browser.follow(url.as_str()).await
    }

    fn nonce(&self) -> String {
        parameter(&self.url, "nonce")
    }
}

impl Landscape {
    async fn start() -> Self {
        let issuer = FakeIssuer::start().await;
        let app = TestApp::start_with(|config| {
            config.auth.issuers = vec![issuer.trusted()];
            config.limits.logins_per_minute = 1_000;
        })
        .await;
        let acme = app.tenant("acme").await;
        app.sync(&acme.caller, "users", &json!([user("mei", ""), user("omar", "")])).await;
        Self { issuer, app, acme }
    }

    async fn id(&self) -> String {
        let shown = self.app.caller("").get("/session").await.ok();
        shown.data()["issuers"][0]["id"].as_str().unwrap().to_owned()
    }

    async fn begin(&self) -> Begun {
        let mut browser = self.app.browser();
        let start = format!("{}/session/start?to=/x&issuer={}", self.app.base, self.id().await);
        let url = location(&browser.follow(&start).await);
        Begun { browser, url, callback: format!("{}/session/callback", self.app.base) }
    }

    /// Someone comes back for whom the issuer gives a token of these claims.
    async fn sign_in(&self, change: impl FnOnce(&mut Value)) -> Answer {
        let mut begun = self.begin().await;
        let mut claims = self.issuer.claims(&begun.nonce());
        change(&mut claims);
        self.issuer.give(&sign(&self.issuer.key, &claims, |_| {}));
        begun.come_back(&[("code", "the-code")]).await
    }

    #[track_caller]
    fn told(&self, answer: &Answer, told: &str) {
        assert_eq!(location(answer).as_str(), format!("{}/x?signin={told}", self.app.base));
        assert!(answer.header("set-cookie").is_empty(), "{:?}", answer.headers);
    }
}

#[tokio::test]
async fn who_an_issuer_names_is_signed_in() {
    let landscape = Landscape::start().await;
    let Landscape { issuer, app, .. } = &landscape;
    let shown = app.caller("").get("/session").await.ok();
    let id = landscape.id().await;
    assert_eq!(shown.data()["issuers"], json!([{"id": id, "name": "Staff", "tenant": "acme"}]));

    let mut begun = landscape.begin().await;
    assert!(begun.url.as_str().starts_with(&format!("{}/auth?style=plain&", issuer.issuer)), "{}", begun.url);
    for (name, value) in [
        ("response_type", "code"),
        ("client_id", CLIENT.0),
        ("redirect_uri", &*begun.callback),
        ("scope", "openid profile"),
        ("code_challenge_method", "S256"),
    ] {
        assert_eq!(parameter(&begun.url, name), value);
    }
    issuer.give(&sign(&issuer.key, &issuer.claims(&begun.nonce()), |_| {}));
    let cookie = begun.browser.cookie.clone();
    let answer = begun.come_back(&[("code", "the code"), ("iss", &issuer.issuer)]).await;
    begun.browser.cookie = cookie;
    assert_eq!(location(&answer).as_str(), format!("{}/x", app.base));
    let session = app.session_of(&answer);
    assert_eq!(session.shown().await["person"]["userId"], "mei");
    session.post_empty("/modules").await.ok();

    let (authorization, form) = issuer.asked().unwrap();
    let form: Vec<(String, String)> = form_urlencoded::parse(form.as_bytes()).into_owned().collect();
    let field = |name: &str| form.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    assert_eq!((field("grant_type"), field("code")), (Some("authorization_code"), Some("the code")));
    assert_eq!((field("redirect_uri"), field("client_secret")), (Some(&*begun.callback), None));
    let challenge = digest(&SHA256, field("code_verifier").unwrap().as_bytes());
    assert_eq!(parameter(&begun.url, "code_challenge"), BASE64_URL_SAFE_NO_PAD.encode(challenge));
    // RFC 6749 §2.3.1: both are encoded as in a form before they are put together.
    let pair = authorization.strip_prefix("Basic ").unwrap();
    let pair = String::from_utf8(base64::prelude::BASE64_STANDARD.decode(pair).unwrap()).unwrap();
    let (client_id, secret) = pair.split_once(':').unwrap();
    let decoded = |text: &str| form_urlencoded::parse(text.as_bytes()).next().unwrap().0.into_owned();
    assert_eq!(
        (decoded(client_id), decoded(&secret.replace('=', "%3D"))),
        (CLIENT.0.to_owned(), CLIENT.1.to_owned())
    );
    // The code is worth nothing once more in the same browser: the issuer is asked, and says so.
    issuer.answer(400, json!({"error": "invalid_grant"}).to_string());
    landscape.told(&begun.come_back(&[("code", "the code")]).await, "failed");
}

#[tokio::test]
async fn what_is_wrong_in_an_id_token_signs_nobody_in() {
    let landscape = Landscape::start().await;
    let issuer = &landscape.issuer;
    let now = trawl::auth::tokens::epoch_seconds();
    for (name, wrong) in [
        ("nonce", json!("another")),
        ("nonce", json!(null)),
        ("aud", json!("https://trawl.example/")),
        ("aud", json!(["another"])),
        ("aud", json!([CLIENT.0, "another"])),
        ("azp", json!("another")),
        ("azp", json!(5)),
        ("iss", json!("https://other.example")),
        ("exp", json!(now - 31)),
        ("exp", json!(null)),
        ("nbf", json!(now + 600)),
        ("preferred_username", json!("")),
        ("preferred_username", json!(["mei"])),
    ] {
        let answer = landscape.sign_in(|claims| claims[name] = wrong.clone()).await;
        assert_eq!(location(&answer).query(), Some("signin=failed"), "{name} = {wrong}");
    }
    for missing in ["nonce", "aud", "exp", "iss", "preferred_username"] {
        let answer = landscape.sign_in(|claims| drop(claims.as_object_mut().unwrap().remove(missing))).await;
        landscape.told(&answer, "failed");
    }
    let several = landscape.sign_in(|claims| {
        claims["aud"] = json!([CLIENT.0, "another"]);
        claims["azp"] = json!(CLIENT.0);
    });
    landscape.app.session_of(&several.await);

    let mut begun = landscape.begin().await;
    let claims = issuer.claims(&begun.nonce());
    let shared = EncodingKey::from_secret(CLIENT.1.as_bytes());
    let good = sign(&issuer.key, &claims, |_| {});
    let (signed, _) = good.rsplit_once('.').unwrap();
    for token in [
        sign(&new_key(), &claims, |_| {}),
        sign(&shared, &claims, |header| header.alg = Algorithm::HS256),
        sign(&issuer.key, &claims, |header| header.typ = Some("at+jwt".to_owned())),
        sign(&issuer.key, &claims, |header| header.typ = Some("logout+jwt".to_owned())),
        sign(&issuer.key, &claims, |header| header.kid = None),
        format!("{signed}."),
        signed.to_owned(),
        "x".to_owned(),
        String::new(),
    ] {
        issuer.give(&token);
        landscape.told(&begun.come_back(&[("code", "x")]).await, "failed");
    }
    issuer.give(&good);
    landscape.app.session_of(&begun.come_back(&[("code", "x")]).await);
}

#[tokio::test]
async fn what_a_token_endpoint_may_answer() {
    let landscape = Landscape::start().await;
    let mut begun = landscape.begin().await;
    let token = json!({"access_token": "x", "token_type": "Bearer"});
    let large = json!({"access_token": "x", "token_type": "Bearer", "more": "x".repeat(100_000)});
    for (status, body, told) in [
        (400, json!({"error": "invalid_grant", "error_description": "x"}).to_string(), "failed"),
        (400, "no".to_owned(), "failed"),
        (401, json!({"error": "invalid_client"}).to_string(), "failed"),
        (403, String::new(), "failed"),
        (500, String::new(), "failed"),
        (307, String::new(), "failed"),
        (200, String::new(), "failed"),
        (200, "[]".to_owned(), "failed"),
        (200, token.to_string(), "failed"),
        (200, large.to_string(), "failed"),
        (429, String::new(), "busy"),
        (503, String::new(), "busy"),
    ] {
        landscape.issuer.answer(status, body.clone());
        let answer = begun.come_back(&[("code", "x")]).await;
        assert_eq!(location(&answer).query(), Some(&*format!("signin={told}")), "{status} {body:.80}");
    }
    assert!(landscape.issuer.asked().is_some());
}

#[tokio::test]
async fn what_comes_back_has_to_be_the_issuer_s_answer() {
    let landscape = Landscape::start().await;
    let Landscape { issuer, app, .. } = &landscape;
    let mut begun = landscape.begin().await;
    issuer.give(&sign(&issuer.key, &issuer.claims(&begun.nonce()), |_| {}));
    for (parameters, told) in [
        (vec![("error", "access_denied")], "refused"),
        (vec![("error", "temporarily_unavailable")], "busy"),
        (vec![("code", "x"), ("iss", "https://other.example")], "failed"),
        (vec![("code", "x"), ("iss", &*app.base)], "failed"),
        (vec![], "failed"),
        (vec![("code", "x"), ("code", "y")], "failed"),
    ] {
        landscape.told(&begun.come_back(&parameters).await, told);
    }
    // Another browser, and the login page's own way.
    let mut other = landscape.begin().await;
    std::mem::swap(&mut other.url, &mut begun.url);
    let answer = other.come_back(&[("code", "x")]).await;
    assert_eq!(location(&answer).as_str(), format!("{}/?signin=failed", app.base));
    let page = location(&app.browser().follow(&format!("{}/session/start", app.base)).await);
    assert_eq!(page.path(), "/oauth2/authorize", "the login page is there besides");
    assert_eq!(issuer.asked(), None, "the issuer is asked for nothing");

    for query in ["issuer=nobody", &format!("issuer={}&tenant=other", landscape.id().await)] {
        let answer = app.browser().follow(&format!("{}/session/start?to=/x&{query}", app.base)).await;
        landscape.told(&answer, "unknown");
    }
}

/// RFC 9207: an issuer that says of each answer whose it is, says so of this one.
#[tokio::test]
async fn an_issuer_that_says_who_it_is_says_it_always() {
    let landscape = Landscape::start().await;
    let issuer = &landscape.issuer;
    issuer.describe(|described| described["authorization_response_iss_parameter_supported"] = json!(true));
    let mut begun = landscape.begin().await;
    issuer.give(&sign(&issuer.key, &issuer.claims(&begun.nonce()), |_| {}));
    landscape.told(&begun.come_back(&[("code", "x")]).await, "failed");
    let answer = begun.come_back(&[("code", "x"), ("iss", &issuer.issuer)]).await;
    landscape.app.session_of(&answer);
}

#[tokio::test]
async fn a_secret_goes_where_the_issuer_takes_it() {
    let landscape = Landscape::start().await;
    let issuer = &landscape.issuer;
    issuer.describe(|described| {
        described["token_endpoint_auth_methods_supported"] = json!(["client_secret_post", "none"]);
    });
    landscape.app.session_of(&landscape.sign_in(|_| {}).await);
    let (authorization, form) = issuer.asked().unwrap();
    let form: Vec<(String, String)> = form_urlencoded::parse(form.as_bytes()).into_owned().collect();
    assert_eq!(authorization, "");
    assert!(form.contains(&("client_secret".to_owned(), CLIENT.1.to_owned())), "{form:?}");
}

#[tokio::test]
async fn an_issuer_that_says_nothing_of_use_is_left_alone() {
    for (name, wrong) in [
        ("authorization_endpoint", json!(null)),
        ("authorization_endpoint", json!("javascript:alert(1)")),
        ("authorization_endpoint", json!("http://login.example/auth")),
        ("issuer", json!("https://other.example")),
    ] {
        let landscape = Landscape::start().await;
        landscape.issuer.describe(|described| described[name] = wrong.clone());
        let start = format!("{}/session/start?to=/x&issuer={}", landscape.app.base, landscape.id().await);
        let told = if name == "issuer" { "busy" } else { "failed" };
        landscape.told(&landscape.app.browser().follow(&start).await, told);
    }
    // An address inside the network is not called, whatever the issuer says.
    let landscape = Landscape::start().await;
    landscape
        .issuer
        .describe(|described| described["token_endpoint"] = json!("http://169.254.169.254/token"));
    landscape.told(&landscape.sign_in(|_| {}).await, "failed");
    assert_eq!(landscape.issuer.asked(), None);
}

#[tokio::test]
async fn who_may_not_sign_in_here_does_not_by_an_issuer() {
    let landscape = Landscape::start().await;
    let Landscape { app, acme, .. } = &landscape;
    let other = app.tenant("other").await;
    app.sync(&other.caller, "users", &json!([user("elsewhere", "")])).await;
    for name in ["nobody", "elsewhere", "MEI"] {
        landscape
            .told(&landscape.sign_in(|claims| claims["preferred_username"] = json!(name)).await, "refused");
    }
    let omar =
        app.session_of(&landscape.sign_in(|claims| claims["preferred_username"] = json!("omar")).await);
    omar.post_empty("/modules").await.ok();
    app.sync(&acme.caller, "users", &json!([{"userId": "omar", "status": 0}])).await;
    omar.is_over().await;
    landscape
        .told(&landscape.sign_in(|claims| claims["preferred_username"] = json!("omar")).await, "refused");
    // While he is away.
    let mut begun = landscape.begin().await;
    landscape.issuer.give(&sign(&landscape.issuer.key, &landscape.issuer.claims(&begun.nonce()), |_| {}));
    app.execute("UPDATE applications SET is_disabled = 1 WHERE client_id LIKE 'search-page-%'").await;
    landscape.told(&begun.come_back(&[("code", "x")]).await, "refused");
    app.execute("UPDATE tenants SET is_frozen = 1 WHERE code = 'acme'").await;
    let start = format!("{}/session/start?to=/x&issuer={}", app.base, landscape.id().await);
    landscape.told(&app.browser().follow(&start).await, "refused");
}

/// Each code that is none costs the issuer a request.
#[tokio::test]
async fn nobody_has_the_issuer_asked_without_end() {
    let issuer = FakeIssuer::start().await;
    let app = TestApp::start_with(|config| {
        config.auth.issuers = vec![issuer.trusted()];
        config.limits.logins_per_minute = 2;
    })
    .await;
    let acme = app.tenant("acme").await;
    app.sync(&acme.caller, "users", &json!([user("mei", "")])).await;
    let landscape = Landscape { issuer, app, acme };
    for _ in 0..4 {
        landscape.app.session_of(&landscape.sign_in(|_| {}).await);
    }
    let mut begun = landscape.begin().await;
    // While it is away, nobody is refused anything.
    landscape.issuer.answer(503, "");
    for _ in 0..4 {
        begun.come_back(&[("code", "good")]).await;
    }
    landscape.issuer.answer(400, json!({"error": "invalid_grant"}).to_string());
    let mut told = Vec::new();
    for _ in 0..3 {
        let answer = begun.come_back(&[("code", "made-up")]).await;
        told.push(location(&answer).query().unwrap().to_owned());
    }
    assert_eq!(told, ["signin=failed", "signin=failed", "signin=busy"]);
}

#[tokio::test]
async fn an_issuer_that_is_away_is_said_to_be() {
    let app = TestApp::start_with(|config| {
        let issuer = json!({
            "issuer": format!("http://{}", own_address()), "audience": "x", "tenant": "acme", "scopes": [],
            "sign_in": {"name": "Staff", "client_id": "trawl"},
        });
        config.auth.issuers = vec![serde_json::from_value(issuer).unwrap()];
    })
    .await;
    app.tenant("acme").await;
    let shown = app.caller("").get("/session").await.ok();
    let id = shown.data()["issuers"][0]["id"].as_str().unwrap();
    let answer = app.browser().follow(&format!("{}/session/start?to=/x&issuer={id}", app.base)).await;
    assert_eq!(location(&answer).as_str(), format!("{}/x?signin=busy", app.base));
}

/// A session is what a sign-in at an issuer comes to: the directory ends it, and the server's end does not.
#[tokio::test]
async fn a_session_by_an_issuer_outlives_the_server() {
    let Landscape { issuer: _issuer, app, .. } = {
        let landscape = Landscape::start().await;
        let session = landscape.app.session_of(&landscape.sign_in(|_| {}).await);
        let Landscape { issuer, app, acme } = landscape;
        let app = app.restart().await;
        let session = WebSession { base: app.base.clone(), http: app.http.clone(), ..session };
        session.post_empty("/modules").await.ok();
        Landscape { issuer, app, acme }
    };
    assert_eq!(app.app.authenticator.issuers().sign_ins().len(), 1);
}

/// Who is let in by an issuer is let in for as long as it is trusted, and for what it is trusted.
#[tokio::test]
async fn a_session_by_an_issuer_ends_with_the_trust_in_it() {
    let landscape = Landscape::start().await;
    let session = landscape.app.session_of(&landscape.sign_in(|_| {}).await);
    let Landscape { issuer, app, acme: _acme } = landscape;
    let other = app.tenant("other").await;
    app.sync(&other.caller, "users", &json!([user("mei", "")])).await;
    let by_password = app.web_session("omar").await;
    let at = |app: &TestApp, session: &WebSession| WebSession {
        base: app.base.clone(),
        http: app.http.clone(),
        ..session.clone()
    };
    session.post_empty("/modules").await.ok();

    let app = app.restart_with(|config| config.auth.issuers[0].scopes = Scopes::default()).await;
    assert_eq!(at(&app, &session).post_empty("/modules").await.status, 403);
    assert_eq!(at(&app, &session).shown().await["person"]["userId"], "mei");
    at(&app, &by_password).post_empty("/modules").await.ok();

    let mut app = app;
    let changes: [fn(&mut Issuer); 3] = [
        |trust| trust.sign_in = None,
        |trust| trust.tenant = "other".to_owned(),
        |trust| trust.issuer = "https://other.example".to_owned(),
    ];
    for change in changes {
        app = app
            .restart_with(|config| {
                config.auth.issuers = vec![issuer.trusted()];
                change(&mut config.auth.issuers[0]);
            })
            .await;
        at(&app, &session).is_over().await;
        at(&app, &by_password).post_empty("/modules").await.ok();
    }
    let app = app.restart_with(|config| config.auth.issuers = vec![issuer.trusted()]).await;
    at(&app, &session).post_empty("/modules").await.ok();
}

/// The program as an operator runs it: who signed in is logged, and nothing by which he did.
#[tokio::test]
async fn sessions_are_logged_without_what_they_are_known_by() {
    let issuer = FakeIssuer::start().await;
    let directory = tempfile::tempdir().unwrap();
    let (id, secret) = CLIENT;
    let settings = format!(
        "log.filter = \"trawl=debug\"\nconnectors.allow_http_hosts = [\"127.0.0.1\"]\n\
         [[auth.issuers]]\nissuer = \"{}\"\naudience = \"x\"\ntenant = \"acme\"\nscopes = []\n\
         sign_in = {{ name = \"Staff\", client_id = \"{id}\", client_secret = \"{secret}\" }}\n",
        issuer.issuer
    );
    fs::write(directory.path().join("trawl.toml"), settings).unwrap();
    let mut command = trawl(&["serve", "--print-config"]);
    command.current_dir(directory.path());
    let printed: toml::Table = text(&run(command).await.stdout).parse().unwrap();
    assert_eq!(printed["auth"]["issuers"][0]["sign_in"]["client_secret"].as_str(), Some("********"));

    let server = Server::start(directory.path()).await;
    let acme = server.caller(&create_application(directory.path(), "acme").await).await;
    acme.put("/v1/users/sync", &json!([user("mei", "")])).await.ok();
    let shown = send(acme.http.get(format!("{}/session", server.base))).await.ok();
    let start = format!(
        "{}/session/start?issuer={}",
        server.base,
        shown.data()["issuers"][0]["id"].as_str().unwrap()
    );
    let mut browser = Browser::new(&server.base);
    let url = location(&browser.follow(&start).await);
    let mut begun = Begun { browser, url, callback: format!("{}/session/callback", server.base) };
    let token = sign(&issuer.key, &issuer.claims(&begun.nonce()), |_| {});
    let (state, nonce, begun_in) =
        (parameter(&begun.url, "state"), begun.nonce(), begun.browser.cookie.clone().unwrap());
    issuer.answer(400, json!({"error": "invalid_grant", "error_description": secret}).to_string());
    begun.come_back(&[("code", "hidden-code")]).await;
    issuer.give(&token);
    let answer = begun.come_back(&[("code", "hidden-code")]).await;
    let (cookie, _) = answer.header("set-cookie").split_once(';').unwrap();
    let request = acme.http.post(format!("{}/session/end", server.base)).header("cookie", cookie);
    send(request.header("x-trawl-session", "1")).await.ok();
    let (_, form) = issuer.asked().unwrap();
    let verifier = form.split('&').find_map(|field| field.strip_prefix("code_verifier=")).unwrap();

    let log = server.log();
    for said in ["a session began", "signed out", "refused with \\\"invalid_grant\\\""] {
        assert!(log.contains(said), "{said}: {log}");
    }
    let value = |cookie: &str| cookie.split_once('=').unwrap().1.to_owned();
    for hidden in [secret, "hidden-code", &token, &state, &nonce, verifier, &value(cookie), &value(&begun_in)]
    {
        assert!(!log.contains(hidden), "{hidden:?} is logged: {log}");
    }
}
