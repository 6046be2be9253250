//! Sources in memory, over the code of real sources.

use std::{
    cmp::Reverse,
    fmt,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use proptest::{collection::vec, prelude::*};
use tokio::time::timeout;
use trawl_connectors::{self as connectors, ContentItem, DeclaredOrder};
use trawl_engine::{Hit, HitPage, Start, TimePosition};

use crate::{
    request::{Filters, SearchOrder},
    source::{FailureKind, PagedSource, Position, SourceFailure, SourcePage, SourceRequest},
    sources::{
        builtin,
        external::{PageOrigin, RawPage, SourcePageCache, SourcePageKey, into_page, resume_point},
    },
    weight::Weight,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MadeItem {
    pub(super) id: String,
    pub(super) display_time: i64,
    pub(super) author: &'static str,
}

impl MadeItem {
    pub(super) fn matches(&self, filters: &Filters) -> bool {
        filters.from.is_none_or(|from| self.display_time >= from)
            && filters.to.is_none_or(|to| self.display_time < to)
            && filters.author.as_deref().is_none_or(|author| self.author == author)
    }

    fn to_content(&self) -> ContentItem {
        ContentItem {
            id: self.id.clone(),
            title: "a word".to_owned(),
            author: Some(self.author.to_owned()),
            display_time: self.display_time,
            ..EMPTY.clone()
        }
    }
}

static EMPTY: LazyLock<ContentItem> = LazyLock::new(|| {
    serde_json::from_value(serde_json::json!({"id": "", "title": "", "displayTime": 0})).unwrap()
});

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FakePaging {
    Builtin,
    External { order: DeclaredOrder, page_size: usize, cursor: FakeCursor, empty_pages: usize },
}

impl FakePaging {
    pub(super) fn by_time(page_size: usize, cursor: FakeCursor) -> Self {
        Self::External { order: DeclaredOrder::Time, page_size, cursor, empty_pages: 0 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FakeCursor {
    PageNumber,
    Offset,
    Token,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SourceFault {
    Fails,
    Hangs,
    Panics,
}

const CALL_LIMIT: Duration = Duration::from_secs(1);

pub(super) struct FakeSource {
    pub(super) id: String,
    pub(super) items: Vec<MadeItem>,
    pub(super) paging: FakePaging,
    pub(super) faults: Vec<Option<SourceFault>>,
    pub(super) weight: Weight,
    pub(super) lengths: Vec<usize>,
    pub(super) cache: Option<SourcePageCache>,
    pub(super) calls: AtomicUsize,
}

impl Clone for FakeSource {
    fn clone(&self) -> Self {
        Self {
            id: self.id.clone(),
            items: self.items.clone(),
            paging: self.paging,
            faults: self.faults.clone(),
            weight: self.weight,
            lengths: self.lengths.clone(),
            cache: self.cache.clone(),
            calls: AtomicUsize::new(0),
        }
    }
}

impl fmt::Debug for FakeSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, items, paging, faults, weight, lengths, .. } = self;
        formatter
            .debug_struct("FakeSource")
            .field("id", id)
            .field("paging", paging)
            .field("lengths", lengths)
            .field("faults", faults)
            .field("weight", weight)
            .field("items", items)
            .finish()
    }
}

impl FakeSource {
    pub(super) fn new(id: &str, paging: FakePaging, items: Vec<MadeItem>) -> Self {
        Self {
            id: id.to_owned(),
            items,
            paging,
            faults: Vec::new(),
            weight: Weight::ONE,
            lengths: Vec::new(),
            cache: None,
            calls: AtomicUsize::new(0),
        }
    }

    pub(super) fn is_ordered_by_time(&self) -> bool {
        !matches!(self.paging, FakePaging::External { order: DeclaredOrder::Relevance, .. })
    }

    pub(super) fn in_order(&self, order: SearchOrder, filters: &Filters) -> Vec<MadeItem> {
        let mut items = self.items.clone();
        if order == SearchOrder::Time {
            let page_size = match self.paging {
                FakePaging::Builtin => items.len().max(1),
                FakePaging::External { page_size, .. } => page_size,
            };
            for page in items.chunks_mut(page_size) {
                page.sort_by(|left, right| by_time(left).cmp(&by_time(right)));
            }
        }
        items.retain(|item| item.matches(filters));
        items
    }

    fn builtin_page(&self, request: &SourceRequest, position: &Position) -> SourcePage {
        let parameters = &request.search.parameters;
        if *position == Position::End {
            return SourcePage::default();
        }
        let matches = self.in_order(parameters.order, &parameters.filters);
        let total = matches.len() as u64;
        let (page, more, cut) = match parameters.order {
            SearchOrder::Time => {
                let Some(Start::Time { after, whole_ties }) = builtin::start(request, position) else {
                    unreachable!("it is not at the end");
                };
                let is_behind = |item: &MadeItem| match &after {
                    None => true,
                    Some(TimePosition { display_time, id: None }) => item.display_time < *display_time,
                    Some(TimePosition { display_time, id: Some(id) }) => {
                        by_time(item) > (Reverse(*display_time), id)
                    }
                };
                let behind: Vec<MadeItem> = matches.into_iter().filter(is_behind).collect();
                let length = page_length(&behind, parameters.limit, whole_ties);
                let cut = length < behind.len()
                    && whole_ties.is_some()
                    && behind[length].display_time == behind[length - 1].display_time;
                (behind[..length].to_vec(), length < behind.len(), cut)
            }
            SearchOrder::Relevance => {
                let behind = matches.into_iter().skip(builtin::start_of(position).skip);
                let behind: Vec<MadeItem> = behind.collect();
                let more = behind.len() > parameters.limit;
                (behind.into_iter().take(parameters.limit).collect(), more, false)
            }
        };
        let hits = page.iter().map(|made| Hit {
            id: made.id.clone(),
            display_time: made.display_time,
            item: serde_json::to_string(&made.to_content()).unwrap(),
            title_is_name: false,
            scope: 0,
            score: None,
            rank: None,
        });
        let more_by_scope = vec![more];
        let page = HitPage { hits: hits.collect(), total, more, more_by_scope, cut, ..HitPage::default() };
        match parameters.order {
            SearchOrder::Time => builtin::into_page(page, request),
            // The coordinator estimates its items as those of an external source, which states no bound.
            SearchOrder::Relevance => SourcePage {
                least_relevance: None,
                ..builtin::into_pages(page, vec![builtin::start_of(position)]).remove(0)
            },
        }
    }

    /// Cursors that count pages need pages of equal length.
    pub(super) fn page_lengths(&self, lengths: Vec<usize>) -> Vec<usize> {
        match self.paging {
            FakePaging::External { page_size, cursor: FakeCursor::Offset | FakeCursor::Token, .. } => {
                lengths.into_iter().map(|length| length.min(page_size)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// A built-in source sorts ties by id.
    pub(super) fn order_by_time(&mut self) {
        if self.paging == FakePaging::Builtin {
            self.items.sort_by(|left, right| by_time(left).cmp(&by_time(right)));
        } else if self.is_ordered_by_time() {
            self.items.sort_by_key(|item| Reverse(item.display_time));
        }
    }

    fn next_call(&self) -> (Option<SourceFault>, Option<usize>) {
        let call = self.calls.fetch_add(1, Relaxed);
        let length = self.lengths.get(call % self.lengths.len().max(1)).copied();
        (self.faults.get(call).copied().flatten(), length)
    }

    fn call(
        &self,
        cursor: Option<&str>,
    ) -> impl Future<Output = Result<Arc<RawPage>, SourceFailure>> + Send + use<> {
        let (fault, length) = self.next_call();
        let page = self.read(cursor, length);
        async move {
            raise(fault).await?;
            page.map(Arc::new)
        }
    }

    fn read(&self, cursor: Option<&str>, length: Option<usize>) -> Result<RawPage, SourceFailure> {
        let FakePaging::External { order, page_size, cursor: form, empty_pages } = self.paging else {
            unreachable!("only for external sources");
        };
        // `empty_pages` empty pages come before each page with items.
        let (step, begin) = cursor.map_or((0, 0), |cursor| form.read(cursor, page_size));
        let is_empty = step < empty_pages;
        let items = if is_empty { &[] } else { self.items.get(begin..).unwrap_or_default() };
        let length = length.unwrap_or(page_size);
        let items = &items[..items.len().min(length)];
        let (next_step, next_begin) = if is_empty { (step + 1, begin) } else { (0, begin + length) };
        let answer = connectors::Answer {
            items: items.iter().map(MadeItem::to_content).collect(),
            total: Some(self.items.len() as u64),
            cursor: (next_begin < self.items.len()).then(|| form.write(next_step, next_begin, page_size)),
            ..connectors::Answer::default()
        };
        RawPage::read(answer, order, cursor)
    }

    async fn external_page(
        &self,
        order: DeclaredOrder,
        request: &SourceRequest,
        position: &Position,
    ) -> Result<SourcePage, SourceFailure> {
        let Some((cursor, consumed)) = resume_point(position) else { return Ok(SourcePage::default()) };
        let Some(cache) = &self.cache else {
            let raw = self.call(cursor).await?;
            return Ok(into_page(&raw, request, order, cursor, consumed));
        };
        let key = Arc::new(SourcePageKey {
            person: None,
            registration: self.id.bytes().map(u64::from).sum(),
            keyword: request.search.parameters.keyword.clone(),
            cursor: cursor.map(str::to_owned),
        });
        let cached = match cache.look_up(&key, request.search.deadline) {
            Ok(cached) => cached,
            Err(missing) => {
                let (call, kept_by, fetched) = (self.call(cursor), cache.clone(), Arc::clone(&key));
                let call = async move {
                    let result = call.await;
                    kept_by.keep(fetched, &result);
                    result
                };
                missing.fill(Ok(cache.join(key, call))).await?
            }
        };
        let page = into_page(&cached.page, request, order, cursor, consumed);
        let stale = matches!(cached.origin, PageOrigin::Stale { .. });
        Ok(SourcePage { cached: cached.origin != PageOrigin::Call, stale, ..page })
    }
}

async fn raise(fault: Option<SourceFault>) -> Result<(), SourceFailure> {
    match fault {
        Some(SourceFault::Fails) => Err(SourceFailure::new(FailureKind::Unavailable, "made to fail")),
        Some(SourceFault::Hangs) => std::future::pending().await,
        Some(SourceFault::Panics) => panic!("made to panic"),
        None => Ok(()),
    }
}

fn page_length(items: &[MadeItem], limit: usize, whole_ties: Option<usize>) -> usize {
    let (Some(largest_tie), true) = (whole_ties, items.len() > limit) else { return items.len().min(limit) };
    let last = items[limit - 1].display_time;
    let first_of_the_tie = items.iter().position(|item| item.display_time == last).unwrap();
    let tie = items[first_of_the_tie..].iter().take_while(|item| item.display_time == last).count();
    (first_of_the_tie + tie.min(largest_tie)).max(limit)
}

pub(super) fn by_time(item: &MadeItem) -> (Reverse<i64>, &String) {
    (Reverse(item.display_time), &item.id)
}

impl FakeCursor {
    fn write(self, step: usize, begin: usize, page_size: usize) -> String {
        match self {
            Self::PageNumber => format!("{step}.{}", begin / page_size),
            Self::Offset => format!("{step}.{begin}"),
            Self::Token => format!("step {step} from \u{1f50d} {begin}"),
        }
    }

    fn read(self, cursor: &str, page_size: usize) -> (usize, usize) {
        let mut numbers = cursor.split([' ', '.']).filter_map(|word| word.parse::<usize>().ok());
        let (step, begin) = (numbers.next().unwrap(), numbers.next().unwrap());
        (step, if self == Self::PageNumber { begin * page_size } else { begin })
    }
}

#[async_trait::async_trait]
impl PagedSource for FakeSource {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> &str {
        &self.id
    }

    fn weight(&self) -> Weight {
        self.weight
    }

    async fn page(&self, request: &SourceRequest, position: &Position) -> Result<SourcePage, SourceFailure> {
        let page = async {
            match self.paging {
                FakePaging::Builtin => {
                    raise(self.next_call().0).await?;
                    Ok(self.builtin_page(request, position))
                }
                FakePaging::External { order, .. } => self.external_page(order, request, position).await,
            }
        };
        timeout(CALL_LIMIT, page).await.unwrap_or_else(|_| Err(SourceFailure::timed_out(CALL_LIMIT)))
    }
}

fn any_paging(orders: Vec<DeclaredOrder>) -> impl Strategy<Value = FakePaging> {
    let forms = [FakeCursor::PageNumber, FakeCursor::Offset, FakeCursor::Token];
    let external = (
        prop::sample::select(orders),
        prop_oneof![1usize..5, 1usize..51],
        prop::sample::select(forms.to_vec()),
        prop_oneof![3 => Just(0usize), 1 => 1usize..3],
    )
        .prop_map(|(order, page_size, cursor, empty_pages)| FakePaging::External {
            order,
            page_size,
            cursor,
            empty_pages,
        });
    prop_oneof![1 => Just(FakePaging::Builtin), 2 => external]
}

type DrawnItem = (i64, &'static str, u16);

/// One to eight sources with few or many different times.
///
/// `ordered` external sources keep ties in any order.
pub(super) fn any_sources(
    orders: Vec<DeclaredOrder>,
    ordered: SearchOrder,
) -> impl Strategy<Value = Vec<FakeSource>> {
    let times = prop_oneof![Just(1i64..2), Just(1i64..6), Just(-20i64..1_000)];
    times.prop_flat_map(move |times| {
        let item = (times, prop::sample::select(vec!["ann", "bob"]), any::<u16>());
        let items = prop_oneof![
            12 => vec(item.clone(), 0..12),
            4 => vec(item.clone(), 0..60),
            1 => vec(item, 60..250),
        ];
        let source = (any_paging(orders.clone()), items).boxed();
        prop_oneof![2 => vec(source.clone(), 1..4), 1 => vec(source, 1..9)].prop_map(move |sources| {
            let place = |(place, (paging, items)): (usize, (FakePaging, Vec<DrawnItem>))| {
                let made =
                    items.into_iter().enumerate().map(|(number, (display_time, author, random))| MadeItem {
                        // Random: an order by id differs from one by number.
                        id: format!("{random:05}/{place}/{number}"),
                        display_time,
                        author,
                    });
                let mut fake = FakeSource::new(&format!("source {place}"), paging, made.collect());
                if ordered == SearchOrder::Time {
                    fake.order_by_time();
                }
                fake
            };
            sources.into_iter().enumerate().map(place).collect()
        })
    })
}

pub(super) fn any_filters() -> impl Strategy<Value = Filters> {
    let bound = || prop::option::weighted(0.25, prop_oneof![0i64..8, 0i64..1_000]);
    let author = prop::option::weighted(0.25, Just("ann".to_owned()));
    (bound(), bound(), author).prop_map(|(from, to, author)| Filters { from, to, author })
}

pub(super) fn any_limits() -> impl Strategy<Value = Vec<usize>> {
    vec(prop_oneof![Just(1usize), 1usize..12, 1usize..100], 1..5)
}
