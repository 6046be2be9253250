use std::sync::LazyLock;

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::{
    auth::keys::Keys,
    search::{
        duplicates::MOST_REMEMBERED,
        request::{Filters, Start},
        source::Taken,
    },
};

static KEYS: LazyLock<Keys> =
    LazyLock::new(|| Keys::load(None, tempfile::tempdir().unwrap().path()).unwrap());

fn any_position() -> impl Strategy<Value = Position> {
    let taken = (any::<usize>(), any::<i64>(), ".{0,40}").prop_map(|(count, display_time, id)| Taken {
        count,
        display_time,
        id,
    });
    prop_oneof![
        Just(Position::Beginning),
        (any::<i64>(), ".{0,40}").prop_map(|(time, id)| Position::AfterItem(time, id)),
        any::<usize>().prop_map(Position::AfterRank),
        (prop::option::of(".{0,40}"), vec(taken, 0..3))
            .prop_map(|(cursor, taken)| Position::InPage(cursor, taken)),
        Just(Position::End),
    ]
}

fn any_cursor() -> impl Strategy<Value = Cursor> {
    let lane = (".{0,10}", any_position(), any::<usize>(), any::<Option<u64>>(), vec(".{0,4}", 0..4));
    let lane = lane.prop_map(|(source, position, taken, total, passed)| {
        let mut guard = LoopGuard::default();
        for cursor in &passed {
            guard.pass(cursor);
        }
        LaneState { source: SourceKey::of(&source), position, taken, total, guard }
    });
    (any::<Option<i64>>(), vec(lane, 0..5), vec(any::<Fingerprint>(), 0..5), prop::option::of(".{0,10}"))
        .prop_map(|(before, lanes, shown, corrected)| Cursor { before, lanes, shown, corrected })
}

fn request() -> SearchRequest {
    SearchRequest {
        keyword: "word".to_owned(),
        module: "article".to_owned(),
        limit: 10,
        start: Start::Beginning,
        exact_pages: false,
        order: Order::Time,
        filters: Filters::default(),
        highlight: false,
        timeout: std::time::Duration::from_secs(2),
        trace: None,
    }
}

fn viewer(tenant_id: i64, user_id: Option<&str>) -> Viewer {
    Viewer { tenant_id, user_id: user_id.map(str::to_owned), principals: std::sync::Arc::default() }
}

proptest! {
    #![proptest_config(trawl_seeds::cases(256))]

    #[test]
    fn what_was_sealed_opens_and_is_never_digits(cursor in any_cursor(), context in vec(any::<u8>(), 0..40)) {
        let text = cursor.seal(&KEYS.cursors, &context).unwrap();
        prop_assert!(text.bytes().any(|byte| !byte.is_ascii_digit()));
        prop_assert_eq!(Cursor::open(&text, &KEYS.cursors, &context).unwrap(), cursor);
    }

    #[test]
    fn a_cursor_that_was_changed_anywhere_is_refused(
        cursor in any_cursor(),
        place in any::<prop::sample::Index>(),
        by in prop::sample::select("AQgw09-_.=é".chars().collect::<Vec<_>>()),
    ) {
        let text = cursor.seal(&KEYS.cursors, b"context").unwrap();
        let place = place.index(text.len());
        let mut changed: Vec<char> = text.chars().collect();
        prop_assume!(changed[place] != by);
        changed[place] = by;
        let changed: String = changed.into_iter().collect();
        prop_assert!(Cursor::open(&changed, &KEYS.cursors, b"context").is_err());
        prop_assert!(Cursor::open(&text[..place], &KEYS.cursors, b"context").is_err());
        prop_assert!(Cursor::open(&text, &KEYS.cursors, b"other context").is_err());
        prop_assert!(Cursor::open(&text, &KEYS.secrets, b"context").is_err());
    }

    #[test]
    fn nothing_that_a_caller_may_send_is_a_panic(text in ".{0,80}") {
        let given = format!("{VERSION_PREFIX}{text}");
        prop_assert!(Cursor::open(&text, &KEYS.cursors, b"context").is_err());
        prop_assert!(Cursor::open(&given, &KEYS.cursors, b"context").is_err());
    }
}

/// A cursor belongs to its tenant, module, keyword, order and filters, and to nothing else.
#[test]
fn the_context_tells_searches_apart() {
    let of = |request: &SearchRequest| context(&viewer(1, None), "module", request).unwrap();
    let filters = Filters::default;
    let with = |filters: Filters| SearchRequest { filters, ..request() };
    let others = [
        context(&viewer(2, None), "module", &request()).unwrap(),
        context(&viewer(1, Some("mei")), "module", &request()).unwrap(),
        context(&viewer(1, None), "modul", &request()).unwrap(),
        of(&SearchRequest { keyword: "words".to_owned(), ..request() }),
        of(&SearchRequest { order: Order::Relevance, ..request() }),
        of(&with(Filters { from: Some(1), ..filters() })),
        of(&with(Filters { to: Some(1), ..filters() })),
        of(&with(Filters { author: Some("ann".to_owned()), ..filters() })),
        of(&with(Filters { source: Some("ann".to_owned()), ..filters() })),
        of(&request()),
    ];
    let distinct: std::collections::HashSet<&Vec<u8>> = others.iter().collect();
    assert_eq!(distinct.len(), others.len());
    let same = SearchRequest { limit: 1, exact_pages: true, module: "id".to_owned(), ..request() };
    assert_eq!(of(&same), of(&request()));
}

fn lane(position: Position) -> LaneState {
    let mut guard = LoopGuard::default();
    guard.pass("cursor");
    LaneState { source: SourceKey::of("source"), position, taken: 1_000, total: Some(100_000), guard }
}

#[test]
fn forty_usual_sources_fit_in_the_cursor_of_an_external_source() {
    let id = || "0b1f4a6e-9a53-4a0c-8d5f-3f6f2c1f6a10".to_owned();
    let lanes = vec![lane(Position::AfterItem(1_800_000_000_000, id())); 40];
    let text = Cursor { before: None, lanes, shown: Vec::new(), corrected: None }
        .seal(&KEYS.cursors, b"context")
        .unwrap();
    assert!(text.len() <= trawl_connectors::MAX_CURSOR_BYTES, "{} bytes", text.len());
}

#[test]
fn four_usual_sources_and_what_their_first_pages_showed_fit_there_too() {
    let lanes = vec![lane(Position::AfterItem(1_800_000_000_000, "i".repeat(36))); 4];
    let cursor = Cursor { before: None, lanes, shown: vec![[u8::MAX; 8]; 250], corrected: None };
    let text = cursor.seal(&KEYS.cursors, b"context").unwrap();
    assert!(text.len() <= trawl_connectors::MAX_CURSOR_BYTES, "{} bytes", text.len());
}

/// As positions were written before a page could be cut elsewhere: of a page, one thing was taken or none.
#[test]
fn a_position_of_before_reads_as_one_of_now() {
    #[derive(Serialize)]
    #[expect(dead_code, reason = "the place of a variant is what is written")]
    enum Before {
        Beginning,
        AfterItem(i64, String),
        AfterRank(usize),
        InPage(Option<String>, Option<Taken>),
    }
    let taken = Taken { count: 3, display_time: 7, id: "i".to_owned() };
    for taken in [None, Some(taken)] {
        let before = Before::InPage(Some("next".to_owned()), taken.clone());
        let read: Position = postcard::from_bytes(&postcard::to_allocvec(&before).unwrap()).unwrap();
        assert_eq!(read, Position::InPage(Some("next".to_owned()), taken.into_iter().collect()));
    }
}

#[test]
fn the_longest_cursor_can_be_sent_back_and_a_longer_one_is_not_made() {
    let taken = Taken { count: usize::MAX, display_time: i64::MIN, id: "i".repeat(512) };
    let longest = LaneState {
        taken: usize::MAX,
        total: Some(u64::MAX),
        ..lane(Position::InPage(Some("c".repeat(trawl_connectors::MAX_CURSOR_BYTES)), vec![taken]))
    };
    let cursor = |sources, shown| Cursor {
        before: Some(i64::MIN),
        lanes: vec![longest.clone(); sources],
        shown: vec![[u8::MAX; 8]; shown],
        corrected: None,
    };
    for (fitting, shown) in [(41, 0), (37, MOST_REMEMBERED)] {
        let text = cursor(fitting, shown).seal(&KEYS.cursors, b"context").unwrap();
        assert_eq!(Cursor::open(&text, &KEYS.cursors, b"context").unwrap(), cursor(fitting, shown));
    }
    assert!(cursor(43, 0).seal(&KEYS.cursors, b"context").is_err());
    assert!(Cursor::open(&VERSION_PREFIX.repeat(LONGEST), &KEYS.cursors, b"context").is_err());
}
