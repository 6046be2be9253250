//! The faulty sources do what their table says, as far as one answer shows it to trawl's client. What the server says
//! of each is tested with the server.

use std::collections::HashSet;

use futures::{StreamExt, stream};
use trawl_connectors::{Method, Question};

use crate::support::client;
use crate::zoo::{self, Fault, Rows};

/// How many faults are met at once.
const AT_ONCE: usize = 16;

/// Every clause of the conformance check.
const CLAUSES: [&str; 48] = [
    "http",
    "in-time",
    "complete",
    "redirect",
    "method",
    "status",
    "content-encoding",
    "size",
    "content-type",
    "charset",
    "utf-8",
    "json",
    "envelope",
    "code",
    "message",
    "data",
    "count",
    "total",
    "cursor",
    "item-id",
    "item-id-unique",
    "item-id-stable",
    "item-title",
    "item-text",
    "item-bounds",
    "item-display-time",
    "item-display-time-plausible",
    "item-action",
    "limit",
    "limit-default",
    "cursor-advances",
    "cursor-ends",
    "cursor-unique",
    "cursor-complete",
    "cursor-repeatable",
    "order",
    "keyword-required",
    "keyword-unknown",
    "keyword-chinese",
    "keyword-emoji",
    "keyword-specials",
    "keyword-spaces",
    "keyword-long",
    "token",
    "auth-required",
    "auth-wrong-token",
    "auth-scope",
    "concurrency",
];

#[test]
fn names_differ_and_every_clause_is_broken() {
    let faults = zoo::faults();
    let names: HashSet<&str> = faults.iter().map(|fault| fault.name).collect();
    assert_eq!(names.len(), faults.len());
    let broken: HashSet<&str> = faults.iter().map(|fault| fault.clause).collect();
    assert_eq!(broken, HashSet::from(CLAUSES));
}

/// What the client says of the first page; `None`: nothing.
async fn said_of_first_page(fault: &Fault) -> Option<String> {
    let running = zoo::start(fault).await;
    let question = Question { keyword: &fault.keyword, limit: 10, cursor: None };
    match client(&running, Method::Post).search(&question).await {
        Ok(answer) => answer.broken.or_else(|| answer.notes.into_iter().next()),
        Err(error) => Some(error.to_string()),
    }
}

/// Whatever a first page can show is seen in it; what only further pages or other questions show is not, and no more is
/// said than the table has.
#[tokio::test]
async fn what_a_first_page_shows_is_seen_in_it() {
    let faults = zoo::faults();
    let said = stream::iter(faults.iter().map(said_of_first_page));
    let said: Vec<_> = said.buffered(AT_ONCE).collect().await;
    for (fault, said) in faults.iter().zip(said) {
        let is_of_pages = [
            "cursor-advances",
            "cursor-ends",
            "cursor-repeatable",
            "cursor-unique",
            "item-id-stable",
            "order",
        ]
        .contains(&fault.clause);
        let is_as_it_should_be = match (&said, fault.message) {
            (Some(said), Some(held)) => said.contains(held),
            (Some(_), None) => false,
            (None, held) => (held.is_none() || is_of_pages) && fault.rows != Rows::None,
        };
        assert!(is_as_it_should_be, "{fault}: {said:?}");
    }
}
