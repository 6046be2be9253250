//! Pages of any sources, by every way, equal a reference list.

use std::cmp::Reverse;

use proptest::{collection::vec, prelude::*};

use super::{
    paging::{ANY_ORDER, BY_TIME, by_relevance, faults, weigh},
    sources::{FakeSource, any_filters, any_limits, any_sources},
    *,
};
use crate::{settings::CacheSettings, sources::external::SourcePageCache, testing::any_weight};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PagingWay {
    Cursor,
    Time,
    Relevance,
    /// Pages by time, over sources without order that fail at times.
    Unordered,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Between {
    Nothing,
    /// Pages become stale.
    Moment,
    Reload,
    Restart,
}

const BETWEEN: [Between; 4] = [Between::Nothing, Between::Moment, Between::Reload, Between::Restart];

#[derive(Clone, Debug)]
struct LosslessCase {
    way: PagingWay,
    sources: Vec<FakeSource>,
    filters: Filters,
    limits: Vec<usize>,
    /// `Err`: groups stay whole, below the time.
    first: Result<(), Option<i64>>,
    between: Vec<Between>,
    has_cache: bool,
}

fn any_case(way: PagingWay) -> impl Strategy<Value = LosslessCase> {
    let orders = if matches!(way, PagingWay::Cursor | PagingWay::Time) {
        BY_TIME.to_vec()
    } else {
        ANY_ORDER.to_vec()
    };
    let ordered = if way == PagingWay::Relevance { SearchOrder::Relevance } else { SearchOrder::Time };
    let lengths = prop_oneof![1 => Just(Vec::new()), 3 => vec(prop_oneof![1usize..4, 1usize..50], 1..6)];
    let before = prop::option::weighted(0.3, prop_oneof![0i64..8, 0i64..1_000]);
    (
        (any_sources(orders, ordered), vec(lengths, 8), vec(any_weight(), 8), faults()),
        any_filters(),
        any_limits(),
        prop_oneof![Just(Ok(())), before.prop_map(Err)],
        vec(prop::sample::select(BETWEEN.to_vec()), 1..5),
        any::<bool>(),
    )
        .prop_map(move |(drawn, filters, limits, first, between, has_cache)| {
            let (mut sources, lengths, weights, faults) = drawn;
            weigh(&mut sources, &weights);
            for (source, (lengths, faults)) in sources.iter_mut().zip(lengths.into_iter().zip(faults)) {
                source.lengths = source.page_lengths(lengths);
                source.faults = if way == PagingWay::Unordered { faults } else { Vec::new() };
            }
            LosslessCase { way, sources, filters, limits, first, between, has_cache }
        })
}

struct SearchedServer {
    cursor_key: Arc<TestKey>,
    cache: Option<SourcePageCache>,
    sources: Vec<ModuleSource>,
}

impl SearchedServer {
    fn start(case: &LosslessCase) -> Self {
        let settings = CacheSettings { fresh_ms: 1_000, stale_ms: 60_000, bytes: 10 << 20 };
        let cache = case.has_cache.then(|| SourcePageCache::new(settings));
        Self { cursor_key: Arc::new(TestKey::new(1)), cache, sources: Vec::new() }.reload(case)
    }

    fn reload(self, case: &LosslessCase) -> Self {
        let source = |source: &FakeSource| FakeSource { cache: self.cache.clone(), ..source.clone() };
        Self { sources: shared(case.sources.iter().map(source).collect()), ..self }
    }

    async fn answer(&self, request: &TestSearch) -> Result<SearchPage, SearchFailure> {
        let context = request.context(Arc::clone(&self.cursor_key) as Arc<dyn CursorKey>, 10_000);
        context.answer(&module("module", Duplicates::Keep, &self.sources), &request.page()).await
    }
}

impl LosslessCase {
    fn first_request(&self) -> TestSearch {
        let order = if self.way == PagingWay::Relevance { SearchOrder::Relevance } else { SearchOrder::Time };
        let (is_exact, start) = match (self.way, self.first) {
            (PagingWay::Relevance, _) | (PagingWay::Cursor | PagingWay::Unordered, Ok(())) => {
                (true, PageStart::Beginning)
            }
            (_, Err(Some(time))) => (false, PageStart::Before(time)),
            (_, Ok(()) | Err(None)) => (false, PageStart::Beginning),
        };
        TestSearch { order, is_exact, start, filters: self.filters.clone(), ..request(1) }
    }

    async fn follow(&self) -> Vec<SearchPage> {
        let mut server = SearchedServer::start(self);
        let mut request = self.first_request();
        let mut pages: Vec<SearchPage> = Vec::new();
        let mut turns = self.between.iter().cycle();
        for limit in self.limits.iter().cycle().take(20_000) {
            request.limit = *limit;
            let answer = match server.answer(&request).await {
                Ok(answer) => answer,
                Err(SearchFailure::NoSource { .. }) if self.way == PagingWay::Unordered => continue,
                Err(failure) => panic!("{failure:?}"),
            };
            let last = answer.items.last().map(|item| item.display_time);
            let next = match self.way {
                PagingWay::Time => last.map(PageStart::Before),
                _ => answer.cursor.clone().map(PageStart::Cursor),
            };
            pages.push(answer);
            let Some(next) = next else { return pages };
            request.start = next;
            match turns.next().unwrap() {
                Between::Nothing => {}
                Between::Moment => tokio::time::advance(Duration::from_millis(1_500)).await,
                Between::Reload => server = server.reload(self),
                Between::Restart => server = SearchedServer::start(self),
            }
        }
        panic!("the pages have no end");
    }

    fn reference(&self) -> Vec<PlacedItem> {
        let mut list = Vec::new();
        let before = match self.first_request().start {
            PageStart::Before(time) => time,
            _ => i64::MAX,
        };
        for (place, source) in self.sources.iter().enumerate() {
            for item in &source.items {
                let Filters { from, to, author, .. } = &self.filters;
                let (least, most) = (from.unwrap_or(i64::MIN), to.unwrap_or(i64::MAX).min(before));
                let is_by_author = author.as_deref().is_none_or(|author| author == item.author);
                if (least..most).contains(&item.display_time) && is_by_author {
                    list.push((Reverse(item.display_time), place, item.id.clone()));
                }
            }
        }
        list.sort();
        list
    }
}

type PlacedItem = (Reverse<i64>, usize, String);

/// Split groups keep the source's order.
fn placed(pages: &[SearchPage]) -> Vec<PlacedItem> {
    let place = |id: &str| id.split('/').nth(1).unwrap().parse().unwrap();
    let items = pages.iter().flat_map(|page| &page.items);
    let mut placed: Vec<PlacedItem> =
        items.map(|item| (Reverse(item.display_time), place(&item.id), item.id.clone())).collect();
    for group in placed.chunk_by_mut(|left, right| (left.0, left.1) == (right.0, right.1)) {
        group.sort();
    }
    placed
}

fn whole_ties(mut rest: &[PlacedItem], limits: &[usize]) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    for limit in limits.iter().cycle() {
        let mut length = (*limit).min(rest.len());
        while length < rest.len() && rest[length].0 == rest[length - 1].0 {
            length += 1;
        }
        let (page, behind) = rest.split_at(length);
        pages.push(page.iter().map(|(.., id)| id.clone()).collect());
        if page.is_empty() {
            break;
        }
        rest = behind;
    }
    pages
}

fn check(case: &LosslessCase) -> Result<(), TestCaseError> {
    let pages = paused_runtime().block_on(case.follow());
    let reference = case.reference();
    match case.way {
        PagingWay::Cursor => prop_assert_eq!(placed(&pages), reference),
        PagingWay::Time => {
            let found: Vec<Vec<String>> = pages.iter().map(|page| ids(std::slice::from_ref(page))).collect();
            prop_assert_eq!(found, whole_ties(&reference, &case.limits));
        }
        PagingWay::Relevance => {
            let ranked = by_relevance(&case.sources, &case.filters);
            prop_assert_eq!(ids(&pages), made_ids(ranked.iter().map(|(_, item)| item)));
        }
        PagingWay::Unordered => {
            let mut found = placed(&pages);
            found.sort();
            prop_assert_eq!(found, reference);
        }
    }
    if case.way != PagingWay::Unordered {
        for (number, page) in pages.iter().enumerate() {
            let limit = case.limits[number % case.limits.len()];
            let is_exact = case.way != PagingWay::Time && (number > 0 || case.first_request().is_exact);
            prop_assert!(!page.partial);
            prop_assert!(page.items.len() >= limit || page.cursor.is_none());
            prop_assert!(page.items.len() <= limit || !is_exact);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(trawl_seeds::cases(200))]

    #[test]
    fn pages_by_cursor_equal_the_list(case in any_case(PagingWay::Cursor)) {
        check(&case)?;
    }

    #[test]
    fn pages_by_time_of_the_last_item_equal_the_list(case in any_case(PagingWay::Time)) {
        check(&case)?;
    }

    #[test]
    fn pages_by_relevance_equal_the_list(case in any_case(PagingWay::Relevance)) {
        check(&case)?;
    }

    #[test]
    fn unordered_pages_with_failures_hold_the_whole_list(case in any_case(PagingWay::Unordered)) {
        check(&case)?;
    }
}
