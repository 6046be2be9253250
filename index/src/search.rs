//! From a request to a page.

mod correction;
mod expansion;
mod lists;
mod matches;
mod parameters;
mod plan;
mod readers;
mod relevance;
mod statistics;
mod time_order;
mod unions;
mod words;
mod work;

use tantivy::DocId;
use tantivy::schema::Field;
use tantivy::schema::document::{
    DeserializeError, DocumentDeserialize, DocumentDeserializer, ValueDeserialize, ValueDeserializer,
};

pub(crate) use self::correction::correct;
pub(crate) use self::expansion::Expansion;
use self::matches::Matches;
use self::plan::{Plan, Sight};
use self::relevance::Ranking;
use self::work::{Stop, Work};
use crate::remembered::Asked;
use crate::view::View;
use crate::{Error, Query, Scope};

/// What is searched, by whom, and which part of it is wanted.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// The module that is searched.
    pub scope: &'a Scope,
    /// What is looked for.
    pub query: &'a Query,
    /// The viewer's principals; without any he sees [`Audience::Tenant`](crate::Audience::Tenant) only.
    pub principals: &'a [String],
    /// Epoch milliseconds, inclusive.
    pub from: Option<i64>,
    /// Epoch milliseconds, exclusive.
    pub to: Option<i64>,
    /// Only documents whose author's name holds every word of this.
    pub author: Option<&'a str>,
    /// The order, and where the page begins.
    pub start: Start,
    /// How many hits are wanted; 0 asks for the total only.
    pub limit: usize,
}

/// The order, and where the page begins.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Start {
    /// `display_time` descending, then id ascending.
    Time {
        /// The page begins behind this; without it, at the newest.
        after: Option<TimePosition>,
        /// The page never splits a millisecond: it holds `limit` hits and all further ones that share the last one's
        /// `display_time`, up to this many of that time (decisions 5.3).
        whole_ties: Option<usize>,
    },
    /// Score descending, then `display_time` descending, then id ascending. A document matches that has any of the
    /// query's words that tell something, and every quoted phrase.
    Relevance {
        /// Hits passed over.
        skip: usize,
        /// The moment that ages are counted from, epoch milliseconds.
        now: i64,
    },
}

/// A place in time order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TimePosition {
    /// Epoch milliseconds.
    pub display_time: i64,
    /// The document of that time behind which to go on; without it the whole millisecond is passed over.
    pub id: Option<String>,
}

/// One document found.
#[derive(Debug, Clone)]
pub struct Hit {
    /// Unique within the scope.
    pub id: String,
    /// Epoch milliseconds.
    pub display_time: i64,
    /// The item as it was put, in JSON.
    pub item: String,
    /// Whether its title is a name ([`Document::title_is_name`](crate::Document::title_is_name)).
    pub title_is_name: bool,
}

/// A page of hits.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// In the order that was asked for.
    pub hits: Vec<Hit>,
    /// Every match that the viewer sees within `from`, `to` and `author`, whatever the page; exact.
    pub total: u64,
    /// Whether there are further hits behind this page.
    pub more: bool,
    /// Whether more hits share the last one's `display_time` than `whole_ties` allows; they are behind this page.
    pub cut: bool,
}

/// A document of a segment of the view.
#[derive(Debug, Clone, Copy)]
struct Found {
    segment: usize,
    document: DocId,
    display_time: i64,
}

/// The most hits of a page that is found at once: each is read from the store of items.
const HITS_AT_ONCE: usize = 50;
/// The steps of such a search: some hundred microseconds at most.
const STEPS_AT_ONCE: u64 = 16_384;

/// Bytes of a stored item that are read in one step.
const BYTES_A_STEP: u64 = 64;

/// Answers a request from one view, where that is little work; `None` where it would be more.
pub(crate) fn search_at_once(view: &View, request: &Request<'_>) -> Result<Option<Page>, Error> {
    if request.limit > HITS_AT_ONCE || !matches!(request.start, Start::Time { .. }) {
        return Ok(None);
    }
    match search_within(view, request, &mut Work::bounded(STEPS_AT_ONCE)) {
        Ok(page) => Ok(Some(page)),
        Err(Stop::TooMuch) => Ok(None),
        Err(Stop::Failed(error)) => Err(error),
    }
}

/// Answers a request from one view.
pub(crate) fn search(view: &View, request: &Request<'_>) -> Result<Page, Error> {
    match search_within(view, request, &mut Work::unbounded()) {
        Ok(page) => Ok(page),
        Err(Stop::Failed(error)) => Err(error),
        // More steps than there are.
        Err(Stop::TooMuch) => Ok(Page::default()),
    }
}

fn search_within(view: &View, request: &Request<'_>, work: &mut Work) -> Result<Page, Stop> {
    if request.query.is_empty() {
        return Ok(Page::default());
    }
    let sight = Sight::new(view, request.scope, request.principals)?;
    let ranking = match request.start {
        Start::Relevance { .. } => Some(Ranking::read(&sight, request, work)?),
        Start::Time { .. } => None,
    };
    let plan = Plan::new(&sight, request, ranking.as_ref().map(|ranking| &ranking.words), work)?;
    let matches = Matches::new(view, &plan, request.from, request.to, work)?;
    let asked = Asked {
        scope: request.scope,
        query: request.query,
        by_relevance: ranking.is_some(),
        viewer: sight.viewer.as_ref().map_or(0, |viewer| viewer.number),
        from: request.from,
        to: request.to,
        author: request.author,
    };
    let total = matches.total(view, &asked, work)?;
    let (found, more, cut) = match (&request.start, &ranking) {
        (Start::Time { after, whole_ties }, _) => {
            let after = after.as_ref();
            let page = time_order::collect(view, &matches, after, *whole_ties, request.limit, work)?;
            (page.found, page.more, page.cut)
        }
        (Start::Relevance { skip, now }, Some(ranking)) if !ranking.words.are_none() => {
            let found = relevance::collect(&sight, ranking, request, *skip, *now, work)?;
            let end = skip.saturating_add(found.len());
            (found, (end as u64) < total, false)
        }
        // Without words all are equally relevant, so the newest come first.
        (Start::Relevance { skip, .. }, _) => {
            let wanted = skip.saturating_add(request.limit);
            let page = time_order::collect(view, &matches, None, None, wanted, work)?;
            (page.found.into_iter().skip(*skip).collect(), page.more, false)
        }
    };
    let mut hits = Vec::with_capacity(found.len());
    for found in found {
        let hit = read_hit(view, found)?;
        work.take(hit.item.len() as u64 / BYTES_A_STEP)?;
        hits.push(hit);
    }
    Ok(Page { hits, total, more, cut })
}

fn read_hit(view: &View, found: Found) -> Result<Hit, Error> {
    let stored: Stored = view.segments[found.segment].opened.store.get(found.document)?;
    let mut hit = Hit {
        id: String::new(),
        display_time: found.display_time,
        item: String::new(),
        title_is_name: false,
    };
    for (field, text) in stored.0 {
        if field == view.fields.id {
            hit.id = text;
        } else if field == view.fields.item {
            hit.item = text;
        } else {
            hit.title_is_name = true;
        }
    }
    Ok(hit)
}

/// The stored fields of a document, all of which are texts.
struct Stored(Vec<(Field, String)>);

impl DocumentDeserialize for Stored {
    fn deserialize<'de, D: DocumentDeserializer<'de>>(mut deserializer: D) -> Result<Self, DeserializeError> {
        let mut fields = Vec::with_capacity(deserializer.size_hint());
        while let Some((field, Text(text))) = deserializer.next_field()? {
            fields.push((field, text));
        }
        Ok(Self(fields))
    }
}

struct Text(String);

impl ValueDeserialize for Text {
    fn deserialize<'de, D: ValueDeserializer<'de>>(deserializer: D) -> Result<Self, DeserializeError> {
        deserializer.deserialize_string().map(Self)
    }
}
