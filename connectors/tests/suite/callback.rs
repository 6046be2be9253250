use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use futures::stream;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use trawl_connectors::{AddressRules, CallbackClient, CallbackError};
use url::Url;

use crate::support::{Server, TIMEOUT};

/// Long enough for a request, and short enough to wait for.
const SHORTLY: Duration = Duration::from_millis(500);

async fn post_within(url: &Url, listed: &[&str], within: Duration) -> Result<(), CallbackError> {
    let client = CallbackClient::new(&AddressRules::new(listed).unwrap()).unwrap();
    let headers = HeaderMap::from_iter([(header::IF_MATCH, HeaderValue::from_static("signed"))]);
    client.post(url, headers, b"{\"id\":\"1\"}".to_vec(), within, ()).await
}

async fn post(url: &Url) -> Result<(), CallbackError> {
    post_within(url, &["127.0.0.1"], TIMEOUT).await
}

/// A body of pieces; without `is_whole` it hangs after them.
fn pieces(bytes: usize, count: usize, is_whole: bool) -> Body {
    let piece = Bytes::from(vec![b'x'; bytes]);
    let pieces = stream::iter((0..count).map(move |_| Ok::<_, Infallible>(piece.clone())));
    if is_whole {
        Body::from_stream(pieces)
    } else {
        Body::from_stream(futures::StreamExt::chain(pieces, stream::pending()))
    }
}

async fn start() -> Server {
    Server::start(|request| async move {
        match request.path.as_str() {
            "/ok" => "taken".into_response(),
            "/none" => StatusCode::NO_CONTENT.into_response(),
            "/huge" => pieces(1 << 20, 64, true).into_response(),
            "/endless" => pieces(16 << 10, usize::MAX, true).into_response(),
            "/odd" => ([(header::CONTENT_ENCODING, "br")], "not read").into_response(),
            "/drips" => pieces(1, 3, false).into_response(),
            "/drips-and-fails" => (StatusCode::BAD_GATEWAY, pieces(1, 3, false)).into_response(),
            "/hangs" => std::future::pending().await,
            "/here" => Redirect::temporary("/ok").into_response(),
            "/there" => Redirect::to("http://127.0.0.1:1/ok").into_response(),
            "/metadata" => Redirect::permanent("http://169.254.169.254/latest").into_response(),
            path => {
                let status = path[1..].parse::<u16>().unwrap();
                Response::builder().status(status).body(Body::from("secret")).unwrap()
            }
        }
    })
    .await
}

/// Tells nothing of the network.
const UNREACHED: &str = "the callback cannot be reached, or does not answer in HTTP";

#[tokio::test]
async fn callback_succeeds_only_with_2xx() {
    let server = start().await;
    let to = async |path: &str| post(&server.base.join(path).unwrap()).await;
    for path in ["ok", "none", "huge", "endless", "odd", "drips", "200", "201", "299"] {
        assert_eq!(to(path).await, Ok(()), "{path}");
    }
    for status in [400, 401, 404, 409, 500, 503, 599] {
        assert_eq!(to(&status.to_string()).await, Err(CallbackError::Status(status)));
    }
    assert_eq!(to("drips-and-fails").await, Err(CallbackError::Status(502)));
    let [request] = &server.received("/ok")[..] else { panic!("asked more than once") };
    assert_eq!((request.method.as_str(), request.body.as_str()), ("POST", "{\"id\":\"1\"}"));
    assert_eq!(request.header("content-type"), "application/json;charset=UTF-8");
    assert_eq!(request.header("if-match"), "signed");
    assert_eq!(request.header("accept-encoding"), "");
}

#[tokio::test]
async fn callback_follows_no_redirect() {
    let server = start().await;
    for (path, status) in [("here", 307), ("there", 303), ("metadata", 308), ("304", 304)] {
        let refused = post(&server.base.join(path).unwrap()).await;
        assert_eq!(refused, Err(CallbackError::Redirect(status)), "{path}");
    }
    assert!(server.received("/ok").is_empty());
}

#[tokio::test]
async fn silent_callback_times_out() {
    let server = start().await;
    let late = post_within(&server.base.join("hangs").unwrap(), &["127.0.0.1"], SHORTLY).await;
    assert_eq!(late, Err(CallbackError::Timeout(SHORTLY)));
    // None if the machine was too busy.
    assert!(server.received("/hangs").len() <= 1);
}

async fn answer_with(listener: &TcpListener, answer: &str) {
    let (mut connection, _) = listener.accept().await.unwrap();
    let mut request = Vec::new();
    while !request.ends_with(b"{\"id\":\"1\"}") {
        if connection.read_buf(&mut request).await.unwrap_or(0) == 0 {
            return;
        }
    }
    connection.write_all(answer.as_bytes()).await.unwrap();
    // The end, or a reset after unread bytes.
    assert_eq!(connection.read(&mut [0; 16]).await.unwrap_or(0), 0);
}

#[tokio::test]
async fn head_of_the_answer_decides_and_connection_closes() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n1234",
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnone",
        "HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: keep-alive\r\n\r\n1234",
    ] {
        let (posted, ()) = tokio::join!(post(&url), answer_with(&listener, answer));
        assert_eq!(posted, Ok(()), "{answer}");
    }
    for head in ["HTTP/1.1 200 OK", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"] {
        let late = post_within(&url, &["127.0.0.1"], SHORTLY);
        // The machine may be too busy for the call.
        let (late, _) = tokio::join!(late, tokio::time::timeout(TIMEOUT, answer_with(&listener, head)));
        assert_eq!(late, Err(CallbackError::Timeout(SHORTLY)), "{head}");
    }
}

#[tokio::test]
async fn broken_connection_is_not_retried() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    let counting = tokio::spawn(async move {
        let mut connections = 0;
        loop {
            let (mut connection, _) = listener.accept().await.unwrap();
            connections += 1;
            let read = connection.read(&mut [0; 16]).await.unwrap();
            if read == 0 {
                return connections;
            }
        }
    });
    let broken = post(&url).await.unwrap_err().to_string();
    assert_eq!(broken, UNREACHED);
    // The next accepted connection is this one.
    drop(tokio::net::TcpStream::connect(url.socket_addrs(|| None).unwrap()[0]).await.unwrap());
    assert_eq!(counting.await.unwrap(), 2);
}

#[tokio::test]
async fn callback_is_refused_by_the_address_rules() {
    let server = start().await;
    let port = server.base.port().unwrap();
    let to = async |text: &str, listed: &[&str]| {
        post_within(&Url::parse(text).unwrap(), listed, TIMEOUT).await.unwrap_err().to_string()
    };
    for (url, listed, reason) in [
        (format!("http://127.0.0.1:{port}/ok"), &[][..], "must be https"),
        (format!("http://127.0.0.1:{port}/ok"), &["127.0.0.1:1"], "must be https"),
        (format!("https://127.0.0.1:{port}/ok"), &[], "a loopback address"),
        (format!("https://localhost:{port}/ok"), &[], "a loopback address"),
        (format!("https://[::ffff:127.0.0.1]:{port}/ok"), &[], "a loopback address"),
        ("http://169.254.169.254/".to_owned(), &["169.254.169.254"], "never called"),
        (format!("http://me:secret@127.0.0.1:{port}/ok"), &["127.0.0.1"], "user name or password"),
        ("file:///etc/passwd".to_owned(), &["127.0.0.1"], "must be https"),
    ] {
        let refused = to(&url, listed).await;
        assert!(refused.starts_with("the address of the callback "), "{url}: {refused}");
        assert!(refused.contains(reason) && !refused.contains("secret"), "{url}: {refused}");
    }
    for url in ["https://callback.invalid/", "http://127.0.0.1:1/"] {
        let failed = to(url, &["127.0.0.1"]).await;
        assert_eq!(failed, UNREACHED, "{url}");
    }
    assert_eq!(server.connections(), 0);
}
