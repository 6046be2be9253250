use std::time::Duration;

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::search::{
    request::Filters,
    source::{Ask, Page, SourceFailure},
};

struct Named(String);

#[async_trait::async_trait]
impl Source for Named {
    fn id(&self) -> &str {
        &self.0
    }

    fn name(&self) -> &'static str {
        "name"
    }

    fn timeout(&self) -> Duration {
        Duration::MAX
    }

    async fn page(&self, _ask: &Arc<Ask>, _position: &Position) -> Result<Page, SourceFailure> {
        Ok(Page::default())
    }
}

fn sources(numbers: &[u8]) -> Vec<Arc<dyn Source>> {
    numbers.iter().map(|number| Arc::new(Named(number.to_string())) as Arc<dyn Source>).collect()
}

fn request() -> SearchRequest {
    SearchRequest {
        keyword: "word".to_owned(),
        module: "module".to_owned(),
        limit: 7,
        start: Start::Beginning,
        exact_pages: false,
        order: Order::Time,
        filters: Filters::default(),
        highlight: false,
        timeout: Duration::from_secs(2),
        trace: None,
    }
}

fn state(number: u8) -> LaneState {
    LaneState {
        source: SourceKey::of(&number.to_string()),
        position: Position::AfterRank(usize::from(number)),
        taken: usize::from(number),
        total: Some(u64::from(number)),
        guard: LoopGuard::default(),
    }
}

/// A few sources of ten, in any order.
fn some() -> impl Strategy<Value = Vec<u8>> {
    vec(0u8..10, 0..10).prop_map(|mut numbers| {
        let mut seen = std::collections::HashSet::new();
        numbers.retain(|number| seen.insert(*number));
        numbers
    })
}

proptest! {
    #![proptest_config(trawl_seeds::cases(256))]

    #[test]
    fn each_source_goes_on_where_it_stood(present in some(), known in some(), before in any::<Option<i64>>()) {
        let lanes = known.iter().copied().map(state).collect();
        let cursor = Cursor { before, lanes, shown: Vec::new(), corrected: None };
        let plan = plan(&request(), &sources(&present), Some(cursor), Duplicates::Keep).unwrap();
        prop_assert_eq!(plan.before, before);
        prop_assert_eq!(plan.length, PageLength::Exact(7));
        for (lane, number) in plan.lanes.iter().zip(&present) {
            prop_assert_eq!(lane.source.id(), number.to_string(), "the places are the module's");
            let stood = known.contains(number).then(|| state(*number));
            prop_assert_eq!(lane.taken, stood.as_ref().map_or(0, |state| state.taken));
            prop_assert_eq!(lane.total, stood.as_ref().and_then(|state| state.total));
            prop_assert_eq!(&lane.position, &stood.map_or(Position::Beginning, |state| state.position));
        }
        prop_assert_eq!(plan.lanes.len(), present.len());
        let absent: Vec<usize> = known.iter().filter(|number| !present.contains(number)).map(|n| usize::from(*n)).collect();
        let mut kept: Vec<usize> = plan.absent.iter().map(|state| state.taken).collect();
        kept.sort_by_key(|taken| absent.iter().position(|number| number == taken));
        prop_assert_eq!(kept, absent);
    }
}

#[test]
fn pages_are_exact_where_a_time_does_not_page() {
    let length = |request: &SearchRequest, cursor| {
        plan(request, &sources(&[1]), cursor, Duplicates::Keep).unwrap().length
    };
    let whole_ties = PageLength::WholeTies { limit: 7, largest_tie: LARGEST_TIE };
    assert_eq!(length(&request(), None), whole_ties);
    assert_eq!(length(&SearchRequest { start: Start::Before(3), ..request() }, None), whole_ties);
    let exact = PageLength::Exact(7);
    assert_eq!(length(&request(), Some(Cursor::default())), exact);
    assert_eq!(length(&SearchRequest { exact_pages: true, ..request() }, None), exact);
    assert_eq!(length(&SearchRequest { order: Order::Relevance, ..request() }, None), exact);
}

#[test]
fn the_time_condition_begins_a_chain() {
    let request = SearchRequest { start: Start::Before(3), ..request() };
    let plan = plan(&request, &sources(&[1]), None, Duplicates::Keep).unwrap();
    assert_eq!(plan.before, Some(3));
    assert_eq!(plan.lanes[0].position, Position::Beginning);
}

#[test]
fn a_source_that_is_named_twice_takes_part_once() {
    let plan = plan(&request(), &sources(&[2, 1, 2]), None, Duplicates::Keep).unwrap();
    let ids: Vec<&str> = plan.lanes.iter().map(|lane| lane.source.id()).collect();
    assert_eq!(ids, ["2", "1"]);
}

#[test]
fn a_source_is_chosen_by_id_or_name_and_must_be_there() {
    let of = |wanted: &str| {
        let filters = Filters { source: Some(wanted.to_owned()), ..Filters::default() };
        plan(&SearchRequest { filters, ..request() }, &sources(&[1, 2]), None, Duplicates::Keep)
    };
    assert_eq!(of("2").unwrap().lanes.len(), 1);
    assert_eq!(of("name").unwrap().lanes.len(), 2);
    assert!(of("3").is_err());
}
