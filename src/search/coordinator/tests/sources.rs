//! Sources in memory: what they hold is a list, and what they answer goes through the code of the real ones.

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
use trawl_connectors::{self as connectors, ContentItem, DeclaredOrder};
use trawl_index as index;

use crate::search::{
    builtin,
    cache::{Answers, Key},
    external::{self, SourcePage},
    request::{Filters, Order},
    source::{Ask, FailureKind, Page, Position, Source, SourceFailure},
    weight::Weight,
};

/// An item that a test made up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Made {
    pub(super) id: String,
    pub(super) display_time: i64,
    pub(super) author: &'static str,
}

impl Made {
    pub(super) fn is_wanted(&self, filters: &Filters) -> bool {
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

/// How a source pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paging {
    /// As the built-in index does.
    BuiltIn,
    /// As an external system does.
    External { order: DeclaredOrder, page_size: usize, cursor: CursorForm, empty_pages: usize },
}

/// What an external system's cursor is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CursorForm {
    PageNumber,
    Offset,
    Token,
}

/// How a call goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Fails,
    Hangs,
    Panics,
}

/// A source in memory.
pub(super) struct Fake {
    pub(super) id: String,
    /// In the source's own order.
    pub(super) items: Vec<Made>,
    pub(super) paging: Paging,
    /// What happens to its calls, in turn; further calls go well.
    pub(super) faults: Vec<Option<Fault>>,
    pub(super) weight: Weight,
    /// How many items its calls answer, in turn, though more follow; without any, its page size.
    pub(super) lengths: Vec<usize>,
    /// What keeps its answers, if anything does.
    pub(super) answers: Option<Answers>,
    pub(super) calls: AtomicUsize,
}

impl Clone for Fake {
    fn clone(&self) -> Self {
        Self {
            id: self.id.clone(),
            items: self.items.clone(),
            paging: self.paging,
            faults: self.faults.clone(),
            weight: self.weight,
            lengths: self.lengths.clone(),
            answers: self.answers.clone(),
            calls: AtomicUsize::new(0),
        }
    }
}

impl fmt::Debug for Fake {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, items, paging, faults, weight, lengths, .. } = self;
        formatter
            .debug_struct("Fake")
            .field("id", id)
            .field("paging", paging)
            .field("lengths", lengths)
            .field("faults", faults)
            .field("weight", weight)
            .field("items", items)
            .finish()
    }
}

impl Fake {
    pub(super) fn new(id: &str, paging: Paging, items: Vec<Made>) -> Self {
        Self {
            id: id.to_owned(),
            items,
            paging,
            faults: Vec::new(),
            weight: Weight::ONE,
            lengths: Vec::new(),
            answers: None,
            calls: AtomicUsize::new(0),
        }
    }

    pub(super) fn is_ordered_by_time(&self) -> bool {
        !matches!(self.paging, Paging::External { order: DeclaredOrder::Relevance, .. })
    }

    /// The items in the order in which exact pages give them, filtered.
    pub(super) fn in_order(&self, order: Order, filters: &Filters) -> Vec<Made> {
        let mut items = self.items.clone();
        if order == Order::Time {
            let page_size = match self.paging {
                Paging::BuiltIn => items.len().max(1),
                Paging::External { page_size, .. } => page_size,
            };
            for page in items.chunks_mut(page_size) {
                page.sort_by(|left, right| by_time(left).cmp(&by_time(right)));
            }
        }
        items.retain(|item| item.is_wanted(filters));
        items
    }

    fn built_in_page(&self, ask: &Arc<Ask>, position: &Position) -> Page {
        let Some(start) = builtin::start(ask, position) else { return Page::default() };
        let matches = self.in_order(ask.order, &ask.filters);
        let total = matches.len() as u64;
        let (page, more, cut) = match &start {
            index::Start::Time { after, whole_ties } => {
                let is_behind = |item: &Made| match after {
                    None => true,
                    Some(index::TimePosition { display_time, id: None }) => item.display_time < *display_time,
                    Some(index::TimePosition { display_time, id: Some(id) }) => {
                        by_time(item) > (Reverse(*display_time), id)
                    }
                };
                let behind: Vec<Made> = matches.into_iter().filter(is_behind).collect();
                let length = page_length(&behind, ask.limit, *whole_ties);
                let cut = length < behind.len()
                    && whole_ties.is_some()
                    && behind[length].display_time == behind[length - 1].display_time;
                (behind[..length].to_vec(), length < behind.len(), cut)
            }
            index::Start::Relevance { skip, .. } => {
                let page: Vec<Made> = matches.into_iter().skip(*skip).take(ask.limit).collect();
                let more = skip + page.len() < usize::try_from(total).unwrap();
                (page, more, false)
            }
        };
        let hits = page.iter().map(|made| index::Hit {
            id: made.id.clone(),
            display_time: made.display_time,
            item: serde_json::to_string(&made.to_content()).unwrap(),
            title_is_name: false,
        });
        builtin::into_page(index::Page { hits: hits.collect(), total, more, cut }, ask, &start)
    }

    /// Lengths of pages that this source may have: below its page size, and where its cursors lead to items, not to pages.
    pub(super) fn page_lengths(&self, lengths: Vec<usize>) -> Vec<usize> {
        match self.paging {
            Paging::External { page_size, cursor: CursorForm::Offset | CursorForm::Token, .. } => {
                lengths.into_iter().map(|length| length.min(page_size)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Puts the items in time order where the source orders by time: built-in ones of one time by their ids.
    pub(super) fn order_by_time(&mut self) {
        if self.paging == Paging::BuiltIn {
            self.items.sort_by(|left, right| by_time(left).cmp(&by_time(right)));
        } else if self.is_ordered_by_time() {
            self.items.sort_by_key(|item| Reverse(item.display_time));
        }
    }

    /// The next call of the source: how it goes wrong, and how long its page is.
    fn next_call(&self) -> (Option<Fault>, Option<usize>) {
        let call = self.calls.fetch_add(1, Relaxed);
        let length = self.lengths.get(call % self.lengths.len().max(1)).copied();
        (self.faults.get(call).copied().flatten(), length)
    }

    /// A call of an external source.
    fn call(
        &self,
        cursor: Option<&str>,
    ) -> impl Future<Output = Result<Arc<SourcePage>, SourceFailure>> + Send + use<> {
        let (fault, length) = self.next_call();
        let page = self.read(cursor, length);
        async move {
            go_wrong(fault).await?;
            page.map(Arc::new)
        }
    }

    /// What the source sends, of this length at the most.
    fn read(&self, cursor: Option<&str>, length: Option<usize>) -> Result<SourcePage, SourceFailure> {
        let Paging::External { order, page_size, cursor: form, empty_pages } = self.paging else {
            unreachable!("only asked of an external source");
        };
        // A step is an empty page or one of the source's pages; so many empty ones come before each.
        let (step, begin) = cursor.map_or((0, 0), |cursor| form.read(cursor, page_size));
        let is_empty = step < empty_pages;
        let items = if is_empty { &[] } else { self.items.get(begin..).unwrap_or_default() };
        let length = length.unwrap_or(page_size);
        let items = &items[..items.len().min(length)];
        let (next_step, next_begin) = if is_empty { (step + 1, begin) } else { (0, begin + length) };
        let answer = connectors::Answer {
            items: items.iter().map(Made::to_content).collect(),
            total: Some(self.items.len() as u64),
            cursor: (next_begin < self.items.len()).then(|| form.write(next_step, next_begin, page_size)),
            ..connectors::Answer::default()
        };
        SourcePage::read(answer, order, cursor)
    }

    /// As a registered source answers: by what is kept, where something keeps its answers.
    async fn external_page(
        &self,
        order: DeclaredOrder,
        ask: &Arc<Ask>,
        position: &Position,
    ) -> Result<Page, SourceFailure> {
        let Some((cursor, taken)) = external::place(position) else { return Ok(Page::default()) };
        let Some(answers) = &self.answers else {
            let sent = self.call(cursor).await?;
            return Ok(external::into_page(&sent, ask, order, cursor, taken));
        };
        let place: u64 = self.id.bytes().map(u64::from).sum();
        let cursor = cursor.map(str::to_owned);
        let key = Arc::new(Key { registration: place, keyword: ask.keyword.clone(), cursor: cursor.clone() });
        let begin = |_| {
            let (call, answers, key) = (self.call(cursor.as_deref()), answers.clone(), Arc::clone(&key));
            Ok(async move { call.await.inspect(|page| answers.keep(key, page)) })
        };
        let known = answers.get(Arc::clone(&key), ask.deadline, begin).await?;
        let page = external::into_page(&known.page, ask, order, cursor.as_deref(), taken);
        Ok(Page { kept: known.kept, stale: known.instead_of.is_some(), ..page })
    }
}

async fn go_wrong(fault: Option<Fault>) -> Result<(), SourceFailure> {
    match fault {
        Some(Fault::Fails) => Err(SourceFailure::new(FailureKind::Unavailable, "made to fail")),
        Some(Fault::Hangs) => std::future::pending().await,
        Some(Fault::Panics) => panic!("made to panic"),
        None => Ok(()),
    }
}

/// How long a page of the built-in index is.
fn page_length(items: &[Made], limit: usize, whole_ties: Option<usize>) -> usize {
    let (Some(largest_tie), true) = (whole_ties, items.len() > limit) else { return items.len().min(limit) };
    let last = items[limit - 1].display_time;
    let first_of_the_tie = items.iter().position(|item| item.display_time == last).unwrap();
    let tie = items[first_of_the_tie..].iter().take_while(|item| item.display_time == last).count();
    (first_of_the_tie + tie.min(largest_tie)).max(limit)
}

pub(super) fn by_time(item: &Made) -> (Reverse<i64>, &String) {
    (Reverse(item.display_time), &item.id)
}

impl CursorForm {
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
impl Source for Fake {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> &str {
        &self.id
    }

    fn timeout(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn weight(&self) -> Weight {
        self.weight
    }

    async fn page(&self, ask: &Arc<Ask>, position: &Position) -> Result<Page, SourceFailure> {
        match self.paging {
            Paging::BuiltIn => {
                go_wrong(self.next_call().0).await?;
                Ok(self.built_in_page(ask, position))
            }
            Paging::External { order, .. } => self.external_page(order, ask, position).await,
        }
    }
}

fn any_paging(orders: Vec<DeclaredOrder>) -> impl Strategy<Value = Paging> {
    let forms = [CursorForm::PageNumber, CursorForm::Offset, CursorForm::Token];
    let external = (
        prop::sample::select(orders),
        prop_oneof![1usize..5, 1usize..51],
        prop::sample::select(forms.to_vec()),
        prop_oneof![3 => Just(0usize), 1 => 1usize..3],
    )
        .prop_map(|(order, page_size, cursor, empty_pages)| Paging::External {
            order,
            page_size,
            cursor,
            empty_pages,
        });
    prop_oneof![1 => Just(Paging::BuiltIn), 2 => external]
}

/// An item as it is drawn: its time, its author, and what its id begins with.
type Drawn = (i64, &'static str, u16);

/// A module of one to eight sources whose items have few or many different times. Those that order by time hold their
/// items so, in any order inside one time where they are external.
pub(super) fn any_sources(orders: Vec<DeclaredOrder>, ordered: Order) -> impl Strategy<Value = Vec<Fake>> {
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
            let place = |(place, (paging, items)): (usize, (Paging, Vec<Drawn>))| {
                let made =
                    items.into_iter().enumerate().map(|(number, (display_time, author, random))| Made {
                        // Ids are in no order, so that an order by id is not one by number.
                        id: format!("{random:05}/{place}/{number}"),
                        display_time,
                        author,
                    });
                let mut fake = Fake::new(&format!("source {place}"), paging, made.collect());
                if ordered == Order::Time {
                    fake.order_by_time();
                }
                fake
            };
            sources.into_iter().enumerate().map(place).collect()
        })
    })
}

/// Filters, most of the time none.
pub(super) fn any_filters() -> impl Strategy<Value = Filters> {
    let bound = || prop::option::weighted(0.25, prop_oneof![0i64..8, 0i64..1_000]);
    let author = prop::option::weighted(0.25, Just("ann".to_owned()));
    (bound(), bound(), author).prop_map(|(from, to, author)| Filters { from, to, author, source: None })
}

/// Page lengths, used in turn.
pub(super) fn any_limits() -> impl Strategy<Value = Vec<usize>> {
    vec(prop_oneof![Just(1usize), 1usize..12, 1usize..100], 1..5)
}
