//! `OAUTH2_CLIENT` with a real OIDC provider. Each search has its own keyword, to miss the cache.

use futures::future::join_all;
use serde_json::{Value, json};
use trawl_connectors::ClientCredentials;

use crate::util::{
    answer::Answer,
    app::{Application, TestApp},
    caller::Caller,
    eventually,
    items::many,
    openid::{JWT_AUDIENCE, OPAQUE_AUDIENCE, Provider, client, usual_settings},
    program::own_address,
    protected::ProtectedSource,
};

struct ProtectedSearch {
    provider: Provider,
    source: ProtectedSource,
    credentials: ClientCredentials,
    operator: Caller,
    app: TestApp,
    acme: Application,
}

impl ProtectedSearch {
    async fn start(audience: &'static str) -> Self {
        Self::start_with(usual_settings(), audience, |_| {}).await
    }

    async fn start_with(
        settings: Value,
        audience: &'static str,
        change: impl FnOnce(&mut ClientCredentials),
    ) -> Self {
        let provider = Provider::start(settings).await;
        let source = ProtectedSource::start(&provider, audience).await;
        let mut credentials = provider.credentials(audience);
        change(&mut credentials);
        let (app, acme) = TestApp::start_with_acme().await;
        app.put_contents(&acme.caller, "article", &many("a", "search", 3, 1)).await;
        let operator = app.operator().await.caller.on("acme");
        operator.register_source(&source.registration("x", &credentials), "alone", &["x"]).await;
        operator.register_module("all", &["builtin:article", "x"]).await;
        Self { provider, source, credentials, operator, app, acme }
    }

    async fn restart(self) -> Self {
        let Self { provider, source, credentials, operator, app, acme } = self;
        let app = app.restart().await;
        let caller = app.caller(&acme.caller.token);
        let operator = app.caller(&operator.token).on("acme");
        Self { provider, source, credentials, operator, app, acme: Application { caller, ..acme } }
    }

    /// Since the source was enabled.
    async fn assert_token_requests(&self, answers: &[&str]) {
        eventually("the first token", async || {
            (self.provider.token_requests().await == answers).then_some(())
        })
        .await;
    }

    async fn search(&self, keyword: &str) -> Answer {
        self.acme.caller.search(&[("keyword", keyword), ("moduleId", "alone")]).await
    }

    async fn search_at_once(&self, count: usize, keyword: &str) {
        let keywords: Vec<String> = (0..count).map(|number| format!("{keyword} {number}")).collect();
        for answer in join_all(keywords.iter().map(|keyword| self.search(keyword))).await {
            found(answer);
        }
    }

    /// Alone and beside articles, with these texts and no secret.
    async fn assert_unauthorized(&self, said: &[&str]) {
        let alone = self.search("search alone").await.fails_without_sources(502);
        let beside = self.acme.caller.search(&[("keyword", "search"), ("moduleId", "all")]).await.ok();
        assert_eq!(beside.ids(), ["a00000", "a00001", "a00002"], "{}", beside.text);
        assert_eq!((beside.total(), &beside.body["partial"]), (3, &json!(true)), "{}", beside.text);
        assert_eq!(beside.source("builtin:article")["status"], "ok", "{}", beside.text);
        for answer in [&alone, &beside] {
            let report = answer.source("x");
            assert_eq!(report["status"], "unauthorized", "{report}");
            let message = report["message"].as_str().unwrap();
            for words in said {
                assert!(message.contains(words), "the message lacks {words:?}: {message}");
            }
            for secret in ["secret-", "127.0.0.1", "Bearer", "Basic"] {
                assert!(!answer.text.contains(secret), "{secret:?} is shown: {}", answer.text);
            }
        }
    }
}

#[track_caller]
fn found(answer: Answer) {
    let answer = answer.ok();
    assert_eq!((answer.items().len(), &answer.body["partial"]), (3, &json!(false)), "{}", answer.text);
    assert_eq!(answer.body["sources"][0]["status"], "ok", "{}", answer.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_first_searches_cost_one_token_request() {
    for audience in [JWT_AUDIENCE, OPAQUE_AUDIENCE] {
        let setup = ProtectedSearch::start(audience).await;
        setup.assert_token_requests(&["basic 200"]).await;
        let setup = setup.restart().await;
        setup.search_at_once(100, "first").await;
        assert_eq!(setup.provider.token_requests().await, ["basic 200"; 2]);
        setup.search_at_once(10, "further").await;
        assert_eq!(setup.provider.token_requests().await, ["basic 200"; 2]);
        assert_eq!((setup.source.answered(200), setup.source.answered(401)), (110, 0));
    }
}

/// The source's clock runs ahead.
#[tokio::test(flavor = "multi_thread")]
async fn token_expired_for_the_source_is_renewed_once() {
    let settings = with(usual_settings(), "lives", json!([60, 3_600]));
    let setup = ProtectedSearch::start_with(settings, JWT_AUDIENCE, |_| {}).await;
    found(setup.search("before").await);
    setup.source.put_clock_ahead(120);
    found(setup.search("after").await);
    assert_eq!(setup.provider.token_requests().await, ["basic 200"; 2]);
    assert_eq!((setup.source.answered(200), setup.source.answered(401)), (2, 1));
}

/// The source's clock runs behind.
#[tokio::test]
async fn token_expired_for_trawl_is_renewed_before_use() {
    let settings = with(usual_settings(), "lives", json!([1, 3_600]));
    let setup = ProtectedSearch::start_with(settings, JWT_AUDIENCE, |_| {}).await;
    setup.source.put_clock_ahead(-3_600);
    let mut searches = 0;
    eventually("the second token", async || {
        searches += 1;
        found(setup.search(&format!("search {searches}")).await);
        (setup.provider.token_requests().await.len() > 1).then_some(())
    })
    .await;
    found(setup.search("after").await);
    assert_eq!(setup.provider.token_requests().await, ["basic 200"; 2]);
    assert_eq!(setup.source.answered(401), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn revoked_token_is_renewed_once_by_concurrent_searches() {
    let setup = ProtectedSearch::start(OPAQUE_AUDIENCE).await;
    found(setup.search("before").await);
    setup.provider.revoke(&setup.source.last_token()).await;
    found(setup.search("one").await);
    assert_eq!(setup.provider.token_requests().await, ["basic 200"; 2]);
    assert_eq!(setup.source.answered(401), 1);

    // Half of the searches are refused during the renewal, half after it.
    setup.provider.revoke(&setup.source.last_token()).await;
    setup.source.hold_refusals();
    setup.search_at_once(50, "many").await;
    assert_eq!(setup.provider.token_requests().await, ["basic 200"; 3]);
    assert_eq!(setup.source.answered(200), 52);
}

#[tokio::test]
async fn wrong_secret_is_unauthorized_and_spares_other_sources() {
    let wrong = |credentials: &mut ClientCredentials| credentials.client_secret = "secret-of-nobody".into();
    let setup = ProtectedSearch::start_with(usual_settings(), JWT_AUDIENCE, wrong).await;
    setup.assert_token_requests(&["basic 401", "post 401"]).await;
    setup.assert_unauthorized(&["the token endpoint refused", "check the client id and secret"]).await;
    // Each search tried both authentication methods and did not call the source.
    assert_eq!(setup.provider.token_requests().await, ["basic 401", "post 401"].repeat(3));
    assert_eq!(setup.source.answered(401), 0);
}

#[tokio::test]
async fn refused_scope_or_audience_is_unauthorized() {
    let scope = |credentials: &mut ClientCredentials| credentials.scope = Some("reports".to_owned());
    let setup = ProtectedSearch::start_with(usual_settings(), JWT_AUDIENCE, scope).await;
    setup.assert_token_requests(&["basic 400"]).await;
    setup.assert_unauthorized(&["the token endpoint refused", "check the scope"]).await;
    assert_eq!(setup.provider.token_requests().await, ["basic 400"; 3]);

    let audience =
        |credentials: &mut ClientCredentials| credentials.audience = Some("https://nobody.example/".into());
    let setup = ProtectedSearch::start_with(usual_settings(), JWT_AUDIENCE, audience).await;
    setup.assert_token_requests(&["basic 400"]).await;
    setup.assert_unauthorized(&["the token endpoint refused", "check the audience"]).await;
    assert_eq!(setup.provider.token_requests().await, ["basic 400"; 3]);
}

/// The provider drops an unknown scope: a new token would not help.
#[tokio::test]
async fn missing_scope_is_unauthorized_without_a_renewal() {
    let misspelt = |credentials: &mut ClientCredentials| credentials.scope = Some("serach".to_owned());
    let setup = ProtectedSearch::start_with(usual_settings(), JWT_AUDIENCE, misspelt).await;
    setup.assert_unauthorized(&["the source refused", "403", "what they allow"]).await;
    assert_eq!(setup.provider.token_requests().await, ["basic 200"]);
    assert_eq!(setup.source.answered(403), 2);
}

/// After every renewal, as for another audience.
#[tokio::test]
async fn source_refusing_every_token_costs_one_renewal() {
    let other = |credentials: &mut ClientCredentials| credentials.audience = Some(OPAQUE_AUDIENCE.to_owned());
    let setup = ProtectedSearch::start_with(usual_settings(), JWT_AUDIENCE, other).await;
    setup.assert_unauthorized(&["the source refused", "401"]).await;
    assert_eq!(setup.provider.token_requests().await, ["basic 200"; 3], "one more for each search");
    assert_eq!(setup.source.answered(401), 4);
}

/// Each provider accepts one method; id and secret need its encoding (RFC 6749 §2.3.1).
#[tokio::test]
async fn client_authentication_adapts_to_the_provider() {
    let own = ("trawl:search+50%/unit & more", "secret-of:the+client 100%/&=?#\"~\\%2B");
    for (method, first, further) in [
        ("client_secret_basic", &["basic 200"][..], &["basic 200"][..]),
        ("client_secret_post", &["basic 400", "post 200"], &["post 200"]),
    ] {
        let mut settings = with(usual_settings(), "authMethods", json!([method]));
        settings["clients"] = json!([client(own, method)]);
        settings["lives"] = json!([60, 3_600]);
        let special = |credentials: &mut ClientCredentials| {
            (credentials.client_id, credentials.client_secret) = (own.0.to_owned(), own.1.into());
        };
        let setup = ProtectedSearch::start_with(settings, JWT_AUDIENCE, special).await;
        found(setup.search("first").await);
        assert_eq!(setup.provider.token_requests().await, first);
        // The renewal begins with the method that worked.
        setup.source.put_clock_ahead(120);
        found(setup.search("second").await);
        assert_eq!(setup.provider.token_requests().await, [first, further].concat());
    }
}

#[tokio::test]
async fn provider_outage_only_affects_missing_tokens() {
    let address = own_address();
    let port: u16 = address.rsplit(':').next().unwrap().parse().unwrap();
    let settings = with(usual_settings(), "port", json!(port));
    let mut setup = ProtectedSearch::start_with(settings, JWT_AUDIENCE, |_| {}).await;
    found(setup.search("before").await);
    setup.provider.stop();

    for number in 0..3 {
        found(setup.search(&format!("with a token {number}")).await);
    }
    let late = setup.source.registration("y", &setup.credentials);
    setup.operator.register_source(&late, "late", &["builtin:article", "y"]).await;
    let late = async |setup: &ProtectedSearch, keyword: &str| {
        setup.acme.caller.search(&[("keyword", keyword), ("moduleId", "late")]).await.ok()
    };
    let without = late(&setup, "search").await;
    let report = without.source("y");
    assert_eq!((report["status"].as_str(), without.items().len()), (Some("unavailable"), 3), "{report}");
    let message = report["message"].as_str().unwrap();
    assert!(message.contains("the token endpoint cannot be reached"), "{message}");

    setup.provider = setup.provider.start_again().await;
    let mut searches = 0;
    eventually("the source's return", async || {
        searches += 1;
        let answer = late(&setup, &format!("return {searches}")).await;
        (answer.source("y")["status"] == "ok").then_some(())
    })
    .await;
    // The provider has new keys: the old token is refused and renewed.
    found(setup.search("after").await);
    assert_eq!(setup.provider.token_requests().await, ["basic 200"; 2], "one for each client");
    assert_eq!(setup.source.answered(401), 1);
}

fn with(mut settings: Value, name: &str, value: Value) -> Value {
    settings[name] = value;
    settings
}
