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
    into_page(&sent, ask, DeclaredOrder::Time, None, taken)
}

/// The page of a source that was asked by this cursor.
fn page_by(answer: Answer, ask: &Ask, declared: DeclaredOrder, cursor: Option<&str>) -> Page {
    let sent = SourcePage::read(answer, declared, cursor).unwrap();
    into_page(&sent, ask, declared, cursor, &[])
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
    let Some(Position::InPage(Some(next), behind)) = empty.next else { panic!("{empty:?}") };
    assert_eq!((next.as_str(), behind[0].count), ("2", 4), "what it held may stand on the next one now");
}

/// All that a source has is often one page, which need not be in time order.
#[test]
fn a_new_item_on_the_last_page_repeats_none_that_was_taken() {
    let ask = ask(Order::Time, Filters::default());
    let page = page_by(answer(&[("a", 5), ("b", 9), ("c", 7)], None), &ask, DeclaredOrder::Relevance, None);
    assert_eq!(ids(&page), ["b", "c", "a"]);
    let behind_c = page.entries[1].after.clone();
    let grown = [("new", 10), ("a", 5), ("b", 9), ("c", 7)];
    let left = go_on(answer(&grown, None), &ask, &behind_c);
    assert_eq!(ids(&left), ["a"]);
    // Cut in two now, the second page has nothing new either.
    let first = go_on(answer(&grown[..3], Some("3")), &ask, &behind_c);
    assert_eq!(ids(&first), ["a"]);
    let Some((Some("3"), taken)) = first.next.as_ref().and_then(place) else { panic!("{first:?}") };
    let sent = SourcePage::read(answer(&grown[3..], None), DeclaredOrder::Relevance, Some("3")).unwrap();
    assert!(into_page(&sent, &ask, DeclaredOrder::Relevance, Some("3"), taken).entries.is_empty());
}

/// Whatever its length is each time, and whatever comes and goes.
#[test]
fn a_page_in_time_order_is_judged_by_the_time_of_the_last_item_taken() {
    let ask = ask(Order::Time, Filters::default());
    let all = [("a", 9), ("b", 8), ("c", 7), ("d", 6), ("e", 5), ("f", 4), ("g", 3)];
    let page = first(answer(&all[..3], Some("3")), &ask);
    let longer = go_on(answer(&all[..6], Some("6")), &ask, &page.entries[0].after);
    assert_eq!(ids(&longer), ["b", "c", "d", "e", "f"]);
    // Up to d, all was taken; then a and b are removed.
    let left = go_on(answer(&all[2..], None), &ask, &longer.entries[2].after);
    assert_eq!(ids(&left), ["e", "f", "g"]);
    // Up to b, all was taken; then others come before it.
    let grown = [("n", 12), ("m", 11), ("l", 10), ("a", 9), ("b", 8), ("c", 7)];
    assert_eq!(ids(&go_on(answer(&grown, Some("6")), &ask, &page.entries[1].after)), ["c"]);
}

/// The items of the pages of such lengths, one of each page being taken before it is asked for again.
fn one_by_one(items: &[(&str, i64)], order: Order, lengths: &[usize]) -> Vec<String> {
    let ask = ask(order, Filters::default());
    let (mut position, mut found) = (Position::Beginning, Vec::new());
    for length in lengths.iter().cycle() {
        let Some((cursor, taken)) = place(&position) else { break };
        let begin = cursor.map_or(0, |cursor| cursor.parse().unwrap());
        let end = items.len().min(begin + length);
        let next = (end < items.len()).then(|| end.to_string());
        let answer = answer(&items[begin..end], next.as_deref());
        let sent = SourcePage::read(answer, DeclaredOrder::Time, cursor).unwrap();
        let page = into_page(&sent, &ask, DeclaredOrder::Time, cursor, taken);
        let first = page.entries.into_iter().next();
        found.extend(first.as_ref().map(|first| first.item.id.clone()));
        position = first.map(|first| first.after).or(page.next).unwrap_or(Position::End);
    }
    found
}

#[test]
fn a_page_that_is_cut_elsewhere_each_time_repeats_and_loses_nothing() {
    // Those of one time are not in the order of their ids.
    let items = [("f", 9), ("b", 8), ("e", 8), ("a", 8), ("d", 8), ("c", 7), ("h", 7), ("g", 7)];
    for lengths in [[3, 5, 1, 2], [5, 3, 4, 8], [1, 8, 2, 6], [8, 1, 1, 1]] {
        let mut by_time = one_by_one(&items, Order::Time, &lengths);
        assert_eq!(one_by_one(&items, Order::Relevance, &lengths).join(""), "fbeadchg", "{lengths:?}");
        by_time[1..5].sort();
        by_time[5..].sort();
        assert_eq!(by_time.join(""), "fabdecgh", "{lengths:?}");
    }
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
    let Position::InPage(None, taken) = &page.entries[0].after else { panic!("{page:?}") };
    assert_eq!(taken[0].count, 2);
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
