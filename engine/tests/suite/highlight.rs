use std::collections::HashSet;

use proptest::prelude::*;
use trawl_engine::{Document, Extent, Highlighter, Query};

use crate::engine_under_test::{Index, cases};
use crate::support::{document, found, index_of};

fn index_texts(texts: &[String], title_is_name: bool) -> Index {
    let document =
        |(number, text): (usize, &String)| Document { title_is_name, ..document(&number.to_string(), text) };
    index_of(texts.iter().enumerate().map(document).collect()).0
}

fn found_numbers(index: &Index, keyword: &str) -> HashSet<usize> {
    found(index, keyword).iter().map(|id| id.parse().unwrap()).collect()
}

fn text() -> impl Strategy<Value = String> {
    let parts = vec![
        "run",
        "Running",
        "runner",
        "happy",
        "happiness",
        " ",
        " ",
        "-",
        "，",
        "中华人民共和国",
        "中國",
        "国际",
        "國際",
        "人",
        "民",
        "经济",
        "經濟",
        "Café",
        "cafe\u{301}s",
        "ﬁne",
        "👍",
        "가",
        "ガ",
        "カ\u{3099}",
        "İ",
        "１２",
        "12",
        "a",
        "b",
        "v2",
    ];
    prop::collection::vec(prop::sample::select(parts), 1..12).prop_map(|parts| parts.concat())
}

fn compound() -> impl Strategy<Value = String> {
    let parts = vec![
        "ISO",
        "27001",
        "wi",
        "Fi",
        "getUserName",
        "user",
        "1,200",
        ".50",
        "138",
        "0013",
        "8000",
        "+86",
        "2026",
        "03",
        "15",
        "年3月",
        "-",
        "-",
        ".",
        "@",
        "/",
        " ",
        " ",
        "v2",
        "XK7702B",
        "，",
    ];
    prop::collection::vec(prop::sample::select(parts), 1..10).prop_map(|parts| parts.concat())
}

/// Yields words of one piece each.
///
/// A piece is marked also where another one is missing.
fn typed_compound() -> impl Strategy<Value = String> {
    let words = vec![
        "ISO27001",
        "iso-27001 ",
        "wifi",
        "username",
        "userna",
        "1200",
        "1,200.50",
        "138-0013-8000",
        "13800138000 ",
        "2026-03-15",
        "20260315",
        "7702",
        "XK77",
        "\"iso 27001\"",
        "2.13",
        "v2",
        "wi.fi@iso.user ",
    ];
    prop::sample::select(words).prop_map(str::to_owned)
}

/// A text matches if and only if it is marked.
fn keyword() -> impl Strategy<Value = String> {
    let words = vec![
        "run ",
        "run",
        "runners",
        "hap",
        "happi",
        "happy ",
        "国际",
        "國際",
        "人民",
        "民共",
        "\"人民共和\"",
        "\"run 国际\"",
        "\"a b\"",
        "\"b 国\"",
        "经",
        "café",
        "fine ",
        "가",
        "ガ",
        "カ",
        "i",
        "12",
        "1",
        "v2",
        "\"v2 12\"",
        "华人",
    ];
    prop::sample::select(words).prop_map(str::to_owned)
}

fn name() -> impl Strategy<Value = String> {
    let parts = vec![
        "张",
        "張",
        "三",
        "丰",
        "李",
        "四",
        "单",
        "重庆",
        "群",
        "吕",
        "乾",
        "Ann",
        " ",
        "·",
        "（",
        "々",
        "カ",
        // Apart: of the words that go on a prefix, only the 128 most frequent are found.
        "zhang ",
        "葛\u{e0100}",
    ];
    prop::collection::vec(prop::sample::select(parts), 1..8).prop_map(|parts| parts.concat())
}

fn typed() -> impl Strategy<Value = String> {
    let words = vec![
        "zhang",
        "zhang ",
        "zhangs",
        "zhangsan",
        "zs",
        "zsf ",
        "s ",
        "san",
        "sanli",
        "lisi ",
        "ls",
        "shan ",
        "dan",
        "chongqingqun",
        "zhongq",
        "lv",
        "lu",
        "lü ",
        "qian ",
        "gan ",
        "ge",
        "\"zhang san\"",
        "\"san feng li\"",
        "张三",
        "\"三丰\"",
        "an",
        "k",
    ];
    prop::sample::select(words).prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn matching_texts_are_marked_and_no_others(
        texts in prop::collection::vec(text(), 1..40),
        keywords in prop::collection::vec(keyword(), 1..10),
    ) {
        let index = index_texts(&texts, false);
        for keyword in keywords {
            let highlighter = Highlighter::new(&Query::parse(&keyword));
            let found = found_numbers(&index, &keyword);
            for (number, text) in texts.iter().enumerate() {
                let html = highlighter.mark(text, Extent::Whole).unwrap();
                prop_assert_eq!(html.contains("<em>"), found.contains(&number), "{} in {}", keyword, html);
            }
        }
    }

    #[test]
    fn matching_compounds_are_marked_and_no_others(
        texts in prop::collection::vec(compound(), 1..40),
        keywords in prop::collection::vec(typed_compound(), 1..10),
    ) {
        let index = index_texts(&texts, false);
        for keyword in keywords {
            let highlighter = Highlighter::new(&Query::parse(&keyword));
            let found = found_numbers(&index, &keyword);
            for (number, text) in texts.iter().enumerate() {
                let html = highlighter.mark(text, Extent::Whole).unwrap();
                prop_assert_eq!(html.contains("<em>"), found.contains(&number), "{} in {}", keyword, html);
            }
        }
    }

    #[test]
    fn matching_names_are_marked_and_no_others(
        names in prop::collection::vec(name(), 1..40),
        keywords in prop::collection::vec(typed(), 1..10),
    ) {
        let index = index_texts(&names, true);
        for keyword in keywords {
            let highlighter = Highlighter::new(&Query::parse(&keyword));
            let found = found_numbers(&index, &keyword);
            for (number, name) in names.iter().enumerate() {
                let html = highlighter.mark_name(name).unwrap();
                prop_assert_eq!(html.contains("<em>"), found.contains(&number), "{} in {}", keyword, html);
            }
        }
    }
}
