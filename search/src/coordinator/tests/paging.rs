//! Paging neither loses nor repeats items.

use std::cmp::Reverse;

use proptest::{collection::vec, prelude::*};

use trawl_connectors::DeclaredOrder;

use super::{
    sources::{
        FakeCursor, FakePaging, FakeSource, MadeItem, SourceFault, any_filters, any_limits, any_sources,
    },
    *,
};
use crate::{Weight, request::LARGEST_TIE};

const CASES: u32 = 128;

pub(super) const BY_TIME: [DeclaredOrder; 1] = [DeclaredOrder::Time];
pub(super) const ANY_ORDER: [DeclaredOrder; 2] = [DeclaredOrder::Time, DeclaredOrder::Relevance];

fn expect_exact(sources: &[FakeSource], filters: &Filters) -> Vec<String> {
    by_time(sources, filters).into_iter().map(|(_, item)| item.id).collect()
}

pub(super) fn by_time(sources: &[FakeSource], filters: &Filters) -> Vec<(usize, MadeItem)> {
    let mut items: Vec<(usize, MadeItem)> = sources
        .iter()
        .enumerate()
        .flat_map(|(place, source)| {
            source.in_order(SearchOrder::Time, filters).into_iter().map(move |item| (place, item))
        })
        .collect();
    items.sort_by_key(|(place, item)| (Reverse(item.display_time), *place));
    items
}

fn expect_whole_ties(sources: &[FakeSource], filters: &Filters, limits: &[usize]) -> Vec<Vec<String>> {
    let mut items: Vec<(usize, MadeItem)> = sources
        .iter()
        .enumerate()
        .flat_map(|(place, source)| source.items.iter().map(move |item| (place, item.clone())))
        .filter(|(_, item)| item.matches(filters))
        .collect();
    items.sort_by(|(left_place, left), (right_place, right)| {
        (Reverse(left.display_time), left_place, &left.id).cmp(&(
            Reverse(right.display_time),
            right_place,
            &right.id,
        ))
    });
    let mut pages = Vec::new();
    let mut rest = items.as_slice();
    for limit in limits.iter().cycle() {
        let Some((_, last)) = rest.get(*limit - 1).or(rest.last()) else { break };
        let length = rest.partition_point(|(_, item)| item.display_time >= last.display_time);
        pages.push(made_ids(rest[..length].iter().map(|(_, item)| item)));
        rest = &rest[length..];
    }
    pages.push(Vec::new());
    pages
}

pub(super) fn faults() -> impl Strategy<Value = Vec<Vec<Option<SourceFault>>>> {
    let fault = prop_oneof![
        3 => Just(None),
        2 => Just(Some(SourceFault::Fails)),
        1 => Just(Some(SourceFault::Hangs)),
    ];
    vec(vec(fault, 0..12), 8)
}

/// Orders items by weight / (60 + rank), then by place.
pub(super) fn by_relevance(sources: &[FakeSource], filters: &Filters) -> Vec<(usize, MadeItem)> {
    let mut items: Vec<((u128, u128), usize, MadeItem)> = Vec::new();
    for (place, source) in sources.iter().enumerate() {
        let weight = u128::try_from(source.weight.thousandths()).unwrap();
        let ranked = (1..).zip(source.in_order(SearchOrder::Relevance, filters));
        items.extend(ranked.map(|(rank, item)| ((weight, 60 + rank), place, item)));
    }
    items.sort_by(|((left, left_under), left_place, _), ((right, right_under), right_place, _)| {
        (right * left_under).cmp(&(left * right_under)).then(left_place.cmp(right_place))
    });
    items.into_iter().map(|(_, place, item)| (place, item)).collect()
}

pub(super) fn weigh(sources: &mut [FakeSource], weights: &[Weight]) {
    sources.iter_mut().zip(weights).for_each(|(source, weight)| source.weight = *weight);
}

pub(super) fn any_weight() -> impl Strategy<Value = Weight> {
    let thousandths = prop_oneof![Just(1_000i64), Just(2_000), 10i64..=100_000];
    thousandths.prop_map(Weight::from_thousandths)
}

#[test]
fn group_too_large_for_a_page_is_cut_and_the_cursor_continues() {
    let made = |source: &str, number: usize, display_time| MadeItem {
        id: format!("{source}{number:05}"),
        display_time,
        author: "ann",
    };
    let of = |source: &str, older: i64, count| {
        let group = (0..count).map(|number| made(source, number, 5));
        group.chain([made(source, 99_999, older)]).collect::<Vec<_>>()
    };
    let external = FakePaging::External {
        order: DeclaredOrder::Time,
        page_size: 50,
        cursor: FakeCursor::Offset,
        empty_pages: 0,
    };
    let fakes = [
        FakeSource::new("a", FakePaging::Builtin, of("a", 3, 9_900)),
        FakeSource::new("b", external, of("b", 4, 140)),
    ];
    let expected = expect_exact(&fakes, &Filters::default());
    let sources = shared(fakes.into());
    paused_runtime().block_on(async {
        let first = search(&sources, &TestSearch { is_exact: false, ..request(10) }).await.unwrap();
        assert_eq!((first.items.len(), first.partial), (LARGEST_TIE, true));
        let next = TestSearch { start: PageStart::Cursor(first.cursor.clone().unwrap()), ..request(10) };
        let rest = follow_cursor(&sources, next, &[7]).await;
        assert!(rest.iter().all(|page| !page.partial));
        assert_eq!([ids(&[first]), ids(&rest)].concat(), expected);
        let filters = Filters { from: Some(4), ..Filters::default() };
        let source = Some("a".to_owned());
        let fitting = TestSearch { is_exact: false, source, filters, ..request(10) };
        let page = search(&sources, &fitting).await.unwrap();
        assert_eq!((page.items.len(), page.partial), (9_900, false));
    });
}

proptest! {
    #![proptest_config(trawl_seeds::cases(CASES))]

    #[test]
    fn opaque_cursor_pages_exactly(
        sources in any_sources(BY_TIME.to_vec(), SearchOrder::Time),
        filters in any_filters(),
        limits in any_limits(),
    ) {
        let expected = expect_exact(&sources, &filters);
        let request = TestSearch { filters, ..request(1) };
        let pages = paused_runtime().block_on(follow_cursor(&shared(sources), request, &limits));
        prop_assert_eq!(ids(&pages), expected);
        for (page, limit) in pages.iter().zip(limits.iter().cycle()) {
            prop_assert!(!page.partial);
            prop_assert!(page.items.len() == *limit || page.cursor.is_none());
        }
    }

    #[test]
    fn time_condition_pages_exactly(
        sources in any_sources(BY_TIME.to_vec(), SearchOrder::Time),
        filters in any_filters(),
        limits in any_limits(),
    ) {
        let expected = expect_whole_ties(&sources, &filters, &limits);
        let request = TestSearch { filters, ..request(1) };
        let pages = paused_runtime().block_on(follow_time(&shared(sources), request, &limits));
        let found: Vec<Vec<String>> = pages.iter().map(|page| ids(std::slice::from_ref(page))).collect();
        prop_assert_eq!(found, expected);
        prop_assert!(pages.iter().all(|page| !page.partial));
    }

    #[test]
    fn opaque_cursor_continues_after_a_page_of_whole_ties(
        sources in any_sources(BY_TIME.to_vec(), SearchOrder::Time),
        before in prop::option::of(0i64..1_000),
        limits in any_limits(),
    ) {
        let filters = Filters { to: before, ..Filters::default() };
        let mut expected = expect_exact(&sources, &filters);
        let start = before.map_or(PageStart::Beginning, PageStart::Before);
        let request = TestSearch { is_exact: false, start, ..request(1) };
        let mut found = ids(&paused_runtime().block_on(follow_cursor(&shared(sources), request, &limits)));
        found.sort();
        expected.sort();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn opaque_cursor_pages_by_relevance(
        mut sources in any_sources(ANY_ORDER.to_vec(), SearchOrder::Relevance),
        weights in vec(any_weight(), 8),
        filters in any_filters(),
        limits in any_limits(),
    ) {
        weigh(&mut sources, &weights);
        let expected = by_relevance(&sources, &filters).into_iter().map(|(_, item)| item.id);
        let expected: Vec<String> = expected.collect();
        let request = TestSearch { filters, order: SearchOrder::Relevance, ..request(1) };
        let pages = paused_runtime().block_on(follow_cursor(&shared(sources), request, &limits));
        prop_assert_eq!(ids(&pages), expected);
    }

    #[test]
    fn weights_that_change_between_pages_lose_no_item(
        sources in any_sources(ANY_ORDER.to_vec(), SearchOrder::Relevance),
        weights in vec(vec(any_weight(), 8), 1..4),
        limits in any_limits(),
    ) {
        let weighed = |weights: &Vec<Weight>| {
            let mut sources = sources.clone();
            weigh(&mut sources, weights);
            shared(sources)
        };
        let by_page: Vec<Vec<ModuleSource>> = weights.iter().map(weighed).collect();
        let mut in_turn = by_page.iter().map(Vec::as_slice).cycle();
        let request = TestSearch { order: SearchOrder::Relevance, ..request(1) };
        let pages = follow_cursor_of(Duplicates::Keep, &mut in_turn, request, &limits);
        let mut found = ids(&paused_runtime().block_on(pages));
        let mut expected = made_ids(sources.iter().flat_map(|source| &source.items));
        found.sort();
        expected.sort();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn sources_without_time_order_are_paged_completely(
        sources in any_sources(ANY_ORDER.to_vec(), SearchOrder::Time),
        filters in any_filters(),
        limits in any_limits(),
    ) {
        let mut expected = expect_exact(&sources, &filters);
        let request = TestSearch { filters, ..request(1) };
        let pages = paused_runtime().block_on(follow_cursor(&shared(sources), request, &limits));
        let mut found = ids(&pages);
        found.sort();
        expected.sort();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn sources_without_time_order_cost_others_no_item(
        sources in any_sources(ANY_ORDER.to_vec(), SearchOrder::Time),
        limits in any_limits(),
    ) {
        let ordered = sources.iter().filter(|source| source.is_ordered_by_time());
        let mut expected = made_ids(ordered.flat_map(|source| &source.items));
        let pages = paused_runtime().block_on(follow_time(&shared(sources), request(1), &limits));
        let known: std::collections::HashSet<&String> = expected.iter().collect();
        let mut found: Vec<String> = ids(&pages).into_iter().filter(|id| known.contains(id)).collect();
        found.sort();
        expected.sort();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn items_of_failed_calls_are_delivered_later_once(
        mut sources in any_sources(ANY_ORDER.to_vec(), SearchOrder::Time),
        faults in faults(),
        limits in any_limits(),
        is_exact in any::<bool>(),
    ) {
        for (source, faults) in sources.iter_mut().zip(faults) {
            source.faults = faults;
        }
        let mut expected = expect_exact(&sources, &Filters::default());
        let request = TestSearch { is_exact, ..request(1) };
        let pages = paused_runtime().block_on(follow_cursor(&shared(sources), request, &limits));
        let mut found = ids(&pages);
        found.sort();
        expected.sort();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn page_with_missing_items_is_partial(
        mut sources in any_sources(BY_TIME.to_vec(), SearchOrder::Time),
        faults in faults(),
        limit in 1usize..30,
        is_exact in any::<bool>(),
    ) {
        let request = TestSearch { is_exact, ..request(limit) };
        let whole = paused_runtime().block_on(search(&shared(sources.clone()), &request)).unwrap();
        for (source, faults) in sources.iter_mut().zip(faults) {
            source.faults = faults;
        }
        if let Ok(page) = paused_runtime().block_on(search(&shared(sources), &request)) {
            prop_assert!(page.partial || ids(&[page]) == ids(&[whole]));
        }
    }
}
