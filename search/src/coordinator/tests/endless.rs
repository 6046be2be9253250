//! Chains of sources whose pages have no end.

use std::{
    collections::HashSet,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use proptest::prelude::*;
use trawl_connectors::{Answer, ContentItem, DeclaredOrder};

use super::{
    paging::{ANY_ORDER, BY_TIME},
    sources::{FakeSource, any_limits, any_sources},
    *,
};
use crate::{
    source::{Position, SourceFailure, SourcePage, SourceRequest},
    sources::external::{RawPage, into_page, resume_point},
};

/// What comes behind the last row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behind {
    FirstPageAgain,
    EmptyPages,
    /// The first page again, by cursors that grow.
    GrowingCursors,
    /// The last cursor, again and again.
    SameCursor,
    TwoPagesInTurn,
    AllPagesAgain,
    /// All rows again, in pages that are cut elsewhere on each lap.
    AllRowsAgain,
    /// A page with one new row, then ninety-nine empty ones.
    OneNewRowInAHundredPages,
    /// The first page with one new row in a hundred.
    OneNewRowInEachPage,
    /// Nine rows of the first page with a new one.
    OneNewRowInTen,
    RowsWithoutId,
}

const WAYS: [Behind; 10] = [
    Behind::FirstPageAgain,
    Behind::EmptyPages,
    Behind::GrowingCursors,
    Behind::SameCursor,
    Behind::TwoPagesInTurn,
    Behind::AllPagesAgain,
    Behind::AllRowsAgain,
    Behind::OneNewRowInAHundredPages,
    Behind::OneNewRowInEachPage,
    Behind::RowsWithoutId,
];

#[derive(Debug)]
struct EndlessSource {
    behind: Behind,
    order: DeclaredOrder,
    pages: usize,
    page_size: usize,
    calls: AtomicUsize,
}

const ENDLESS: &str = "endless";

impl EndlessSource {
    fn rows(&self, page: usize) -> Vec<ContentItem> {
        (page * self.page_size..(page + 1) * self.page_size).map(row).collect()
    }

    fn answer(&self, page: usize) -> Answer {
        let beyond = page.checked_sub(self.pages);
        let extra = row(1_000_000 + page);
        let items = match (beyond, self.behind) {
            (None, _) => self.rows(page),
            (Some(_), Behind::FirstPageAgain | Behind::GrowingCursors | Behind::SameCursor) => self.rows(0),
            (Some(_), Behind::EmptyPages | Behind::RowsWithoutId) => Vec::new(),
            (Some(beyond), Behind::TwoPagesInTurn) => self.rows(beyond % 2 % self.pages),
            (Some(beyond), Behind::AllPagesAgain) => self.rows(beyond % self.pages),
            (Some(beyond), Behind::AllRowsAgain) => {
                let begin = beyond * self.page_size + beyond / self.pages + 1;
                let rows = (begin..begin + self.page_size).map(|place| place % (self.pages * self.page_size));
                rows.map(row).collect()
            }
            (Some(beyond), Behind::OneNewRowInAHundredPages) => {
                if beyond % 100 == 99 {
                    vec![extra]
                } else {
                    Vec::new()
                }
            }
            (Some(_), Behind::OneNewRowInEachPage) => {
                let repeated = (0..99).map(row);
                repeated.chain([extra]).collect()
            }
            (Some(_), Behind::OneNewRowInTen) => (0..9).map(row).chain([extra]).collect(),
        };
        let next = match (beyond, self.behind) {
            (Some(_), Behind::SameCursor) => self.pages,
            _ => page + 1,
        };
        let cursor = match self.behind {
            Behind::GrowingCursors => "x".repeat(next),
            _ => next.to_string(),
        };
        let broken = (beyond.is_some() && self.behind == Behind::RowsWithoutId)
            .then(|| "20 of 20 items are unreadable: `id` is missing".to_owned());
        Answer { items, cursor: Some(cursor), total: Some(7), broken, ..Answer::default() }
    }
}

fn row(number: usize) -> ContentItem {
    let display_time = 1_000 - i64::try_from(number).unwrap();
    ContentItem { id: format!("{ENDLESS} {number}"), display_time, ..ContentItem::default() }
}

#[async_trait::async_trait]
impl PagedSource for EndlessSource {
    fn id(&self) -> &str {
        ENDLESS
    }

    fn name(&self) -> &str {
        ENDLESS
    }

    async fn page(&self, request: &SourceRequest, position: &Position) -> Result<SourcePage, SourceFailure> {
        let Some((cursor, consumed)) = resume_point(position) else { return Ok(SourcePage::default()) };
        self.calls.fetch_add(1, Relaxed);
        let page = match (cursor, self.behind) {
            (None, _) => 0,
            (Some(cursor), Behind::GrowingCursors) => cursor.len(),
            (Some(cursor), _) => cursor.parse().unwrap(),
        };
        let raw = RawPage::read(self.answer(page), self.order, cursor)?;
        Ok(into_page(&raw, request, self.order, cursor, consumed))
    }
}

#[derive(Debug)]
struct EndlessCase {
    behind: Behind,
    order: SearchOrder,
    declared: DeclaredOrder,
    shape: (usize, usize),
    others: Vec<FakeSource>,
    limits: Vec<usize>,
}

fn any_case() -> impl Strategy<Value = EndlessCase> {
    let order = prop::sample::select(vec![SearchOrder::Time, SearchOrder::Relevance]);
    order.prop_flat_map(|order| {
        let orders = if order == SearchOrder::Time { BY_TIME.to_vec() } else { ANY_ORDER.to_vec() };
        (
            // It takes a thousand pages.
            prop_oneof![40 => prop::sample::select(WAYS.to_vec()), 1 => Just(Behind::OneNewRowInTen)],
            prop::sample::select(orders.clone()),
            (1usize..7, prop_oneof![1usize..4, 10usize..30]),
            any_sources(orders, order),
            any_limits(),
        )
            .prop_map(move |(behind, declared, shape, others, limits)| EndlessCase {
                behind,
                order,
                declared,
                shape,
                others,
                limits,
            })
    })
}

fn check(case: EndlessCase) -> Result<(), TestCaseError> {
    let EndlessCase { behind, order, declared, shape: (pages, page_size), others, limits } = case;
    let endless =
        Arc::new(EndlessSource { behind, order: declared, pages, page_size, calls: AtomicUsize::new(0) });
    let expected: HashSet<String> =
        others.iter().flat_map(|source| &source.items).map(|item| item.id.clone()).collect();
    let mut sources = shared(others);
    sources.push(ModuleSource::External(Arc::clone(&endless) as Arc<dyn PagedSource>));
    let first = TestSearch { order, ..request(1) };
    let answers = paused_runtime().block_on(follow_cursor(&sources, first, &limits));
    let found = ids(&answers);
    let (own, foreign): (Vec<String>, Vec<String>) =
        found.into_iter().partition(|id| id.starts_with(ENDLESS));
    prop_assert_eq!(foreign.len(), expected.len(), "an item of the others is lost or repeated");
    prop_assert_eq!(foreign.into_iter().collect::<HashSet<_>>(), expected);
    let distinct: HashSet<&String> = own.iter().collect();
    for number in 0..pages * page_size {
        prop_assert!(distinct.contains(&row(number).id), "row {} is lost", number);
    }
    let told = answers.iter().flat_map(|answer| &answer.sources).filter(|report| report.id == ENDLESS);
    let told: Vec<_> = told.filter(|report| report.status != Status::Ok).collect();
    prop_assert!(told.iter().all(|report| report.status == Status::Invalid && report.message.is_some()));
    prop_assert!(!told.is_empty(), "the end is not told");
    // Each answer may read one page again.
    let waste = if behind == Behind::OneNewRowInTen { 1_000 } else { 20 };
    let most = answers.len() + 3 * pages + waste;
    prop_assert!(endless.calls.load(Relaxed) <= most, "{:?} calls", endless.calls);
    Ok(())
}

proptest! {
    #![proptest_config(trawl_seeds::cases(300))]

    #[test]
    fn chain_of_an_endless_source_ends_and_others_are_whole(case in any_case()) {
        check(case)?;
    }
}

fn endless(behind: Behind) -> Arc<EndlessSource> {
    let order = DeclaredOrder::Time;
    Arc::new(EndlessSource { behind, order, pages: 1, page_size: 20, calls: AtomicUsize::new(0) })
}

#[test]
fn pages_without_news_are_followed_three_times() {
    for behind in [Behind::FirstPageAgain, Behind::EmptyPages, Behind::GrowingCursors, Behind::RowsWithoutId]
    {
        for limit in [1, 7, 20, 100] {
            let source = endless(behind);
            let sources = [ModuleSource::External(Arc::clone(&source) as Arc<dyn PagedSource>)];
            let answers = paused_runtime().block_on(follow_cursor(&sources, request(limit), &[limit]));
            let shown = ids(&answers);
            assert_eq!(shown, (0..20).map(|number| row(number).id).collect::<Vec<_>>(), "{behind:?} {limit}");
            let last = &answers.last().unwrap().sources[0];
            let message = last.message.as_deref().unwrap_or_default();
            assert_eq!(last.status, Status::Invalid, "{behind:?} {limit}");
            assert!(message.contains("3 pages brought nothing new"), "{behind:?}: {message}");
            let again = answers.len() - 1;
            assert!(source.calls.load(Relaxed) <= 4 + again, "{behind:?} {limit}: {:?}", source.calls);
        }
    }
}

#[test]
fn total_is_at_least_the_rows_known() {
    let source = endless(Behind::EmptyPages);
    let sources = [ModuleSource::External(Arc::clone(&source) as Arc<dyn PagedSource>)];
    let answers = paused_runtime().block_on(follow_cursor(&sources, request(5), &[5]));
    let totals: Vec<u64> = answers.iter().map(|answer| answer.total).collect();
    assert!(totals.iter().all(|total| *total == 20), "it states 7: {totals:?}");
}

#[test]
fn digits_of_an_endless_source_end() {
    let source = endless(Behind::FirstPageAgain);
    let sources = [ModuleSource::External(Arc::clone(&source) as Arc<dyn PagedSource>)];
    let answers = paused_runtime().block_on(follow_time(Duplicates::Keep, &sources, request(7), &[7]));
    assert_eq!(ids(&answers).len(), 20);
    assert!(source.calls.load(Relaxed) <= 4 * answers.len());
    assert_eq!(answers.last().unwrap().sources[0].status, Status::Invalid);
}

#[test]
fn order_broken_between_pages_is_told_to_digits() {
    /// Pages that begin above the end of the page before.
    struct Shuffled;

    #[async_trait::async_trait]
    impl PagedSource for Shuffled {
        fn id(&self) -> &'static str {
            "shuffled"
        }

        fn name(&self) -> &'static str {
            "shuffled"
        }

        async fn page(
            &self,
            request: &SourceRequest,
            position: &Position,
        ) -> Result<SourcePage, SourceFailure> {
            let Some((cursor, consumed)) = resume_point(position) else { return Ok(SourcePage::default()) };
            let page: usize = cursor.map_or(0, |cursor| cursor.parse().unwrap());
            let begin = [40, 0, 20][page];
            let items = (begin..begin + 19).map(row).collect();
            let cursor_behind = (page < 2).then(|| (page + 1).to_string());
            let answer = Answer { items, cursor: cursor_behind, ..Answer::default() };
            let raw = RawPage::read(answer, DeclaredOrder::Time, cursor)?;
            Ok(into_page(&raw, request, DeclaredOrder::Time, cursor, consumed))
        }
    }

    let sources = shared(vec![Shuffled]);
    let by_time = paused_runtime().block_on(follow_time(Duplicates::Keep, &sources, request(10), &[10]));
    let told = by_time.iter().any(|answer| {
        let report = &answer.sources[0];
        report.status == Status::Invalid
            && report.message.as_deref().is_some_and(|message| message.contains("between pages"))
    });
    assert!(told, "{:?}", by_time.iter().map(|answer| &answer.sources).collect::<Vec<_>>());
    let by_cursor = paused_runtime().block_on(follow_cursor(&sources, request(10), &[10]));
    assert_eq!(ids(&by_cursor).len(), 57, "the opaque cursor loses none");
}
