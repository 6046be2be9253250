//! Feeds and systems of others, which answer as they should or to do harm.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use axum::{
    body::Bytes,
    http::header,
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use super::inputs::{FEEDS, Inputs, packed};
use crate::util::{
    external::with,
    own_search::{OwnSearch, ReceivedRequest},
    tls::{Authority, TlsRelay},
};

/// The mapped system that people search, and its module.
pub(super) const WIKI: &str = "wiki";
const ROWS: usize = 20;

/// It repeats without an end where the answer says so.
const ROWS_FILTER: &str =
    "if .evil == \"endless\" then [range(1e12)] elif .evil == \"large\" then [range(5e7)] else .rows[] end";

pub(super) struct ForeignSystems {
    systems: OwnSearch,
    /// Before the wiki.
    pub(super) relay: TlsRelay,
}

impl ForeignSystems {
    pub(super) async fn start(
        is_hostile: Arc<AtomicBool>,
        inputs: Arc<[Inputs; 2]>,
        authority: &Authority,
    ) -> Self {
        // Thirty million brackets.
        let brackets = packed(&format!("{{\"code\":200,\"data\":{}", "[".repeat(30_000_000)));
        let respond = move |request: &ReceivedRequest| {
            let is_hostile = is_hostile.load(Ordering::Relaxed);
            let path = request.uri.path();
            match (FEEDS.iter().position(|kind| path.ends_with(kind)), is_hostile) {
                (Some(kind), _) => gzip(inputs[usize::from(is_hostile)].feeds[kind].clone()),
                (None, _) if path.ends_with(WIKI) => rows(false).into_response(),
                (None, _) if path.starts_with("/mapped") => rows(is_hostile).into_response(),
                (None, true) => gzip(brackets.clone()),
                (None, false) => page(),
            }
        };
        let mut systems = OwnSearch::start(respond).await;
        systems.base.set_host(Some("localhost")).unwrap();
        let relay = TlsRelay::to(systems.base.join(WIKI).unwrap().as_str(), authority).await;
        Self { systems, relay }
    }

    /// Ids and addresses of the feeds.
    pub(super) fn feeds(&self) -> [(&'static str, String); 4] {
        FEEDS.map(|kind| (kind, self.systems.base.join(kind).unwrap().to_string()))
    }

    /// The registration of a mapped system, which may be hostile.
    fn mapped(&self, id: &str) -> Value {
        let mapping = json!({
            "request": {"query": "{ q: $keyword }"},
            "answer": {"rows": ROWS_FILTER, "id": ".id", "title": ".title", "author": ".author", "displayTime": ".displayTime"},
        });
        with(self.systems.registration(id, &mapping), "url", self.systems.base.join(id).unwrap().as_str())
    }

    /// The registration of the system that people search, which is never hostile.
    pub(super) fn wiki(&self) -> Value {
        with(self.mapped(WIKI), "url", self.relay.url.as_str())
    }

    /// Ids and registrations of the strangers' sources, each with a module of its id.
    pub(super) fn sources(&self) -> [(&'static str, Value); 2] {
        let plain = with(self.systems.registration("plain", &Value::Null), "kind", "contract");
        let mut plain = with(plain, "url", self.systems.base.join("search").unwrap().as_str());
        plain.as_object_mut().unwrap().remove("mapping");
        [("mapped", self.mapped("mapped")), ("plain", plain)]
    }
}

fn gzip(body: Bytes) -> Response {
    ([(header::CONTENT_ENCODING, "gzip")], body).into_response()
}

fn items() -> Vec<Value> {
    let item = |number: usize| json!({"id": number.to_string(), "title": format!("harbour {number}"), "displayTime": 1_700_000_000_000_u64 - number as u64, "author": "a"});
    (0..ROWS).map(item).collect()
}

/// The answer of a mapped system.
fn rows(is_hostile: bool) -> String {
    let evil = ["endless", "large", ""][if is_hostile { fastrand::usize(..2) } else { 2 }];
    json!({"evil": evil, "rows": items()}).to_string()
}

/// The answer of a system that keeps the contract.
fn page() -> Response {
    let page =
        json!({"code": 200, "message": null, "data": items(), "count": ROWS, "total": ROWS, "cursor": null});
    ([(header::CONTENT_TYPE, "application/json;charset=UTF-8")], page.to_string()).into_response()
}
