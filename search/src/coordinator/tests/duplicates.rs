//! Modules that show duplicates once.

use std::{cmp::Reverse, collections::HashSet};

use proptest::{collection::vec, prelude::*};
use trawl_connectors::DeclaredOrder;

use super::{
    paging::{ANY_ORDER, BY_TIME, by_relevance, by_time, faults, weigh},
    sources::{FakeCursor, FakePaging, FakeSource, any_limits, any_sources},
    *,
};
use crate::testing::any_weight;

fn any_overlapping(
    orders: Vec<DeclaredOrder>,
    ordered: SearchOrder,
) -> impl Strategy<Value = Vec<FakeSource>> {
    let pool = prop_oneof![Just(4u32), Just(25), Just(10_000)];
    (any_sources(orders, ordered), pool).prop_map(|(mut sources, pool)| {
        for source in &mut sources {
            let mut known = HashSet::new();
            for item in &mut source.items {
                let number: u32 = item.id[..5].parse().unwrap();
                item.id = format!("{:04}", number % pool);
            }
            source.items.retain(|item| known.insert(item.id.clone()));
        }
        sources
    })
}

fn once(items: Vec<(usize, MadeItem)>) -> Vec<String> {
    let mut seen = HashSet::new();
    let ids = items.into_iter().map(|(_, item)| item.id);
    ids.filter(|id| seen.insert(id.clone())).collect()
}

fn follow(sources: Vec<FakeSource>, request: TestSearch, limits: &[usize]) -> Vec<SearchPage> {
    let sources = shared(sources);
    let mut same = std::iter::repeat(sources.as_slice());
    paused_runtime().block_on(follow_cursor_of(Duplicates::ById, &mut same, request, limits))
}

fn also_in(item: &crate::ResultItem) -> Vec<String> {
    let item: serde_json::Value = serde_json::from_str(&item.json).unwrap();
    item.get("alsoIn").map_or_else(Vec::new, |also_in| serde_json::from_value(also_in.clone()).unwrap())
}

fn sources_of(sources: &[FakeSource], id: &str) -> Vec<String> {
    let has = |source: &&FakeSource| source.items.iter().any(|item| item.id == id);
    sources.iter().filter(has).map(|source| source.id.clone()).collect()
}

fn sorted(mut ids: Vec<String>) -> Vec<String> {
    ids.sort();
    ids
}

fn expect_whole_ties(sources: &[FakeSource], limits: &[usize]) -> Vec<Vec<String>> {
    let mut items: Vec<(usize, MadeItem)> = Vec::new();
    for (place, source) in sources.iter().enumerate() {
        items.extend(source.items.iter().map(|item| (place, item.clone())));
    }
    let key = |(place, item): &(usize, MadeItem)| (Reverse(item.display_time), *place, item.id.clone());
    items.sort_by_key(key);
    let mut pages = Vec::new();
    let mut limits = limits.iter().cycle();
    while !items.is_empty() {
        let limit = *limits.next().unwrap();
        let mut seen = HashSet::new();
        let firsts: Vec<i64> = items
            .iter()
            .filter(|(_, item)| seen.insert(&item.id))
            .map(|(_, item)| item.display_time)
            .collect();
        let last = firsts[limit.min(firsts.len()) - 1];
        let of_the_page = items.iter().filter(|(_, item)| item.display_time >= last).cloned().collect();
        pages.push(once(of_the_page));
        items.retain(|(_, item)| item.display_time < last);
    }
    pages.push(Vec::new());
    pages
}

proptest! {
    #![proptest_config(trawl_seeds::cases(128))]

    #[test]
    fn duplicates_by_time_are_shown_once_at_their_first_place(
        sources in any_overlapping(BY_TIME.to_vec(), SearchOrder::Time),
        limits in any_limits(),
    ) {
        let expected = once(by_time(&sources, &Filters::default()));
        let total: usize = sources.iter().map(|source| source.items.len()).sum();
        let pages = follow(sources, request(1), &limits);
        prop_assert_eq!(ids(&pages), expected);
        for (page, limit) in pages.iter().zip(limits.iter().cycle()) {
            prop_assert!(!page.partial);
            prop_assert!(page.items.len() == *limit || page.cursor.is_none());
            prop_assert_eq!(page.total, u64::try_from(total).unwrap(), "the total is that of the sources");
        }
    }

    #[test]
    fn duplicates_by_relevance_are_shown_once_at_their_best_score(
        mut sources in any_overlapping(ANY_ORDER.to_vec(), SearchOrder::Relevance),
        weights in vec(any_weight(), 8),
        limits in any_limits(),
    ) {
        weigh(&mut sources, &weights);
        let expected = once(by_relevance(&sources, &Filters::default()));
        let request = TestSearch { order: SearchOrder::Relevance, ..request(1) };
        prop_assert_eq!(ids(&follow(sources, request, &limits)), expected);
    }

    #[test]
    fn page_below_a_time_shows_duplicates_once(
        sources in any_overlapping(BY_TIME.to_vec(), SearchOrder::Time),
        limits in any_limits(),
    ) {
        let expected = expect_whole_ties(&sources, &limits);
        let sources = shared(sources);
        let pages = paused_runtime().block_on(follow_time(Duplicates::ById, &sources, request(1), &limits));
        let found: Vec<Vec<String>> = pages.iter().map(|page| ids(std::slice::from_ref(page))).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn duplicates_are_shown_once_despite_failures(
        mut sources in any_overlapping(ANY_ORDER.to_vec(), SearchOrder::Time),
        faults in faults(),
        limits in any_limits(),
        is_exact in any::<bool>(),
    ) {
        let expected = once(by_time(&sources, &Filters::default()));
        for (source, faults) in sources.iter_mut().zip(faults) {
            source.faults = faults;
        }
        let pages = follow(sources, TestSearch { is_exact, ..request(1) }, &limits);
        prop_assert_eq!(sorted(ids(&pages)), sorted(expected));
    }

    #[test]
    fn item_names_the_other_sources_that_have_it(
        sources in any_overlapping(ANY_ORDER.to_vec(), SearchOrder::Time),
        limits in any_limits(),
        by_relevance in any::<bool>(),
    ) {
        let order = if by_relevance { SearchOrder::Relevance } else { SearchOrder::Time };
        let request = TestSearch { order, ..request(1) };
        for item in follow(sources.clone(), request.clone(), &limits).iter().flat_map(|page| &page.items) {
            let (named, known) = (also_in(item), sources_of(&sources, &item.id));
            prop_assert!(named.iter().all(|id| known.contains(id)), "{:?} of {:?}", named, known);
            prop_assert!(known.is_empty() || named.len() < known.len(), "it names its own source");
        }
        for item in follow(sources.clone(), request, &[1_000]).iter().flat_map(|page| &page.items) {
            let (named, known) = (also_in(item), sources_of(&sources, &item.id));
            prop_assert_eq!(named.len() + 1, known.len());
            prop_assert!(known.iter().filter(|id| named.contains(id)).eq(&named), "in order of their places");
        }
    }
}

fn numbered(id: &str, newest: i64, numbers: impl Iterator<Item = usize>) -> FakeSource {
    let made = |(age, number): (i64, usize)| MadeItem {
        id: format!("{number:05}"),
        display_time: newest - age,
        author: "ann",
    };
    FakeSource::new(id, FakePaging::by_time(50, FakeCursor::Offset), (0..).zip(numbers).map(made).collect())
}

#[test]
fn oldest_seen_items_are_forgotten_to_bound_the_cursor() {
    // The second source has the same 2,500 ids, older and in reverse.
    let sources = vec![numbered("a", 9_000, 0..2_500), numbered("b", 5_000, (0..2_500).rev())];
    let pages = follow(sources, request(100), &[100]);
    let found = ids(&pages);
    assert_eq!(found.iter().collect::<HashSet<_>>().len(), 2_500);
    assert_eq!(found.len(), 2_500 + 500, "only items seen before the last 2,000 are shown again");
    let longest = pages.iter().filter_map(|page| page.cursor.as_ref()).map(String::len).max();
    assert!(longest < Some(23_000), "{longest:?}");
    let sources = vec![numbered("a", 9_000, 0..2_500), numbered("b", 5_000, 0..2_500)];
    assert_eq!(ids(&follow(sources, request(100), &[100])).len(), 2_500);
}

#[test]
fn cursors_survive_a_change_to_showing_duplicates_once() {
    let sources = shared(vec![numbered("a", 9_000, 0..4), numbered("b", 5_000, 0..6)]);
    paused_runtime().block_on(async {
        let first = search(&sources, &request(2)).await.unwrap();
        let next = TestSearch { start: PageStart::Cursor(first.cursor.clone().unwrap()), ..request(20) };
        let second = search_module(Duplicates::ById, &sources, &next, 100).await.unwrap();
        assert_eq!(ids(&[first]), ["00000", "00001"]);
        assert_eq!(ids(&[second]), ["00002", "00003", "00000", "00001", "00004", "00005"]);
    });
}
