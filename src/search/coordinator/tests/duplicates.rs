//! A module that shows duplicates once loses nothing else, and says who else has what it shows.

use std::{cmp::Reverse, collections::HashSet};

use proptest::{collection::vec, prelude::*};
use trawl_connectors::DeclaredOrder;

use super::{
    paging::{ANY_ORDER, BY_TIME, any_weight, by_relevance, by_time, faults, weigh},
    sources::{CursorForm, Fake, Paging, any_limits, any_sources},
    *,
};

/// Sources that know partly the same things: each has an id once, at a time of its own.
fn any_overlapping(orders: Vec<DeclaredOrder>, ordered: Order) -> impl Strategy<Value = Vec<Fake>> {
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

/// The first of each id.
fn once(items: Vec<(usize, Made)>) -> Vec<String> {
    let mut seen = HashSet::new();
    let ids = items.into_iter().map(|(_, item)| item.id);
    ids.filter(|id| seen.insert(id.clone())).collect()
}

fn follow(sources: Vec<Fake>, request: SearchRequest, limits: &[usize]) -> Vec<Answer> {
    let sources = shared(sources);
    let mut same = std::iter::repeat(sources.as_slice());
    runtime().block_on(follow_cursor_of(Duplicates::ById, &mut same, request, limits))
}

/// What an item says of further sources.
fn also_in(item: &crate::search::Item) -> Vec<String> {
    let item: serde_json::Value = serde_json::from_str(&item.json).unwrap();
    item.get("alsoIn").map_or_else(Vec::new, |also_in| serde_json::from_value(also_in.clone()).unwrap())
}

/// The sources that have an item of this id, by their places.
fn having(sources: &[Fake], id: &str) -> Vec<String> {
    let has = |source: &&Fake| source.items.iter().any(|item| item.id == id);
    sources.iter().filter(has).map(|source| source.id.clone()).collect()
}

fn sorted(mut ids: Vec<String>) -> Vec<String> {
    ids.sort();
    ids
}

/// Pages that hold groups of equal times whole; each shows an id once.
fn expect_whole_ties(sources: &[Fake], limits: &[usize]) -> Vec<Vec<String>> {
    let mut items: Vec<(usize, Made)> = Vec::new();
    for (place, source) in sources.iter().enumerate() {
        items.extend(source.items.iter().map(|item| (place, item.clone())));
    }
    let key = |(place, item): &(usize, Made)| (Reverse(item.display_time), *place, item.id.clone());
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
    #![proptest_config(trawl_seeds::cases(512))]

    #[test]
    fn by_time_each_is_shown_once_where_it_comes_first(
        sources in any_overlapping(BY_TIME.to_vec(), Order::Time),
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
    fn by_relevance_each_is_shown_once_where_it_scores_best(
        mut sources in any_overlapping(ANY_ORDER.to_vec(), Order::Relevance),
        weights in vec(any_weight(), 8),
        limits in any_limits(),
    ) {
        weigh(&mut sources, &weights);
        let expected = once(by_relevance(&sources, &Filters::default()));
        let request = SearchRequest { order: Order::Relevance, ..request(1) };
        prop_assert_eq!(ids(&follow(sources, request, &limits)), expected);
    }

    #[test]
    fn by_the_time_condition_each_page_shows_it_once(
        sources in any_overlapping(BY_TIME.to_vec(), Order::Time),
        limits in any_limits(),
    ) {
        let expected = expect_whole_ties(&sources, &limits);
        let sources = shared(sources);
        let pages = runtime().block_on(follow_time_of(Duplicates::ById, &sources, request(1), &limits));
        let found: Vec<Vec<String>> = pages.iter().map(|page| ids(std::slice::from_ref(page))).collect();
        prop_assert_eq!(found, expected);
    }

    /// Whatever the sources' order, and whatever fails on the way.
    #[test]
    fn each_is_shown_once_and_none_is_lost(
        mut sources in any_overlapping(ANY_ORDER.to_vec(), Order::Time),
        faults in faults(),
        limits in any_limits(),
        exact_pages in any::<bool>(),
    ) {
        let expected = once(by_time(&sources, &Filters::default()));
        for (source, faults) in sources.iter_mut().zip(faults) {
            source.faults = faults;
        }
        let pages = follow(sources, SearchRequest { exact_pages, ..request(1) }, &limits);
        prop_assert_eq!(sorted(ids(&pages)), sorted(expected));
    }

    #[test]
    fn an_item_says_which_other_sources_have_it(
        sources in any_overlapping(ANY_ORDER.to_vec(), Order::Time),
        limits in any_limits(),
        by_relevance in any::<bool>(),
    ) {
        let order = if by_relevance { Order::Relevance } else { Order::Time };
        let request = SearchRequest { order, ..request(1) };
        for item in follow(sources.clone(), request.clone(), &limits).iter().flat_map(|page| &page.items) {
            let (said, known) = (also_in(item), having(&sources, &item.id));
            prop_assert!(said.iter().all(|id| known.contains(id)), "{:?} of {:?}", said, known);
            prop_assert!(known.is_empty() || said.len() < known.len(), "it names its own source");
        }
        // A page that holds everything knows them all, each but the item's own.
        for item in follow(sources.clone(), request, &[1_000]).iter().flat_map(|page| &page.items) {
            let (said, known) = (also_in(item), having(&sources, &item.id));
            prop_assert_eq!(said.len() + 1, known.len());
            prop_assert!(known.iter().filter(|id| said.contains(id)).eq(&said), "by their places");
        }
    }
}

/// A source of `count` items in time order, whose ids are those of `numbers` in turn.
fn numbered(id: &str, newest: i64, numbers: impl Iterator<Item = usize>) -> Fake {
    let paging = Paging::External {
        order: DeclaredOrder::Time,
        page_size: 50,
        cursor: CursorForm::Offset,
        empty_pages: 0,
    };
    let made = |(age, number): (i64, usize)| Made {
        id: format!("{number:05}"),
        display_time: newest - age,
        author: "ann",
    };
    Fake::new(id, paging, (0..).zip(numbers).map(made).collect())
}

#[test]
fn what_was_shown_long_ago_is_forgotten_and_the_cursor_stays_short() {
    // The second source has the same 2,500 items, all of them older, the first one's last first.
    let sources = vec![numbered("a", 9_000, 0..2_500), numbered("b", 5_000, (0..2_500).rev())];
    let pages = follow(sources, request(100), &[100]);
    let found = ids(&pages);
    assert_eq!(found.iter().collect::<HashSet<_>>().len(), 2_500);
    assert_eq!(found.len(), 2_500 + 500, "only what was shown more than 2,000 items ago is shown again");
    let longest = pages.iter().filter_map(|page| page.cursor.as_ref()).map(String::len).max();
    assert!(longest < Some(22_000), "{longest:?}");
    // In the same order both go on together, however many there are.
    let sources = vec![numbered("a", 9_000, 0..2_500), numbered("b", 5_000, 0..2_500)];
    assert_eq!(ids(&follow(sources, request(100), &[100])).len(), 2_500);
}

#[test]
fn a_module_that_begins_to_show_duplicates_once_goes_on_with_its_cursors() {
    let sources = shared(vec![numbered("a", 9_000, 0..4), numbered("b", 5_000, 0..6)]);
    runtime().block_on(async {
        let first = search(&sources, &request(2)).await.unwrap();
        let next = SearchRequest { start: Start::Cursor(first.cursor.clone().unwrap()), ..request(20) };
        let second = search_module(Duplicates::ById, &sources, &next, 100).await.unwrap();
        // What the first page showed, it did not remember.
        assert_eq!(ids(&[first]), ["00000", "00001"]);
        assert_eq!(ids(&[second]), ["00002", "00003", "00000", "00001", "00004", "00005"]);
    });
}
