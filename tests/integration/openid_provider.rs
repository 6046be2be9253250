//! `OAUTH2_CLIENT` with a real OIDC provider and a source that really checks its tokens (decisions 7.3).
//!
//! Keywords differ from search to search, so that none is answered by what another one found.

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

/// A source behind a provider, and a tenant that searches it: alone in the module `alone`, beside three articles in
/// the module `all`.
struct Landscape {
    provider: Provider,
    source: ProtectedSource,
    /// How the source is registered.
    credentials: ClientCredentials,
    operator: Caller,
    app: TestApp,
    acme: Application,
}

impl Landscape {
    async fn start(audience: &'static str) -> Self {
        Self::start_with(usual_settings(), audience, |_| {}).await
    }

    /// With other settings of the provider, and other credentials than are right there.
    async fn start_with(
        settings: Value,
        audience: &'static str,
        change: impl FnOnce(&mut ClientCredentials),
    ) -> Self {
        let provider = Provider::start(settings).await;
        let source = ProtectedSource::start(&provider, audience).await;
        let mut credentials = provider.credentials(audience);
        change(&mut credentials);
        let app = TestApp::start().await;
        let acme = app.tenant("acme").await;
        app.keep(&acme.caller, "article", &many("a", "search", 3, 1)).await;
        let operator = app.operator().await.caller.on("acme");
        operator.show(&source.registration("x", &credentials), "alone", &["x"]).await;
        operator.show_module("all", &["builtin:article", "x"]).await;
        Self { provider, source, credentials, operator, app, acme }
    }

    /// The same with the server started again.
    async fn restart(self) -> Self {
        let Self { provider, source, credentials, operator, app, acme } = self;
        let app = app.restart().await;
        let caller = app.caller(&acme.caller.token);
        let operator = app.caller(&operator.token).on("acme");
        Self { provider, source, credentials, operator, app, acme: Application { caller, ..acme } }
    }

    /// The source has been asked for its first token, as it was enabled.
    async fn asked_for_a_token(&self, answers: &[&str]) {
        eventually("the first token", async || {
            (self.provider.token_requests().await == answers).then_some(())
        })
        .await;
    }

    /// A search of the source alone.
    async fn search(&self, keyword: &str) -> Answer {
        self.acme.caller.search(&[("keyword", keyword), ("moduleId", "alone")]).await
    }

    /// As many searches of the source alone at once, each of which must find all that it holds.
    async fn search_at_once(&self, count: usize, keyword: &str) {
        let keywords: Vec<String> = (0..count).map(|number| format!("{keyword} {number}")).collect();
        for answer in join_all(keywords.iter().map(|keyword| self.search(keyword))).await {
            found(answer);
        }
    }

    /// The source is refused, or refuses: alone the search fails, beside articles it is partial. Both say so in the
    /// same words, which hold these and no secret.
    async fn is_unauthorized(&self, said: &[&str]) {
        let alone = self.search("search alone").await.has_no_source(502);
        let beside = self.acme.caller.search(&[("keyword", "search"), ("moduleId", "all")]).await.ok();
        assert_eq!(beside.ids(), ["a00000", "a00001", "a00002"], "{}", beside.text);
        assert_eq!((beside.total(), &beside.body["partial"]), (3, &json!(true)), "{}", beside.text);
        assert_eq!(beside.source("builtin:article")["status"], "ok", "{}", beside.text);
        for answer in [&alone, &beside] {
            let report = answer.source("x");
            assert_eq!(report["status"], "unauthorized", "{report}");
            let message = report["message"].as_str().unwrap();
            for words in said {
                assert!(message.contains(words), "the message does not say {words:?}: {message}");
            }
            for secret in ["secret-", "127.0.0.1", "Bearer", "Basic"] {
                assert!(!answer.text.contains(secret), "{secret:?} is shown: {}", answer.text);
            }
        }
    }
}

/// The source answered with its three items.
#[track_caller]
fn found(answer: Answer) {
    let answer = answer.ok();
    assert_eq!((answer.items().len(), &answer.body["partial"]), (3, &json!(false)), "{}", answer.text);
    assert_eq!(answer.body["sources"][0]["status"], "ok", "{}", answer.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_first_searches_cost_one_token_request() {
    for audience in [JWT_AUDIENCE, OPAQUE_AUDIENCE] {
        let landscape = Landscape::start(audience).await;
        landscape.asked_for_a_token(&["basic 200"]).await;
        // A server that has just started has no token yet.
        let landscape = landscape.restart().await;
        landscape.search_at_once(100, "first").await;
        assert_eq!(landscape.provider.token_requests().await, ["basic 200"; 2]);
        landscape.search_at_once(10, "further").await;
        assert_eq!(landscape.provider.token_requests().await, ["basic 200"; 2]);
        assert_eq!((landscape.source.answered(200), landscape.source.answered(401)), (110, 0));
    }
}

/// The source's clock is ahead of trawl's, so that only the source knows that the token has ended.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_has_ended_for_the_source_is_renewed_once() {
    let settings = with(usual_settings(), "lives", json!([60, 3_600]));
    let landscape = Landscape::start_with(settings, JWT_AUDIENCE, |_| {}).await;
    found(landscape.search("before").await);
    landscape.source.put_clock_ahead(120);
    found(landscape.search("after").await);
    assert_eq!(landscape.provider.token_requests().await, ["basic 200"; 2]);
    assert_eq!((landscape.source.answered(200), landscape.source.answered(401)), (2, 1));
}

/// The source's clock is behind, so that only trawl knows that the token has ended.
#[tokio::test]
async fn a_token_that_has_ended_for_trawl_is_replaced_before_it_is_shown() {
    let settings = with(usual_settings(), "lives", json!([1, 3_600]));
    let landscape = Landscape::start_with(settings, JWT_AUDIENCE, |_| {}).await;
    landscape.source.put_clock_ahead(-3_600);
    let mut searches = 0;
    eventually("the second token", async || {
        searches += 1;
        found(landscape.search(&format!("search {searches}")).await);
        (landscape.provider.token_requests().await.len() > 1).then_some(())
    })
    .await;
    found(landscape.search("after").await);
    assert_eq!(landscape.provider.token_requests().await, ["basic 200"; 2]);
    assert_eq!(landscape.source.answered(401), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_token_is_renewed_once_however_many_searches_meet_it() {
    let landscape = Landscape::start(OPAQUE_AUDIENCE).await;
    found(landscape.search("before").await);
    landscape.provider.revoke(&landscape.source.last_token()).await;
    found(landscape.search("one").await);
    assert_eq!(landscape.provider.token_requests().await, ["basic 200"; 2]);
    assert_eq!(landscape.source.answered(401), 1);

    // Half of them are refused while the next token is fetched, and half when others have used it already.
    landscape.provider.revoke(&landscape.source.last_token()).await;
    landscape.source.hold_refusals();
    landscape.search_at_once(50, "many").await;
    assert_eq!(landscape.provider.token_requests().await, ["basic 200"; 3]);
    assert_eq!(landscape.source.answered(200), 52);
}

#[tokio::test]
async fn a_wrong_secret_is_unauthorized_and_costs_other_sources_nothing() {
    let wrong = |credentials: &mut ClientCredentials| credentials.client_secret = "secret-of-nobody".into();
    let landscape = Landscape::start_with(usual_settings(), JWT_AUDIENCE, wrong).await;
    landscape.asked_for_a_token(&["basic 401", "post 401"]).await;
    landscape.is_unauthorized(&["the token endpoint refused", "check the client id and secret"]).await;
    // Each search showed the secret in both ways too, and the source was left alone.
    assert_eq!(landscape.provider.token_requests().await, ["basic 401", "post 401"].repeat(3));
    assert_eq!(landscape.source.answered(401), 0);
}

#[tokio::test]
async fn a_scope_or_an_audience_that_the_provider_refuses_is_unauthorized() {
    let scope = |credentials: &mut ClientCredentials| credentials.scope = Some("reports".to_owned());
    let landscape = Landscape::start_with(usual_settings(), JWT_AUDIENCE, scope).await;
    landscape.asked_for_a_token(&["basic 400"]).await;
    landscape.is_unauthorized(&["the token endpoint refused", "check the scope"]).await;
    assert_eq!(landscape.provider.token_requests().await, ["basic 400"; 3]);

    let audience =
        |credentials: &mut ClientCredentials| credentials.audience = Some("https://nobody.example/".into());
    let landscape = Landscape::start_with(usual_settings(), JWT_AUDIENCE, audience).await;
    landscape.asked_for_a_token(&["basic 400"]).await;
    landscape.is_unauthorized(&["the token endpoint refused", "check the audience"]).await;
    assert_eq!(landscape.provider.token_requests().await, ["basic 400"; 3]);
}

/// The provider leaves out a scope that it has never heard of, and the source misses it. Another token would be no
/// better, so none is asked for.
#[tokio::test]
async fn a_source_that_wants_more_scope_is_unauthorized_and_costs_no_renewal() {
    let misspelt = |credentials: &mut ClientCredentials| credentials.scope = Some("serach".to_owned());
    let landscape = Landscape::start_with(usual_settings(), JWT_AUDIENCE, misspelt).await;
    landscape.is_unauthorized(&["the source refused", "403", "what it may do"]).await;
    assert_eq!(landscape.provider.token_requests().await, ["basic 200"]);
    assert_eq!(landscape.source.answered(403), 2);
}

/// A token for another audience is refused however often it is renewed: once a search.
#[tokio::test]
async fn a_source_that_refuses_every_token_is_unauthorized_after_one_renewal() {
    let other = |credentials: &mut ClientCredentials| credentials.audience = Some(OPAQUE_AUDIENCE.to_owned());
    let landscape = Landscape::start_with(usual_settings(), JWT_AUDIENCE, other).await;
    landscape.is_unauthorized(&["the source refused", "401"]).await;
    assert_eq!(landscape.provider.token_requests().await, ["basic 200"; 3], "one more for each search");
    assert_eq!(landscape.source.answered(401), 4);
}

/// Each provider takes one way of presenting the secret; id and secret hold what each way has to encode (RFC 6749
/// §2.3.1).
#[tokio::test]
async fn a_client_is_known_by_the_one_way_that_its_provider_takes() {
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
        let landscape = Landscape::start_with(settings, JWT_AUDIENCE, special).await;
        found(landscape.search("first").await);
        assert_eq!(landscape.provider.token_requests().await, first);
        // The way that was taken is the first one at the renewal.
        landscape.source.put_clock_ahead(120);
        found(landscape.search("second").await);
        assert_eq!(landscape.provider.token_requests().await, [first, further].concat());
    }
}

#[tokio::test]
async fn a_provider_that_is_away_is_missed_only_where_a_token_is_wanted() {
    let address = own_address();
    let port: u16 = address.rsplit(':').next().unwrap().parse().unwrap();
    let settings = with(usual_settings(), "port", json!(port));
    let mut landscape = Landscape::start_with(settings, JWT_AUDIENCE, |_| {}).await;
    found(landscape.search("before").await);
    landscape.provider.stop();

    for number in 0..3 {
        found(landscape.search(&format!("with a token {number}")).await);
    }
    // A source that is registered now finds no token.
    let late = landscape.source.registration("y", &landscape.credentials);
    landscape.operator.show(&late, "late", &["builtin:article", "y"]).await;
    let late = async |landscape: &Landscape, keyword: &str| {
        landscape.acme.caller.search(&[("keyword", keyword), ("moduleId", "late")]).await.ok()
    };
    let without = late(&landscape, "search").await;
    let report = without.source("y");
    assert_eq!((report["status"].as_str(), without.items().len()), (Some("unavailable"), 3), "{report}");
    let message = report["message"].as_str().unwrap();
    assert!(message.contains("the token endpoint cannot be reached"), "{message}");

    landscape.provider = landscape.provider.start_again().await;
    let mut searches = 0;
    eventually("the source's return", async || {
        searches += 1;
        let answer = late(&landscape, &format!("return {searches}")).await;
        (answer.source("y")["status"] == "ok").then_some(())
    })
    .await;
    // The provider came back with other keys, so the token from before its absence is refused and renewed.
    found(landscape.search("after").await);
    assert_eq!(landscape.provider.token_requests().await, ["basic 200"; 2], "one for each client");
    assert_eq!(landscape.source.answered(401), 1);
}

fn with(mut settings: Value, name: &str, value: Value) -> Value {
    settings[name] = value;
    settings
}
