use std::sync::Arc;

use proptest::{
    collection::{btree_map, vec},
    prelude::*,
};
use tokio::time::Instant;
use trawl_engine::{
    correction::CorrectedWord,
    relevance::{ExactScore, RankKey, RankPosition},
};

use super::*;
use crate::{
    duplicates::MAX_SEEN,
    loop_guard::{PassedPage, SentRow, fingerprint},
    request::{Filters, PageStart, SearchParameters, Viewer},
    source::ConsumedPart,
    testing::{TestKey, parameters, viewer},
};

fn any_position() -> impl Strategy<Value = Position> {
    let part = (any::<usize>(), any::<i64>(), ".{0,40}").prop_map(|(count, display_time, id)| ConsumedPart {
        count,
        display_time,
        id,
    });
    prop_oneof![
        Just(Position::Beginning),
        (any::<i64>(), ".{0,40}").prop_map(|(time, id)| Position::AfterItem(time, id)),
        any::<usize>().prop_map(Position::AfterRank),
        (prop::option::of(".{0,40}"), vec(part, 0..3))
            .prop_map(|(cursor, parts)| Position::InPage(cursor, parts)),
        Just(Position::End),
        (any::<usize>(), (any::<bool>(), 0.0_f32..9.0), any::<i64>(), ".{0,40}").prop_map(
            |(rank, (is_rescored, score), display_time, id)| {
                let key = RankKey { is_rescored, score: ExactScore::from(score) };
                Position::AfterMatch(rank, RankPosition { key, display_time, id })
            }
        ),
    ]
}

fn pass(guard: &mut LoopGuard, cursor: &str) {
    let row = SentRow { id: fingerprint(cursor), display_time: 0 };
    let _ends = guard.pass(&PassedPage { rows: &[row], fresh: 1, is_exact: false, next: cursor });
}

fn correction(keyword: String) -> Correction {
    Correction { keyword, words: vec![CorrectedWord { from: "v".to_owned(), to: "w".to_owned() }] }
}

fn any_cursor() -> impl Strategy<Value = PageCursor> {
    let consumed = (any::<usize>(), prop::option::of(0.0_f32..9.0));
    let lane = (".{0,10}", any_position(), consumed, any::<Option<u64>>(), vec(".{0,4}", 0..4));
    let lane = lane.prop_map(|(source, position, (consumed, least_estimate), total, passed)| {
        let mut guard = LoopGuard::default();
        for cursor in &passed {
            pass(&mut guard, cursor);
        }
        LaneState { source: SourceFingerprint::of(&source), position, consumed, least_estimate, total, guard }
    });
    let relaxation =
        (".{0,10}", vec(".{0,4}", 0..4)).prop_map(|(keyword, left_out)| Relaxation { keyword, left_out });
    let rewrite = (prop::option::of(".{0,10}"), prop::option::of(relaxation))
        .prop_map(|(corrected, relaxation)| Rewrite { corrected: corrected.map(correction), relaxation });
    let pinned = (vec((".{0,10}", ".{0,4}"), 0..3), any::<u64>()).prop_map(|(ids, unmatched)| {
        let ids = ids.into_iter().map(|(source, id)| (SourceFingerprint::of(&source), id)).collect();
        PinnedMarks { ids, unmatched }
    });
    let ranked_by = prop::option::of((any::<u64>(), btree_map(".{0,4}", any::<u64>(), 0..4)));
    let ranked_by = ranked_by.prop_map(|known| {
        known.map(|(documents, by_term)| RankedBy { documents, by_term, ..RankedBy::default() })
    });
    let shown = (vec(lane, 0..5), vec(any::<Fingerprint>(), 0..5));
    (any::<Option<i64>>(), shown, rewrite, pinned, ranked_by).prop_map(
        |(before, (lanes, seen), rewrite, pinned, ranked_by)| PageCursor {
            before,
            lanes,
            seen,
            rewrite,
            pinned,
            ranked_by,
        },
    )
}

proptest! {
    #![proptest_config(trawl_seeds::cases(256))]

    #[test]
    fn sealed_cursor_opens_and_is_never_digits(cursor in any_cursor(), context in vec(any::<u8>(), 0..40)) {
        let text = cursor.seal(&TestKey::new(1), &context).unwrap();
        prop_assert!(text.bytes().any(|byte| !byte.is_ascii_digit()));
        prop_assert_eq!(PageCursor::open(&text, &TestKey::new(1), &context).unwrap(), cursor);
    }

    #[test]
    fn changed_cursor_is_refused(
        cursor in any_cursor(),
        place in any::<prop::sample::Index>(),
        by in prop::sample::select("AQgw09-_.=é".chars().collect::<Vec<_>>()),
    ) {
        let text = cursor.seal(&TestKey::new(1), b"context").unwrap();
        let place = place.index(text.len());
        let mut changed: Vec<char> = text.chars().collect();
        prop_assume!(changed[place] != by);
        changed[place] = by;
        let changed: String = changed.into_iter().collect();
        prop_assert!(PageCursor::open(&changed, &TestKey::new(1), b"context").is_err());
        prop_assert!(PageCursor::open(&text[..place], &TestKey::new(1), b"context").is_err());
        prop_assert!(PageCursor::open(&text, &TestKey::new(1), b"other context").is_err());
        prop_assert!(PageCursor::open(&text, &TestKey::new(2), b"context").is_err());
    }

    #[test]
    fn any_text_is_refused_without_panic(text in ".{0,80}") {
        let given = format!("{VERSION_PREFIX}{text}");
        prop_assert!(PageCursor::open(&text, &TestKey::new(1), b"context").is_err());
        prop_assert!(PageCursor::open(&given, &TestKey::new(1), b"context").is_err());
    }
}

#[test]
fn binding_tells_searches_apart() {
    let of = |viewer: Viewer, module: &str, parameters: SearchParameters, page: &PageRequest| {
        binding(&SearchContext::new(viewer, parameters, Arc::default(), Instant::now()), module, page)
            .unwrap()
    };
    let first = PageRequest::default();
    let with = |parameters| of(viewer(), "module", parameters, &first);
    let filtered = |filters| with(SearchParameters { filters, ..parameters() });
    let filters = Filters::default;
    let others = [
        of(Viewer { tenant_id: 2, ..viewer() }, "module", parameters(), &first),
        of(Viewer { user_id: Some("mei".to_owned()), ..viewer() }, "module", parameters(), &first),
        of(viewer(), "modul", parameters(), &first),
        with(SearchParameters { keyword: "words".to_owned(), ..parameters() }),
        with(SearchParameters { order: SearchOrder::Relevance, ..parameters() }),
        with(SearchParameters { exact: true, ..parameters() }),
        filtered(Filters { from: Some(1), ..filters() }),
        filtered(Filters { to: Some(1), ..filters() }),
        filtered(Filters { author: Some("ann".to_owned()), ..filters() }),
        of(
            viewer(),
            "module",
            parameters(),
            &PageRequest { source: Some("ann".to_owned()), ..first.clone() },
        ),
        with(parameters()),
    ];
    let distinct: std::collections::HashSet<&Vec<u8>> = others.iter().collect();
    assert_eq!(distinct.len(), others.len());
    let same = PageRequest { is_exact: true, start: PageStart::Before(1), ..first.clone() };
    let limited = SearchParameters { limit: 1, ..parameters() };
    assert_eq!(of(viewer(), "module", limited, &same), with(parameters()));
}

#[test]
fn bytes_of_cursor_and_binding_are_unchanged() {
    let part = ConsumedPart { count: 3, display_time: 7, id: "i".to_owned() };
    let mut guard = LoopGuard::default();
    pass(&mut guard, "a");
    let state = |position| LaneState {
        source: SourceFingerprint::of("abc"),
        position,
        consumed: 2,
        least_estimate: Some(0.5),
        total: Some(300),
        guard: guard.clone(),
    };
    let cursor = PageCursor {
        before: Some(-1),
        lanes: vec![
            state(Position::AfterItem(9, "x".to_owned())),
            state(Position::AfterRank(5)),
            state(Position::InPage(Some("p2".to_owned()), vec![part])),
            state(Position::End),
        ],
        seen: vec![[1; 8]],
        rewrite: Rewrite {
            corrected: Some(correction("w x".to_owned())),
            relaxation: Some(Relaxation { keyword: "w ".to_owned(), left_out: vec!["x".to_owned()] }),
        },
        pinned: PinnedMarks { ids: vec![(SourceFingerprint::of("abc"), "p".to_owned())], unmatched: 1 },
        ranked_by: None,
    };
    let bytes = BASE64_URL_SAFE_NO_PAD.encode(postcard::to_allocvec(&cursor).unwrap());
    assert_eq!(
        bytes,
        "AQEEungWv48Bz-oBEgF4AgEAAAA_AawCAcqXgRLKG73KARsnV8_pQd7FAcqXgRIAAAEbJ1fP6UHexQEBGydXzwAAAcqXgR\
         K6eBa_jwHP6gIFAgEAAAA_AawCAcqXgRLKG73KARsnV8_pQd7FAcqXgRIAAAEbJ1fP6UHexQEBGydXzwAAAcqXgRK6eBa_\
         jwHP6gMBAnAyAQMOAWkCAQAAAD8BrAIBypeBEsobvcoBGydXz-lB3sUBypeBEgAAARsnV8_pQd7FAQEbJ1fPAAABypeBEr\
         p4Fr-PAc_qBAIBAAAAPwGsAgHKl4ESyhu9ygEbJ1fP6UHexQHKl4ESAAABGydXz-lB3sUBARsnV88AAAHKl4ESAQEBAQEB\
         AQEBAQN3IHgBAXYBdwECdyABAXgBungWv48Bz-oBcAEA"
    );
    assert_eq!(
        postcard::to_allocvec(&Position::AfterMatch(5, RankPosition::default())).unwrap(),
        [5, 5, 0, 0, 0, 0]
    );
    let filters = Filters { from: Some(1), to: None, author: Some("ann".to_owned()) };
    let parameters = SearchParameters { filters, ..parameters() };
    let page = PageRequest { source: Some("crm".to_owned()), ..PageRequest::default() };
    let bound =
        binding(&SearchContext::new(viewer(), parameters, Arc::default(), Instant::now()), "m", &page)
            .unwrap();
    let expected = r#"[1,null,"m","word",true,false,[1,null,"ann","crm"]]"#;
    assert_eq!(String::from_utf8(bound).unwrap(), expected);
    assert_eq!(versioned(b"x"), b"v8.x");
}

fn lane(position: Position) -> LaneState {
    let mut guard = LoopGuard::default();
    pass(&mut guard, "cursor");
    let (total, least_estimate) = (Some(100_000), Some(0.5));
    LaneState {
        source: SourceFingerprint::of("source"),
        position,
        consumed: 1_000,
        least_estimate,
        total,
        guard,
    }
}

#[test]
fn usual_sources_and_seen_items_fit_in_an_external_cursor() {
    for (sources, seen) in [(40, 0), (4, 250)] {
        let position = Position::AfterItem(1_800_000_000_000, "i".repeat(36));
        // Built-in sources need no guard.
        let lane = LaneState { guard: LoopGuard::default(), ..lane(position) };
        let (lanes, seen) = (vec![lane; sources], vec![[u8::MAX; 8]; seen]);
        let cursor = PageCursor { lanes, seen, ..PageCursor::default() };
        let text = cursor.seal(&TestKey::new(1), b"context").unwrap();
        assert!(text.len() <= trawl_connectors::MAX_CURSOR_BYTES, "{} bytes", text.len());
    }
}

#[test]
fn cursor_of_the_first_form_is_opened() {
    let key = TestKey::new(1);
    let cursor = PageCursor { lanes: vec![lane(Position::AfterRank(5))], ..PageCursor::default() };
    let mut plain = postcard::to_allocvec(&cursor).unwrap();
    assert_eq!(plain.pop(), Some(0), "nothing that it was ranked by");
    let sealed = key.seal(&versioned(b"context"), &plain).unwrap();
    let text = format!("{VERSION_PREFIX}{}", BASE64_URL_SAFE_NO_PAD.encode(sealed));
    assert_eq!(PageCursor::open(&text, &key, b"context").unwrap(), cursor);
}

#[test]
fn position_of_the_first_form_is_read() {
    #[derive(Serialize)]
    #[expect(dead_code, reason = "the number of a variant is written")]
    enum FirstPosition {
        Beginning,
        AfterItem(i64, String),
        AfterRank(usize),
        InPage(Option<String>, Option<ConsumedPart>),
    }
    let part = ConsumedPart { count: 3, display_time: 7, id: "i".to_owned() };
    for part in [None, Some(part)] {
        let before = FirstPosition::InPage(Some("next".to_owned()), part.clone());
        let read: Position = postcard::from_bytes(&postcard::to_allocvec(&before).unwrap()).unwrap();
        assert_eq!(read, Position::InPage(Some("next".to_owned()), part.into_iter().collect()));
    }
}

#[test]
fn longest_cursor_opens_and_a_longer_one_is_refused() {
    let part = ConsumedPart { count: usize::MAX, display_time: i64::MIN, id: "i".repeat(512) };
    let longest = LaneState {
        consumed: usize::MAX,
        total: Some(u64::MAX),
        ..lane(Position::InPage(Some("c".repeat(trawl_connectors::MAX_CURSOR_BYTES)), vec![part]))
    };
    let cursor = |sources, seen, pinned| PageCursor {
        before: Some(i64::MIN),
        lanes: vec![longest.clone(); sources],
        seen: vec![[u8::MAX; 8]; seen],
        pinned: PinnedMarks {
            ids: vec![(SourceFingerprint::of("s"), "i".repeat(512)); pinned],
            unmatched: 20,
        },
        ..PageCursor::default()
    };
    for (fitting, seen, pinned) in [(41, 0, 0), (37, MAX_SEEN, 0), (35, MAX_SEEN, 20)] {
        let text = cursor(fitting, seen, pinned).seal(&TestKey::new(1), b"context").unwrap();
        assert_eq!(
            PageCursor::open(&text, &TestKey::new(1), b"context").unwrap(),
            cursor(fitting, seen, pinned)
        );
    }
    assert!(cursor(43, 0, 0).seal(&TestKey::new(1), b"context").is_err());
    assert!(PageCursor::open(&VERSION_PREFIX.repeat(MAX_BYTES), &TestKey::new(1), b"context").is_err());
}
