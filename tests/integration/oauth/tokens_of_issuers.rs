//! People of a real `OpenID` Connect issuer. `src/auth/issuers/tests.rs` tests forged tokens.

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

struct TrustedIssuer {
    provider: Provider,
    app: TestApp,
    acme: Application,
}

impl TrustedIssuer {
    async fn start(provider: Provider) -> Self {
        let (app, acme) =
            TestApp::start_acme_with(|config| config.auth.issuers = trusted(&provider, "acme")).await;
        app.sync(&acme.caller, "users", &json!([user("mei", ""), user("omar", "")])).await;
        let mut private = item("private", "harbour", 2);
        private["visibility"] = json!({"users": ["mei"]});
        app.put_contents(&acme.caller, "article", &[item("public", "harbour", 1), private]).await;
        Self { provider, app, acme }
    }

    async fn caller(&self, name: &str) -> Caller {
        self.app.caller(&self.provider.sign_in(name, TRAWL).await.access_token)
    }
}

#[tokio::test]
async fn people_of_an_issuer_search_as_themselves() {
    for algorithm in ["ES256", "RS256"] {
        let setup = TrustedIssuer::start(Provider::start(people(algorithm)).await).await;
        let mei = setup.provider.sign_in("mei", TRAWL).await;
        // The ID token's audience, the portal, is in the settings.
        for token in [&mei.access_token, &mei.id_token] {
            let mei = setup.app.caller(token);
            assert_eq!(mei.find("article", "harbour").await, ["private", "public"]);
            assert_eq!(mei.find("article", "harbour").await, ["private", "public"], "the keys are cached");
            mei.post("/api/todo/batch_create", &json!([])).await.fails(403, "application token");
            mei.get("/admin/v1/sources").await.fails(403, "application token");
            mei.on("other").post_empty("/modules").await.fails(403, "indicated-e-code");
        }
        assert_eq!(setup.caller("MEI").await.find("article", "harbour").await, ["private", "public"]);
        let omar = setup.caller("omar").await;
        assert_eq!(omar.find("article", "harbour").await, ["public"]);
        let elsewhere = setup.provider.sign_in("mei", ELSEWHERE).await.access_token;
        setup.app.caller(&elsewhere).post_empty("/modules").await.fails(401, "not valid");
    }
}

#[tokio::test]
async fn unknown_or_disabled_person_is_401_at_once() {
    let setup = TrustedIssuer::start(Provider::start(people("ES256")).await).await;
    setup.caller("nobody").await.post_empty("/modules").await.fails(401, "is unknown or may not sign in");
    let (mei, omar) = (setup.caller("mei").await, setup.caller("omar").await);
    for caller in [&mei, &omar] {
        caller.post_empty("/modules").await.ok();
    }
    let changes = json!([{"userId": "mei", "status": 0}, {"userId": "omar", "isDeleted": true}]);
    setup.app.sync(&setup.acme.caller, "users", &changes).await;
    for caller in [&mei, &omar] {
        caller.post_empty("/modules").await.fails(401, "is unknown or may not sign in");
    }
    setup.app.sync(&setup.acme.caller, "users", &json!([{"userId": "mei", "status": 1}])).await;
    let operator = setup.app.operator().await.caller;
    operator.post_empty("/v1/enterprises/freeze?eCode=acme").await.ok();
    mei.post_empty("/modules").await.fails(403, "tenant is frozen");
    operator.post_empty("/v1/enterprises/unfreeze?eCode=acme").await.ok();
    mei.post_empty("/modules").await.ok();
    // An earlier token recognises a person synchronised later.
    let new = setup.caller("lin").await;
    new.post_empty("/modules").await.fails(401, "is unknown or may not sign in");
    setup.app.sync(&setup.acme.caller, "users", &json!([user("lin", "")])).await;
    new.post_empty("/modules").await.ok();
}

#[tokio::test]
async fn issuer_outage_and_key_change_are_survived() {
    let mut settings = people("ES256");
    let port = own_address().rsplit_once(':').unwrap().1.parse::<u16>().unwrap();
    settings["port"] = json!(port);
    let mut setup = TrustedIssuer::start(Provider::start(settings).await).await;
    let first = setup.caller("mei").await;
    let second = setup.caller("omar").await;
    setup.provider.stop();
    let answer = first.post_empty("/modules").await.fails(503, "keys of the token's issuer");
    assert!(!answer.header("retry-after").is_empty());
    let TrustedIssuer { provider, app, acme } = setup;
    let setup = TrustedIssuer { provider: provider.start_again().await, app, acme };
    first.post_empty("/modules").await.fails(401, "not valid");

    let third = setup.caller("mei").await;
    third.post_empty("/modules").await.ok();
    let fourth = setup.caller("omar").await;
    let mut setup = setup;
    setup.provider.stop();
    fourth.post_empty("/modules").await.ok();
    second.post_empty("/modules").await.fails(401, "not valid");
    let TrustedIssuer { provider, app, acme } = setup;
    let setup = TrustedIssuer { provider: provider.start_again().await, app, acme };
    setup.caller("mei").await.post_empty("/modules").await.ok();
}

#[tokio::test]
async fn tokens_with_a_forged_issuer_are_refused() {
    let setup = TrustedIssuer::start(Provider::start(people("ES256")).await).await;
    let own = claims(&setup.acme.caller.token);
    let theirs = claims(&setup.provider.sign_in("mei", TRAWL).await.access_token);
    for said in [own, theirs] {
        for (algorithm, typ) in [(Algorithm::HS256, "at+jwt"), (Algorithm::HS256, "JWT")] {
            let mut header = Header::new(algorithm);
            (header.typ, header.kid) = (Some(typ.to_owned()), Some("one".to_owned()));
            let token = encode(&header, &said, &EncodingKey::from_secret(b"guessed")).unwrap();
            setup.app.caller(&token).post_empty("/modules").await.fails(401, "not valid");
        }
    }
    let token = setup.provider.sign_in("mei", TRAWL).await.access_token;
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let changed = format!("{signed}.{}", signature.chars().rev().collect::<String>());
    setup.app.caller(&changed).post_empty("/modules").await.fails(401, "not valid");
}

#[tokio::test]
async fn issuer_is_configured_by_the_settings_file() {
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
    assert!(log.contains("the keys of an issuer could not be fetched"), "{log}");
    for token in [&good.access_token, &good.id_token, &unknown] {
        let parts: Vec<&str> = token.split('.').collect();
        assert!(parts.iter().all(|part| !log.contains(part)), "a token is logged: {log}");
    }
}

fn encoded(value: &serde_json::Value) -> String {
    use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
    BASE64_URL_SAFE_NO_PAD.encode(value.to_string())
}
