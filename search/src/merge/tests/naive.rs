//! The merge by definition, as a reference.

use std::collections::VecDeque;

use super::*;

#[derive(Clone, Debug)]
struct NaiveLane {
    weight: Weight,
    consumed: usize,
    pending: VecDeque<ResultItem>,
    has_next: bool,
    bound: TimeBound,
    /// Items supplied so far.
    ///
    /// Nothing is known before the first, in relevance order.
    supplied: usize,
    tie_goes_on: bool,
    failed: bool,
}

type NaiveKey = (Reverse<(u128, u128)>, usize);

#[derive(Debug)]
struct NaiveMerge {
    order: SearchOrder,
    length: PageLength,
    lanes: Vec<NaiveLane>,
    released: Vec<(usize, ResultItem)>,
    tie_cut: bool,
}

impl NaiveMerge {
    fn supply(&mut self, place: usize, page: SourcePage) {
        let lane = &mut self.lanes[place];
        lane.supplied += page.items.len();
        lane.pending.extend(page.items.into_iter().map(|item| item.item));
        lane.bound = match (lane.bound, page.bound) {
            (TimeBound::AtMost(earlier), TimeBound::AtMost(now)) => TimeBound::AtMost(earlier.min(now)),
            (_, now) => now,
        };
        lane.has_next = page.next.is_some();
        lane.tie_goes_on = page.tie_cut;
    }

    fn is_less(left: NaiveKey, right: NaiveKey) -> bool {
        let (Reverse((left_over, left_under)), Reverse((right_over, right_under))) = (left.0, right.0);
        let (left_cross, right_cross) = (left_over * right_under, right_over * left_under);
        left_cross > right_cross || left_cross == right_cross && left.1 < right.1
    }

    fn key(&self, place: usize, ahead: usize) -> Option<NaiveKey> {
        let lane = &self.lanes[place];
        let item = lane.pending.get(ahead)?;
        let fraction = match self.order {
            SearchOrder::Time => time_fraction(item.display_time),
            SearchOrder::Relevance => rank_fraction(lane.weight, lane.consumed + ahead + 1),
        };
        Some((Reverse(fraction), place))
    }

    fn bound(&self, place: usize) -> NaiveKey {
        let lane = &self.lanes[place];
        let fraction = match (self.order, lane.bound) {
            (SearchOrder::Time, TimeBound::AtMost(time)) => time_fraction(time),
            (SearchOrder::Time, TimeBound::AnyTime) => time_fraction(i64::MAX),
            (SearchOrder::Relevance, _) if lane.supplied == 0 => (1 << 60, 1),
            (SearchOrder::Relevance, _) => rank_fraction(lane.weight, lane.consumed + lane.pending.len() + 1),
        };
        (Reverse(fraction), place)
    }

    fn waits(&self, place: usize) -> bool {
        let lane = &self.lanes[place];
        lane.pending.is_empty() && lane.has_next && !lane.failed
    }

    fn waiting(&self) -> Vec<usize> {
        (0..self.lanes.len()).filter(|place| self.waits(*place)).collect()
    }

    fn advance(&mut self) -> Vec<usize> {
        while self.released.len() < self.length.limit() {
            let heads = (0..self.lanes.len()).filter_map(|place| self.key(place, 0));
            let head = heads.reduce(|best, key| if Self::is_less(key, best) { key } else { best });
            let held_up = |head| self.waiting().iter().any(|place| !Self::is_less(head, self.bound(*place)));
            match head {
                Some(head) if !held_up(head) => self.release(head.1),
                _ => return self.lanes_to_fill(),
            }
        }
        self.close()
    }

    fn lanes_to_fill(&self) -> Vec<usize> {
        let room = self.length.limit() - self.released.len();
        let is_needed = |place: &usize| {
            let bound = self.bound(*place);
            let above = |other| {
                let keys = (0..).map_while(|ahead| self.key(other, ahead));
                keys.take_while(|key| Self::is_less(*key, bound)).count()
            };
            (0..self.lanes.len()).map(above).sum::<usize>() < room
        };
        self.waiting().into_iter().filter(is_needed).collect()
    }

    fn close(&mut self) -> Vec<usize> {
        let (Some(largest_tie), SearchOrder::Time) = (self.length.largest_tie(), self.order) else {
            return Vec::new();
        };
        let time = self.released.iter().map(|(_, item)| item.display_time).min().unwrap();
        while !self.tie_cut {
            let count = self.released.iter().filter(|(_, item)| item.display_time == time).count();
            let is_of_the_tie =
                |lane: &NaiveLane| lane.pending.front().map(|item| item.display_time) == Some(time);
            let at_hand = self.lanes.iter().position(is_of_the_tie);
            let may_have =
                |place: &usize| matches!(self.lanes[*place].bound, TimeBound::AtMost(bound) if bound >= time);
            let open: Vec<usize> = self.waiting().into_iter().filter(may_have).collect();
            if count >= largest_tie
                && (at_hand.is_some() || open.iter().any(|place| self.lanes[*place].tie_goes_on))
            {
                self.tie_cut = true;
                break;
            }
            match at_hand {
                Some(place) if open.iter().all(|open| *open > place) => self.release(place),
                _ => return open,
            }
        }
        Vec::new()
    }

    fn release(&mut self, place: usize) {
        let lane = &mut self.lanes[place];
        lane.consumed += 1;
        self.released.push((place, lane.pending.pop_front().unwrap()));
    }
}

fn time_fraction(time: i64) -> (u128, u128) {
    (u128::try_from(i128::from(time) - i128::from(i64::MIN)).unwrap(), 1)
}

fn rank_fraction(weight: Weight, rank: usize) -> (u128, u128) {
    (u128::try_from(weight.thousandths()).unwrap(), 60 + u128::try_from(rank).unwrap())
}

fn any_page() -> impl Strategy<Value = SourcePage> {
    let times = vec(prop_oneof![0i64..4, -30i64..30], 0..7);
    let bound = prop_oneof![3 => Just(None), 1 => Just(Some(TimeBound::AnyTime)), 1 => (-30i64..30).prop_map(|time| Some(TimeBound::AtMost(time)))];
    (times, bound, prop::bool::weighted(0.7), any::<bool>(), prop::bool::weighted(0.9)).prop_map(
        |(mut times, bound, has_next, tie_cut, in_order)| {
            if in_order {
                times.sort_by_key(|time| Reverse(*time));
            }
            let lowest = times.iter().min().copied().unwrap_or(i64::MAX);
            let positioned = |(index, time): (usize, &i64)| PositionedItem {
                item: item(0, index, *time),
                after: after(index),
                relevance: Relevance::default(),
            };
            SourcePage {
                items: times.iter().enumerate().map(positioned).collect(),
                next: has_next.then(|| after(0)),
                bound: bound.unwrap_or(TimeBound::AtMost(lowest)),
                tie_cut,
                ..SourcePage::default()
            }
        },
    )
}

fn any_steps() -> impl Strategy<Value = Vec<Option<SourcePage>>> {
    vec(prop_oneof![8 => any_page().prop_map(Some), 1 => Just(None)], 1..40)
}

fn any_weight() -> impl Strategy<Value = Weight> {
    prop_oneof![
        Just(Weight::ONE),
        Just(Weight::from_thousandths(2_000)),
        (10i64..=100_000).prop_map(Weight::from_thousandths)
    ]
}

proptest! {
    #![proptest_config(trawl_seeds::cases(1_000))]

    #[test]
    fn merge_equals_the_naive_merge(
        weights in vec((any_weight(), 0usize..200), 1..9),
        length in any_length(),
        by_relevance in any::<bool>(),
        steps in any_steps(),
        picks in vec(0usize..8, 1..9),
    ) {
        let order = if by_relevance { SearchOrder::Relevance } else { SearchOrder::Time };
        let lane = |&(weight, consumed): &(Weight, usize)| Lane::at(Position::Beginning, consumed, None, weight);
        let mut merge = Merge::new(order, length, weights.iter().map(lane).collect(), SeenItems::default());
        let naive_lane = |&(weight, consumed): &(Weight, usize)| NaiveLane {
            weight,
            consumed,
            pending: VecDeque::new(),
            has_next: true,
            bound: TimeBound::AtMost(i64::MAX),
            supplied: 0,
            tie_goes_on: false,
            failed: false,
        };
        let lanes = weights.iter().map(naive_lane).collect();
        let mut naive = NaiveMerge { order, length, lanes, released: Vec::new(), tie_cut: false };
        let mut picks = picks.iter().cycle();
        for step in steps {
            let needed = merge.advance();
            prop_assert_eq!(&needed, &naive.advance());
            if needed.is_empty() {
                break;
            }
            let place = needed[picks.next().unwrap() % needed.len()];
            if let Some(page) = step {
                naive.supply(place, page.clone());
                merge.supply(place, page);
            } else {
                naive.lanes[place].failed = true;
                merge.fail(place);
            }
        }
        merge.advance();
        naive.advance();
        prop_assert_eq!(merge.tie_cut, naive.tie_cut);
        let released: Vec<(usize, &str)> =
            merge.released.iter().map(|released| (released.place, released.item.id.as_str())).collect();
        let expected: Vec<(usize, &str)> =
            naive.released.iter().map(|(place, item)| (*place, item.id.as_str())).collect();
        prop_assert_eq!(released, expected);
        for (lane, naive) in merge.lanes.iter().zip(&naive.lanes) {
            prop_assert_eq!(lane.consumed, naive.consumed);
        }
    }
}
