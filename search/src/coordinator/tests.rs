mod all_modules;
mod depth;
mod duplicates;
mod endless;
mod faults;
mod lossless;
mod overlap;
mod paging;
mod places;
mod ranked;
mod read_ahead;
mod sources;

use std::{iter, time::Duration};

use self::sources::MadeItem;
use super::*;
use crate::{
    clock::SystemClock,
    duplicates::Duplicates,
    module::{ModuleSource, SearchableModule},
    request::{Filters, PageRequest, PageStart, SearchOrder},
    source::{PagedSource, Status},
    testing::{TestKey, module, paused_runtime, viewer},
};

#[derive(Clone, Debug)]
struct TestSearch {
    limit: usize,
    source: Option<String>,
    start: PageStart,
    is_exact: bool,
    order: SearchOrder,
    filters: Filters,
    timeout: Duration,
}

fn request(limit: usize) -> TestSearch {
    TestSearch {
        limit,
        source: None,
        start: PageStart::Beginning,
        is_exact: true,
        order: SearchOrder::Time,
        filters: Filters::default(),
        timeout: Duration::from_secs(2),
    }
}

impl TestSearch {
    fn page(&self) -> PageRequest {
        PageRequest {
            source: self.source.clone(),
            start: self.start.clone(),
            is_exact: self.is_exact,
            hides_pinned: false,
        }
    }

    fn context(&self, cursor_key: Arc<dyn CursorKey>, source_pages: usize) -> PageContext {
        let parameters = SearchParameters {
            order: self.order,
            filters: self.filters.clone(),
            limit: self.limit,
            timeout: self.timeout,
            ..crate::testing::parameters()
        };
        let deadline = Instant::now() + self.timeout;
        let search = Arc::new(SearchContext::new(viewer(), parameters, Arc::default(), deadline));
        let figures = Arc::new(Figures::new(Arc::new(SystemClock)));
        let started = Instant::now();
        PageContext { cursor_key, spelling: Arc::default(), source_pages, figures, started, search }
    }
}

fn shared(sources: Vec<impl PagedSource + 'static>) -> Vec<ModuleSource> {
    sources.into_iter().map(|source| ModuleSource::External(Arc::new(source))).collect()
}

async fn search(sources: &[ModuleSource], request: &TestSearch) -> Result<SearchPage, SearchFailure> {
    search_reading(sources, request, 10_000).await
}

async fn search_reading(
    sources: &[ModuleSource],
    request: &TestSearch,
    source_pages: usize,
) -> Result<SearchPage, SearchFailure> {
    search_module(Duplicates::Keep, sources, request, source_pages).await
}

async fn search_module(
    duplicates: Duplicates,
    sources: &[ModuleSource],
    request: &TestSearch,
    source_pages: usize,
) -> Result<SearchPage, SearchFailure> {
    let context = request.context(Arc::new(TestKey::new(1)), source_pages);
    context.answer(&module("module", duplicates, sources), &request.page()).await
}

/// Follows the cursor to the end, with `limits` in turn.
async fn follow_cursor(sources: &[ModuleSource], request: TestSearch, limits: &[usize]) -> Vec<SearchPage> {
    follow_cursor_of(Duplicates::Keep, &mut iter::repeat(sources), request, limits).await
}

async fn follow_cursor_of(
    duplicates: Duplicates,
    sources: &mut dyn Iterator<Item = &[ModuleSource]>,
    mut request: TestSearch,
    limits: &[usize],
) -> Vec<SearchPage> {
    let mut pages = Vec::new();
    for limit in limits.iter().cycle().take(20_000) {
        request.limit = *limit;
        let sources = sources.next().unwrap();
        let page = match search_module(duplicates, sources, &request, 10_000).await {
            Ok(page) => page,
            Err(SearchFailure::NoSource { .. }) => continue,
            Err(SearchFailure::Refused(error)) => panic!("refused: {error}"),
        };
        let cursor = page.cursor.clone();
        pages.push(page);
        match cursor {
            Some(cursor) => request.start = PageStart::Cursor(cursor),
            None => return pages,
        }
    }
    panic!("the pages have no end");
}

async fn follow_time(
    duplicates: Duplicates,
    sources: &[ModuleSource],
    mut request: TestSearch,
    limits: &[usize],
) -> Vec<SearchPage> {
    request.is_exact = false;
    let mut pages = Vec::new();
    for limit in limits.iter().cycle().take(20_000) {
        request.limit = *limit;
        let page = search_module(duplicates, sources, &request, 10_000).await.unwrap();
        let Some(last) = page.items.last() else {
            pages.push(page);
            return pages;
        };
        request.start = PageStart::Before(last.display_time);
        pages.push(page);
    }
    panic!("the pages have no end");
}

fn ids(pages: &[SearchPage]) -> Vec<String> {
    pages.iter().flat_map(|page| &page.items).map(|item| item.id.clone()).collect()
}

fn made_ids<'a>(items: impl IntoIterator<Item = &'a MadeItem>) -> Vec<String> {
    items.into_iter().map(|item| item.id.clone()).collect()
}
