//! `OAUTH2_CLIENT` with a real OIDC provider. Each search has its own keyword, to miss the cache.

use futures::future::join_all;
use serde_json::{Value, json};
use trawl_connectors::ClientCredentials;

use crate::util::{
    answer::Answer,
    app::{Application, TestApp},
    eventually,
    external::with,
    openid::{JWT_AUDIENCE, OPAQUE_AUDIENCE, Provider, client, usual_settings},
    protected::ProtectedSource,
};

struct ProtectedSearch {
    provider: Provider,
    source: ProtectedSource,
    app: TestApp,
    acme: Application,
}

impl ProtectedSearch {
    async fn start(
        settings: Value,
        audience: &'static str,
        change: impl FnOnce(&mut ClientCredentials),
    ) -> Self {
        let provider = Provider::start(settings).await;
        let source = ProtectedSource::start(&provider, audience).await;
        let mut credentials = provider.credentials(audience);
        change(&mut credentials);
        let (app, acme) = TestApp::start_with_acme().await;
        app.register_source(&acme, source.registration("x", &credentials), "alone", &["x"]).await;
        Self { provider, source, app, acme }
    }

    async fn restart(self) -> Self {
        let Self { provider, source, app, acme } = self;
        let app = app.restart().await;
        let caller = app.caller(&acme.caller.token);
        Self { provider, source, app, acme: Application { caller, ..acme } }
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
        let setup = ProtectedSearch::start(usual_settings(), audience, |_| {}).await;
        setup.assert_token_requests(&["basic 200"]).await;
        let setup = setup.restart().await;
        setup.search_at_once(100, "first").await;
        assert_eq!(setup.provider.token_requests().await, ["basic 200"; 2]);
        setup.search_at_once(10, "further").await;
        assert_eq!(setup.provider.token_requests().await, ["basic 200"; 2]);
        assert_eq!((setup.source.answered(200), setup.source.answered(401)), (110, 0));
    }
}

#[tokio::test]
async fn refusal_of_the_provider_is_unauthorized_and_says_what_to_check() {
    type Change = fn(&mut ClientCredentials);
    let refused: [(Change, &[&str], &str); 3] = [
        (
            |credentials| credentials.client_secret = "secret-of-nobody".into(),
            &["basic 401", "post 401"],
            "check the client id and secret",
        ),
        (|credentials| credentials.scope = Some("reports".to_owned()), &["basic 400"], "check the scope"),
        (
            |credentials| credentials.audience = Some("https://nobody.example/".to_owned()),
            &["basic 400"],
            "check the audience",
        ),
    ];
    for (change, answers, advice) in refused {
        let setup = ProtectedSearch::start(usual_settings(), JWT_AUDIENCE, change).await;
        setup.assert_token_requests(answers).await;
        let answer = setup.search("search").await.fails_without_sources(502);
        let report = answer.source("x");
        assert_eq!(report["status"], "unauthorized", "{report}");
        let message = report["message"].as_str().unwrap();
        assert!(message.contains("the token endpoint refused") && message.contains(advice), "{message}");
        for secret in ["secret-", "127.0.0.1", "Bearer", "Basic"] {
            assert!(!answer.text.contains(secret), "{secret:?} is shown: {}", answer.text);
        }
        assert_eq!(setup.provider.token_requests().await, answers.repeat(2), "{advice}");
        assert_eq!(setup.source.answered(401), 0, "it was called");
    }
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
        let setup = ProtectedSearch::start(settings, JWT_AUDIENCE, special).await;
        found(setup.search("first").await);
        assert_eq!(setup.provider.token_requests().await, first);
        // The renewal begins with the method that worked.
        setup.source.put_clock_ahead(120);
        found(setup.search("second").await);
        assert_eq!(setup.provider.token_requests().await, [first, further].concat());
    }
}
