//! External sources and the bare peer: processes of this executable.

use std::{
    collections::{HashMap, HashSet},
    convert::Infallible,
    future::pending,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Path, Query, State},
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::get,
};
use futures::{StreamExt, future::join_all, stream};
use serde::Deserialize;
use serde_json::json;
use tokio::{io::AsyncReadExt, time::sleep};

use crate::common::peer::{listen, serve};

/// Argument; see [`sources`].
pub(crate) const SOURCES: &str = "peer-sources";
/// Argument: close connections without an answer.
pub(crate) const CLOSING: &str = "peer-closing";
/// Argument, before the sources' address: serve `/{count}/{delay in ms}` by concurrent calls.
pub(crate) const JOIN: &str = "peer-join";

pub(crate) const SOURCE_ITEMS: usize = 10;
pub(crate) const SOURCE_TOTAL: usize = 1_000;

/// Of the source that is sometimes slow.
pub(crate) const USUAL_CALL: Duration = Duration::from_millis(20);
pub(crate) const SLOW_CALL: Duration = Duration::from_millis(500);
/// Percent. At five, the p95 that hedging waits for would itself be slow.
pub(crate) const SLOW_SHARE: u64 = 3;

/// Calls of the flapping source per phase.
const FLAPS: u64 = 20;

/// Returns only when killed.
pub(crate) fn run_if_asked(arguments: &[String]) -> bool {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [SOURCES] => serve(sources()),
        [CLOSING] => close_all(),
        [JOIN, sources] => {
            let client = reqwest::Client::builder().no_proxy().build().unwrap();
            let state = (client, sources.to_owned());
            serve(Router::new().route("/{count}/{delay}", get(join)).with_state(state));
        }
        _ => return false,
    }
    true
}

#[derive(Default)]
struct Calls {
    flapping: AtomicU64,
    twenty: Mutex<HashMap<String, TwentySources>>,
}

#[derive(Default)]
struct TwentySources {
    calls: u64,
    calls_of_slow: u64,
    keywords: HashSet<String>,
}

fn sources() -> Router {
    Router::new()
        .route("/page/{number}/{delay}", get(page_after))
        .route("/hanging", get(hang))
        .route("/failing", get(StatusCode::INTERNAL_SERVER_ERROR))
        .route("/garbage", get(garbage))
        .route("/dripping", get(drip))
        .route("/flapping", get(flap))
        .route("/twenty/{module}/{number}", get(page_of_twenty))
        .route("/calls/{module}", get(calls_for_each_search))
        .with_state(Arc::new(Calls::default()))
}

fn page(number: usize) -> Response {
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
    let page = json!({
        "code": 200, "message": null, "data": items, "total": SOURCE_TOTAL, "count": SOURCE_ITEMS,
    });
    axum::Json(page).into_response()
}

async fn page_after(Path((number, delay)): Path<(usize, u64)>) -> Response {
    if delay > 0 {
        sleep(Duration::from_millis(delay)).await;
    }
    page(number)
}

async fn hang() {
    pending::<()>().await;
}

async fn garbage() -> Response {
    ([(CONTENT_TYPE, "application/json")], "<html><body>It works!</body></html>").into_response()
}

async fn drip() -> Response {
    let bytes = stream::iter(br#"{"code":200,"message":null,"data":[]}"#).then(async |byte| {
        sleep(Duration::from_secs(1)).await;
        Ok::<_, Infallible>(Bytes::from_static(std::slice::from_ref(byte)))
    });
    ([(CONTENT_TYPE, "application/json")], Body::from_stream(bytes)).into_response()
}

/// Alternates between answers and 503.
async fn flap(State(calls): State<Arc<Calls>>) -> Response {
    let call = calls.flapping.fetch_add(1, Ordering::Relaxed);
    if (call / FLAPS).is_multiple_of(2) { page(0) } else { StatusCode::SERVICE_UNAVAILABLE.into_response() }
}

/// The last of the twenty sources is sometimes slow.
async fn page_of_twenty(
    State(calls): State<Arc<Calls>>,
    Path((module, number)): Path<(String, usize)>,
    Query(query): Query<SourceQuery>,
) -> Response {
    sleep(calls.count(module, number, query.keyword)).await;
    page(number)
}

#[derive(Deserialize)]
struct SourceQuery {
    keyword: String,
}

impl Calls {
    /// Returns the latency of the call.
    fn count(&self, module: String, number: usize, keyword: String) -> Duration {
        let mut twenty = self.twenty.lock().unwrap();
        let twenty = twenty.entry(module).or_default();
        twenty.calls += 1;
        match number {
            0 => drop(twenty.keywords.insert(keyword)),
            19 => {
                twenty.calls_of_slow += 1;
                if is_slow(twenty.calls_of_slow) {
                    return SLOW_CALL;
                }
            }
            _ => {}
        }
        USUAL_CALL
    }
}

/// Irregular, but the same in each run.
fn is_slow(call: u64) -> bool {
    // SplitMix64.
    let mut mixed = call.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)) % 100 < SLOW_SHARE
}

async fn calls_for_each_search(State(calls): State<Arc<Calls>>, Path(module): Path<String>) -> String {
    let twenty = calls.twenty.lock().unwrap();
    let TwentySources { calls, keywords, .. } = &twenty[&module];
    format!("{:.2}", *calls as f64 / keywords.len() as f64)
}

#[tokio::main]
async fn close_all() {
    let listener = listen().await;
    loop {
        let (mut connection, _) = listener.accept().await.unwrap();
        // Unread bytes would make the close a reset.
        tokio::spawn(async move { drop(connection.read(&mut [0; 4_096]).await) });
    }
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
