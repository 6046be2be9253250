use std::sync::Arc;

use proptest::prelude::*;
use trawl_engine::{Document, Query, Request, Scope};

use super::support::{
    BEST, NEWEST, commit, document, found, ids, index_of, news, owned, page, remove, request, restricted_to,
};
use crate::engine_under_test::cases;

#[test]
fn words_match_by_stem_width_case_and_accent() {
    let (index, _writer) =
        index_of(vec![document("a", "Running dogs at the Café"), document("b", "ＲＵＮＳ　１２")]);
    assert_eq!(found(&index, "run "), ["a", "b"]);
    assert_eq!(found(&index, "RUNNING cafe "), ["a"]);
    assert_eq!(found(&index, "12"), ["b"]);
    assert_eq!(found(&index, "cat"), [""; 0]);
}

#[test]
fn last_word_matches_as_prefix_for_every_audience() {
    let restricted = restricted_to(&["u:1"], document("c", "trawling"));
    let (index, _writer) = index_of(vec![document("a", "trawlers"), document("b", "trains"), restricted]);
    assert_eq!(found(&index, "tra"), ["a", "b"]);
    assert_eq!(found(&index, "tra "), [""; 0]);
    assert_eq!(found(&index, "trawlers tra"), ["a"]);
    let (scope, query, principals) = (news(), Query::parse("tra"), owned(&["u:1"]));
    let request = Request { principals: principals.into(), ..request(&scope, &query, NEWEST, 10) };
    let page = index.snapshot().search(&request).unwrap();
    assert_eq!((page.total, ids(page)), (3, owned(&["a", "b", "c"])));
}

#[test]
fn phrase_matches_within_one_text_only() {
    let mut split = document("b", "red");
    split.brief = "cars".to_owned();
    let (index, _writer) = index_of(vec![document("a", "two red cars"), split, document("c", "cars red")]);
    assert_eq!(found(&index, "\"red cars\""), ["a"]);
    assert_eq!(found(&index, "red cars"), ["a", "b", "c"]);
    assert_eq!(found(&index, "red -\"red cars\""), ["b", "c"]);
    assert_eq!(found(&index, "-\"red cars\""), ["b", "c"]);
}

#[test]
fn ideographs_match_across_dictionary_words() {
    let (index, _writer) =
        index_of(vec![document("a", "中华人民共和国成立70周年iPhone发布"), document("b", "人民日报")]);
    for keyword in ["人民", "华人", "和国成", "立70周", "年iPhone发", "\"共和国成立70周年\""]
    {
        assert!(found(&index, keyword).contains(&"a".to_owned()), "{keyword}");
    }
    assert_eq!(found(&index, "日报"), ["b"]);
    assert_eq!(found(&index, "\"民人\""), [""; 0]);
}

#[test]
fn traditional_and_simplified_chinese_match_each_other() {
    let (index, _writer) = index_of(vec![
        document("t", "國際經濟與臺灣的後續發展"),
        document("s", "国际经济与台湾的后续发展"),
        document("j", "日本の経済発展"),
        document("q", "乾隆皇后喝乾杯"),
    ]);
    for keyword in
        ["国际", "國際", "經濟", "后续", "後續", "\"与台湾的\"", "\"與臺灣的後續\"", "济与台", "發展 -日本"]
    {
        assert_eq!(found(&index, keyword), ["s", "t"], "{keyword}");
    }
    for keyword in ["経済", "発展", "日本の", "\"日本の経済発展\""] {
        assert!(found(&index, keyword).contains(&"j".to_owned()), "{keyword}");
    }
    for keyword in ["乾隆", "干隆", "皇後", "\"喝干杯\""] {
        assert_eq!(found(&index, keyword), ["q"], "{keyword}");
    }
}

#[test]
fn author_matches_by_every_word_of_the_name() {
    let mut documents = vec![document("a", "x"), document("b", "x"), document("c", "ann lee")];
    documents[0].author = "Ann Lee".to_owned();
    documents[1].author = "Ann Poe".to_owned();
    let (index, _writer) = index_of(documents);
    assert_eq!(found(&index, "author:ann"), ["a", "b"]);
    assert_eq!(found(&index, "author:\"lee ANN\""), ["a"]);
    assert_eq!(found(&index, "x -author:poe"), ["a"]);
    assert_eq!(found(&index, "author:ann author:poe"), ["b"]);
}

#[test]
fn author_matches_by_a_name_in_one_word() {
    let by = |id: &str, author: &str| Document { author: author.to_owned(), ..document(id, "x") };
    let (index, _writer) = index_of(vec![
        by("a", "马军"),
        by("b", "馬小軍"),
        by("c", "Ma Jun"),
        by("d", "重庆"),
        by("e", "Ma Xiaojun 马小军"),
    ]);
    assert_eq!(found(&index, "author:majun"), ["a", "c"]);
    assert_eq!(found(&index, "author:maxiaojun x"), ["b", "e"]);
    assert_eq!(found(&index, "author:chongqing"), ["d"]);
    assert_eq!(found(&index, "x -author:majun"), ["b", "d", "e"]);
    assert_eq!(found(&index, "majun"), [""; 0]);
}

#[test]
fn restricted_document_stays_hidden_without_text_words() {
    let secret = restricted_to(&["u:1"], Document { author: "Ann".to_owned(), ..document("a", "x") });
    let (index, _writer) = index_of(vec![secret]);
    for keyword in ["author:ann", "-y", "-y author:ann", "x"] {
        assert_eq!(page(&index.snapshot(), keyword, NEWEST, 10).total, 0, "{keyword}");
    }
}

#[test]
fn empty_query_matches_nothing() {
    let (index, _writer) = index_of(vec![document("a", "x")]);
    for keyword in ["", "!?", "\"\"", "\u{200b}"] {
        let page = page(&index.snapshot(), keyword, NEWEST, 10);
        assert_eq!((page.hits.len(), page.total), (0, 0));
    }
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn any_substring_of_ideographs_matches(
        text in "[中华人民共和国成立周年上海自来水北京大学生前来报到々〇カなが]{1,40}",
        start in 0..40_usize,
        len in 1..7_usize,
        quoted in any::<bool>(),
    ) {
        let (index, _writer) = index_of(vec![document("a", &text)]);
        let characters: Vec<char> = text.chars().collect();
        let start = start % characters.len();
        let stretch: String = characters[start..(start + len).min(characters.len())].iter().collect();
        let keyword = if quoted { format!("\"{stretch}\"") } else { stretch };
        prop_assert_eq!(found(&index, &keyword), ["a"]);
    }

    #[test]
    fn any_text_and_any_keyword_are_accepted(title in any::<String>(), keyword in any::<String>()) {
        let (index, _writer) = index_of(vec![document("a", &title)]);
        index.snapshot().unknown_words(&[news().into()], &Arc::default(), &keyword).unwrap();
        for start in [NEWEST, BEST] {
            let page = page(&index.snapshot(), &keyword, start, 10);
            prop_assert_eq!(page.hits.len() as u64, page.total);
        }
    }
}

#[test]
fn item_is_found_by_its_whole_id_within_scope_and_audience() {
    let secret = restricted_to(&["u:1"], document("s", "harbour"));
    let elsewhere = Document { scope: Scope::new(7, "article"), ..document("x", "harbour") };
    let (index, mut writer) = index_of(vec![
        document("a b", "red cars"),
        document("a", "blue cars"),
        document("gone", "cars"),
        secret,
        elsewhere,
    ]);
    commit(&mut writer, vec![remove("gone")]);
    let find = |query: Query, principals: &[&str]| {
        let request = request(&news(), &query, NEWEST, 10);
        let request = Request { principals: owned(principals).into(), ..request };
        let [newest] = index.snapshot().newest(std::slice::from_ref(&request)).unwrap().try_into().unwrap();
        let ranked = index.snapshot().search(&Request { start: BEST, ..request.clone() }).unwrap();
        let page = index.snapshot().search(&request).unwrap();
        assert_eq!((page.total, ranked.total), (page.hits.len() as u64, page.total), "{query:?}");
        assert_eq!(newest.len(), page.hits.len());
        ids(page)
    };
    let all = Query::default();
    for (id, principals, found) in [
        ("a b", &[][..], true),
        ("a", &[], true),
        ("A", &[], false),
        ("b", &[], false),
        ("x", &[], false),
        ("gone", &[], false),
        ("", &["u:1"], false),
        ("s", &[], false),
        ("s", &["u:2"], false),
        ("s", &["u:1"], true),
        ("a", &["u:1"], true),
    ] {
        let expected = if found { vec![id] } else { vec![] };
        assert_eq!(find(all.for_item(id), principals), expected, "{id} for {principals:?}");
    }
    assert_eq!(find(Query::parse("cars ").for_item("a"), &[]), ["a"]);
    assert_eq!(find(Query::parse("red ").for_item("a"), &[]), [""; 0]);
    assert_eq!(find(Query::parse("\"blue cars\"").for_item("a"), &[]), ["a"]);
}

#[test]
fn asterisk_alone_finds_everything_that_is_visible() {
    let (index, _writer) = index_of(vec![
        Document { display_time: 2, ..document("a", "Harbour") },
        Document { display_time: 3, ..restricted_to(&["u:1"], document("b", "Garden")) },
        Document { display_time: 1, author: "Ann".to_owned(), ..document("c", "") },
    ]);
    for start in [NEWEST, BEST] {
        let found = |keyword: &str, principals: &[&str]| {
            let query = Arc::new(Query::parse(keyword));
            let all = Request::total_of(&Arc::new(news()), &owned(principals).into(), query);
            let page = index.snapshot().search(&Request { limit: 10, start: start.clone(), ..all }).unwrap();
            (page.hits.into_iter().map(|hit| hit.id).collect::<Vec<String>>(), page.total)
        };
        assert_eq!(found("*", &[]), (owned(&["a", "c"]), 2));
        assert_eq!(found(" ＊ ", &["u:1"]), (owned(&["b", "a", "c"]), 3));
        assert_eq!(found("* harbour", &[]), (owned(&["a"]), 1));
        assert_eq!(found("**", &["u:1"]), (vec![], 0));
    }
}
