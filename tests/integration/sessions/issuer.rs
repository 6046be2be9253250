//! Sign-in to the pages by an issuer (`auth.issuers`, `sign_in`).

use std::fs;

use aws_lc_rs::digest::{SHA256, digest};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey};
use serde_json::{Value, json};
use url::{Url, form_urlencoded};

use crate::util::{
    answer::Answer,
    app::{Application, TestApp},
    caller::send,
    fake_issuer::{CLIENT, FakeIssuer, new_key, sign},
    internals::{IssuerSettings, Scopes, epoch_seconds},
    items::user,
    login::{Browser, location, parameter},
    program::{Server, create_application, own_address, run, text, trawl},
};

struct LoginSetup {
    issuer: FakeIssuer,
    app: TestApp,
    acme: Application,
}

struct Begun {
    browser: Browser,
    url: Url,
    callback: String,
}

impl Begun {
    async fn handle_callback(&mut self, parameters: &[(&str, &str)]) -> Answer {
        let mut url = Url::parse(&self.callback).unwrap();
        url.query_pairs_mut().extend_pairs(parameters).append_pair("state", &parameter(&self.url, "state"));
        self.browser.follow(url.as_str()).await
    }

    fn nonce(&self) -> String {
        parameter(&self.url, "nonce")
    }
}

impl LoginSetup {
    async fn start() -> Self {
        Self::start_with(1_000).await
    }

    async fn start_with(logins_per_minute: u32) -> Self {
        let issuer = FakeIssuer::start().await;
        let app = TestApp::start_with(|config| {
            config.auth.issuers = vec![issuer.trusted()];
            config.limits.logins_per_minute = logins_per_minute;
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

    async fn sign_in(&self, change: impl FnOnce(&mut Value)) -> Answer {
        let mut begun = self.begin().await;
        let mut claims = self.issuer.claims(&begun.nonce());
        change(&mut claims);
        self.issuer.give(&sign(&self.issuer.key, &claims, |_| {}));
        begun.handle_callback(&[("code", "the-code")]).await
    }

    #[track_caller]
    fn told(&self, answer: &Answer, told: &str) {
        assert_eq!(location(answer).as_str(), format!("{}/x?signin={told}", self.app.base));
        assert!(answer.header("set-cookie").is_empty(), "{:?}", answer.headers);
    }
}

#[tokio::test]
async fn person_named_by_the_issuer_is_signed_in() {
    let setup = LoginSetup::start().await;
    let LoginSetup { issuer, app, .. } = &setup;
    let shown = app.caller("").get("/session").await.ok();
    let id = setup.id().await;
    assert_eq!(shown.data()["issuers"], json!([{"id": id, "name": "Staff", "tenant": "acme"}]));

    let mut begun = setup.begin().await;
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
    let answer = begun.handle_callback(&[("code", "the code"), ("iss", &issuer.issuer)]).await;
    begun.browser.cookie = cookie;
    assert_eq!(location(&answer).as_str(), format!("{}/x", app.base));
    let session = app.session_of(&answer);
    assert_eq!(session.info().await["person"]["userId"], "mei");
    session.post_empty("/modules").await.ok();

    let (authorization, form) = issuer.requests().unwrap();
    let form: Vec<(String, String)> = form_urlencoded::parse(form.as_bytes()).into_owned().collect();
    let field = |name: &str| form.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    assert_eq!((field("grant_type"), field("code")), (Some("authorization_code"), Some("the code")));
    assert_eq!((field("redirect_uri"), field("client_secret")), (Some(&*begun.callback), None));
    let challenge = digest(&SHA256, field("code_verifier").unwrap().as_bytes());
    assert_eq!(parameter(&begun.url, "code_challenge"), BASE64_URL_SAFE_NO_PAD.encode(challenge));
    // RFC 6749 §2.3.1: both are form-encoded before they are joined.
    let pair = authorization.strip_prefix("Basic ").unwrap();
    let pair = String::from_utf8(base64::prelude::BASE64_STANDARD.decode(pair).unwrap()).unwrap();
    let (client_id, secret) = pair.split_once(':').unwrap();
    let decoded = |text: &str| form_urlencoded::parse(text.as_bytes()).next().unwrap().0.into_owned();
    assert_eq!(
        (decoded(client_id), decoded(&secret.replace('=', "%3D"))),
        (CLIENT.0.to_owned(), CLIENT.1.to_owned())
    );
    issuer.answer(400, json!({"error": "invalid_grant"}).to_string());
    setup.told(&begun.handle_callback(&[("code", "the code")]).await, "failed");
}

#[tokio::test]
async fn invalid_id_token_signs_nobody_in() {
    let setup = LoginSetup::start().await;
    let issuer = &setup.issuer;
    let now = epoch_seconds();
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
        let answer = setup.sign_in(|claims| claims[name] = wrong.clone()).await;
        assert_eq!(location(&answer).query(), Some("signin=failed"), "{name} = {wrong}");
    }
    for missing in ["nonce", "aud", "exp", "iss", "preferred_username"] {
        let answer = setup.sign_in(|claims| drop(claims.as_object_mut().unwrap().remove(missing))).await;
        setup.told(&answer, "failed");
    }
    let several = setup.sign_in(|claims| {
        claims["aud"] = json!([CLIENT.0, "another"]);
        claims["azp"] = json!(CLIENT.0);
    });
    setup.app.session_of(&several.await);

    let mut begun = setup.begin().await;
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
        setup.told(&begun.handle_callback(&[("code", "x")]).await, "failed");
    }
    issuer.give(&good);
    setup.app.session_of(&begun.handle_callback(&[("code", "x")]).await);
}

#[tokio::test]
async fn invalid_token_response_signs_nobody_in() {
    let setup = LoginSetup::start().await;
    let mut begun = setup.begin().await;
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
        setup.issuer.answer(status, body.clone());
        let answer = begun.handle_callback(&[("code", "x")]).await;
        assert_eq!(location(&answer).query(), Some(&*format!("signin={told}")), "{status} {body:.80}");
    }
    assert!(setup.issuer.requests().is_some());
}

#[tokio::test]
async fn callback_must_carry_the_issuers_answer() {
    let setup = LoginSetup::start().await;
    let LoginSetup { issuer, app, .. } = &setup;
    let mut begun = setup.begin().await;
    issuer.give(&sign(&issuer.key, &issuer.claims(&begun.nonce()), |_| {}));
    for (parameters, told) in [
        (vec![("error", "access_denied")], "refused"),
        (vec![("error", "temporarily_unavailable")], "busy"),
        (vec![("code", "x"), ("iss", "https://other.example")], "failed"),
        (vec![("code", "x"), ("iss", &*app.base)], "failed"),
        (vec![], "failed"),
        (vec![("code", "x"), ("code", "y")], "failed"),
    ] {
        setup.told(&begun.handle_callback(&parameters).await, told);
    }
    let mut other = setup.begin().await;
    std::mem::swap(&mut other.url, &mut begun.url);
    let answer = other.handle_callback(&[("code", "x")]).await;
    assert_eq!(location(&answer).as_str(), format!("{}/?signin=failed", app.base));
    let page = location(&app.browser().follow(&format!("{}/session/start", app.base)).await);
    assert_eq!(page.path(), "/oauth2/authorize", "the login page is offered besides");
    assert_eq!(issuer.requests(), None, "the issuer is not called");

    for query in ["issuer=nobody", &format!("issuer={}&tenant=other", setup.id().await)] {
        let answer = app.browser().follow(&format!("{}/session/start?to=/x&{query}", app.base)).await;
        setup.told(&answer, "unknown");
    }
}

/// RFC 9207: an issuer that announces `iss` must send it.
#[tokio::test]
async fn announced_iss_parameter_is_required() {
    let setup = LoginSetup::start().await;
    let issuer = &setup.issuer;
    issuer.describe(|described| described["authorization_response_iss_parameter_supported"] = json!(true));
    let mut begun = setup.begin().await;
    issuer.give(&sign(&issuer.key, &issuer.claims(&begun.nonce()), |_| {}));
    setup.told(&begun.handle_callback(&[("code", "x")]).await, "failed");
    let answer = begun.handle_callback(&[("code", "x"), ("iss", &issuer.issuer)]).await;
    setup.app.session_of(&answer);
}

#[tokio::test]
async fn client_secret_is_sent_by_the_supported_method() {
    let setup = LoginSetup::start().await;
    let issuer = &setup.issuer;
    issuer.describe(|described| {
        described["token_endpoint_auth_methods_supported"] = json!(["client_secret_post", "none"]);
    });
    setup.app.session_of(&setup.sign_in(|_| {}).await);
    let (authorization, form) = issuer.requests().unwrap();
    let form: Vec<(String, String)> = form_urlencoded::parse(form.as_bytes()).into_owned().collect();
    assert_eq!(authorization, "");
    assert!(form.contains(&("client_secret".to_owned(), CLIENT.1.to_owned())), "{form:?}");
}

#[tokio::test]
async fn issuer_without_usable_metadata_is_not_used() {
    for (name, wrong) in [
        ("authorization_endpoint", json!(null)),
        ("authorization_endpoint", json!("javascript:alert(1)")),
        ("authorization_endpoint", json!("http://login.example/auth")),
        ("issuer", json!("https://other.example")),
    ] {
        let setup = LoginSetup::start().await;
        setup.issuer.describe(|described| described[name] = wrong.clone());
        let start = format!("{}/session/start?to=/x&issuer={}", setup.app.base, setup.id().await);
        let told = if name == "issuer" { "busy" } else { "failed" };
        setup.told(&setup.app.browser().follow(&start).await, told);
    }
    let setup = LoginSetup::start().await;
    setup.issuer.describe(|described| described["token_endpoint"] = json!("http://169.254.169.254/token"));
    setup.told(&setup.sign_in(|_| {}).await, "failed");
    assert_eq!(setup.issuer.requests(), None);
}

#[tokio::test]
async fn unknown_or_disabled_person_is_refused_despite_the_issuer() {
    let setup = LoginSetup::start().await;
    let LoginSetup { app, acme, .. } = &setup;
    let other = app.tenant("other").await;
    app.sync(&other.caller, "users", &json!([user("elsewhere", "")])).await;
    for name in ["nobody", "elsewhere", "méi"] {
        setup.told(&setup.sign_in(|claims| claims["preferred_username"] = json!(name)).await, "refused");
    }
    let omar = app.session_of(&setup.sign_in(|claims| claims["preferred_username"] = json!("omar")).await);
    omar.post_empty("/modules").await.ok();
    app.sync(&acme.caller, "users", &json!([{"userId": "omar", "status": 0}])).await;
    omar.assert_ended().await;
    setup.told(&setup.sign_in(|claims| claims["preferred_username"] = json!("omar")).await, "refused");
    let mut begun = setup.begin().await;
    setup.issuer.give(&sign(&setup.issuer.key, &setup.issuer.claims(&begun.nonce()), |_| {}));
    app.execute("UPDATE applications SET is_disabled = TRUE WHERE client_id LIKE 'search-page-%'").await;
    setup.told(&begun.handle_callback(&[("code", "x")]).await, "refused");
    app.execute("UPDATE tenants SET is_frozen = TRUE WHERE code = 'acme'").await;
    let start = format!("{}/session/start?to=/x&issuer={}", app.base, setup.id().await);
    setup.told(&app.browser().follow(&start).await, "refused");
}

#[tokio::test]
async fn name_at_userinfo_only_signs_in() {
    let setup = LoginSetup::start().await;
    let LoginSetup { app, issuer, .. } = &setup;
    let nameless = |claims: &mut Value| drop(claims.as_object_mut().unwrap().remove("preferred_username"));
    let plain = json!({"sub": "1234", "preferred_username": "MEI"});
    let mut signed = plain.clone();
    signed["iss"] = json!(issuer.issuer);
    signed["aud"] = json!(CLIENT.0);
    let expiring = json!({"sub": "1234", "preferred_username": "mei", "exp": epoch_seconds() + 60});
    for answer in [
        format!(" {plain}\n"),
        sign(&issuer.key, &plain, |_| {}),
        sign(&issuer.key, &signed, |header| header.typ = None),
        sign(&issuer.key, &expiring, |_| {}),
    ] {
        issuer.tell(200, answer);
        let session = app.session_of(&setup.sign_in(nameless).await);
        assert_eq!(session.info().await["person"]["userId"], "mei");
        assert_eq!(issuer.requests().unwrap(), ("Bearer x".to_owned(), "userinfo".to_owned()));
    }
    // The ID token's name comes first.
    issuer.tell(500, "");
    app.session_of(&setup.sign_in(|_| {}).await);
}

#[tokio::test]
async fn invalid_userinfo_signs_nobody_in() {
    let setup = LoginSetup::start().await;
    let issuer = &setup.issuer;
    let nameless = |claims: &mut Value| drop(claims.as_object_mut().unwrap().remove("preferred_username"));
    let good = json!({"sub": "1234", "preferred_username": "mei"});
    let with = |name: &str, value: Value| {
        let mut claims = good.clone();
        claims[name] = value;
        claims
    };
    let signed = |claims: &Value| sign(&issuer.key, claims, |_| {});
    for (status, answer) in [
        (200, with("sub", json!("4321")).to_string()),
        (200, with("sub", json!(1234)).to_string()),
        (200, json!({"preferred_username": "mei"}).to_string()),
        (200, with("preferred_username", json!("")).to_string()),
        (200, with("preferred_username", json!(["mei"])).to_string()),
        (200, json!([good]).to_string()),
        (200, format!("<html>{good}</html>")),
        (200, format!("{good}{good}")),
        (400, good.to_string()),
        (401, good.to_string()),
        (302, good.to_string()),
        (200, " ".repeat(65 << 10) + &good.to_string()),
        (200, signed(&with("sub", json!("4321")))),
        (200, signed(&with("iss", json!("https://other.example")))),
        (200, signed(&with("aud", json!("https://trawl.example/")))),
        (200, signed(&with("exp", json!(epoch_seconds() - 60)))),
        (200, sign(&new_key(), &good, |_| {})),
        (200, sign(&issuer.key, &good, |header| header.typ = Some("logout+jwt".to_owned()))),
        (200, format!("{}.", signed(&good))),
        (200, "a.b.c.d.e".to_owned()),
    ] {
        issuer.tell(status, answer.as_str());
        setup.told(&setup.sign_in(nameless).await, "failed");
    }
    issuer.tell(503, "");
    setup.told(&setup.sign_in(nameless).await, "busy");
    for endpoint in [json!(null), json!("http://169.254.169.254/userinfo"), json!("userinfo")] {
        let setup = LoginSetup::start().await;
        setup.issuer.describe(|described| described["userinfo_endpoint"] = endpoint.clone());
        setup.told(&setup.sign_in(nameless).await, "failed");
    }
}

/// Each invalid code costs the issuer a request.
#[tokio::test]
async fn requests_to_the_issuer_are_throttled() {
    let setup = LoginSetup::start_with(2).await;
    for _ in 0..4 {
        setup.app.session_of(&setup.sign_in(|_| {}).await);
    }
    let mut begun = setup.begin().await;
    // An outage is no failure of the person.
    setup.issuer.answer(503, "");
    for _ in 0..4 {
        begun.handle_callback(&[("code", "good")]).await;
    }
    setup.issuer.answer(400, json!({"error": "invalid_grant"}).to_string());
    let mut told = Vec::new();
    for _ in 0..3 {
        let answer = begun.handle_callback(&[("code", "made-up")]).await;
        told.push(location(&answer).query().unwrap().to_owned());
    }
    assert_eq!(told, ["signin=failed", "signin=failed", "signin=busy"]);
}

#[tokio::test]
async fn unreachable_issuer_is_reported() {
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

/// The issuer must be trusted for sign-in.
#[tokio::test]
async fn session_by_an_issuer_ends_with_its_trust() {
    let setup = LoginSetup::start().await;
    let session = setup.app.session_of(&setup.sign_in(|_| {}).await);
    let LoginSetup { issuer, app, acme: _acme } = setup;
    let other = app.tenant("other").await;
    app.sync(&other.caller, "users", &json!([user("mei", "")])).await;
    let by_password = app.web_session("omar").await;
    session.post_empty("/modules").await.ok();

    let app = app.restart_with(|config| config.auth.issuers[0].scopes = Scopes::default()).await;
    assert_eq!(session.at(&app.base).post_empty("/modules").await.status, 403);
    assert_eq!(session.at(&app.base).info().await["person"]["userId"], "mei");
    by_password.at(&app.base).post_empty("/modules").await.ok();

    let mut app = app;
    let changes: [fn(&mut IssuerSettings); 3] = [
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
        session.at(&app.base).assert_ended().await;
        by_password.at(&app.base).post_empty("/modules").await.ok();
    }
    let app = app.restart_with(|config| config.auth.issuers = vec![issuer.trusted()]).await;
    session.at(&app.base).post_empty("/modules").await.ok();
}

#[tokio::test]
async fn sessions_are_logged_without_credentials() {
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
    begun.handle_callback(&[("code", "hidden-code")]).await;
    issuer.give(&token);
    let answer = begun.handle_callback(&[("code", "hidden-code")]).await;
    let (cookie, _) = answer.header("set-cookie").split_once(';').unwrap();
    let request = acme.http.post(format!("{}/session/end", server.base)).header("cookie", cookie);
    send(request.header("x-trawl-session", "1")).await.ok();
    let (_, form) = issuer.requests().unwrap();
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
