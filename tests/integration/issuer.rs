//! People whom an external `OpenID` Connect issuer names, with a real provider (decisions 3.4 c). What attackers make of tokens
//! stands in `src/auth/issuers/tests.rs`.

use std::fs;

use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::json;

use crate::util::{
    app::{Application, TestApp},
    caller::Caller,
    issuer::{ELSEWHERE, TRAWL, people, trusted},
    items::{item, user},
    login::claims,
    openid::Provider,
    program::{Server, create_application, own_address},
};

/// A provider, and a tenant of whose people Mei and Omar are; one article is Mei's alone.
struct Landscape {
    provider: Provider,
    app: TestApp,
    acme: Application,
}

impl Landscape {
    async fn start(provider: Provider) -> Self {
        let app = TestApp::start_with(|config| config.auth.issuers = trusted(&provider, "acme")).await;
        let acme = app.tenant("acme").await;
        app.sync(&acme.caller, "users", &json!([user("mei", ""), user("omar", "")])).await;
        let mut private = item("private", "harbour", 2);
        private["visibility"] = json!({"users": ["mei"]});
        app.keep(&acme.caller, "article", &[item("public", "harbour", 1), private]).await;
        Self { provider, app, acme }
    }

    /// With an access token for trawl.
    async fn caller(&self, name: &str) -> Caller {
        self.app.caller(&self.provider.sign_in(name, TRAWL).await.access_token)
    }
}

#[tokio::test]
async fn people_of_an_issuer_search_as_themselves() {
    for algorithm in ["ES256", "RS256"] {
        let landscape = Landscape::start(Provider::start(people(algorithm)).await).await;
        let mei = landscape.provider.sign_in("mei", TRAWL).await;
        // The access token for trawl, and the ID token for the portal, which the settings name as an audience as well.
        for token in [&mei.access_token, &mei.id_token] {
            let mei = landscape.app.caller(token);
            assert_eq!(mei.find("article", "harbour").await, ["private", "public"]);
            assert_eq!(mei.find("article", "harbour").await, ["private", "public"], "it is remembered");
            mei.post("/api/todo/batch_create", &json!([])).await.fails(403, "application token");
            mei.get("/admin/v1/sources").await.fails(403, "application token");
            mei.on("other").post_empty("/modules").await.fails(403, "indicated-e-code");
        }
        let omar = landscape.caller("omar").await;
        assert_eq!(omar.find("article", "harbour").await, ["public"]);
        let elsewhere = landscape.provider.sign_in("mei", ELSEWHERE).await.access_token;
        landscape.app.caller(&elsewhere).post_empty("/modules").await.fails(401, "not valid");
    }
}

#[tokio::test]
async fn who_may_not_sign_in_here_is_401_at_once() {
    let landscape = Landscape::start(Provider::start(people("ES256")).await).await;
    landscape.caller("nobody").await.post_empty("/modules").await.fails(401, "names nobody");
    let (mei, omar) = (landscape.caller("mei").await, landscape.caller("omar").await);
    for caller in [&mei, &omar] {
        caller.post_empty("/modules").await.ok();
    }
    let changes = json!([{"userId": "mei", "status": 0}, {"userId": "omar", "isDeleted": true}]);
    landscape.app.sync(&landscape.acme.caller, "users", &changes).await;
    for caller in [&mei, &omar] {
        caller.post_empty("/modules").await.fails(401, "names nobody");
    }
    landscape.app.sync(&landscape.acme.caller, "users", &json!([{"userId": "mei", "status": 1}])).await;
    let operator = landscape.app.operator().await.caller;
    operator.post_empty("/v1/enterprises/freeze?eCode=acme").await.ok();
    mei.post_empty("/modules").await.fails(403, "tenant is frozen");
    operator.post_empty("/v1/enterprises/unfreeze?eCode=acme").await.ok();
    mei.post_empty("/modules").await.ok();
    // A person who comes later is known by the token that he has.
    let new = landscape.caller("lin").await;
    new.post_empty("/modules").await.fails(401, "names nobody");
    landscape.app.sync(&landscape.acme.caller, "users", &json!([user("lin", "")])).await;
    new.post_empty("/modules").await.ok();
}

#[tokio::test]
async fn an_issuer_may_be_away_and_come_back_with_other_keys() {
    let mut settings = people("ES256");
    let port = own_address().rsplit_once(':').unwrap().1.parse::<u16>().unwrap();
    settings["port"] = json!(port);
    let mut landscape = Landscape::start(Provider::start(settings).await).await;
    let first = landscape.caller("mei").await;
    let second = landscape.caller("omar").await;
    // Without any keys nobody can tell.
    landscape.provider.stop();
    let answer = first.post_empty("/modules").await.fails(503, "keys of the token's issuer");
    assert!(!answer.header("retry-after").is_empty());
    let Landscape { provider, app, acme } = landscape;
    let landscape = Landscape { provider: provider.start_again().await, app, acme };
    first.post_empty("/modules").await.fails(401, "not valid");

    let third = landscape.caller("mei").await;
    third.post_empty("/modules").await.ok();
    let fourth = landscape.caller("omar").await;
    let mut landscape = landscape;
    landscape.provider.stop();
    // Its keys are known, so what it signed is good while it is away.
    fourth.post_empty("/modules").await.ok();
    second.post_empty("/modules").await.fails(401, "not valid");
    let Landscape { provider, app, acme } = landscape;
    let landscape = Landscape { provider: provider.start_again().await, app, acme };
    landscape.caller("mei").await.post_empty("/modules").await.ok();
}

#[tokio::test]
async fn nobody_signs_in_our_name_or_in_that_of_an_issuer() {
    let landscape = Landscape::start(Provider::start(people("ES256")).await).await;
    let own = claims(&landscape.acme.caller.token);
    let theirs = claims(&landscape.provider.sign_in("mei", TRAWL).await.access_token);
    for said in [own, theirs] {
        for (algorithm, typ) in [(Algorithm::HS256, "at+jwt"), (Algorithm::HS256, "JWT")] {
            let mut header = Header::new(algorithm);
            (header.typ, header.kid) = (Some(typ.to_owned()), Some("one".to_owned()));
            let token = encode(&header, &said, &EncodingKey::from_secret(b"guessed")).unwrap();
            landscape.app.caller(&token).post_empty("/modules").await.fails(401, "not valid");
        }
    }
    // What the issuer signs is never one of our own tokens, whatever it says.
    let token = landscape.provider.sign_in("mei", TRAWL).await.access_token;
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let changed = format!("{signed}.{}", signature.chars().rev().collect::<String>());
    landscape.app.caller(&changed).post_empty("/modules").await.fails(401, "not valid");
}

/// As an operator sets it up; tokens stay out of the log.
#[tokio::test]
async fn an_issuer_stands_in_the_settings_file() {
    let mut provider = Provider::start(people("ES256")).await;
    let directory = tempfile::tempdir().unwrap();
    let settings = format!(
        "log.filter = \"trawl=debug\"\nconnectors.allow_http_hosts = [\"127.0.0.1\"]\n\
         [[auth.issuers]]\nissuer = \"{}\"\naudience = \"{TRAWL}\"\ntenant = \"acme\"\nscopes = [\"contents:read\"]\n",
        provider.issuer
    );
    fs::write(directory.path().join("trawl.toml"), settings).unwrap();
    let server = Server::start(directory.path()).await;
    let acme = server.caller(&create_application(directory.path(), "acme").await).await;
    acme.put("/v1/users/sync", &json!([user("mei", "")])).await.ok();
    let with = |token: &str| Caller { token: token.to_owned(), ..acme.clone() };
    let good = provider.sign_in("mei", TRAWL).await;
    with(&good.access_token).post_empty("/modules").await.ok();
    with(&good.id_token).post_empty("/modules").await.fails(401, "not valid");
    provider.stop();
    let mut header = Header::new(Algorithm::RS256);
    header.kid = Some("other".to_owned());
    let unknown = format!("{}.{}", encoded(&json!(header)), good.access_token.split_once('.').unwrap().1);
    with(&unknown).post_empty("/modules").await.fails(401, "not valid");
    let log = server.log();
    assert!(log.contains("the keys of an issuer could not be had"), "{log}");
    for token in [&good.access_token, &good.id_token, &unknown] {
        let parts: Vec<&str> = token.split('.').collect();
        assert!(parts.iter().all(|part| !log.contains(part)), "a token is logged: {log}");
    }
}

fn encoded(value: &serde_json::Value) -> String {
    use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
    BASE64_URL_SAFE_NO_PAD.encode(value.to_string())
}
