use proptest::{collection::vec, prelude::*};

use super::*;
use crate::{
    duplicates::Duplicates,
    source::PositionedItem,
    testing::any_weight,
    weight::{Relevance, Weight},
};

#[derive(Clone, Debug)]
struct LaneFeed {
    weight: Weight,
    times: Vec<i64>,
    pages: Vec<usize>,
    is_tight: bool,
    fails_at: Option<usize>,
}

impl LaneFeed {
    fn page(&self, place: usize, start: usize, call: usize) -> SourcePage {
        let length = self.pages[call % self.pages.len()];
        let end = (start + length).min(self.times.len());
        let positioned = |index: usize| PositionedItem {
            item: item(place, index, self.times[index]),
            after: after(index + 1),
            relevance: Relevance::default(),
        };
        let last = (end > start).then(|| self.times[end - 1]);
        let tie_goes_on = last.is_some() && last == self.times.get(end).copied();
        let bound = match last {
            Some(time) if self.is_tight && !tie_goes_on => TimeBound::AtMost(time - 1),
            Some(time) => TimeBound::AtMost(time),
            None => TimeBound::AtMost(i64::MAX),
        };
        SourcePage {
            items: (start..end).map(positioned).collect(),
            next: (end < self.times.len()).then(|| after(end)),
            bound,
            tie_cut: self.is_tight && tie_goes_on,
            ..SourcePage::default()
        }
    }
}

fn after(index: usize) -> Position {
    Position::AfterRank(index)
}

fn item(place: usize, index: usize, display_time: i64) -> ResultItem {
    // Descending, so that ids sort differently.
    let id = format!("{place}/{:04}", 9_999 - index);
    ResultItem { json: serde_json::to_string(&id).unwrap(), id, display_time, ..ResultItem::default() }
}

fn any_feeds() -> impl Strategy<Value = Vec<LaneFeed>> {
    let times = prop_oneof![Just(0i64..2), Just(0i64..9), Just(-500i64..500)];
    times.prop_flat_map(|times| {
        let pages = vec(0usize..9, 0..4).prop_map(|mut pages| {
            // Empty pages alone would never end.
            pages.push(3);
            pages
        });
        let fails_at = prop::option::weighted(0.15, 0usize..4);
        let feed = (any_weight(), vec(times, 0..40), pages, any::<bool>(), fails_at);
        let feed = feed.prop_map(|(weight, mut times, pages, is_tight, fails_at)| {
            times.sort_by_key(|time| Reverse(*time));
            LaneFeed { weight, times, pages, is_tight, fails_at }
        });
        vec(feed, 0..7)
    })
}

fn any_length() -> impl Strategy<Value = PageLength> {
    prop_oneof![
        (1usize..60).prop_map(PageLength::Exact),
        (1usize..60, prop_oneof![1usize..8, Just(10_000)])
            .prop_map(|(limit, largest_tie)| PageLength::WholeTies { limit, largest_tie }),
    ]
}

/// Whether the items at hand leave a lane's next page a place.
fn has_place(merge: &Merge, place: usize) -> bool {
    let bound = merge.bound(place);
    let above = |other: usize| {
        (0..).map_while(|ahead| merge.key(other, ahead)).take_while(|key| *key < bound).count()
    };
    merge.released.len() + merge.places().map(above).sum::<usize>() < merge.length.limit()
}

/// `picks` selects the pages that come before the next step.
fn run(
    order: SearchOrder,
    feeds: &[LaneFeed],
    length: PageLength,
    picks: &[usize],
) -> (MergedPage, Vec<bool>) {
    let lane = |feed: &LaneFeed| Lane::at(Position::Beginning, 0, None, feed.weight);
    let mut merge = Merge::new(order, length, feeds.iter().map(lane).collect(), SeenItems::default());
    let mut calls = vec![0; feeds.len()];
    let mut failed = vec![false; feeds.len()];
    let mut picks = picks.iter().cycle();
    loop {
        let mut needed = merge.advance();
        if needed.is_empty() {
            return (merge.finish(), failed);
        }
        if merge.released.len() < length.limit() {
            assert!(needed.iter().all(|place| has_place(&merge, *place)), "a lane is asked for nothing");
        }
        let pick = *picks.next().unwrap();
        let (turn, come_in) = (pick % needed.len(), 1 + pick % needed.len());
        needed.rotate_left(turn);
        for place in needed.into_iter().take(come_in) {
            assert!(!failed[place], "a failed lane is not asked again");
            let start = match merge.next_position(place).expect("only a lane with a next page is asked") {
                Position::AfterRank(index) => index,
                _ => 0,
            };
            let call = calls[place];
            calls[place] += 1;
            if feeds[place].fails_at == Some(call) {
                failed[place] = true;
                merge.fail(place);
            } else {
                merge.supply(place, feeds[place].page(place, start, call));
            }
        }
    }
}

fn in_order(order: SearchOrder, feeds: &[LaneFeed]) -> Vec<ResultItem> {
    let mut all: Vec<(SortKey, ResultItem)> = Vec::new();
    for (place, feed) in feeds.iter().enumerate() {
        for (index, time) in feed.times.iter().enumerate() {
            let key = match order {
                SearchOrder::Time => SortKey::Time(Reverse(*time), place),
                SearchOrder::Relevance => {
                    SortKey::Score(Reverse(feed.weight.score(Relevance::default(), index + 1)), place)
                }
            };
            all.push((key, item(place, index, *time)));
        }
    }
    all.sort_by_key(|(key, _)| *key);
    all.into_iter().map(|(_, item)| item).collect()
}

fn expected_length(length: PageLength, all: &[ResultItem]) -> (usize, bool) {
    let PageLength::WholeTies { limit, largest_tie } = length else {
        return (length.limit().min(all.len()), false);
    };
    if all.len() <= limit {
        return (all.len(), false);
    }
    let last = all[limit - 1].display_time;
    let begin = all.partition_point(|item| item.display_time > last);
    let end = all.partition_point(|item| item.display_time >= last);
    let cut = limit.max(begin + largest_tie);
    (cut.min(end), cut < end)
}

fn ids<'a>(items: impl IntoIterator<Item = &'a ResultItem>) -> Vec<&'a str> {
    items.into_iter().map(|item| item.id.as_str()).collect()
}

fn items_of(finished: &MergedPage) -> impl Iterator<Item = &ResultItem> {
    finished.items.iter().map(|released| &released.item)
}

fn times_of(finished: &MergedPage) -> Vec<i64> {
    items_of(finished).map(|item| item.display_time).collect()
}

proptest! {
    #![proptest_config(trawl_seeds::cases(500))]

    #[test]
    fn page_is_the_beginning_of_the_whole_list(
        mut feeds in any_feeds(),
        length in any_length(),
        picks in vec(0usize..8, 1..9),
        by_relevance in any::<bool>(),
    ) {
        for feed in &mut feeds {
            feed.fails_at = None;
        }
        let (order, length) = if by_relevance {
            (SearchOrder::Relevance, PageLength::Exact(length.limit()))
        } else {
            (SearchOrder::Time, length)
        };
        let all = in_order(order, &feeds);
        let (expected_length, expected_cut) = expected_length(length, &all);
        let mut expected = all[..expected_length].to_vec();
        if length.largest_tie().is_some() {
            expected.sort_by(|left, right| {
                (Reverse(left.display_time), &left.id).cmp(&(Reverse(right.display_time), &right.id))
            });
        }
        let (finished, _) = run(order, &feeds, length, &picks);
        prop_assert_eq!(ids(items_of(&finished)), ids(&expected));
        prop_assert_eq!(finished.tie_cut, expected_cut);
        prop_assert!(finished.lanes.iter().all(|lane| !lane.misses_items));
    }

    #[test]
    fn lanes_stand_behind_their_released_items(
        feeds in any_feeds(),
        length in any_length(),
        picks in vec(0usize..8, 1..9),
    ) {
        let (finished, failed) = run(SearchOrder::Time, &feeds, length, &picks);
        for (place, (lane, feed)) in finished.lanes.iter().zip(&feeds).enumerate() {
            let released = finished.items.iter().filter(|released| released.place == place).count();
            prop_assert_eq!(lane.consumed, released);
            let stands_at = match &lane.position {
                Position::Beginning => 0,
                Position::AfterRank(index) => *index,
                Position::End => feed.times.len(),
                other => panic!("{other:?}"),
            };
            prop_assert_eq!(stands_at, released, "lane {}", place);
            prop_assert!(failed[place] || !lane.misses_items);
        }
        prop_assert!(times_of(&finished).is_sorted_by_key(|time| Reverse(*time)) || failed.contains(&true));
    }

    #[test]
    fn incomplete_pages_have_a_lane_that_misses_items(
        feeds in any_feeds(),
        length in any_length(),
        picks in vec(0usize..8, 1..9),
    ) {
        let (finished, failed) = run(SearchOrder::Time, &feeds, length, &picks);
        let all = in_order(SearchOrder::Time, &feeds);
        let (expected_length, _) = expected_length(length, &all);
        let mut expected = ids(&all[..expected_length]);
        let mut found = ids(items_of(&finished));
        expected.sort_unstable();
        found.sort_unstable();
        let misses = finished.lanes.iter().any(|lane| lane.misses_items);
        prop_assert!(misses || found == expected, "items are missing");
        let lowest = times_of(&finished).into_iter().min();
        let is_full = finished.items.len() >= length.limit();
        for (place, lane) in finished.lanes.iter().enumerate().filter(|(place, _)| !failed[*place]) {
            let left = feeds[place].times.get(lane.consumed);
            prop_assert!(left.is_none_or(|left| is_full && Some(*left) <= lowest), "lane {} was left behind", place);
        }
    }
}

fn items(place: usize, times: &[i64]) -> Vec<PositionedItem> {
    let positioned = |(index, time): (usize, &i64)| PositionedItem {
        item: item(place, index, *time),
        after: after(index + 1),
        relevance: Relevance::default(),
    };
    times.iter().enumerate().map(positioned).collect()
}

/// A page that ends within a group of equal times.
fn cut(times: &[i64]) -> SourcePage {
    SourcePage {
        items: items(0, times),
        next: Some(after(times.len())),
        bound: TimeBound::AtMost(times[times.len() - 1]),
        tie_cut: true,
        ..SourcePage::default()
    }
}

fn merge(length: PageLength, lanes: usize) -> Merge {
    let lane = Lane::at(Position::Beginning, 0, None, Weight::ONE);
    Merge::new(SearchOrder::Time, length, vec![lane; lanes], SeenItems::default())
}

#[test]
fn group_cut_behind_the_page_does_not_cut_its_last_one() {
    let length = PageLength::WholeTies { limit: 3, largest_tie: 4 };
    let mut merge = merge(length, 2);
    merge.supply(0, cut(&[9, 5, 5, 5, 5]));
    merge.supply(1, SourcePage { items: items(1, &[9, 9, 9]), ..SourcePage::default() });
    assert!(merge.advance().is_empty());
    let finished = merge.finish();
    assert_eq!(times_of(&finished), [9; 4]);
    assert!(!finished.tie_cut, "the group of 9 is whole");
}

#[test]
fn source_without_time_order_leaves_other_groups_whole() {
    let length = PageLength::WholeTies { limit: 1, largest_tie: 10 };
    let mut merge = merge(length, 2);
    let unordered = SourcePage { items: items(0, &[5]), next: Some(after(1)), ..SourcePage::default() };
    merge.supply(0, unordered);
    merge.supply(1, SourcePage { items: items(1, &[5, 5]), ..SourcePage::default() });
    assert!(merge.advance().is_empty(), "the rest of the group is pending");
    assert_eq!(merge.finish().items.len(), 3);
}

#[test]
fn late_newer_item_does_not_hide_the_last_group() {
    let length = PageLength::WholeTies { limit: 3, largest_tie: 10 };
    let mut merge = merge(length, 2);
    merge.supply(0, SourcePage { items: items(0, &[5]), next: Some(after(1)), ..SourcePage::default() });
    merge.supply(1, SourcePage { items: items(1, &[7, 5, 5]), ..SourcePage::default() });
    assert_eq!(merge.advance(), [0]);
    merge.supply(0, SourcePage { items: items(0, &[8]), ..SourcePage::default() });
    assert!(merge.advance().is_empty());
    assert_eq!(times_of(&merge.finish()), [8, 7, 5, 5, 5]);
}

#[test]
fn source_is_asked_for_the_last_place_but_not_beyond() {
    let needed = |limit| {
        let mut merge = merge(PageLength::Exact(limit), 3);
        let open = |time| SourcePage {
            next: Some(after(1)),
            bound: TimeBound::AtMost(time),
            ..SourcePage::default()
        };
        merge.supply(0, open(9));
        merge.supply(1, SourcePage { items: items(1, &[8, 7]), ..SourcePage::default() });
        merge.supply(2, open(2));
        merge.advance()
    };
    assert_eq!(needed(3), [0, 2], "pending items leave one place");
    assert_eq!(needed(2), [0], "they leave none");
}

#[test]
fn empty_page_keeps_the_bound_of_the_page_before() {
    let mut merge = merge(PageLength::Exact(3), 2);
    for bound in [5, i64::MAX] {
        let (next, bound) = (Some(after(1)), TimeBound::AtMost(bound));
        merge.supply(0, SourcePage { next, bound, ..SourcePage::default() });
    }
    merge.supply(1, SourcePage { items: items(1, &[9, 8, 7]), ..SourcePage::default() });
    assert!(merge.advance().is_empty(), "the first source has nothing newer");
}

#[test]
fn group_known_to_go_on_is_not_read_further() {
    let length = PageLength::WholeTies { limit: 1, largest_tie: 2 };
    let mut merge = merge(length, 1);
    merge.supply(0, cut(&[5, 5]));
    assert!(merge.advance().is_empty());
    assert!(merge.finish().tie_cut);
}

#[test]
fn pending_duplicate_behind_the_head_is_noted() {
    let lane = Lane::at(Position::Beginning, 0, None, Weight::ONE);
    let seen = SeenItems::new(Duplicates::ById, Vec::new());
    let mut merge = Merge::new(SearchOrder::Time, PageLength::Exact(1), vec![lane; 3], seen);
    let page = |items: &[(&str, i64)]| {
        let positioned = |(index, (id, display_time)): (usize, &(&str, i64))| {
            let item = ResultItem {
                id: (*id).to_owned(),
                display_time: *display_time,
                json: String::new(),
                ..ResultItem::default()
            };
            PositionedItem { item, after: after(index + 1), relevance: Relevance::default() }
        };
        SourcePage { items: items.iter().enumerate().map(positioned).collect(), ..SourcePage::default() }
    };
    merge.supply(0, page(&[("a", 7), ("d", 6)]));
    merge.supply(1, page(&[("a", 9), ("b", 8)]));
    merge.supply(2, page(&[("c", 8), ("a", 7), ("a", 6)]));
    assert!(merge.advance().is_empty());
    let MergedPage { items, lanes, seen, .. } = merge.finish();
    let [ReleasedItem { place: 1, item, also_in }] = items.as_slice() else { panic!("{items:?}") };
    assert_eq!((item.id.as_str(), also_in.as_slice(), seen.len()), ("a", &[0, 2][..], 1));
    let positions: Vec<&Position> = lanes.iter().map(|lane| &lane.position).collect();
    assert_eq!(positions, [&after(1), &after(1), &Position::Beginning], "seen items at the head are skipped");
    assert_eq!(lanes.iter().map(|lane| lane.consumed).collect::<Vec<_>>(), [1, 1, 0]);
}

#[test]
fn left_out_items_take_no_place_and_are_passed() {
    let length = PageLength::WholeTies { limit: 2, largest_tie: 10 };
    let page = || SourcePage { items: items(0, &[9, 8, 8, 7, 6]), ..SourcePage::default() };
    let ids: Vec<String> = page().items.into_iter().map(|item| item.item.id).collect();
    let lane = Lane::at(Position::Beginning, 0, None, Weight::ONE)
        .leaving_out([0, 2, 3].map(|place: usize| ids[place].clone()).into());
    let mut merge = Merge::new(SearchOrder::Time, length, vec![lane], SeenItems::default());
    assert_eq!(merge.advance(), [0]);
    merge.supply(0, page());
    assert!(merge.advance().is_empty());
    let finished = merge.finish();
    let shown: Vec<&str> = finished.items.iter().map(|released| released.item.id.as_str()).collect();
    assert_eq!(shown, [ids[1].as_str(), ids[4].as_str()]);
    assert_eq!((&finished.lanes[0].position, finished.lanes[0].consumed), (&Position::End, 5));
}
