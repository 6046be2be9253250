use std::sync::Arc;

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::{
    duplicates::Duplicates,
    source::{PagedSource, SourceFailure, SourceFingerprint, SourcePage, SourceRequest},
    testing::{module, parameters},
};

struct NumberedSource(String);

#[async_trait::async_trait]
impl PagedSource for NumberedSource {
    fn id(&self) -> &str {
        &self.0
    }

    fn name(&self) -> &'static str {
        "name"
    }

    async fn page(
        &self,
        _request: &SourceRequest,
        _position: &Position,
    ) -> Result<SourcePage, SourceFailure> {
        Ok(SourcePage::default())
    }
}

fn sources(numbers: &[u8]) -> Vec<ModuleSource> {
    numbers
        .iter()
        .map(|number| ModuleSource::External(Arc::new(NumberedSource(number.to_string()))))
        .collect()
}

fn plan_of(page: &PageRequest, numbers: &[u8], cursor: Option<PageCursor>) -> Result<PagePlan> {
    plan_in(SearchOrder::Time, page, numbers, cursor)
}

fn plan_in(
    order: SearchOrder,
    page: &PageRequest,
    numbers: &[u8],
    cursor: Option<PageCursor>,
) -> Result<PagePlan> {
    let parameters = SearchParameters { limit: 7, order, ..parameters() };
    plan(&parameters, page, &module("module", Duplicates::Keep, &sources(numbers)), cursor)
}

fn state(number: u8) -> LaneState {
    LaneState {
        source: SourceFingerprint::of(&number.to_string()),
        position: Position::AfterRank(usize::from(number)),
        consumed: usize::from(number),
        least_estimate: None,
        total: Some(u64::from(number)),
        guard: LoopGuard::default(),
    }
}

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
    fn each_source_continues_where_it_stood(present in some(), known in some(), before in any::<Option<i64>>()) {
        let lanes = known.iter().copied().map(state).collect();
        let cursor = PageCursor { before, lanes, ..PageCursor::default() };
        let plan = plan_of(&PageRequest::default(), &present, Some(cursor)).unwrap();
        prop_assert_eq!(plan.before, before);
        prop_assert_eq!(plan.length, PageLength::Exact(7));
        for (lane, number) in plan.lanes.iter().zip(&present) {
            prop_assert_eq!(lane.source.id(), number.to_string(), "in the module's order");
            let stood = known.contains(number).then(|| state(*number));
            let beginning = || LaneState { position: Position::Beginning, consumed: 0, total: None, ..state(*number) };
            prop_assert_eq!(&lane.state, &stood.unwrap_or_else(beginning));
        }
        prop_assert_eq!(plan.lanes.len(), present.len());
        let absent: Vec<usize> = known.iter().filter(|number| !present.contains(number)).map(|n| usize::from(*n)).collect();
        let mut left: Vec<usize> = plan.absent.iter().map(|state| state.consumed).collect();
        left.sort_by_key(|number| absent.iter().position(|other| other == number));
        prop_assert_eq!(left, absent);
    }
}

#[test]
fn pages_are_exact_without_paging_by_time() {
    let first = PageRequest::default();
    let length = |page: &PageRequest, cursor| plan_of(page, &[1], cursor).unwrap().length;
    let whole_ties = PageLength::WholeTies { limit: 7, largest_tie: LARGEST_TIE };
    assert_eq!(length(&first, None), whole_ties);
    let before = PageRequest { start: PageStart::Before(3), ..first.clone() };
    assert_eq!(length(&before, None), whole_ties);
    let exact = PageLength::Exact(7);
    assert_eq!(length(&first, Some(PageCursor::default())), exact);
    assert_eq!(length(&PageRequest { is_exact: true, ..first.clone() }, None), exact);
    assert_eq!(plan_in(SearchOrder::Relevance, &first, &[1], None).unwrap().length, exact);
}

#[test]
fn time_condition_begins_a_chain() {
    let page = PageRequest { start: PageStart::Before(3), ..PageRequest::default() };
    let plan = plan_of(&page, &[1], None).unwrap();
    assert_eq!(plan.before, Some(3));
    assert_eq!(plan.lanes[0].state.position, Position::Beginning);
}

#[test]
fn source_named_twice_takes_part_once() {
    let plan = plan_of(&PageRequest::default(), &[2, 1, 2], None).unwrap();
    let ids: Vec<&str> = plan.lanes.iter().map(|lane| lane.source.id()).collect();
    assert_eq!(ids, ["2", "1"]);
}

#[test]
fn source_is_chosen_by_id_or_name_and_must_exist() {
    let of = |chosen: &str| {
        let page = PageRequest { source: Some(chosen.to_owned()), ..PageRequest::default() };
        plan_of(&page, &[1, 2], None)
    };
    assert_eq!(of("2").unwrap().lanes.len(), 1);
    assert_eq!(of("name").unwrap().lanes.len(), 2);
    assert!(of("3").is_err());
}
