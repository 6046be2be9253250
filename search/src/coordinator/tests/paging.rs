//! Paging neither loses nor repeats items.

use std::cmp::Reverse;

use proptest::{collection::vec, prelude::*};

use trawl_connectors::DeclaredOrder;

use super::{
    sources::{FakeCursor, FakePaging, FakeSource, SourceFault, any_limits, any_sources},
    *,
};
use crate::{Weight, request::LARGEST_TIE, testing::any_weight};

pub(super) const BY_TIME: [DeclaredOrder; 1] = [DeclaredOrder::Time];
pub(super) const ANY_ORDER: [DeclaredOrder; 2] = [DeclaredOrder::Time, DeclaredOrder::Relevance];

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
    let external = FakePaging::by_time(50, FakeCursor::Offset);
    let fakes = [
        FakeSource::new("a", FakePaging::Builtin, of("a", 3, 9_900)),
        FakeSource::new("b", external, of("b", 4, 140)),
    ];
    let expected = by_time(&fakes, &Filters::default()).into_iter().map(|(_, item)| item.id);
    let expected: Vec<String> = expected.collect();
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
    #![proptest_config(trawl_seeds::cases(128))]

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
    fn sources_without_time_order_cost_others_no_item(
        sources in any_sources(ANY_ORDER.to_vec(), SearchOrder::Time),
        limits in any_limits(),
    ) {
        let ordered = sources.iter().filter(|source| source.is_ordered_by_time());
        let mut expected = made_ids(ordered.flat_map(|source| &source.items));
        let pages = paused_runtime().block_on(follow_time(Duplicates::Keep, &shared(sources), request(1), &limits));
        let known: std::collections::HashSet<&String> = expected.iter().collect();
        let mut found: Vec<String> = ids(&pages).into_iter().filter(|id| known.contains(id)).collect();
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
