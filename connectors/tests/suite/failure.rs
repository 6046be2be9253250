use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::http::header;
use axum::response::IntoResponse;
use futures::StreamExt;
use futures::future::join_all;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use trawl_connectors::{Method, Question, SourceError, SourceSettings};
use url::Url;

use crate::support::{
    QUESTION, Server, TIMEOUT, connect, good_answer, json_answer, page, search_error, start_closing,
    status_answer,
};

#[tokio::test]
async fn each_status_has_its_own_error() {
    for status in [401, 403] {
        let error = search_error(move || status_answer(status)).await;
        assert!(matches!(error, SourceError::Unauthorized(_)), "{status}: {error:?}");
    }
    for status in [400, 404, 405, 500, 502, 504] {
        let error = search_error(move || status_answer(status)).await;
        assert_eq!(error, SourceError::Failed(format!("the source answered with HTTP {status}")));
    }
    for status in [201, 204] {
        let error = search_error(move || status_answer(status)).await;
        assert!(matches!(error, SourceError::Invalid(_)), "{status}: {error:?}");
    }
    for status in [429, 503] {
        let error = search_error(move || status_answer(status)).await;
        assert!(matches!(error, SourceError::Unavailable { retry_after: None, .. }), "{status}: {error:?}");
    }
    let used_up = || {
        let headers = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "90")];
        (axum::http::StatusCode::FORBIDDEN, headers).into_response()
    };
    let error = search_error(used_up).await;
    let wait = Some(Duration::from_secs(90));
    assert!(
        matches!(error, SourceError::Unavailable { retry_after, .. } if retry_after == wait),
        "{error:?}"
    );
    for words in [
        r#"{"message": "You have exceeded a secondary rate limit."}"#,
        r#"[{"errorCode": "REQUEST_LIMIT_EXCEEDED"}]"#,
        r#"{"error": {"errors": [{"reason": "userRateLimitExceeded"}]}}"#,
        "Quota exceeded for quota metric 'Queries'",
    ] {
        let in_words = move || {
            (axum::http::StatusCode::FORBIDDEN, [("x-ratelimit-remaining", "41")], words).into_response()
        };
        let error = search_error(in_words).await;
        let wait = Some(Duration::from_mins(1));
        let waits = matches!(error, SourceError::Unavailable { retry_after, .. } if retry_after == wait);
        assert!(waits, "{words}: {error:?}");
    }
    for words in [
        r#"{"message": "You need the permission \"edit rate limits\""}"#,
        r#"{"message": "Forbidden", "documentation_url": "https://docs.example.org/rest/rate-limits"}"#,
        "The request limit is 1000. Your key is disabled.",
    ] {
        let error = search_error(move || (axum::http::StatusCode::FORBIDDEN, words).into_response()).await;
        assert!(matches!(error, SourceError::Unauthorized(_)), "{words}: {error:?}");
    }
}

#[tokio::test]
async fn code_429_waits_as_the_status_does() {
    let in_envelope = || {
        let body = json_answer(&json!({"code": 429, "message": "slower", "data": []}));
        ([("retry-after", "7")], body).into_response()
    };
    let error = search_error(in_envelope).await;
    let reason = "the source answered with code 429: slower".to_owned();
    assert_eq!(error, SourceError::Unavailable { reason, retry_after: Some(Duration::from_secs(7)) });
}

#[tokio::test]
async fn refused_cursor_differs_from_a_failed_source() {
    let next = Question { cursor: Some("seven"), ..QUESTION };
    let in_envelope =
        |code: u16| json_answer(&serde_json::json!({"code": code, "message": "gone", "data": null}));
    for code in [400, 404, 410, 413, 416, 422, 501, 405, 500] {
        let refuses = !matches!(code, 405 | 500);
        for (said, by_status) in [("HTTP ", true), ("code ", false)] {
            let answer = move || if by_status { status_answer(code) } else { in_envelope(code) };
            let server = Server::start(move |_| std::future::ready(answer())).await;
            let client = server.client();
            let with_cursor = client.search(&next).await.unwrap_err();
            assert_eq!(matches!(with_cursor, SourceError::CursorRefused(_)), refuses, "{with_cursor:?}");
            assert!(with_cursor.to_string().contains(&format!("{said}{code}")), "{with_cursor}");
            let without = client.search(&QUESTION).await.unwrap_err();
            assert!(matches!(without, SourceError::Failed(_)), "{without:?}");
        }
    }
}

#[tokio::test]
async fn page_behind_the_first_may_be_told_to_be_empty() {
    let null = || json_answer(&json!({"code": 200, "message": null, "data": null, "total": 7, "count": 0}));
    let missing = || json_answer(&json!({"code": 200, "message": null, "total": 7, "count": 0}));
    for answer in [|| status_answer(204), null, missing] {
        let server = Server::start(move |_| std::future::ready(answer())).await;
        let client = server.client();
        let empty = client.search(&Question { cursor: Some("seven"), ..QUESTION }).await.unwrap();
        assert_eq!(
            (empty.items.len(), &empty.cursor, &empty.broken, empty.notes.len()),
            (0, &None, &None, 1)
        );
        let first = client.search(&QUESTION).await.unwrap_err();
        assert!(matches!(first, SourceError::Invalid(_)), "{first:?}");
    }
    let server =
        Server::start(|_| std::future::ready(json_answer(&json!({"error": "too many calls"})))).await;
    let other = server.client().search(&Question { cursor: Some("seven"), ..QUESTION }).await.unwrap_err();
    assert!(matches!(other, SourceError::Invalid(_)), "{other:?}");
}

#[tokio::test]
async fn retry_after_is_read_in_both_forms_and_bounded() {
    let retry_after_of = |value: &'static str| async move {
        let error = search_error(move || {
            (axum::http::StatusCode::SERVICE_UNAVAILABLE, [("retry-after", value)]).into_response()
        })
        .await;
        let SourceError::Unavailable { retry_after, .. } = error else { panic!("{error:?}") };
        retry_after
    };
    assert_eq!(retry_after_of("120").await, Some(Duration::from_mins(2)));
    assert_eq!(retry_after_of("18446744073709551615").await, Some(Duration::from_hours(24)));
    assert_eq!(retry_after_of("Fri, 01 Jan 2100 00:00:00 GMT").await, Some(Duration::from_hours(24)));
    assert_eq!(retry_after_of("Sat, 01 Jan 2000 00:00:00 GMT").await, Some(Duration::ZERO));
    assert_eq!(retry_after_of("soon").await, None);
}

#[tokio::test]
async fn searches_in_flight_are_limited() {
    let under_way = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let server = Server::start({
        let most = Arc::clone(&most);
        move |_| {
            let (under_way, most) = (Arc::clone(&under_way), Arc::clone(&most));
            async move {
                most.fetch_max(under_way.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                for _ in 0..100 {
                    tokio::task::yield_now().await;
                }
                under_way.fetch_sub(1, Ordering::SeqCst);
                good_answer()
            }
        }
    })
    .await;
    let settings = SourceSettings { max_concurrency: 2, ..server.settings(Method::Get) };
    let client = connect(settings).unwrap();

    for outcome in join_all((0..20).map(|_| client.search(&QUESTION))).await {
        outcome.unwrap();
    }

    assert_eq!(most.load(Ordering::SeqCst), 2);
    assert!(server.connections() <= 2);
}

#[tokio::test]
async fn too_large_content_length_is_refused_before_reading() {
    let server = Server::start(|_| async {
        let hanging = futures::stream::pending::<Result<&str, std::convert::Infallible>>();
        let response = Body::from_stream(hanging).into_response();
        (([(header::CONTENT_LENGTH, "3000000")]), response).into_response()
    })
    .await;

    let error = server.client().search(&QUESTION).await.unwrap_err();

    assert_eq!(error, SourceError::Invalid("the source sent a body of more than 2097152 bytes".into()));
}

#[tokio::test]
async fn endless_body_is_read_up_to_the_bound() {
    let server = Server::start(|_| async {
        let chunk = "x".repeat(10_000);
        let endless = futures::stream::repeat(chunk).map(Ok::<_, std::convert::Infallible>);
        Body::from_stream(endless).into_response()
    })
    .await;

    let error = server.client().search(&QUESTION).await.unwrap_err();

    assert_eq!(error, SourceError::Invalid("the source sent a body of more than 2097152 bytes".into()));
}

#[tokio::test]
async fn closed_pooled_connection_costs_no_search() {
    let (url, answering) = start_closing(page(1).to_string()).await;
    let server = Server::start(|_| async { good_answer() }).await;
    let client = connect(SourceSettings { url, ..server.settings(Method::Get) }).unwrap();

    client.search(&QUESTION).await.unwrap();
    client.search(&QUESTION).await.unwrap();

    answering.await.unwrap();
}

/// Several idle connections that the source closed together.
#[tokio::test]
async fn idle_connections_closed_together_cost_no_search() {
    const AT_ONCE: usize = 4;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    let all_came = Arc::new(tokio::sync::Barrier::new(AT_ONCE));
    tokio::spawn(async move {
        let body = page(1).to_string();
        for number in 0.. {
            let (mut connection, _) = listener.accept().await.unwrap();
            let (all_came, body) = (Arc::clone(&all_came), body.clone());
            tokio::spawn(async move {
                let mut request = [0; 4096];
                assert!(connection.read(&mut request).await.unwrap() > 0);
                if number < AT_ONCE {
                    all_came.wait().await;
                }
                let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length:";
                let answer = format!("{head} {}\r\n\r\n{body}", body.len());
                connection.write_all(answer.as_bytes()).await.unwrap();
                // It takes a second request, and closes.
                drop(connection.read(&mut request).await);
            });
        }
    });
    let server = Server::start(|_| async { good_answer() }).await;
    let client = connect(SourceSettings { url, ..server.settings(Method::Get) }).unwrap();

    for outcome in join_all((0..AT_ONCE).map(|_| client.search(&QUESTION))).await {
        outcome.unwrap();
    }
    for _ in 0..AT_ONCE {
        client.search(&QUESTION).await.unwrap();
    }
}

#[tokio::test]
async fn closed_port_is_unavailable_without_its_address() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/?key=hidden", listener.local_addr().unwrap())).unwrap();
    drop(listener);
    let server = Server::start(|_| async { good_answer() }).await;
    let client = connect(SourceSettings { url, ..server.settings(Method::Get) }).unwrap();

    let error = client.search(&QUESTION).await.unwrap_err();

    assert_eq!(error.to_string(), "the source cannot be reached: connection refused");
}

#[tokio::test]
async fn https_address_of_a_plain_server_is_reported() {
    let server = Server::start(|_| async { good_answer() }).await;
    let mut url = server.base.clone();
    url.set_scheme("https").unwrap();
    let client = connect(SourceSettings { url, ..server.settings(Method::Get) }).unwrap();

    let error = client.search(&QUESTION).await.unwrap_err();

    assert!(
        matches!(&error, SourceError::Unavailable { reason, .. } if reason.contains("TLS failed")),
        "{error:?}"
    );
}

#[tokio::test]
async fn dropped_search_ends_its_request_and_frees_its_permit() {
    let (came, mut coming) = mpsc::unbounded_channel();
    let (gone, mut going) = mpsc::unbounded_channel();
    let server = Server::start(move |request| {
        let came = came.clone();
        let gone = SendOnDrop(gone.clone());
        async move {
            if request.nth > 0 {
                return good_answer();
            }
            let _gone = gone;
            came.send(()).unwrap();
            std::future::pending().await
        }
    })
    .await;
    let settings = SourceSettings { max_concurrency: 1, ..server.settings(Method::Get) };
    let client = connect(settings).unwrap();

    let searching = tokio::spawn({
        let client = client.clone();
        async move { client.search(&QUESTION).await }
    });
    coming.recv().await.unwrap();
    searching.abort();

    tokio::time::timeout(TIMEOUT, going.recv()).await.unwrap().unwrap();
    client.search(&QUESTION).await.unwrap();
}

struct SendOnDrop(mpsc::UnboundedSender<()>);

impl Drop for SendOnDrop {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

#[tokio::test]
async fn repeated_cursor_ends_the_paging() {
    let mut body = page(1);
    body["cursor"] = json!("same");
    let server = Server::start(move |_| std::future::ready(json_answer(&body))).await;
    let client = server.client();

    let first = client.search(&QUESTION).await.unwrap();
    assert_eq!((first.cursor.as_deref(), first.broken), (Some("same"), None));
    let second = client.search(&Question { cursor: Some("same"), ..QUESTION }).await.unwrap();

    assert_eq!((second.items.len(), second.cursor), (1, None));
    assert!(second.broken.unwrap().contains("repeats"));
}

#[tokio::test]
async fn large_page_is_read_like_a_small_one() {
    let server = Server::start(|_| async { json_answer(&page(5_000)) }).await;

    let answer = server.client().search(&Question { limit: 5_000, ..QUESTION }).await.unwrap();

    assert_eq!((answer.items.len(), answer.broken), (5_000, None));
}
