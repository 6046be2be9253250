//! The peers: bare axum handlers, each a process of its own made from this executable.

mod bare;

use std::{path::Path, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{Path as Segment, Query, State},
    http::header,
    response::IntoResponse,
    routing::get,
    serve::ListenerExt,
};
use futures::future::join_all;
use serde::Deserialize;
use serde_json::json;

pub(crate) use bare::{Bare, Word};

use crate::server::LISTENING;

/// Becomes a peer that answers pages from an index: the directory and the tenant's number follow.
pub(crate) const PAGES: &str = "peer-pages";
/// Becomes external sources, as many as are asked: `/{number}/{delay in ms}`, and `/hanging`.
pub(crate) const SOURCES: &str = "peer-sources";
/// Becomes a peer that asks external sources at once: `/{how many}/{delay in ms}`. Their address follows.
pub(crate) const JOIN: &str = "peer-join";

/// Items of an external source's page.
pub(crate) const SOURCE_ITEMS: usize = 10;
/// What each external source says that it has in all.
pub(crate) const SOURCE_TOTAL: usize = 1_000;

/// Whether the arguments make this process a peer, which it then was until it was killed.
pub(crate) fn run_if_asked(arguments: &[String]) -> bool {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let router = match arguments[..] {
        [PAGES, directory, tenant_id] => {
            let bare = Bare::open(Path::new(directory), tenant_id.parse().unwrap());
            Router::new().route("/page", get(page)).with_state(Arc::new(bare))
        }
        [SOURCES] => Router::new().route("/{number}/{delay}", get(source)).route("/hanging", get(hang)),
        [JOIN, sources] => {
            let client = reqwest::Client::builder().no_proxy().build().unwrap();
            let state = (client, sources.to_owned());
            Router::new().route("/{count}/{delay}", get(join)).with_state(state)
        }
        _ => return false,
    };
    serve(router);
    true
}

#[tokio::main]
async fn serve(router: Router) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("{LISTENING}{}", listener.local_addr().unwrap());
    axum::serve(listener.tap_io(|connection| drop(connection.set_nodelay(true))), router).await.unwrap();
}

#[derive(Deserialize)]
struct PageParameters {
    module: String,
    word: String,
    before: Option<i64>,
    limit: usize,
}

/// No authentication, no checks, the envelope written by hand, the search on the runtime's own thread.
async fn page(State(bare): State<Arc<Bare>>, Query(parameters): Query<PageParameters>) -> impl IntoResponse {
    let PageParameters { module, word, before, limit } = parameters;
    let mut data = String::with_capacity(4_096);
    let (total, count) = bare.page(&module, &word, before, limit, &mut data);
    let body =
        format!("{{\"code\":200,\"message\":null,\"data\":[{data}],\"total\":{total},\"count\":{count}}}");
    ([(header::CONTENT_TYPE, "application/json;charset=UTF-8")], body)
}

/// A page of an external source, after a delay.
async fn source(Segment((number, delay)): Segment<(usize, u64)>) -> impl IntoResponse {
    if delay > 0 {
        tokio::time::sleep(Duration::from_millis(delay)).await;
    }
    let items: Vec<_> = (0..SOURCE_ITEMS)
        .map(|item| {
            json!({
                "id": format!("{number}-{item}"),
                "title": "A contract that an external system keeps",
                "displayTime": 1_700_000_000_000 - 1_000 * i64::try_from(item * 64 + number).unwrap(),
                "action": "{\"web\":\"https://example.org/\"}",
            })
        })
        .collect();
    axum::Json(json!({
        "code": 200, "message": null, "data": items, "total": SOURCE_TOTAL, "count": SOURCE_ITEMS,
    }))
}

async fn hang() {
    std::future::pending::<()>().await;
}

/// The same calls as trawl makes, their answers read and not looked into.
async fn join(
    State((client, sources)): State<(reqwest::Client, String)>,
    Segment((count, delay)): Segment<(usize, u64)>,
) -> String {
    let calls = (0..count).map(|number| {
        let url = format!("http://{sources}/{number}/{delay}?keyword=contract&limit={SOURCE_ITEMS}");
        let call = client.get(url).send();
        async { call.await.unwrap().bytes().await.unwrap().len() }
    });
    let bytes: usize = join_all(calls).await.into_iter().sum();
    format!("{{\"code\":200,\"bytes\":{bytes},\"sources\":{count}}}")
}
