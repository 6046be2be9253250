use axum::http::Method as HttpMethod;
use trawl_connectors::{Authentication, Method, SourceError, SourceSettings};

use crate::support::{QUESTION, Server, TIMEOUT, connect, good_answer, status_answer, token_answer};

#[tokio::test]
async fn search_after_warming_needs_no_token_or_connection() {
    for status in [200, 204, 302, 401, 405, 500] {
        let server = Server::start(move |request| async move {
            match (request.path.as_str(), request.method) {
                ("/token", _) => token_answer("new", 3600),
                (_, HttpMethod::HEAD) => status_answer(status),
                _ => good_answer(),
            }
        })
        .await;
        let client = server.client_with_token();

        client.warm().await.unwrap();

        let head = server.received("/search").remove(0);
        assert_eq!((head.method.as_str(), head.header("authorization")), ("HEAD", "Bearer new"));
        let connections = server.connections();
        client.search(&QUESTION).await.unwrap();
        assert_eq!((server.received("/token").len(), server.received("/search").len()), (1, 2), "{status}");
        assert_eq!(server.connections(), connections, "{status}");
    }
}

#[tokio::test]
async fn warming_reports_the_error_of_a_search() {
    let refusing = Server::start(|request| async move {
        if request.path == "/token" { status_answer(401) } else { good_answer() }
    })
    .await;
    let error = refusing.client_with_token().warm().await.unwrap_err();
    assert!(matches!(error, SourceError::Unauthorized(_)), "{error:?}");
    assert!(refusing.received("/search").is_empty());

    let silent = Server::start(|_| std::future::pending()).await;
    let authentication = Authentication::OAuth2Client(silent.credentials());
    let timeout = TIMEOUT / 1_000;
    let settings = SourceSettings { authentication, timeout, ..silent.settings(Method::Get) };
    assert_eq!(connect(settings).unwrap().warm().await, Err(SourceError::Timeout));
}
