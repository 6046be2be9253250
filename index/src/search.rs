//! From a request to a page.

mod compile;
mod correction;
mod expansion;
mod matches;
mod parameters;
mod relevance;
mod statistics;
mod time_order;
mod words;

use tantivy::DocId;
use tantivy::query::EnableScoring;
use tantivy::schema::Field;
use tantivy::schema::document::{
    DeserializeError, DocumentDeserialize, DocumentDeserializer, ValueDeserialize, ValueDeserializer,
};

pub(crate) use self::correction::correct;

use self::compile::Compiler;
use self::matches::{Branch, Parts};
use self::relevance::Ranking;
use crate::view::{TotalOf, View};
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

/// The most hits of a quick request: each is read from the store of items.
const QUICK_HITS: usize = 50;
/// The most deleted documents of all segments that a quick request may have to look for among its matches.
const QUICK_DELETED: u32 = 1_000;

/// Whether the work for a request is bounded by the number of segments and not by what it matches.
pub(crate) fn is_quick(view: &View, request: &Request<'_>) -> Result<bool, Error> {
    let in_time_order = matches!(request.start, Start::Time { .. });
    let deleted: u32 = view.segments.iter().map(|segment| segment.reader.num_deleted_docs()).sum();
    let is_small = in_time_order
        && request.limit <= QUICK_HITS
        && request.author.is_none()
        // A total within a range of time has to be counted.
        && request.from.is_none()
        && request.to.is_none()
        && request.query.is_one_term()
        && deleted <= QUICK_DELETED;
    Ok(is_small && !Compiler::new(view, request).may_see_restricted()?)
}

/// Answers a request from one view.
pub(crate) fn search(view: &View, request: &Request<'_>) -> Result<Page, Error> {
    if request.query.is_empty() {
        return Ok(Page::default());
    }
    let compiler = Compiler::new(view, request);
    let ranking = match request.start {
        Start::Relevance { .. } => Some(Ranking::read(view, &compiler, request)?),
        Start::Time { .. } => None,
    };
    let scoring = EnableScoring::disabled_from_searcher(&view.searcher);
    let branches = compiler.compile(ranking.as_ref().map(|ranking| &ranking.words))?;
    let branches =
        branches.into_iter().map(|branch| Branch::new(branch, scoring)).collect::<Result<Vec<_>, _>>()?;
    let parts = Parts::new(view, &branches, request.from, request.to)?;
    let is_cheap =
        view.is_without_deletions() && branches.iter().all(|branch| matches!(branch, Branch::Term(_)));
    let total = if is_cheap { parts.count()? } else { view.total(total_of(request), || parts.count())? };
    let (found, more, cut) = match (&request.start, &ranking) {
        (Start::Time { after, whole_ties }, _) => {
            let page = time_order::collect(view, &parts, after.as_ref(), *whole_ties, request.limit)?;
            (page.found, page.more, page.cut)
        }
        (Start::Relevance { skip, now }, Some(ranking)) if !ranking.words.are_none() => {
            let found = relevance::collect(view, &compiler, ranking, request, *skip, *now)?;
            let end = skip.saturating_add(found.len());
            (found, (end as u64) < total, false)
        }
        // Without words all are equally relevant, so the newest come first.
        (Start::Relevance { skip, .. }, _) => {
            let wanted = skip.saturating_add(request.limit);
            let page = time_order::collect(view, &parts, None, None, wanted)?;
            (page.found.into_iter().skip(*skip).collect(), page.more, false)
        }
    };
    let hits = found.into_iter().map(|found| read_hit(view, found)).collect::<Result<_, _>>()?;
    Ok(Page { hits, total, more, cut })
}

fn total_of(request: &Request<'_>) -> TotalOf {
    TotalOf {
        scope: request.scope.clone(),
        query: request.query.clone(),
        principals: request.principals.to_vec(),
        from: request.from,
        to: request.to,
        author: request.author.map(str::to_owned),
        any_word: matches!(request.start, Start::Relevance { .. }),
    }
}

fn read_hit(view: &View, found: Found) -> Result<Hit, Error> {
    let stored = read_stored(view, found)?;
    let (mut id, mut item) = (String::new(), String::new());
    for (field, text) in stored.0 {
        if field == view.fields.id {
            id = text;
        } else {
            item = text;
        }
    }
    Ok(Hit { id, display_time: found.display_time, item })
}

fn read_stored(view: &View, found: Found) -> Result<Stored, Error> {
    Ok(view.segments[found.segment].opened.store.get(found.document)?)
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
