//! Scripted source and token endpoint, and a record of their requests.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, Method as HttpMethod, header};
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use trawl_connectors::{
    AddressRules, Authentication, ClientCredentials, DEFAULT_MAX_BODY_BYTES, Grant, Method, Question,
    SettingsError, SourceClient, SourceError, SourceSettings,
};
use url::Url;

/// Reached by failed tests only.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) const QUESTION: Question<'static> =
    Question { keyword: "budget", limit: 10, cursor: None, person: None };

#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) method: HttpMethod,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
    pub(crate) nth: usize,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

pub(crate) struct Server {
    pub(crate) base: Url,
    connections: Arc<AtomicUsize>,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Server {
    pub(crate) async fn start<F, Fut>(answer: F) -> Self
    where
        F: Fn(Received) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Response> + Send + 'static,
    {
        let received = Arc::new(Mutex::new(Vec::new()));
        let remembered = Arc::clone(&received);
        let router = Router::new().fallback(move |request: Request| {
            let (remembered, answer) = (Arc::clone(&remembered), answer.clone());
            async move {
                let request = remember(request, &remembered).await;
                answer(request).await
            }
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        let listener = listener.tap_io(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
        });
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { base, connections, received }
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub(crate) fn received(&self, path: &str) -> Vec<Received> {
        self.received.lock().unwrap().iter().filter(|request| request.path == path).cloned().collect()
    }

    pub(crate) fn settings(&self, method: Method) -> SourceSettings {
        SourceSettings {
            url: self.base.join("search").unwrap(),
            method,
            mapping: None,
            authentication: Authentication::None,
            identity: None,
            timeout: TIMEOUT,
            max_concurrency: 64,
            max_body_bytes: DEFAULT_MAX_BODY_BYTES,
        }
    }

    pub(crate) fn client(&self) -> SourceClient {
        connect(self.settings(Method::Get)).unwrap()
    }

    pub(crate) fn credentials(&self) -> ClientCredentials {
        ClientCredentials {
            grant: Grant::ClientCredentials,
            token_url: self.base.join("token").unwrap(),
            client_id: "trawl".to_owned(),
            client_secret: "the:secret/ü".into(),
            scope: None,
            audience: None,
        }
    }

    pub(crate) fn client_with_token(&self) -> SourceClient {
        let authentication = Authentication::OAuth2Client(self.credentials());
        connect(SourceSettings { authentication, ..self.settings(Method::Get) }).unwrap()
    }
}

pub(crate) async fn search_error<F>(answer: F) -> SourceError
where
    F: Fn() -> Response + Clone + Send + Sync + 'static,
{
    let server = Server::start(move |_| std::future::ready(answer())).await;
    server.client().search(&QUESTION).await.unwrap_err()
}

async fn remember(request: Request, remembered: &Mutex<Vec<Received>>) -> Received {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let path = parts.uri.path().to_owned();
    let mut remembered = remembered.lock().unwrap();
    let received = Received {
        nth: remembered.iter().filter(|earlier| earlier.path == path).count(),
        method: parts.method,
        path,
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: parts.headers,
        body: String::from_utf8(body.to_vec()).unwrap(),
    };
    remembered.push(received.clone());
    received
}

/// Closes its first connection at the second request. Returns its address and its end.
pub(crate) async fn start_closing(body: String) -> (Url, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    let answering = tokio::spawn(async move {
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        let mut request = [0; 4096];
        for closes_at_second in [true, false] {
            let (mut connection, _) = listener.accept().await.unwrap();
            assert!(connection.read(&mut request).await.unwrap() > 0);
            connection.write_all(answer.as_bytes()).await.unwrap();
            if closes_at_second {
                assert!(connection.read(&mut request).await.unwrap() > 0);
            }
        }
    });
    (url, answering)
}

pub(crate) fn connect(settings: SourceSettings) -> Result<SourceClient, SettingsError> {
    SourceClient::new(settings, &AddressRules::new(["127.0.0.1"]).unwrap())
}

pub(crate) fn page(count: usize) -> Value {
    let item =
        |number| json!({"id": format!("i{number}"), "title": "Budget", "displayTime": 1_700_000_000_000_i64});
    let data: Vec<Value> = (0..count).map(item).collect();
    json!({"code": 200, "message": null, "data": data, "total": count, "count": count, "cursor": null})
}

pub(crate) fn json_answer(value: &Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json;charset=UTF-8")], value.to_string()).into_response()
}

pub(crate) fn good_answer() -> Response {
    json_answer(&page(1))
}

pub(crate) fn token_answer(token: &str, expires_in: u64) -> Response {
    json_answer(&json!({"access_token": token, "token_type": "Bearer", "expires_in": expires_in}))
}

pub(crate) fn status_answer(status: u16) -> Response {
    Response::builder().status(status).body(Body::empty()).unwrap()
}
