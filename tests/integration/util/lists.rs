//! External systems with varying paging.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use axum::{
    Router,
    extract::{Path, Query, State, rejection::QueryRejection},
    http::{Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CursorForm {
    PageNumber,
    Offset,
    Token,
}

#[derive(Clone, Debug)]
pub(crate) struct Style {
    pub(crate) page_size: usize,
    pub(crate) cursor: CursorForm,
    /// Before each page.
    pub(crate) empty_pages: usize,
    /// Lengths of pages in turn, although more items follow.
    ///
    /// All have the page size if it is empty.
    pub(crate) lengths: Vec<usize>,
    pub(crate) order: &'static str,
}

pub(crate) struct Lists {
    base: String,
}

struct List {
    items: Vec<Value>,
    style: Style,
    calls: AtomicUsize,
}

#[derive(Deserialize)]
struct SearchQuery {
    limit: usize,
    #[serde(default)]
    cursor: String,
}

impl Lists {
    pub(crate) async fn start(lists: impl IntoIterator<Item = (Vec<Value>, Style)>) -> Self {
        let list = |(items, style)| List { items, style, calls: AtomicUsize::new(0) };
        let lists: Arc<[List]> = lists.into_iter().map(list).collect();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().route("/{number}", axum::routing::get(answer)).with_state(lists);
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { base }
    }

    pub(crate) fn registration(&self, number: usize, id: &str, style: &Style) -> Value {
        json!({
            "id": id, "name": id, "url": format!("{}/{number}", self.base), "method": "GET", "auth": {"type": "NONE"},
            "order": style.order, "timeoutMs": 10_000, "pageSize": style.page_size, "maxConcurrency": 8,
            "enabled": true,
        })
    }
}

async fn answer(
    State(lists): State<Arc<[List]>>,
    Path(number): Path<usize>,
    method: Method,
    asked: Result<Query<SearchQuery>, QueryRejection>,
) -> Response {
    if method == Method::HEAD {
        // The request that opens a connection before the first search.
        return StatusCode::OK.into_response();
    }
    let Query(asked) = asked.unwrap();
    let body = lists[number].page(&asked).to_string();
    ([(header::CONTENT_TYPE, "application/json;charset=UTF-8")], body).into_response()
}

impl List {
    fn page(&self, asked: &SearchQuery) -> Value {
        let Style { page_size, cursor: form, empty_pages, lengths, .. } = &self.style;
        assert_eq!(asked.limit, *page_size);
        let call = self.calls.fetch_add(1, Relaxed);
        let length = lengths.get(call % lengths.len().max(1)).unwrap_or(page_size);
        let (step, begin) = form.read(&asked.cursor, *page_size);
        let is_empty = step < *empty_pages;
        let data: Vec<&Value> =
            self.items.iter().skip(begin).take(if is_empty { 0 } else { *length }).collect();
        let (next_step, next_begin) = if is_empty { (step + 1, begin) } else { (0, begin + length) };
        let cursor = (next_begin < self.items.len()).then(|| form.write(next_step, next_begin, *page_size));
        json!({
            "code": 200, "message": null, "data": data, "count": data.len(), "total": self.items.len(),
            "cursor": cursor,
        })
    }
}

impl CursorForm {
    fn write(self, step: usize, begin: usize, page_size: usize) -> String {
        match self {
            Self::PageNumber => format!("{}.{step}", begin / page_size),
            Self::Offset => format!("{begin}.{step}"),
            Self::Token => format!("from {begin} \u{1f50d} & {step}"),
        }
    }

    fn read(self, cursor: &str, page_size: usize) -> (usize, usize) {
        let mut numbers = cursor.split([' ', '.']).filter_map(|word| word.parse::<usize>().ok());
        let begin = numbers.next().unwrap_or(0);
        (numbers.next().unwrap_or(0), if self == Self::PageNumber { begin * page_size } else { begin })
    }
}
