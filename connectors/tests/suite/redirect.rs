use axum::http::{HeaderMap, HeaderValue, Method as HttpMethod, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use trawl_connectors::{
    Authentication, ClientCredentials, Method, SourceError, SourceSettings, TraceContext,
};

use crate::support::{QUESTION, Received, Server, connect, good_answer, search_error, token_answer};

const SHOWN: &str = "the source answered with a redirect that is not followed: ";

fn redirect(status: u16, location: &str) -> Response {
    let location = HeaderValue::from_bytes(location.as_bytes()).unwrap();
    (StatusCode::from_u16(status).unwrap(), [(header::LOCATION, location)]).into_response()
}

/// `/search` moved to `/new/search` in steps, and `/token` to `/new/token`.
async fn start(status: u16) -> Server {
    Server::start(move |request: Received| async move {
        let base = format!("http://{}/", request.header("host"));
        match request.path.as_str() {
            "/search" => redirect(status, "two?by=path"),
            "/two" => redirect(status, &format!("{base}three")),
            "/three" => redirect(status, "/new/search?x=y#part"),
            "/token" => redirect(status, "/new/token"),
            "/new/token" => token_answer("new", 3600),
            _ => good_answer(),
        }
    })
    .await
}

#[tokio::test]
async fn three_redirects_are_followed_with_the_whole_request() {
    for status in [301, 302, 303, 307, 308] {
        let server = start(status).await;
        let authentication = Authentication::OAuth2Client(server.credentials());
        let settings = SourceSettings { authentication, ..server.settings(Method::Post) };

        let answer = connect(settings).unwrap().search(&QUESTION).await.unwrap();

        assert_eq!(answer.items.len(), 1, "{status}");
        for path in ["/search", "/two", "/three", "/new/search"] {
            let [request] = &server.received(path)[..] else { panic!("{status}: {path}") };
            assert_eq!(request.method, HttpMethod::POST, "{status}: {path}");
            assert_eq!(request.body, json!({"keyword": "budget", "limit": 10}).to_string());
            assert_eq!(request.header("authorization"), "Bearer new");
            assert_eq!(request.header("content-type"), "application/json;charset=UTF-8");
            assert_eq!(request.header("accept-encoding"), "gzip");
        }
        assert_eq!(server.received("/new/search")[0].query, "x=y");
        let [first, second] = [server.received("/token").remove(0), server.received("/new/token").remove(0)];
        assert_eq!((&first.method, &first.body), (&second.method, &second.body));
        assert_eq!(first.header("authorization"), second.header("authorization"));
        assert!(second.header("authorization").starts_with("Basic "));
    }
}

#[tokio::test]
async fn trace_follows_redirects_but_not_to_the_token_endpoint() {
    let server = start(307).await;
    let authentication = Authentication::OAuth2Client(server.credentials());
    let client = connect(SourceSettings { authentication, ..server.settings(Method::Get) }).unwrap();
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let headers = [("traceparent", parent), ("tracestate", "a=b")]
        .map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)));
    let trace = TraceContext::read(&HeaderMap::from_iter(headers));

    client.search_within(&QUESTION, trace.as_ref()).await.unwrap();
    client.search(&QUESTION).await.unwrap();

    let traces = |path: &str| -> Vec<(String, String)> {
        let received = server.received(path);
        let trace = |name: &str, request: &crate::support::Received| request.header(name).to_owned();
        received.iter().map(|request| (trace("traceparent", request), trace("tracestate", request))).collect()
    };
    let (with, without) = ((parent.to_owned(), "a=b".to_owned()), <(String, String)>::default());
    for path in ["/search", "/two", "/three", "/new/search"] {
        assert_eq!(traces(path), [with.clone(), without.clone()], "{path}");
    }
    for path in ["/token", "/new/token"] {
        assert_eq!(traces(path), std::slice::from_ref(&without), "{path}");
    }
}

#[tokio::test]
async fn get_takes_the_query_of_the_redirect() {
    let server = start(307).await;

    assert_eq!(server.client().search(&QUESTION).await.unwrap().items.len(), 1);

    let request = server.received("/new/search").remove(0);
    assert_eq!((request.method, request.query.as_str()), (HttpMethod::GET, "x=y"));
}

#[tokio::test]
async fn redirect_loop_ends_after_three() {
    let server = Server::start(|_| async { redirect(308, "/search") }).await;

    let error = server.client().search(&QUESTION).await.unwrap_err();

    assert_eq!(error, SourceError::Invalid(format!("{SHOWN}there were more than 3 in a row")));
    assert_eq!(server.received("/search").len(), 4);
}

#[tokio::test]
async fn missing_or_unreadable_location_is_reported() {
    let missing = search_error(|| StatusCode::FOUND.into_response()).await;
    assert_eq!(missing, SourceError::Invalid(format!("{SHOWN}HTTP 302 without a readable Location")));
    for location in [&b"/\xff"[..], b"http://[broken/"] {
        let location = HeaderValue::from_bytes(location).unwrap();
        let unreadable =
            search_error(move || (StatusCode::FOUND, [(header::LOCATION, location.clone())]).into_response());
        assert_eq!(unreadable.await, missing);
    }
}

#[tokio::test]
async fn status_304_is_not_followed() {
    let error = search_error(|| redirect(304, "/elsewhere")).await;
    let text = "the source answered with a redirect (HTTP 304), which is not followed";
    assert_eq!(error, SourceError::Invalid(text.to_owned()));
}

#[tokio::test]
async fn token_endpoint_redirect_to_another_origin_is_refused() {
    let source = Server::start(|_| async { good_answer() }).await;
    let stranger = Server::start(|_| async { token_answer("stolen", 3600) }).await;
    let elsewhere = stranger.base.join("token").unwrap().to_string();
    for location in [elsewhere, "/token".to_owned(), "http://169.254.169.254/".to_owned()] {
        let moved = Server::start(move |_| std::future::ready(redirect(307, &location))).await;
        let credentials =
            ClientCredentials { token_url: moved.base.join("token").unwrap(), ..source.credentials() };
        let authentication = Authentication::OAuth2Client(credentials);
        let settings = SourceSettings { authentication, ..source.settings(Method::Get) };

        let error = connect(settings).unwrap().search(&QUESTION).await.unwrap_err();

        assert!(
            matches!(&error, SourceError::Invalid(text)
                if text.starts_with("the token endpoint answered with a redirect that is not followed: ")),
            "{error:?}"
        );
    }
    assert!(stranger.received("/token").is_empty() && source.received("/search").is_empty());
}

#[tokio::test]
async fn redirect_without_the_query_is_named() {
    let server = Server::start(move |request: Received| async move {
        match (request.path.as_str(), request.query.as_str()) {
            ("/search", _) => redirect(301, "/new"),
            (_, "") => StatusCode::BAD_REQUEST.into_response(),
            _ => good_answer(),
        }
    })
    .await;

    let error = server.client().search(&QUESTION).await.unwrap_err();

    let said = "the source answered with HTTP 400, behind a redirect that loses the query";
    assert_eq!(error, SourceError::Failed(said.to_owned()));

    // All rows of the system are no answer to the keyword.
    let ignoring = Server::start(move |request: Received| async move {
        if request.path == "/search" { redirect(301, "/new") } else { good_answer() }
    })
    .await;
    let error = ignoring.client().search(&QUESTION).await.unwrap_err();
    let said = "the source answered behind a redirect that loses the query";
    assert_eq!(error, SourceError::Invalid(said.to_owned()));
}
