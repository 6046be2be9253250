use std::sync::Arc;

use axum::Router;
use axum::response::Response;
use axum::routing::post;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use trawl_connectors::{ClientCredentials, Grant};
use url::Url;

use super::fault::{Act, Fault};
use super::layer::{self, Faulty};
use super::reference::{assertions::Assertions, items, source, tokens};

/// A word of every item.
pub(crate) const KEYWORD: &str = "harbour";

/// Ends when dropped.
pub(crate) struct Running {
    pub(crate) url: Url,
    pub(crate) token_url: Url,
    _until_dropped: [oneshot::Sender<()>; 2],
}

impl Running {
    pub(crate) fn credentials(&self) -> ClientCredentials {
        ClientCredentials {
            grant: Grant::ClientCredentials,
            token_url: self.token_url.clone(),
            client_id: tokens::CLIENT_ID.to_owned(),
            client_secret: tokens::CLIENT_SECRET.into(),
            scope: Some(source::SCOPE.to_owned()),
            audience: None,
        }
    }
}

/// Its ids begin with `healthy-`.
pub(crate) async fn start_healthy() -> Running {
    let tokens = tokens::IssuedTokens::default();
    let source = source::router(items::collection("healthy"), tokens.clone(), None);
    run(serve(source).await, serve(tokens::router(tokens)).await)
}

/// Trims by assertions, and holds one letter to each of these people.
pub(crate) async fn start_for_people(keys_url: &str, audience: Option<&str>, people: &[String]) -> Running {
    let tokens = tokens::IssuedTokens::default();
    let (listener, url) = listen().await;
    let origin = url.origin().ascii_serialization();
    let assertions = Assertions::new(keys_url, audience.unwrap_or(&origin));
    let source = source::router(items::collection_of("papers", people), tokens.clone(), Some(assertions));
    run(serve_on(listener, url, source), serve(tokens::router(tokens)).await)
}

/// Its ids begin with `faulty-`.
pub(crate) async fn start(fault: &Fault) -> Running {
    let tokens = tokens::IssuedTokens::default();
    let reference = source::router(items::collection("faulty"), tokens.clone(), None);
    let source = match fault.act {
        Act::Bytes(bytes) => serve_bytes(bytes).await,
        act => {
            let faulty = Arc::new(Faulty::new(act, reference, tokens.clone()));
            serve(Router::new().fallback(layer::misbehave).with_state(faulty)).await
        }
    };
    let token_endpoint = match fault.act {
        Act::Token(answer) => Router::new().route("/token", post(move || -> ResponseFuture { answer() })),
        _ => tokens::router(tokens),
    };
    run(source, serve(token_endpoint).await)
}

type ResponseFuture = futures::future::BoxFuture<'static, Response>;

type StoppableServer = (Url, oneshot::Sender<()>);

fn run((source, source_stop): StoppableServer, (token_endpoint, token_stop): StoppableServer) -> Running {
    Running {
        url: source.join("search").unwrap(),
        token_url: token_endpoint.join("token").unwrap(),
        _until_dropped: [source_stop, token_stop],
    }
}

async fn listen() -> (TcpListener, Url) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    (listener, url)
}

async fn serve(router: Router) -> StoppableServer {
    let (listener, url) = listen().await;
    serve_on(listener, url, router)
}

fn serve_on(listener: TcpListener, url: Url, router: Router) -> StoppableServer {
    let (stop, stopped) = oneshot::channel::<()>();
    let dropped = async move { stopped.await.unwrap_or_default() };
    tokio::spawn(async move { axum::serve(listener, router).with_graceful_shutdown(dropped).await });
    (url, stop)
}

async fn serve_bytes(bytes: &'static [u8]) -> StoppableServer {
    let (listener, url) = listen().await;
    let (stop, mut stopped) = oneshot::channel::<()>();
    tokio::spawn(async move {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                _ = &mut stopped => break,
                accepted = listener.accept() => {
                    let (connection, _) = accepted.unwrap();
                    connections.spawn(answer_connection(connection, bytes));
                }
            }
        }
    });
    (url, stop)
}

async fn answer_connection(mut connection: TcpStream, bytes: &[u8]) {
    // Unread data would reset the connection and might lose the bytes.
    let mut request = [0; 4096];
    if connection.read(&mut request).await.is_ok_and(|read| read > 0)
        && connection.write_all(bytes).await.is_ok()
    {
        drop(connection.shutdown().await);
    }
}
