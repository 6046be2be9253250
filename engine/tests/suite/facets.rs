use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use proptest::prelude::*;
use trawl_engine::{
    Audience, Change, Document, FacetFields, FieldCounts, Query, RankedPage, RankedScope, Request, Scope,
    ScopeStart, Start, TimeZone, day_of,
};

use super::support::{BEST, NEWEST, commit, document, index_of, news, owned, remove, restricted_to};
use crate::engine_under_test::{Index, cases};

const ALL: FacetFields = FacetFields { author: true, time: Some(TimeZone::UTC) };
const DAY: i64 = 86_400_000;

fn by(author: &str, document: Document) -> Document {
    Document { author: author.to_owned(), ..document }
}

fn request(keyword: &str, principals: &[&str], start: Start) -> Request {
    let query = Arc::new(Query::parse(keyword));
    Request { start, ..Request::total_of(&Arc::new(news()), &owned(principals).into(), query) }
}

fn count(index: &Index, requests: &[Request], fields: FacetFields) -> FieldCounts {
    index.snapshot().count_fields(requests, fields).unwrap()
}

fn authors(index: &Index, request: Request) -> Vec<(String, u64)> {
    count(index, &[request], ALL).authors()
}

fn named(authors: &[(&str, u64)]) -> Vec<(String, u64)> {
    authors.iter().map(|(author, count)| ((*author).to_owned(), *count)).collect()
}

#[test]
fn authors_are_counted_among_visible_matches() {
    let elsewhere = Document { scope: Scope::new(8, "news"), ..by("Eve", document("elsewhere", "harbour")) };
    let (index, mut writer) = index_of(vec![
        by("Ann Lee", document("a", "harbour")),
        by(" Ann Lee ", document("b", "harbour plan")),
        by("李安", restricted_to(&["u:1"], document("c", "harbour"))),
        by("Bob", restricted_to(&[], document("d", "harbour"))),
        by("Bob", document("e", "garden")),
        by(&"x".repeat(40_000), document("f", "harbour")),
        document("g", "harbour"),
        elsewhere,
    ]);
    for start in [NEWEST, BEST] {
        let counted =
            |keyword: &str, principals: &[&str]| authors(&index, request(keyword, principals, start.clone()));
        assert_eq!(counted("harbour", &[]), named(&[("Ann Lee", 2)]));
        assert_eq!(counted("harbour", &["u:2"]), named(&[("Ann Lee", 2)]));
        assert_eq!(counted("harbour", &["u:1"]), named(&[("Ann Lee", 2), ("李安", 1)]));
        assert_eq!(counted("garden", &["u:1"]), named(&[("Bob", 1)]));
        assert_eq!(counted("nothing", &["u:1"]), named(&[]));
        assert_eq!(counted("", &["u:1"]), named(&[]));
        let filtered =
            Request { author: Some("ann".to_owned()), ..request("harbour", &["u:1"], start.clone()) };
        assert_eq!(authors(&index, filtered), named(&[("Ann Lee", 2)]));
    }
    commit(&mut writer, vec![remove("a"), Change::Put(by("Cai", document("b", "harbour plan")))]);
    assert_eq!(authors(&index, request("harbour", &[], NEWEST)), named(&[("Cai", 1)]));
}

#[test]
fn days_are_counted_within_the_filters() {
    let at = |display_time, id| Document { display_time, ..document(id, "harbour") };
    let (index, _writer) =
        index_of(vec![at(-1, "a"), at(0, "b"), at(DAY - 1, "c"), at(DAY, "d"), at(400 * DAY, "e")]);
    let all = request("harbour", &[], NEWEST);
    let days = |request| count(&index, &[request], ALL).days;
    assert_eq!(days(all.clone()), BTreeMap::from([(-1, 1), (0, 2), (1, 1), (400, 1)]));
    assert_eq!(days(Request { from: Some(1), to: Some(DAY), ..all.clone() }), BTreeMap::from([(0, 1)]));
    let only_authors = count(&index, &[all], FacetFields { author: true, time: None });
    assert_eq!(only_authors, FieldCounts::default());
}

#[test]
fn days_are_counted_in_their_time_zone() {
    const HOUR: i64 = DAY / 24;
    // In New York, 2024-03-10 has 23 hours and begins at 05:00 UTC.
    let spring = 19_792 * DAY + 5 * HOUR;
    let at = |display_time: i64| Document { display_time, ..document(&display_time.to_string(), "harbour") };
    let times =
        [-1, 0, 16 * HOUR - 1, 16 * HOUR, spring - 1, spring, spring + 23 * HOUR - 1, spring + 23 * HOUR];
    let (index, _writer) = index_of(times.map(at).into());
    let request = request("harbour", &[], NEWEST);
    let days = |zone| {
        let fields = FacetFields { author: false, time: Some(zone) };
        count(&index, std::slice::from_ref(&request), fields).days
    };
    let shanghai = BTreeMap::from([(0, 3), (1, 1), (19_792, 2), (19_793, 2)]);
    assert_eq!(days(TimeZone::get("Asia/Shanghai").unwrap()), shanghai);
    assert_eq!(days(TimeZone::fixed(jiff::tz::offset(8))), shanghai);
    let new_york = BTreeMap::from([(-1, 2), (0, 2), (19_791, 1), (19_792, 2), (19_793, 1)]);
    assert_eq!(days(TimeZone::get("America/New_York").unwrap()), new_york);
}

#[test]
fn matches_of_several_modules_are_counted_together() {
    let notes = Scope::new(7, "notes");
    let note = |author, document| Document { scope: Scope::new(7, "notes"), ..by(author, document) };
    let (index, _writer) = index_of(vec![
        by("Ann", document("a", "harbour")),
        note("Ann", document("a", "harbour")),
        note("Bob", document("b", "the old harbour")),
    ]);
    let in_news = request("harbour", &[], NEWEST);
    let in_notes = Request { scope: Arc::new(notes.clone()), ..in_news.clone() };
    let expected = named(&[("Ann", 2), ("Bob", 1)]);
    assert_eq!(count(&index, &[in_news, in_notes], ALL).authors(), expected);
    let Start::Relevance(best) = BEST else { unreachable!() };
    let beside = vec![RankedScope { scope: Arc::new(notes), start: ScopeStart::default() }];
    let together = request("harbour", &[], Start::Relevance(RankedPage { beside, ..best }));
    assert_eq!(authors(&index, together), expected);
}

fn documents() -> impl Strategy<Value = Vec<Document>> {
    let text = prop::sample::subsequence(vec!["harbour", "garden", "plan", "plans", "follow-up"], 0..4);
    let audience = prop::option::of(prop::sample::subsequence(vec!["u:1", "g:2"], 0..2));
    let fields = (text, audience, prop::sample::select(vec!["", "Ann", "Bob", "李安"]), -3..3i64);
    prop::collection::vec(fields, 1..40).prop_map(|all| {
        let mut made = Vec::with_capacity(all.len());
        for (words, audience, author, halves) in all {
            let audience =
                audience.map_or(Audience::Tenant, |principals| Audience::Principals(owned(&principals)));
            let document = by(author, document(&made.len().to_string(), &words.join(" ")));
            let display_time = halves * DAY / 2;
            made.push(Document { audience, display_time, item: author.to_owned(), ..document });
        }
        made
    })
}

proptest! {
    #![proptest_config(cases(48))]

    /// A search of all matches is the model.
    #[test]
    fn all_matches_of_a_search_are_counted(
        documents in documents(),
        removed in prop::collection::vec(0..40u8, 0..4),
        keyword in prop::sample::select(vec!["harbour", "harbour plan", "pla", "\"harbour garden\"", "-plan", "follow up", "author:ann", "garden -harbour"]),
        principals in prop::sample::select(vec![&[][..], &["u:1"], &["u:1", "g:2"]]),
    ) {
        let (index, mut writer) = index_of(documents);
        commit(&mut writer, removed.iter().map(|id| remove(&id.to_string())).collect());
        for start in [NEWEST, BEST] {
            let request = Request { limit: 100, ..request(keyword, principals, start) };
            let page = index.snapshot().search(&request).unwrap();
            let counts = count(&index, &[request], ALL);
            let (mut authors, mut days) = (HashMap::new(), BTreeMap::new());
            for hit in page.hits {
                *days.entry(day_of(hit.display_time)).or_insert(0) += 1;
                if !hit.item.is_empty() {
                    *authors.entry(hit.item).or_insert(0) += 1;
                }
            }
            prop_assert_eq!(counts, FieldCounts { authors, days, is_cut: false });
        }
    }
}
