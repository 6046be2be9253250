//! External sources and the bare peer: processes of this executable.

use std::{future::pending, time::Duration};

use axum::{
    Json, Router,
    extract::{Path, State},
    routing::get,
};
use futures::future::join_all;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::common::peer::serve;

/// Argument; see [`sources`].
pub(crate) const SOURCES: &str = "peer-sources";
/// Argument, before the sources' address: serve `/{count}/{delay in ms}` by concurrent calls.
pub(crate) const JOIN: &str = "peer-join";

pub(crate) const SOURCE_ITEMS: usize = 10;
pub(crate) const SOURCE_TOTAL: usize = 1_000;

/// Returns only when killed.
pub(crate) fn run_if_asked(arguments: &[String]) -> bool {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [SOURCES] => serve(sources()),
        [JOIN, sources] => {
            let client = reqwest::Client::builder().no_proxy().build().unwrap();
            let state = (client, sources.to_owned());
            serve(Router::new().route("/{count}/{delay}", get(join)).with_state(state));
        }
        _ => return false,
    }
    true
}

fn sources() -> Router {
    Router::new().route("/page/{number}/{delay}", get(page_after)).route("/hanging", get(pending::<()>))
}

async fn page_after(Path((number, delay)): Path<(usize, u64)>) -> Json<Value> {
    if delay > 0 {
        sleep(Duration::from_millis(delay)).await;
    }
    let items: Vec<_> = (0..SOURCE_ITEMS)
        .map(|item| {
            json!({
                "id": format!("{number}-{item}"),
                "title": "A contract that an external system keeps",
                "displayTime": 1_700_000_000_000 - 1_000 * i64::try_from(item * 256 + number).unwrap(),
                "action": "{\"web\":\"[OpenUrl]\\nurl=https://example.org/\"}",
            })
        })
        .collect();
    Json(json!({
        "code": 200, "message": null, "data": items, "total": SOURCE_TOTAL, "count": SOURCE_ITEMS,
    }))
}

/// Answers are read, not parsed.
async fn join(
    State((client, sources)): State<(reqwest::Client, String)>,
    Path((count, delay)): Path<(usize, u64)>,
) -> String {
    let calls = (0..count).map(|number| {
        let url = format!("http://{sources}/page/{number}/{delay}?keyword=contract&limit={SOURCE_ITEMS}");
        let call = client.get(url).send();
        async { call.await.unwrap().bytes().await.unwrap().len() }
    });
    let bytes: usize = join_all(calls).await.into_iter().sum();
    format!("{{\"code\":200,\"bytes\":{bytes},\"sources\":{count}}}")
}
