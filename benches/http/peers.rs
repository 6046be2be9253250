//! Peer of pages: a bare axum handler in a process of its own.

use std::{path::Path, sync::Arc};

use axum::{
    Router,
    extract::{Query, State},
    http::header,
    response::IntoResponse,
    routing::get,
};
use serde::Deserialize;

use crate::{bare::Bare, common::peer::serve};

/// Argument, before index directory and tenant id.
pub(crate) const PAGES: &str = "peer-pages";

/// Returns only when killed.
pub(crate) fn run_if_asked(arguments: &[String]) -> bool {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [PAGES, directory, tenant_id] = arguments[..] else { return false };
    let bare = Bare::open(Path::new(directory), tenant_id.parse().unwrap());
    serve(Router::new().route("/page", get(page)).with_state(Arc::new(bare)));
    true
}

#[derive(Deserialize)]
struct PageParameters {
    module: String,
    word: String,
    before: Option<i64>,
    limit: usize,
}

/// Answers a page at the least cost.
///
/// It authenticates and validates nothing, and searches on the runtime's thread.
async fn page(State(bare): State<Arc<Bare>>, Query(parameters): Query<PageParameters>) -> impl IntoResponse {
    let PageParameters { module, word, before, limit } = parameters;
    let mut data = String::with_capacity(4_096);
    let (total, count) = bare.page(&module, &word, before, limit, &mut data);
    let body =
        format!("{{\"code\":200,\"message\":null,\"data\":[{data}],\"total\":{total},\"count\":{count}}}");
    ([(header::CONTENT_TYPE, "application/json;charset=UTF-8")], body)
}
