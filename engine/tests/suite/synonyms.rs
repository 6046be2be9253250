//! An operator's synonyms and acronyms, in both orders.

use trawl_engine::query::Synonyms;
use trawl_engine::{Document, Query};

use super::support::{BEST, NEWEST, document, found, ids, index_of, news, owned, ranked, request};
use crate::engine_under_test::Index;

fn synonyms() -> Synonyms {
    let groups = [
        owned(&["IT", "信息技术"]),
        owned(&["annual leave", "vacation", "年假"]),
        owned(&["XK-7702", "mainframe"]),
    ];
    Synonyms::new(&groups, &[("computer".to_owned(), owned(&["laptop", "notebook pc"]))])
}

fn index() -> Index {
    let texts = [
        ("it-capitals", "Ask IT for a key"),
        ("it-chinese", "信息技术服务台"),
        ("it-pronoun", "How to do it without a key"),
        ("leave-words", "Annual leave is 25 days"),
        ("leave-apart", "Leave the annual report here"),
        ("vacation", "Vacation planning"),
        ("leave-chinese", "关于年假的规定"),
        ("code", "The host XK7702 is down"),
        ("mainframe", "Mainframe operations"),
        ("laptop", "A laptop for everyone"),
        ("notebook", "Your notebook PC"),
        ("notebook-paper", "A notebook for PC games"),
    ];
    let of = |(id, brief): (&str, &str)| Document { brief: brief.to_owned(), ..document(id, "") };
    index_of(texts.into_iter().map(of).collect()).0
}

/// Found by time, and by relevance.
fn expanded(index: &Index, keyword: &str) -> [Vec<String>; 2] {
    let query = Query::parse(keyword).with_synonyms(&synonyms());
    [NEWEST, BEST].map(|start| {
        let mut found = ids(index.snapshot().search(&request(&news(), &query, start, 100)).unwrap());
        found.sort();
        found
    })
}

#[test]
fn term_finds_its_synonyms() {
    let index = index();
    for (keyword, expected) in [
        ("IT", &["it-capitals", "it-chinese"][..]),
        ("信息技术", &["it-capitals", "it-chinese"]),
        ("信息技术 key", &["it-capitals"]),
        ("IT服务台", &["it-chinese"]),
        ("vacation", &["leave-chinese", "leave-words", "vacation"]),
        ("年假", &["leave-chinese", "leave-words", "vacation"]),
        ("年假规定", &["leave-chinese"]),
        ("mainframe", &["code", "mainframe"]),
        ("xk-7702", &["code", "mainframe"]),
        ("computer", &["laptop", "notebook"]),
        ("laptop", &["laptop"]),
        ("annual leave days", &["leave-words"]),
        ("\"vacation\"", &["vacation"]),
        ("planning -vacation", &[]),
    ] {
        let [by_time, by_relevance] = expanded(&index, keyword);
        assert_eq!(by_time, expected, "{keyword}");
        assert!(
            expected.iter().all(|id| by_relevance.iter().any(|found| found == id)),
            "{keyword}: {by_relevance:?}"
        );
    }
}

#[test]
fn lone_stop_word_finds_its_acronym_first() {
    let query = Query::parse("it ").with_synonyms(&synonyms());
    let found = ids(index().snapshot().search(&request(&news(), &query, BEST, 3)).unwrap());
    assert_eq!(found[0], "it-capitals");
    assert!(found.iter().any(|id| id == "it-chinese"), "{found:?}");
}

#[test]
fn common_word_still_finds_what_its_rare_synonym_does_not() {
    // A word of this number of documents is common.
    let common = (0..4_200).map(|number| document(&number.to_string(), "vacation"));
    let (index, _writer) = index_of(common.chain([document("rare", "年假")]).collect());
    let query = Query::parse("vacation ").with_synonyms(&synonyms());
    let page = index.snapshot().search(&request(&news(), &query, BEST, 1)).unwrap();
    assert_eq!(page.total, 4_201);
}

#[test]
fn synonyms_rank_beside_the_typed_words() {
    let index = index();
    let best = |keyword: &str, limit: usize| {
        let query = Query::parse(keyword).with_synonyms(&synonyms());
        ids(index.snapshot().search(&request(&news(), &query, BEST, limit)).unwrap())
    };
    assert_eq!(best("vacation ", 1), ["vacation"], "the typed word is worth more");
    assert_eq!(best("annual leave ", 1), ["leave-words"]);
    let leave = best("年假 ", 4);
    assert_eq!(leave[..2], ["leave-chinese", "leave-words"]);
    assert!(leave.iter().any(|id| id == "vacation"), "{leave:?}");
    assert_eq!(best("信息技术 key ", 1), ["it-capitals"]);
    let computers = best("computer ", 3);
    assert_eq!(computers[0], "notebook");
    assert!(computers.iter().any(|id| id == "laptop"), "{computers:?}");
}

#[test]
fn acronym_in_capitals_is_no_stop_word() {
    let index = index();
    for keyword in ["IT", "IT key", "key IT"] {
        assert_eq!(found(&index, keyword), ["it-capitals"], "{keyword}");
    }
    assert_eq!(ranked(&index, "IT service ")[0], "it-capitals");
    assert_eq!(found(&index, "IT IS"), [""; 0], "capitals alone tell nothing");
    let mut lower = found(&index, "it key");
    lower.sort();
    assert_eq!(lower, ["it-capitals", "it-pronoun"]);
}
