use std::io::Write as _;

use axum::body::Body;
use axum::http::{HeaderName, header};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use trawl_connectors::{Method, Question, SourceError, SourceSettings};

use crate::support::{QUESTION, Server, connect, good_answer, page, search_error, token_answer};

const JSON: (HeaderName, &str) = (header::CONTENT_TYPE, "application/json;charset=UTF-8");

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn encoded(encoding: &'static str, body: impl Into<Body>) -> Response {
    ([(header::CONTENT_ENCODING, encoding), JSON], body.into()).into_response()
}

fn invalid(text: &str) -> SourceError {
    SourceError::Invalid(text.to_owned())
}

#[tokio::test]
async fn gzip_is_read_by_each_of_its_names() {
    for encoding in ["gzip", "GZIP", "x-gzip"] {
        let server =
            Server::start(move |_| async move { encoded(encoding, gzip(page(3).to_string().as_bytes())) })
                .await;

        let answer = server.client().search(&QUESTION).await.unwrap();

        assert_eq!((answer.items.len(), answer.notes.len(), answer.broken), (3, 0, None), "{encoding}");
    }
}

#[tokio::test]
async fn large_compressed_answer_is_read_like_a_small_one() {
    // The second is large in both forms.
    for (count, spaces) in [(5, 200_000), (9_000, 0)] {
        let body = format!("{}{}", " ".repeat(spaces), page(count));
        let server = Server::start(move |_| std::future::ready(encoded("gzip", gzip(body.as_bytes())))).await;

        let answer = server.client().search(&Question { limit: count, ..QUESTION }).await.unwrap();

        assert_eq!((answer.items.len(), answer.broken), (count, None));
    }
}

#[tokio::test]
async fn compressed_size_is_bounded() {
    // Stored without compression.
    let server = Server::start(|_| async {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::none());
        encoder.write_all(page(1).to_string().as_bytes()).unwrap();
        encoded("gzip", encoder.finish().unwrap())
    })
    .await;
    let bound = page(1).to_string().len();
    let settings = SourceSettings { max_body_bytes: bound, ..server.settings(Method::Get) };

    let error = connect(settings).unwrap().search(&QUESTION).await.unwrap_err();

    assert_eq!(error, invalid(&format!("the source sent a body of more than {bound} bytes")));
}

#[tokio::test]
async fn unrequested_encoding_is_refused_by_name() {
    for encoding in ["br", "deflate", "zstd", "gzip, gzip"] {
        let error = search_error(move || encoded(encoding, "…")).await;
        let text = format!("the source used a content encoding that was not asked for: {encoding}");
        assert_eq!(error, invalid(&text));
    }
}

#[tokio::test]
async fn names_of_no_encoding_are_read_as_such() {
    for encoding in ["identity", "none", "UTF-8", "", "identity, utf-8"] {
        let server = Server::start(move |_| async move { encoded(encoding, page(1).to_string()) }).await;
        let answer = server.client().search(&QUESTION).await.unwrap();
        assert_eq!(answer.items.len(), 1, "{encoding}");
    }
}

#[tokio::test]
async fn only_the_source_is_asked_for_compression() {
    let server = Server::start(|request| async move {
        if request.path == "/token" { token_answer("new", 3600) } else { good_answer() }
    })
    .await;

    server.client_with_token().search(&QUESTION).await.unwrap();

    assert_eq!(server.received("/search")[0].header("accept-encoding"), "gzip");
    assert_eq!(server.received("/token")[0].header("accept-encoding"), "");
}
