//! Searches over sources in memory, by the code that answers the real ones.

mod ahead;
mod all;
mod duplicates;
mod faults;
mod lossless;
mod paging;
mod sources;

use std::sync::{Arc, LazyLock};

use tokio::runtime::Runtime;

use self::sources::Made;
use super::*;
use crate::search::request::{Filters, Order};

static KEYS: LazyLock<Arc<Keys>> =
    LazyLock::new(|| Arc::new(Keys::load(None, tempfile::tempdir().unwrap().path()).unwrap()));

/// A runtime whose clock moves only when everything waits.
fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}

fn viewer() -> Viewer {
    Viewer { tenant_id: 1, user_id: None, principals: Arc::default() }
}

fn request(limit: usize) -> SearchRequest {
    SearchRequest {
        keyword: "word".to_owned(),
        module: "module".to_owned(),
        limit,
        start: Start::Beginning,
        exact_pages: true,
        order: Order::Time,
        filters: Filters::default(),
        highlight: false,
        timeout: Duration::from_secs(2),
        trace: None,
    }
}

fn shared(sources: Vec<impl Source + 'static>) -> Vec<Arc<dyn Source>> {
    sources.into_iter().map(|source| Arc::new(source) as Arc<dyn Source>).collect()
}

/// One page, with as many pages of each source as it takes.
async fn search(sources: &[Arc<dyn Source>], request: &SearchRequest) -> Result<Answer, Failure> {
    search_reading(sources, request, 10_000).await
}

async fn search_reading(
    sources: &[Arc<dyn Source>],
    request: &SearchRequest,
    source_pages: usize,
) -> Result<Answer, Failure> {
    search_module(Duplicates::Keep, sources, request, source_pages).await
}

async fn search_module(
    duplicates: Duplicates,
    sources: &[Arc<dyn Source>],
    request: &SearchRequest,
    source_pages: usize,
) -> Result<Answer, Failure> {
    let query = Arc::new(Query::parse(&request.keyword));
    let deadline = Instant::now() + request.timeout;
    let own = Own { keys: &KEYS, source_pages, query: &query, deadline };
    answer_page(own, "module", duplicates, sources, viewer(), request.clone()).await
}

/// Follows the opaque cursor to the end, with the page lengths of `limits` in turn. A page that no source answered
/// is asked for again.
async fn follow_cursor(sources: &[Arc<dyn Source>], request: SearchRequest, limits: &[usize]) -> Vec<Answer> {
    follow_cursor_of(Duplicates::Keep, &mut std::iter::repeat(sources), request, limits).await
}

/// The same of a module with duplicates, whose sources are the next ones at each page.
async fn follow_cursor_of(
    duplicates: Duplicates,
    sources: &mut dyn Iterator<Item = &[Arc<dyn Source>]>,
    mut request: SearchRequest,
    limits: &[usize],
) -> Vec<Answer> {
    let mut pages = Vec::new();
    for limit in limits.iter().cycle().take(20_000) {
        request.limit = *limit;
        let sources = sources.next().unwrap();
        let answer = match search_module(duplicates, sources, &request, 10_000).await {
            Ok(answer) => answer,
            Err(Failure::NoSource { .. }) => continue,
            Err(Failure::Refused(error)) => panic!("refused: {error}"),
        };
        let cursor = answer.cursor.clone();
        pages.push(answer);
        match cursor {
            Some(cursor) => request.start = Start::Cursor(cursor),
            None => return pages,
        }
    }
    panic!("the pages have no end");
}

/// Follows the last item's `displayTime` to the end.
async fn follow_time(sources: &[Arc<dyn Source>], request: SearchRequest, limits: &[usize]) -> Vec<Answer> {
    follow_time_of(Duplicates::Keep, sources, request, limits).await
}

/// The same of a module with duplicates.
async fn follow_time_of(
    duplicates: Duplicates,
    sources: &[Arc<dyn Source>],
    mut request: SearchRequest,
    limits: &[usize],
) -> Vec<Answer> {
    request.exact_pages = false;
    let mut pages = Vec::new();
    for limit in limits.iter().cycle().take(20_000) {
        request.limit = *limit;
        let answer = search_module(duplicates, sources, &request, 10_000).await.unwrap();
        let Some(last) = answer.items.last() else {
            pages.push(answer);
            return pages;
        };
        request.start = Start::Before(last.display_time);
        pages.push(answer);
    }
    panic!("the pages have no end");
}

/// The ids of the items of these pages.
fn ids(pages: &[Answer]) -> Vec<String> {
    pages.iter().flat_map(|page| &page.items).map(|item| item.id.clone()).collect()
}

fn made_ids<'a>(items: impl IntoIterator<Item = &'a Made>) -> Vec<String> {
    items.into_iter().map(|item| item.id.clone()).collect()
}
