//! All of it at once: whatever the sources are, however they cut their pages, and wherever the server is begun anew, the
//! pages one after the other are the reference list (decisions 5.2 to 5.4).

use std::{cmp::Reverse, path::Path};

use proptest::{collection::vec, prelude::*};

use super::{
    paging::{ANY_ORDER, BY_TIME, any_weight, by_relevance, faults, weigh},
    sources::{Fake, any_filters, any_limits, any_sources},
    *,
};
use crate::{config, search::cache::Answers};

/// How the pages are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// By the opaque cursor, by time.
    Cursor,
    /// By the time of the last item.
    Time,
    /// By the opaque cursor, by relevance.
    Relevance,
    /// By the opaque cursor, by time, of sources that need not order by time and fail now and then.
    Unordered,
}

/// What happens between two pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Between {
    Nothing,
    /// What was answered is not fresh any more.
    Moment,
    /// The sources are registered anew; answers of before are at hand.
    Reload,
    /// The server is started again: nothing of before is at hand.
    Restart,
}

const BETWEEN: [Between; 4] = [Between::Nothing, Between::Moment, Between::Reload, Between::Restart];

/// One search, from its first page to its last.
#[derive(Clone, Debug)]
struct Case {
    way: Way,
    sources: Vec<Fake>,
    filters: Filters,
    limits: Vec<usize>,
    /// The first page holds exactly its limit; else it begins below this time, if there is one.
    first: Result<(), Option<i64>>,
    between: Vec<Between>,
    /// Answers are kept for a moment, and stand in for failures for some more.
    keeps_answers: bool,
}

fn any_case(way: Way) -> impl Strategy<Value = Case> {
    let orders = if matches!(way, Way::Cursor | Way::Time) { BY_TIME.to_vec() } else { ANY_ORDER.to_vec() };
    let ordered = if way == Way::Relevance { Order::Relevance } else { Order::Time };
    // Pages that shrink and grow: most of the time, and down to one item.
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
        .prop_map(move |(drawn, filters, limits, first, between, keeps_answers)| {
            let (mut sources, lengths, weights, faults) = drawn;
            weigh(&mut sources, &weights);
            for (source, (lengths, faults)) in sources.iter_mut().zip(lengths.into_iter().zip(faults)) {
                source.lengths = source.page_lengths(lengths);
                source.faults = if way == Way::Unordered { faults } else { Vec::new() };
            }
            Case { way, sources, filters, limits, first, between, keeps_answers }
        })
}

/// A server: its keys and its sources, and what it remembers.
struct Server {
    keys: Keys,
    answers: Option<Answers>,
    sources: Vec<Arc<dyn Source>>,
}

impl Server {
    fn start(directory: &Path, case: &Case) -> Self {
        let keys = Keys::load(None, directory).unwrap();
        let kept = config::Cache { fresh_ms: 1_000, stale_ms: 60_000, bytes: 10 << 20 };
        let answers = case.keeps_answers.then(|| Answers::new(kept));
        Self { keys, answers, sources: Vec::new() }.reload(case)
    }

    fn reload(self, case: &Case) -> Self {
        let source = |source: &Fake| Fake { answers: self.answers.clone(), ..source.clone() };
        Self { sources: shared(case.sources.iter().map(source).collect()), ..self }
    }

    async fn answer(&self, request: &SearchRequest) -> Result<Answer, Failure> {
        let query = Arc::new(Query::parse(&request.keyword));
        let deadline = Instant::now() + request.timeout;
        let own = Own { keys: &self.keys, source_pages: 10_000, query: &query, deadline };
        answer_page(own, "module", Duplicates::Keep, &self.sources, viewer(), request.clone()).await
    }
}

impl Case {
    fn first_request(&self) -> SearchRequest {
        let order = if self.way == Way::Relevance { Order::Relevance } else { Order::Time };
        let (exact_pages, start) = match (self.way, self.first) {
            (Way::Relevance, _) | (Way::Cursor | Way::Unordered, Ok(())) => (true, Start::Beginning),
            (_, Err(Some(time))) => (false, Start::Before(time)),
            (_, Ok(()) | Err(None)) => (false, Start::Beginning),
        };
        SearchRequest { order, exact_pages, start, filters: self.filters.clone(), ..request(1) }
    }

    /// Every page to the end.
    async fn follow(&self) -> Vec<Answer> {
        let directory = tempfile::tempdir().unwrap();
        let mut server = Server::start(directory.path(), self);
        let mut request = self.first_request();
        let mut pages: Vec<Answer> = Vec::new();
        let mut turns = self.between.iter().cycle();
        for limit in self.limits.iter().cycle().take(20_000) {
            request.limit = *limit;
            let answer = match server.answer(&request).await {
                Ok(answer) => answer,
                Err(Failure::NoSource { .. }) if self.way == Way::Unordered => continue,
                Err(failure) => panic!("{failure:?}"),
            };
            let last = answer.items.last().map(|item| item.display_time);
            let next = match self.way {
                Way::Time => last.map(Start::Before),
                _ => answer.cursor.clone().map(Start::Cursor),
            };
            pages.push(answer);
            let Some(next) = next else { return pages };
            request.start = next;
            match turns.next().unwrap() {
                Between::Nothing => {}
                Between::Moment => tokio::time::advance(Duration::from_millis(1_500)).await,
                Between::Reload => server = server.reload(self),
                Between::Restart => server = Server::start(directory.path(), self),
            }
        }
        panic!("the pages have no end");
    }

    /// The reference: everything that is wanted, by time, place and id.
    fn reference(&self) -> Vec<Met> {
        let mut list = Vec::new();
        let before = match self.first_request().start {
            Start::Before(time) => time,
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

/// An item by its time, the place of its source, and its id.
type Met = (Reverse<i64>, usize, String);

/// The items of these pages. Those of one time and one source may come in the source's own order where pages split them;
/// here they are in the order of their ids.
fn met(pages: &[Answer]) -> Vec<Met> {
    let place = |id: &str| id.split('/').nth(1).unwrap().parse().unwrap();
    let items = pages.iter().flat_map(|page| &page.items);
    let mut met: Vec<Met> =
        items.map(|item| (Reverse(item.display_time), place(&item.id), item.id.clone())).collect();
    for group in met.chunk_by_mut(|left, right| (left.0, left.1) == (right.0, right.1)) {
        group.sort();
    }
    met
}

/// The reference list as pages that hold every item of their last time.
fn whole_ties(mut rest: &[Met], limits: &[usize]) -> Vec<Vec<String>> {
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

fn check(case: &Case) -> Result<(), TestCaseError> {
    let pages = runtime().block_on(case.follow());
    let reference = case.reference();
    match case.way {
        Way::Cursor => prop_assert_eq!(met(&pages), reference),
        Way::Time => {
            let found: Vec<Vec<String>> = pages.iter().map(|page| ids(std::slice::from_ref(page))).collect();
            prop_assert_eq!(found, whole_ties(&reference, &case.limits));
        }
        Way::Relevance => {
            let ranked = by_relevance(&case.sources, &case.filters);
            prop_assert_eq!(ids(&pages), made_ids(ranked.iter().map(|(_, item)| item)));
        }
        Way::Unordered => {
            let mut found = met(&pages);
            found.sort();
            prop_assert_eq!(found, reference);
        }
    }
    if case.way != Way::Unordered {
        for (number, page) in pages.iter().enumerate() {
            let limit = case.limits[number % case.limits.len()];
            let is_exact = case.way != Way::Time && (number > 0 || case.first_request().exact_pages);
            prop_assert!(!page.partial);
            prop_assert!(page.items.len() >= limit || page.cursor.is_none());
            prop_assert!(page.items.len() <= limit || !is_exact);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(trawl_seeds::cases(2_000))]

    #[test]
    fn by_the_opaque_cursor_the_pages_are_the_list(case in any_case(Way::Cursor)) {
        check(&case)?;
    }

    #[test]
    fn by_the_time_of_the_last_item_the_pages_are_the_list(case in any_case(Way::Time)) {
        check(&case)?;
    }

    #[test]
    fn by_relevance_the_pages_are_the_list(case in any_case(Way::Relevance)) {
        check(&case)?;
    }

    #[test]
    fn without_an_order_and_with_failures_the_pages_hold_what_the_list_holds(case in any_case(Way::Unordered)) {
        check(&case)?;
    }
}
