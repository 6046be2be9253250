//! External systems that keep the contract or misbehave in one way.

use std::{
    convert::Infallible,
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    body::{Body, Bytes, to_bytes},
    extract::Request,
    http::{Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures::{StreamExt, stream};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::{Map, Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use url::Url;

const FLAPS_INTERVAL: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Behaviour {
    Keeps,
    Hangs,
    Fails,
    Babbles,
    /// One byte a second.
    Drips,
    Closes,
    /// Alternates between pages and failures.
    Flaps,
}

pub(super) struct System {
    pub(super) id: &'static str,
    pub(super) behaviour: Behaviour,
    pub(super) items: Vec<Value>,
    base: Url,
    searches: AtomicUsize,
    line: Mutex<CancellationToken>,
}

impl System {
    pub(super) async fn start(id: &'static str, behaviour: Behaviour, items: Vec<Value>) -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
        let (searches, line) = (AtomicUsize::new(0), Mutex::default());
        let system = Arc::new(Self { id, behaviour, items, base, searches, line });
        tokio::spawn(Arc::clone(&system).listen(listener));
        system
    }

    pub(super) fn registration(&self, timeout_ms: u64) -> Value {
        let auth = if self.id == "signs" {
            json!({
                "type": "OAUTH2_CLIENT", "tokenUrl": self.base.join("token").unwrap(), "clientId": "trawl",
                "clientSecret": "secret",
            })
        } else {
            json!({"type": "NONE"})
        };
        let method = if self.id == "posts" { "POST" } else { "GET" };
        json!({
            "id": self.id, "name": self.id, "url": self.base.join("search").unwrap(), "method": method, "auth": auth,
            "timeoutMs": timeout_ms, "pageSize": 6, "maxConcurrency": 32,
        })
    }

    pub(super) fn searches(&self) -> usize {
        self.searches.load(Ordering::Relaxed)
    }

    /// New connections are closed, too, until [`System::listens_again`].
    pub(super) fn hang_up(&self) {
        self.line.lock().unwrap().cancel();
    }

    pub(super) fn listens_again(&self) {
        *self.line.lock().unwrap() = CancellationToken::new();
    }

    async fn listen(self: Arc<Self>, listener: TcpListener) {
        loop {
            let (connection, _) = listener.accept().await.unwrap();
            let line = self.line.lock().unwrap().clone();
            let served = Arc::clone(&self).serve(connection);
            tokio::spawn(async move { line.run_until_cancelled(served).await });
        }
    }

    async fn serve(self: Arc<Self>, connection: TcpStream) {
        let service = service_fn(move |request| Arc::clone(&self).answer(request));
        drop(http1::Builder::new().serve_connection(TokioIo::new(connection), service).await);
    }

    async fn answer(self: Arc<Self>, request: hyper::Request<Incoming>) -> io::Result<Response> {
        let request = request.map(Body::new);
        if request.uri().path() == "/token" {
            let token = json!({"access_token": "token", "token_type": "Bearer", "expires_in": 3_600});
            return Ok(send(token.to_string()));
        }
        if request.method() == Method::HEAD && self.behaviour != Behaviour::Hangs {
            // The request that opens a connection before the first search.
            return Ok(StatusCode::OK.into_response());
        }
        let number = self.searches.fetch_add(1, Ordering::Relaxed);
        let page = self.page(request).await;
        match self.behaviour {
            Behaviour::Keeps => Ok(send(page)),
            Behaviour::Hangs => std::future::pending().await,
            Behaviour::Fails => Ok(StatusCode::INTERNAL_SERVER_ERROR.into_response()),
            Behaviour::Babbles => Ok(babble(number, &page)),
            Behaviour::Drips => Ok(send(drip(page))),
            Behaviour::Closes => Err(io::ErrorKind::ConnectionReset.into()),
            Behaviour::Flaps if (number / FLAPS_INTERVAL).is_multiple_of(2) => Ok(send(page)),
            Behaviour::Flaps => match number % 3 {
                0 => Ok(StatusCode::SERVICE_UNAVAILABLE.into_response()),
                1 => Ok(babble(number, &page)),
                _ => Err(io::ErrorKind::ConnectionReset.into()),
            },
        }
    }

    async fn page(&self, request: Request) -> String {
        let (parts, body) = request.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
        let fields: Map<String, Value> = if body.is_empty() {
            let pairs = url::form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes());
            pairs.map(|(name, value)| (name.into_owned(), Value::from(value.into_owned()))).collect()
        } else {
            serde_json::from_slice(&body).unwrap()
        };
        let number = |name: &str| match fields.get(name) {
            Some(Value::String(text)) => text.parse().unwrap(),
            Some(Value::Number(number)) => usize::try_from(number.as_u64().unwrap()).unwrap(),
            _ => 0,
        };
        let data: Vec<&Value> = self.items.iter().skip(number("cursor")).take(number("limit")).collect();
        let end = number("cursor") + data.len();
        let cursor = (end < self.items.len()).then(|| end.to_string());
        json!({
            "code": 200, "message": null, "data": data, "count": data.len(), "total": self.items.len(), "cursor": cursor,
        })
        .to_string()
    }
}

fn send(body: impl Into<Body>) -> Response {
    ([(header::CONTENT_TYPE, "application/json;charset=UTF-8")], body.into()).into_response()
}

fn babble(number: usize, page: &str) -> Response {
    match number % 4 {
        0 => send("<html><title>Sign in</title></html>"),
        1 => send(page[..page.len() / 2].to_owned()),
        2 => send((0..page.len()).map(|_| fastrand::u8(..)).collect::<Vec<_>>()),
        _ => ([(header::CONTENT_ENCODING, "gzip")], send(page.to_owned())).into_response(),
    }
}

fn drip(page: String) -> Body {
    let drops = stream::iter(page.into_bytes()).then(async |byte| {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok::<_, Infallible>(Bytes::from(vec![byte]))
    });
    Body::from_stream(drops)
}
