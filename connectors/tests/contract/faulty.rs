//! Faulty sources, seen by trawl's client.

use std::collections::HashSet;

use futures::{StreamExt, stream};
use trawl_connectors::{Method, Question, SourceSettings};

use crate::support::{client, settings_of, timeout_of};
use crate::zoo::{self, Fault, Rows};

const AT_ONCE: usize = 4;

const CLAUSES: &str = "http in-time complete redirect method status content-encoding size content-type \
    charset utf-8 json envelope code message data count total cursor item-id item-id-unique item-id-stable \
    item-title item-text item-bounds item-display-time item-display-time-plausible item-action limit \
    limit-default cursor-advances cursor-ends cursor-unique cursor-complete cursor-repeatable order \
    keyword-required keyword-unknown keyword-chinese keyword-emoji keyword-specials keyword-spaces \
    keyword-long token auth-required auth-wrong-token auth-scope concurrency";

#[test]
fn fault_names_differ_and_cover_every_clause() {
    let faults = zoo::faults();
    let names: HashSet<&str> = faults.iter().map(|fault| fault.name).collect();
    assert_eq!(names.len(), faults.len());
    let broken: HashSet<&str> = faults.iter().map(|fault| fault.clause).collect();
    assert_eq!(broken, CLAUSES.split(' ').collect());
}

async fn said_of_first_page(fault: &Fault) -> Option<String> {
    let running = zoo::start(fault).await;
    let question = Question { keyword: &fault.keyword, limit: 10, cursor: None, person: None };
    let settings = SourceSettings { timeout: timeout_of(fault), ..settings_of(&running, Method::Post) };
    match client(&running, settings).search(&question).await {
        Ok(answer) => answer.broken.or_else(|| answer.notes.into_iter().next()),
        Err(error) => Some(error.to_string()),
    }
}

/// Faults of later pages show no message yet.
#[tokio::test]
async fn client_reports_faults_of_the_first_page() {
    let faults = zoo::faults();
    let said = stream::iter(faults.iter().map(said_of_first_page));
    let said: Vec<_> = said.buffered(AT_ONCE).collect().await;
    for (fault, said) in faults.iter().zip(said) {
        let is_of_pages = [
            "cursor-advances",
            "cursor-complete",
            "cursor-ends",
            "cursor-repeatable",
            "cursor-unique",
            "item-id-stable",
            "order",
        ]
        .contains(&fault.clause)
            || fault.name == "ends-before-its-total";
        let is_as_it_should_be = match (&said, fault.message) {
            (Some(said), Some(held)) => said.contains(held),
            (Some(_), None) => false,
            (None, held) => (held.is_none() || is_of_pages) && fault.rows != Rows::None,
        };
        assert!(is_as_it_should_be, "{fault}: {said:?}");
    }
}
