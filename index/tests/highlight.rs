//! What is found is marked, and what is marked is found: the highlighter reads texts as the index does.

#![allow(clippy::unwrap_used, reason = "tests say what they expect by unwrapping it")]

use std::collections::HashSet;

use proptest::prelude::*;
use trawl_index::{
    Audience, Change, Checkpoint, Document, Extent, Highlighter, Index, Options, Query, Request, Scope, Start,
};

fn index_of(texts: &[String], are_names: bool) -> Index {
    let (index, mut writer) = Index::in_memory(&Options::default()).unwrap();
    let document = |(number, text): (usize, &String)| Document {
        scope: Scope::new(1, "news"),
        id: number.to_string(),
        display_time: 0,
        title: text.clone(),
        title_is_name: are_names,
        other_names: Vec::new(),
        text: None,
        sub_title: String::new(),
        brief: String::new(),
        author: String::new(),
        audience: Audience::Tenant,
        item: String::new(),
    };
    writer.apply(texts.iter().enumerate().map(document).map(Change::Put).collect()).unwrap();
    writer.commit(&Checkpoint { store: "s".to_owned(), position: 1, complete: true }).unwrap();
    index
}

fn found(index: &Index, query: &Query) -> HashSet<usize> {
    let request = Request {
        scope: &Scope::new(1, "news"),
        query,
        principals: &[],
        from: None,
        to: None,
        author: None,
        start: Start::Time { after: None, whole_ties: None },
        limit: 1_000,
    };
    index.snapshot().search(&request).unwrap().hits.iter().map(|hit| hit.id.parse().unwrap()).collect()
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

/// One word or phrase, so that a text matches if and only if something of it is marked.
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
        "zhang",
        "葛\u{e0100}",
    ];
    prop::collection::vec(prop::sample::select(parts), 1..8).prop_map(|parts| parts.concat())
}

/// One word or phrase, as people type names.
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
    #![proptest_config(trawl_seeds::cases(64))]

    #[test]
    fn what_is_found_is_marked_and_nothing_else(
        texts in prop::collection::vec(text(), 1..40),
        keywords in prop::collection::vec(keyword(), 1..10),
    ) {
        let index = index_of(&texts, false);
        for keyword in keywords {
            let query = Query::parse(&keyword);
            let highlighter = Highlighter::new(&query);
            let found = found(&index, &query);
            for (number, text) in texts.iter().enumerate() {
                let html = highlighter.mark(text, Extent::Whole).unwrap();
                prop_assert_eq!(html.contains("<em>"), found.contains(&number), "{} in {}", keyword, html);
            }
        }
    }

    #[test]
    fn names_are_marked_where_they_are_found(
        names in prop::collection::vec(name(), 1..40),
        keywords in prop::collection::vec(typed(), 1..10),
    ) {
        let index = index_of(&names, true);
        for keyword in keywords {
            let query = Query::parse(&keyword);
            let highlighter = Highlighter::new(&query);
            let found = found(&index, &query);
            for (number, name) in names.iter().enumerate() {
                let html = highlighter.mark_name(name).unwrap();
                prop_assert_eq!(html.contains("<em>"), found.contains(&number), "{} in {}", keyword, html);
            }
        }
    }
}
