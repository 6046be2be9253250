//! Sources that learn for whom they are called.

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::routing::get;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use trawl_connectors::check::{CheckSettings, ClauseVerdict};
use trawl_connectors::{AddressRules, Method, Question, SourceClient, SourceError};
use url::Url;

use crate::check::{clauses_with, run, settings};
use crate::people::{self, People};
use crate::zoo::{self, Running};

const HEADER: &str = "x-trawl-assertion";

async fn serve_keys() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/jwks", listener.local_addr().unwrap());
    let keys = Router::new().route("/jwks", get(|| async { axum::Json(people::published_keys()) }));
    tokio::spawn(async move { axum::serve(listener, keys).await });
    url
}

async fn start() -> Running {
    let people = ["mei", "omar"].map(str::to_owned);
    zoo::start_for_people(&serve_keys().await, None, &people).await
}

fn check_settings(source: &Running) -> CheckSettings {
    let mut settings = settings(source, Method::Get);
    settings.source.identity = Some(People::of(&["mei"]).in_header());
    settings.person = Some("mei".to_owned());
    settings
}

#[tokio::test]
async fn source_that_trims_by_assertion_keeps_every_clause() {
    let source = start().await;
    let report = run(check_settings(&source)).await;
    assert_eq!(clauses_with(&report, ClauseVerdict::Pass).len(), report.clauses.len(), "{report:#?}");
    let curl = report.clauses.iter().find(|finding| finding.id == "identity-required");
    assert!(curl.is_some(), "{report:#?}");
    let shown = serde_json::to_string(&report).unwrap();
    assert!(shown.contains("$ASSERTION") && !shown.contains("eyJ"), "{shown}");
}

#[tokio::test]
async fn unknown_person_is_refused_alone() {
    let source = start().await;
    let mut settings = settings(&source, Method::Get).source;
    settings.identity = Some(People::of(&["mei", "omar", "ana"]).in_header());
    let rules = AddressRules::allowing([&source.url, &source.token_url]);
    let client = SourceClient::new(settings, &rules).unwrap();
    let ask = async |person| {
        let question = Question { keyword: "letter", limit: 10, cursor: None, person };
        let answer = client.search(&question).await?;
        Ok::<_, SourceError>(answer.items.into_iter().map(|item| item.id).collect::<Vec<_>>())
    };
    assert_eq!(ask(Some("mei")).await.unwrap(), ["papers-of-mei"]);
    assert_eq!(ask(Some("omar")).await.unwrap(), ["papers-of-omar"]);
    assert_eq!(ask(Some("ana")).await.unwrap(), [] as [String; 0]);
    for nobody in [Some("eve"), None] {
        assert!(matches!(ask(nobody).await, Err(SourceError::PersonRefused(_))), "{nobody:?}");
    }
}

/// The assertion as a source reads it that overlooks a fault.
fn overlook(fault: &str, assertion: Option<&str>, audience: &str) -> Option<String> {
    const LATE: u64 = 4_102_444_800;
    let Some(assertion) = assertion else {
        let claims = json!({"sub": "mei", "aud": audience, "exp": LATE});
        return (fault == "identity-required").then(|| people::sign(&claims));
    };
    let claims = assertion.split('.').nth(1).unwrap();
    let mut claims: Value = serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap();
    match fault {
        "identity-signature" => {}
        "identity-audience" => claims["aud"] = audience.into(),
        "identity-expiry" => claims["exp"] = LATE.into(),
        "identity-unknown" => claims["sub"] = "mei".into(),
        _ => return Some(assertion.to_owned()),
    }
    let is_forged = people::verify(assertion).is_none();
    if is_forged && fault != "identity-signature" {
        Some(assertion.to_owned())
    } else {
        Some(people::sign(&claims))
    }
}

/// A source in front of a proper one, which overlooks a fault.
async fn start_overlooking(fault: &'static str) -> (Url, Running) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url: Url = format!("http://{}/search", listener.local_addr().unwrap()).parse().unwrap();
    let audience = url.origin().ascii_serialization();
    let people = ["mei", "omar"].map(str::to_owned);
    let proper = zoo::start_for_people(&serve_keys().await, Some(&audience), &people).await;
    let to = proper.url.clone();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let forward = async move |request: Request| {
        let mut to = to.clone();
        to.set_query(request.uri().query());
        let mut headers = request.headers().clone();
        headers.remove("host");
        let given = headers.remove(HEADER);
        let given = given.as_ref().map(|value| value.to_str().unwrap());
        if let Some(assertion) = overlook(fault, given, &audience) {
            headers.insert(HEADER, assertion.parse().unwrap());
        }
        let answer = client.get(to).headers(headers).send().await.unwrap();
        axum::http::Response::<reqwest::Body>::from(answer).map(Body::new)
    };
    let router = Router::new().route("/search", get(forward));
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, proper)
}

#[tokio::test]
async fn source_that_overlooks_one_thing_breaks_its_clause_alone() {
    for fault in [
        "identity-required",
        "identity-signature",
        "identity-audience",
        "identity-expiry",
        "identity-unknown",
    ] {
        let (url, proper) = start_overlooking(fault).await;
        let mut settings = check_settings(&proper);
        settings.source.url = url;
        let report = run(settings).await;
        assert_eq!(clauses_with(&report, ClauseVerdict::Fail), [fault], "{report:#?}");
    }
}
