//! Documents, requests and shorthands for the tests of any engine.

use std::sync::Arc;

use trawl_engine::{Audience, Change, Checkpoint, Document, HitPage, Query, Request, Scope, Start};

use crate::engine_under_test::{Index, Snapshot, Writer, empty_index};

pub(crate) const NEWEST: Start = Start::Time { after: None, whole_ties: None };
pub(crate) const BEST: Start = Start::relevance(0, 0);

/// The page behind another one.
pub(crate) fn next_page(before: &Start, page: &HitPage) -> Start {
    let Start::Relevance(before) = before else { unreachable!() };
    let mut next = before.clone();
    next.ranked_by.clone_from(&page.ranked_by);
    for hit in &page.hits {
        let beside = next.beside.iter_mut().map(|beside| &mut beside.start);
        let start = std::iter::once(&mut next.start).chain(beside).nth(hit.scope).unwrap();
        *start = start.behind(hit);
    }
    Start::Relevance(next)
}

pub(crate) fn news() -> Scope {
    Scope::new(7, "news")
}

/// Makes a document of [`news`].
pub(crate) fn document(id: &str, title: &str) -> Document {
    Document {
        scope: news(),
        id: id.to_owned(),
        title: title.to_owned(),
        audience: Audience::Tenant,
        item: "{}".to_owned(),
        ..Document::default()
    }
}

pub(crate) fn restricted_to(principals: &[&str], document: Document) -> Document {
    Document { audience: Audience::Principals(owned(principals)), ..document }
}

pub(crate) fn remove(id: &str) -> Change {
    Change::Remove { scope: news(), id: id.to_owned() }
}

pub(crate) fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

pub(crate) fn checkpoint(position: i64) -> Checkpoint {
    Checkpoint { store: "store".to_owned(), position, complete: true }
}

pub(crate) fn commit(writer: &mut Writer, changes: Vec<Change>) {
    writer.apply(changes).unwrap();
    writer.commit(&checkpoint(1)).unwrap();
}

pub(crate) fn put(writer: &mut Writer, documents: Vec<Document>) {
    commit(writer, documents.into_iter().map(Change::Put).collect());
}

pub(crate) fn index_of(documents: Vec<Document>) -> (Index, Writer) {
    let (index, mut writer) = empty_index();
    put(&mut writer, documents);
    (index, writer)
}

/// Makes a request without filters and principals.
pub(crate) fn request(scope: &Scope, query: &Query, start: Start, limit: usize) -> Request {
    let all = Request::total_of(&Arc::new(scope.clone()), &Arc::default(), Arc::new(query.clone()));
    Request { start, limit, ..all }
}

pub(crate) fn page(snapshot: &Snapshot, keyword: &str, start: Start, limit: usize) -> HitPage {
    let query = Query::parse(keyword).with_spellings();
    snapshot.search(&request(&news(), &query, start, limit)).unwrap()
}

pub(crate) fn ids(page: HitPage) -> Vec<String> {
    page.hits.into_iter().map(|hit| hit.id).collect()
}

pub(crate) fn found(index: &Index, keyword: &str) -> Vec<String> {
    ids(page(&index.snapshot(), keyword, NEWEST, 1_000))
}

pub(crate) fn ranked(index: &Index, keyword: &str) -> Vec<String> {
    let page = page(&index.snapshot(), keyword, BEST, 1_000);
    assert_eq!(page.total, page.hits.len() as u64, "{keyword}");
    ids(page)
}
