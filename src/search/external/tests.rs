use std::{sync::Arc, time::Duration};

use super::*;
use crate::search::request::{Filters, Viewer};

fn ask(order: Order, filters: Filters) -> Ask {
    Ask {
        viewer: Viewer { tenant_id: 1, user_id: None, principals: Arc::default() },
        keyword: "word".to_owned(),
        query: Arc::new(trawl_index::Query::parse("word")),
        filters,
        order,
        limit: 10,
        whole_ties: None,
        before: None,
        deadline: tokio::time::Instant::now() + Duration::from_secs(2),
        trace: None,
    }
}

fn answer(items: &[(&str, i64)], cursor: Option<&str>) -> Answer {
    let item = |(id, time): &(&str, i64)| {
        let author = if id.starts_with('x') { "bob" } else { "ann" };
        let json = serde_json::json!({"id": id, "title": "", "displayTime": time, "author": author});
        serde_json::from_value(json).unwrap()
    };
    Answer { items: items.iter().map(item).collect(), cursor: cursor.map(str::to_owned), ..Answer::default() }
}

fn ids(page: &Page) -> Vec<&str> {
    page.entries.iter().map(|entry| entry.item.id.as_str()).collect()
}

/// The page that goes on behind `position`, which must be in the first page.
fn go_on(answer: Answer, ask: &Ask, position: &Position) -> Page {
    let Position::InPage(None, taken) = position else { panic!("{position:?} is not in the first page") };
    let sent = SourcePage::read(answer, DeclaredOrder::Time, None).unwrap();
    into_page(&sent, ask, DeclaredOrder::Time, None, taken.as_ref())
}

/// The page of a source that was asked by this cursor.
fn page_by(answer: Answer, ask: &Ask, declared: DeclaredOrder, cursor: Option<&str>) -> Page {
    let sent = SourcePage::read(answer, declared, cursor).unwrap();
    into_page(&sent, ask, declared, cursor, None)
}

fn first(answer: Answer, ask: &Ask) -> Page {
    page_by(answer, ask, DeclaredOrder::Time, None)
}

#[test]
fn a_page_that_changed_in_between_repeats_and_loses_nothing() {
    let ask = ask(Order::Time, Filters::default());
    let page = first(answer(&[("a", 9), ("b", 8), ("c", 8), ("d", 7)], Some("2")), &ask);
    let behind_b = page.entries[1].after.clone();
    let grown = answer(&[("new", 10), ("a", 9), ("b", 8), ("c", 8)], Some("2"));
    assert_eq!(ids(&go_on(grown, &ask, &behind_b)), ["c"]);
    let shrunk = answer(&[("c", 8), ("d", 7)], Some("2"));
    assert_eq!(ids(&go_on(shrunk, &ask, &behind_b)), ["c", "d"]);
    let empty = go_on(answer(&[], Some("2")), &ask, &behind_b);
    assert!(empty.entries.is_empty());
    assert_eq!(empty.next, Some(Position::InPage(Some("2".to_owned()), None)));
}

#[test]
fn by_relevance_the_last_item_tells_where_to_go_on_and_else_its_rank() {
    let ask = ask(Order::Relevance, Filters::default());
    let page = first(answer(&[("a", 1), ("b", 9), ("c", 5)], None), &ask);
    let behind_b = page.entries[1].after.clone();
    assert_eq!(
        ids(&go_on(answer(&[("new", 3), ("a", 1), ("b", 9), ("c", 5)], None), &ask, &behind_b)),
        ["c"]
    );
    assert_eq!(ids(&go_on(answer(&[("a", 1), ("new", 3), ("c", 5)], None), &ask, &behind_b)), ["c"]);
    assert_eq!(ids(&go_on(answer(&[("a", 1)], None), &ask, &behind_b)), [""; 0]);
}

#[test]
fn what_the_filters_pass_over_counts_as_taken() {
    let filters = Filters { author: Some("ann".to_owned()), ..Filters::default() };
    let ask = ask(Order::Relevance, filters);
    let items = [("x1", 9), ("a", 8), ("x2", 7), ("b", 6), ("x3", 5)];
    let page = first(answer(&items, Some("2")), &ask);
    assert_eq!(ids(&page), ["a", "b"]);
    let Position::InPage(None, Some(taken)) = &page.entries[0].after else { panic!("{page:?}") };
    assert_eq!(taken.count, 2);
    assert_eq!(
        page.entries[1].after,
        page.next.clone().unwrap(),
        "nothing wanted is left behind the last one"
    );
    let rest = go_on(answer(&items, Some("2")), &ask, &page.entries[0].after);
    assert_eq!(ids(&rest), ["b"]);
}

#[test]
fn a_page_below_the_range_ends_a_source_that_keeps_its_order() {
    let ask = ask(Order::Time, Filters { from: Some(5), ..Filters::default() });
    assert_eq!(first(answer(&[("a", 6), ("b", 4)], Some("2")), &ask).next, None);
    assert!(first(answer(&[("a", 6), ("b", 5)], Some("2")), &ask).next.is_some(), "more of 5 may come");
    let lying = first(answer(&[("b", 4), ("a", 6)], Some("2")), &ask);
    assert!(lying.next.is_some() && lying.broken.is_some(), "its order says nothing");
    let unordered = answer(&[("b", 4)], Some("2"));
    assert!(page_by(unordered, &ask, DeclaredOrder::Relevance, None).next.is_some());
}

#[test]
fn a_cursor_that_stands_still_ends_its_source() {
    let ask = ask(Order::Time, Filters::default());
    let page = page_by(answer(&[("a", 6)], Some("2")), &ask, DeclaredOrder::Time, Some("2"));
    assert!(page.next.is_none() && page.broken.is_some());
}

#[test]
fn an_address_that_may_not_be_called_is_an_error_that_says_so() {
    let failure = into_failure(&SourceError::Forbidden("the address of the source leads astray".to_owned()));
    assert_eq!(failure, SourceFailure::new(FailureKind::Error, "the address of the source leads astray"));
}
