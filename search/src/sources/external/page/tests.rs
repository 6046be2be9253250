use trawl_connectors::Answer;

use super::*;
use crate::{
    request::{Filters, SearchParameters},
    testing::{parameters, source_request},
};

fn request(order: SearchOrder, filters: Filters) -> SourceRequest {
    source_request(SearchParameters { order, filters, ..parameters() })
}

fn answer(items: &[(&str, i64)], cursor: Option<&str>) -> Answer {
    let item = |(id, time): &(&str, i64)| {
        let author = if id.starts_with('x') { "bob" } else { "ann" };
        let json = serde_json::json!({"id": id, "title": "", "displayTime": time, "author": author});
        serde_json::from_value(json).unwrap()
    };
    Answer { items: items.iter().map(item).collect(), cursor: cursor.map(str::to_owned), ..Answer::default() }
}

fn ids(page: &SourcePage) -> Vec<&str> {
    page.items.iter().map(|entry| entry.item.id.as_str()).collect()
}

fn resume(answer: Answer, request: &SourceRequest, position: &Position) -> SourcePage {
    let Position::InPage(None, consumed) = position else { panic!("{position:?} is not in the first page") };
    let raw = RawPage::read(answer, DeclaredOrder::Time, None).unwrap();
    into_page(&raw, request, DeclaredOrder::Time, None, consumed)
}

fn page_by(
    answer: Answer,
    request: &SourceRequest,
    declared: DeclaredOrder,
    cursor: Option<&str>,
) -> SourcePage {
    let raw = RawPage::read(answer, declared, cursor).unwrap();
    into_page(&raw, request, declared, cursor, &[])
}

fn first(answer: Answer, request: &SourceRequest) -> SourcePage {
    page_by(answer, request, DeclaredOrder::Time, None)
}

#[test]
fn changed_page_repeats_and_loses_no_item() {
    let request = request(SearchOrder::Time, Filters::default());
    let page = first(answer(&[("a", 9), ("b", 8), ("c", 8), ("d", 7)], Some("2")), &request);
    let behind_b = page.items[1].after.clone();
    let grown = answer(&[("new", 10), ("a", 9), ("b", 8), ("c", 8)], Some("2"));
    assert_eq!(ids(&resume(grown, &request, &behind_b)), ["c"]);
    let shrunk = answer(&[("c", 8), ("d", 7)], Some("2"));
    assert_eq!(ids(&resume(shrunk, &request, &behind_b)), ["c", "d"]);
    let empty = resume(answer(&[], Some("2")), &request, &behind_b);
    assert!(empty.items.is_empty());
    let Some(Position::InPage(Some(next), behind)) = empty.next else { panic!("{empty:?}") };
    assert_eq!((next.as_str(), behind[0].count), ("2", 4), "its items may be on the next page now");
}

#[test]
fn new_item_on_the_last_page_repeats_no_consumed_one() {
    let request = request(SearchOrder::Time, Filters::default());
    let page =
        page_by(answer(&[("a", 5), ("b", 9), ("c", 7)], None), &request, DeclaredOrder::Relevance, None);
    assert_eq!(ids(&page), ["b", "c", "a"]);
    let behind_c = page.items[1].after.clone();
    let grown = [("new", 10), ("a", 5), ("b", 9), ("c", 7)];
    let left = resume(answer(&grown, None), &request, &behind_c);
    assert_eq!(ids(&left), ["a"]);
    let first = resume(answer(&grown[..3], Some("3")), &request, &behind_c);
    assert_eq!(ids(&first), ["a"]);
    let Some((Some("3"), consumed)) = first.next.as_ref().and_then(resume_point) else { panic!("{first:?}") };
    let raw = RawPage::read(answer(&grown[3..], None), DeclaredOrder::Relevance, Some("3")).unwrap();
    assert!(into_page(&raw, &request, DeclaredOrder::Relevance, Some("3"), consumed).items.is_empty());
}

#[test]
fn page_in_time_order_resumes_by_the_last_consumed_time() {
    let request = request(SearchOrder::Time, Filters::default());
    let all = [("a", 9), ("b", 8), ("c", 7), ("d", 6), ("e", 5), ("f", 4), ("g", 3)];
    let page = first(answer(&all[..3], Some("3")), &request);
    let longer = resume(answer(&all[..6], Some("6")), &request, &page.items[0].after);
    assert_eq!(ids(&longer), ["b", "c", "d", "e", "f"]);
    // Consumed up to d; then a and b are removed.
    let left = resume(answer(&all[2..], None), &request, &longer.items[2].after);
    assert_eq!(ids(&left), ["e", "f", "g"]);
    let grown = [("n", 12), ("m", 11), ("l", 10), ("a", 9), ("b", 8), ("c", 7)];
    assert_eq!(ids(&resume(answer(&grown, Some("6")), &request, &page.items[1].after)), ["c"]);
}

fn consume_singly(items: &[(&str, i64)], order: SearchOrder, lengths: &[usize]) -> Vec<String> {
    let request = request(order, Filters::default());
    let (mut position, mut found) = (Position::Beginning, Vec::new());
    for length in lengths.iter().cycle() {
        let Some((cursor, consumed)) = resume_point(&position) else { break };
        let begin = cursor.map_or(0, |cursor| cursor.parse().unwrap());
        let end = items.len().min(begin + length);
        let next = (end < items.len()).then(|| end.to_string());
        let answer = answer(&items[begin..end], next.as_deref());
        let raw = RawPage::read(answer, DeclaredOrder::Time, cursor).unwrap();
        let page = into_page(&raw, &request, DeclaredOrder::Time, cursor, consumed);
        let first = page.items.into_iter().next();
        found.extend(first.as_ref().map(|first| first.item.id.clone()));
        position = first.map(|first| first.after).or(page.next).unwrap_or(Position::End);
    }
    found
}

#[test]
fn page_cut_elsewhere_repeats_and_loses_no_item() {
    let items = [("f", 9), ("b", 8), ("e", 8), ("a", 8), ("d", 8), ("c", 7), ("h", 7), ("g", 7)];
    for lengths in [[3, 5, 1, 2], [5, 3, 4, 8], [1, 8, 2, 6], [8, 1, 1, 1]] {
        let mut by_time = consume_singly(&items, SearchOrder::Time, &lengths);
        assert_eq!(
            consume_singly(&items, SearchOrder::Relevance, &lengths).join(""),
            "fbeadchg",
            "{lengths:?}"
        );
        by_time[1..5].sort();
        by_time[5..].sort();
        assert_eq!(by_time.join(""), "fabdecgh", "{lengths:?}");
    }
}

#[test]
fn page_by_relevance_resumes_by_the_last_item_or_its_rank() {
    let request = request(SearchOrder::Relevance, Filters::default());
    let page = first(answer(&[("a", 1), ("b", 9), ("c", 5)], None), &request);
    let behind_b = page.items[1].after.clone();
    assert_eq!(
        ids(&resume(answer(&[("new", 3), ("a", 1), ("b", 9), ("c", 5)], None), &request, &behind_b)),
        ["c"]
    );
    assert_eq!(ids(&resume(answer(&[("a", 1), ("new", 3), ("c", 5)], None), &request, &behind_b)), ["c"]);
    assert_eq!(ids(&resume(answer(&[("a", 1)], None), &request, &behind_b)), [""; 0]);
}

#[test]
fn filtered_items_count_as_consumed() {
    let filters = Filters { author: Some("ann".to_owned()), ..Filters::default() };
    let request = request(SearchOrder::Relevance, filters);
    let items = [("x1", 9), ("a", 8), ("x2", 7), ("b", 6), ("x3", 5)];
    let page = first(answer(&items, Some("2")), &request);
    assert_eq!(ids(&page), ["a", "b"]);
    let Position::InPage(None, consumed) = &page.items[0].after else { panic!("{page:?}") };
    assert_eq!(consumed[0].count, 2);
    assert_eq!(page.items[1].after, page.next.clone().unwrap(), "no match is left behind the last one");
    let rest = resume(answer(&items, Some("2")), &request, &page.items[0].after);
    assert_eq!(ids(&rest), ["b"]);
}

#[test]
fn page_below_the_range_ends_an_ordered_source() {
    let request = request(SearchOrder::Time, Filters { from: Some(5), ..Filters::default() });
    assert_eq!(first(answer(&[("a", 6), ("b", 4)], Some("2")), &request).next, None);
    assert!(first(answer(&[("a", 6), ("b", 5)], Some("2")), &request).next.is_some(), "more of 5 may come");
    let lying = first(answer(&[("b", 4), ("a", 6)], Some("2")), &request);
    assert!(lying.next.is_some() && lying.broken.is_some(), "a broken order ends nothing");
    let unordered = answer(&[("b", 4)], Some("2"));
    assert!(page_by(unordered, &request, DeclaredOrder::Relevance, None).next.is_some());
}

#[test]
fn unchanged_cursor_ends_its_source() {
    let request = request(SearchOrder::Time, Filters::default());
    let page = page_by(answer(&[("a", 6)], Some("2")), &request, DeclaredOrder::Time, Some("2"));
    assert!(page.next.is_none() && page.broken.is_some());
}
