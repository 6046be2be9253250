use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use serde_json::json;
use trawl_connectors::{
    ApiKey, Authentication, BasicCredentials, BearerToken, Method, SourceError, SourceSettings,
};

use crate::support::{QUESTION, Received, Server, connect, good_answer, json_answer, page, status_answer};

const SECRET: &str = "0123456789abcdef";
/// `mei:0123456789abcdef`.
const PAIR: &str = "bWVpOjAxMjM0NTY3ODlhYmNkZWY=";

/// Each with its header and value.
fn all() -> [(Authentication, &'static str, String); 3] {
    [
        (
            Authentication::ApiKey(ApiKey::new("X-Search-Key", SECRET.into()).unwrap()),
            "x-search-key",
            SECRET.to_owned(),
        ),
        (
            Authentication::Basic(BasicCredentials::new("mei", SECRET.into()).unwrap()),
            "authorization",
            format!("Basic {PAIR}"),
        ),
        (
            Authentication::Bearer(BearerToken::new(SECRET.into()).unwrap()),
            "authorization",
            format!("Bearer {SECRET}"),
        ),
    ]
}

fn settings(server: &Server, authentication: Authentication) -> SourceSettings {
    SourceSettings { authentication, ..server.settings(Method::Get) }
}

#[tokio::test]
async fn fixed_credentials_are_sent_in_their_header_alone() {
    for (authentication, name, value) in all() {
        let server = Server::start(|_| async { good_answer() }).await;
        let client = connect(settings(&server, authentication)).unwrap();

        client.warm().await.unwrap();
        client.search(&QUESTION).await.unwrap();

        let received = server.received("/search");
        assert_eq!(received.len(), 2);
        for request in received {
            assert_eq!(request.header(name), value);
            let holding = request.headers.values().filter(|held| held.to_str().unwrap().contains(&value));
            assert_eq!(holding.count(), 1, "{name}");
        }
    }
}

#[tokio::test]
async fn refused_fixed_credentials_are_sent_once() {
    for (authentication, name, _) in all() {
        let server = Server::start(|_| async { status_answer(401) }).await;

        let error = connect(settings(&server, authentication)).unwrap().search(&QUESTION).await.unwrap_err();

        assert!(matches!(error, SourceError::Unauthorized(_)), "{name}: {error:?}");
        assert_eq!(server.received("/search").len(), 1, "{name}");
    }
}

#[tokio::test]
async fn fixed_credentials_follow_redirects_within_the_host_only() {
    for (authentication, name, value) in all() {
        let elsewhere = Server::start(|_| async { good_answer() }).await;
        let target = elsewhere.base.join("stolen").unwrap().to_string();
        let server = Server::start(move |request: Received| {
            let query = &request.query;
            let target = if request.nth == 0 { format!("/moved?{query}") } else { target.clone() };
            async move {
                match request.path.as_str() {
                    "/moved" => good_answer(),
                    _ => (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, target)]).into_response(),
                }
            }
        })
        .await;
        let client = connect(settings(&server, authentication)).unwrap();

        client.search(&QUESTION).await.unwrap();
        assert_eq!(server.received("/moved")[0].header(name), value);

        let error = client.search(&QUESTION).await.unwrap_err();
        assert!(matches!(error, SourceError::Invalid(_)), "{error:?}");
        assert!(elsewhere.received("/stolen").is_empty(), "{name} was sent to another host");
    }
}

#[tokio::test]
async fn echoed_secrets_are_redacted() {
    for (authentication, name, _) in all() {
        for echoed in [SECRET, PAIR] {
            let server = Server::start(move |_| async move {
                let mut refused = page(0);
                refused["code"] = json!(500);
                refused["message"] = json!(format!("unknown key {echoed}!"));
                json_answer(&refused)
            })
            .await;

            let error = connect(settings(&server, authentication.clone())).unwrap().search(&QUESTION).await;

            let text = error.unwrap_err().to_string();
            let is_its_own = echoed == SECRET || matches!(authentication, Authentication::Basic(_));
            assert_eq!(text.contains(echoed), !is_its_own, "{name}: {text}");
        }
    }
}
