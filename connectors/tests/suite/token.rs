use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use futures::future::join_all;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use trawl_connectors::{Authentication, ClientCredentials, Method, SourceError, SourceSettings};

use crate::support::{
    QUESTION, Received, Server, TIMEOUT, connect, good_answer, json_answer, page, start_closing,
    status_answer, token_answer,
};

/// Answers `/token` by `token`; searches succeed with any token but "old".
async fn start(token: impl Fn(Received) -> Response + Clone + Send + Sync + 'static) -> Server {
    Server::start(move |request| {
        let response = match (request.path.as_str(), request.header("authorization")) {
            ("/token", _) => token(request),
            (_, "" | "Bearer old") => status_answer(401),
            (_, "Bearer narrow") => status_answer(403),
            _ => good_answer(),
        };
        std::future::ready(response)
    })
    .await
}

fn refuse(status: StatusCode, code: &str) -> Response {
    let mut response = json_answer(&json!({"error": code, "error_description": "secret internals"}));
    *response.status_mut() = status;
    response
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_searches_fetch_one_token() {
    let server = start(|_| token_answer("new", 3600)).await;
    let client = server.client_with_token();

    let searches = join_all((0..50).map(|_| {
        let client = client.clone();
        tokio::spawn(async move { client.search(&QUESTION).await })
    }));

    for outcome in searches.await {
        assert_eq!(outcome.unwrap().unwrap().items.len(), 1);
    }
    assert_eq!(server.received("/token").len(), 1);
    assert_eq!(server.received("/search").len(), 50);
}

#[tokio::test]
async fn token_request_has_credentials_scope_and_audience() {
    let server = start(|_| token_answer("new", 3600)).await;
    let credentials = ClientCredentials {
        scope: Some("search read".into()),
        audience: Some("https://source.example/".into()),
        ..server.credentials()
    };
    let authentication = Authentication::OAuth2Client(credentials);
    let settings = SourceSettings { authentication, ..server.settings(Method::Post) };

    connect(settings).unwrap().search(&QUESTION).await.unwrap();

    let request = server.received("/token").remove(0);
    // RFC 6749 §2.3.1 form-encodes id and secret before base64: trawl:the%3Asecret%2F%C3%BC
    assert_eq!(request.header("authorization"), "Basic dHJhd2w6dGhlJTNBc2VjcmV0JTJGJUMzJUJD");
    let mut pairs: Vec<_> = url::form_urlencoded::parse(request.body.as_bytes()).into_owned().collect();
    pairs.sort();
    let expected = [
        ("audience", "https://source.example/"),
        ("grant_type", "client_credentials"),
        ("scope", "search read"),
    ];
    assert_eq!(pairs, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert_eq!(server.received("/search")[0].header("authorization"), "Bearer new");
}

#[tokio::test]
async fn client_secret_post_is_tried_and_remembered() {
    let server = start(|request| {
        if request.body.contains("client_secret=") {
            token_answer("new", 0)
        } else {
            refuse(StatusCode::UNAUTHORIZED, "invalid_client")
        }
    })
    .await;
    let client = server.client_with_token();

    client.search(&QUESTION).await.unwrap();
    client.search(&QUESTION).await.unwrap();

    let in_body: Vec<bool> =
        server.received("/token").iter().map(|request| request.body.contains("client_secret=")).collect();
    assert_eq!(in_body, [false, true, true]);
}

#[tokio::test]
async fn token_is_cached_for_its_life() {
    for (life, fetches) in [(json!(3600), 1), (json!("3600"), 1), (Value::Null, 1), (json!(0), 3)] {
        let server = start({
            let life = life.clone();
            move |_| json_answer(&json!({"access_token": "new", "token_type": "bearer", "expires_in": life}))
        })
        .await;
        let client = server.client_with_token();
        for _ in 0..3 {
            client.search(&QUESTION).await.unwrap();
        }
        assert_eq!(server.received("/token").len(), fetches, "expires_in {life}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn refused_token_is_renewed_once_for_all_searches() {
    let server = start(|request| token_answer(if request.nth == 0 { "old" } else { "new" }, 3600)).await;
    let client = server.client_with_token();

    let searches = join_all((0..20).map(|_| {
        let client = client.clone();
        tokio::spawn(async move { client.search(&QUESTION).await })
    }));

    for outcome in searches.await {
        outcome.unwrap().unwrap();
    }
    assert_eq!(server.received("/token").len(), 2);
}

#[tokio::test]
async fn second_refusal_is_final() {
    let server = start(|_| token_answer("old", 3600)).await;

    let error = server.client_with_token().search(&QUESTION).await.unwrap_err();

    assert!(matches!(error, SourceError::Unauthorized(_)), "{error:?}");
    assert_eq!((server.received("/token").len(), server.received("/search").len()), (2, 2));
}

#[tokio::test]
async fn missing_scope_costs_no_token() {
    let server = start(|_| token_answer("narrow", 3600)).await;

    let error = server.client_with_token().search(&QUESTION).await.unwrap_err();

    assert!(matches!(error, SourceError::Unauthorized(_)), "{error:?}");
    assert_eq!((server.received("/token").len(), server.received("/search").len()), (1, 1));
}

#[tokio::test]
async fn wrong_secret_is_unauthorized_without_internals() {
    for status in [StatusCode::BAD_REQUEST, StatusCode::UNAUTHORIZED] {
        let server = start(move |_| refuse(status, "invalid_client")).await;

        let error = server.client_with_token().search(&QUESTION).await.unwrap_err();

        let SourceError::Unauthorized(text) = error else { panic!("{error:?}") };
        assert!(text.contains("the token endpoint refused") && text.contains("check the client"), "{text}");
        assert!(text.ends_with("check the client id and secret"), "{text}");
        assert!(!text.contains("internals") && !text.contains("http"), "{text}");
        assert!(server.received("/search").is_empty());
    }
}

#[tokio::test]
async fn error_after_client_secret_post_is_reported() {
    for (code, said) in [("invalid_scope", "check the scope"), ("invalid_target", "check the audience")] {
        let server = start(move |request| {
            if request.body.contains("client_secret=") {
                refuse(StatusCode::BAD_REQUEST, code)
            } else {
                refuse(StatusCode::UNAUTHORIZED, "invalid_client")
            }
        })
        .await;

        let error = server.client_with_token().search(&QUESTION).await.unwrap_err();

        assert!(matches!(&error, SourceError::Unauthorized(text) if text.contains(said)), "{error:?}");
    }
}

/// Keycloak and others answer a wrong secret with another code of the RFC.
#[tokio::test]
async fn status_401_concerns_the_client_with_any_body() {
    for body in ["", "<html>", r#"{"error":"unauthorized_client"}"#] {
        let server = start(move |_| (StatusCode::UNAUTHORIZED, body).into_response()).await;

        let error = server.client_with_token().search(&QUESTION).await.unwrap_err();

        let told =
            matches!(&error, SourceError::Unauthorized(text) if text.ends_with("client id and secret"));
        assert!(told, "{error:?}");
        assert_eq!(server.received("/token").len(), 2, "both ways of presenting the secret");
    }
}

#[tokio::test]
async fn token_endpoint_failures_have_their_own_errors() {
    let search = |answer: fn() -> Response| async move {
        let server = start(move |_| answer()).await;
        server.client_with_token().search(&QUESTION).await.unwrap_err()
    };
    let unauthorized_client = search(|| refuse(StatusCode::BAD_REQUEST, "unauthorized_client")).await;
    assert!(matches!(&unauthorized_client, SourceError::Unauthorized(text) if text.contains("grant")));
    assert!(matches!(search(|| status_answer(503)).await, SourceError::Unavailable { .. }));
    assert!(matches!(search(|| status_answer(404)).await, SourceError::Failed(_)));
    assert!(matches!(search(|| status_answer(302)).await, SourceError::Invalid(_)));
    assert!(matches!(search(|| "<html>".into_response()).await, SourceError::Invalid(_)));
    assert!(matches!(search(|| json_answer(&json!({"token": 1}))).await, SourceError::Invalid(_)));
    assert!(matches!(search(|| token_answer("line\nbreak", 60)).await, SourceError::Invalid(_)));
    assert!(matches!(search(|| token_answer(&"x".repeat(70_000), 60)).await, SourceError::Invalid(_)));
}

#[tokio::test]
async fn unavailable_token_endpoint_is_tried_again() {
    let server =
        start(|request| if request.nth == 0 { status_answer(503) } else { token_answer("new", 60) }).await;
    let client = server.client_with_token();

    assert!(matches!(client.search(&QUESTION).await, Err(SourceError::Unavailable { .. })));
    client.search(&QUESTION).await.unwrap();
}

#[tokio::test]
async fn closed_pooled_token_connection_costs_no_search() {
    let (token_url, answering) =
        start_closing(r#"{"access_token":"new","token_type":"Bearer","expires_in":0}"#.to_owned()).await;
    let server = start(|_| status_answer(500)).await;
    let credentials = ClientCredentials { token_url, ..server.credentials() };
    let authentication = Authentication::OAuth2Client(credentials);
    let client = connect(SourceSettings { authentication, ..server.settings(Method::Get) }).unwrap();

    client.search(&QUESTION).await.unwrap();
    client.search(&QUESTION).await.unwrap();

    answering.await.unwrap();
}

#[tokio::test]
async fn wait_for_a_token_counts_against_the_timeout() {
    let server = Server::start(|_| std::future::pending()).await;
    let authentication = Authentication::OAuth2Client(server.credentials());
    let timeout = Duration::from_millis(50);
    let settings = SourceSettings { authentication, timeout, ..server.settings(Method::Get) };

    let error = connect(settings).unwrap().search(&QUESTION).await.unwrap_err();

    assert_eq!(error, SourceError::Timeout);
    assert!(server.received("/search").is_empty());
}

#[tokio::test]
async fn fetch_outlives_its_cancelled_search() {
    let (came, mut coming) = mpsc::unbounded_channel();
    let (release, released) = oneshot::channel::<()>();
    let released = Arc::new(Mutex::new(Some(released)));
    let server = Server::start(move |request| {
        let (came, released) = (came.clone(), Arc::clone(&released));
        async move {
            if request.path != "/token" {
                return good_answer();
            }
            came.send(()).unwrap();
            if request.nth > 0 {
                return token_answer("new", 3600);
            }
            let released = released.lock().unwrap().take().unwrap();
            released.await.unwrap();
            refuse(StatusCode::UNAUTHORIZED, "invalid_client")
        }
    })
    .await;
    let client = server.client_with_token();

    let first = tokio::spawn({
        let client = client.clone();
        async move { client.search(&QUESTION).await }
    });
    coming.recv().await.unwrap();
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    release.send(()).unwrap();

    // The abandoned fetch makes a second attempt, which the next search joins.
    tokio::time::timeout(TIMEOUT, coming.recv()).await.unwrap().unwrap();
    tokio::time::timeout(TIMEOUT, client.search(&QUESTION)).await.unwrap().unwrap();
    assert_eq!(server.received("/token").len(), 2);
}

#[tokio::test]
async fn echoed_token_is_redacted() {
    let server = Server::start(|request| async move {
        match request.path.as_str() {
            "/token" => token_answer("tok-123", 3600),
            _ => json_answer(&json!({"code": 500, "message": "bad token tok-123", "data": null})),
        }
    })
    .await;

    let error = server.client_with_token().search(&QUESTION).await.unwrap_err();

    assert_eq!(error, SourceError::Failed("the source answered with code 500: bad token …".into()));
}

#[tokio::test]
async fn echoed_token_is_redacted_when_cut_and_in_notes() {
    let token = "eyJhbGciOiJSUzI1NiJ9.".repeat(30);
    let issued = token.clone();
    let server = Server::start(move |request| {
        let token = issued.clone();
        async move {
            match (request.path.as_str(), request.nth) {
                ("/token", _) => token_answer(&token, 3600),
                (_, 0) => json_answer(&json!({"code": 500, "message": format!("bad {token}"), "data": null})),
                _ => ([("content-type", token)], page(1).to_string()).into_response(),
            }
        }
    })
    .await;
    let client = server.client_with_token();

    let error = client.search(&QUESTION).await.unwrap_err();
    assert_eq!(error, SourceError::Failed("the source answered with code 500: bad …".into()));
    let answer = client.search(&QUESTION).await.unwrap();
    assert_eq!(answer.notes, ["the content type is …, not application/json;charset=UTF-8"]);
}
