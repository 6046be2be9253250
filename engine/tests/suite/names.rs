use std::sync::Arc;

use trawl_engine::Document;

use super::support::{document, found, index_of, news, ranked};
use crate::engine_under_test::Index;

fn person(id: &str, name: &str) -> Document {
    Document { title_is_name: true, ..document(id, name) }
}

fn people(names: &[&str]) -> Index {
    index_of(('a'..='z').zip(names).map(|(id, name)| person(&id.to_string(), name)).collect()).0
}

#[test]
fn names_match_by_full_pinyin_and_by_initials() {
    let index = people(&[
        "张三",
        "張三豐",
        "李四 Lisa",
        "单雄信",
        "重庆销售群",
        "吕布",
        "王乾",
        "黎明",
        "John Smith",
        "Sinéad O’Brien",
    ]);
    for (keyword, expected) in [
        ("zhangsan", &["a", "b"][..]),
        ("zhang san", &["a", "b"]),
        ("san zhang ", &["a", "b"]),
        ("zhangs", &["a", "b"]),
        ("zhangsanf", &["b"]),
        ("zs", &["a", "b"]),
        ("zsf ", &["b"]),
        ("sf", &["b"]),
        ("san", &["a", "b"]),
        ("san ", &["a", "b"]),
        ("张san", &["a", "b"]),
        ("zhang三", &["a", "b"]),
        ("ZhangSan", &["a", "b"]),
        ("ｚｈａｎｇｓａｎ", &["a", "b"]),
        ("lisi lisa", &["c"]),
        ("shanxiongxin", &["d"]),
        ("chongqing", &["e"]),
        ("zhongqing xiaoshou", &["e"]),
        ("cqxsq", &["e"]),
        ("lvbu", &["f"]),
        ("lübu", &["f"]),
        ("lubu ", &["f"]),
        ("wangqian", &["g"]),
        ("liming ", &["h"]),
        ("sanzhang", &[]),
        ("hangsan", &[]),
        ("zhang -san", &[]),
        ("johnsmith", &["i"]),
        ("obrien", &["j"]),
        ("sineadob", &["j"]),
    ] {
        assert_eq!(found(&index, keyword), expected, "{keyword}");
    }
    // Phrases match adjacent characters only.
    assert_eq!(found(&index, "\"zhang san\""), ["a", "b"]);
    assert_eq!(found(&index, "\"张三\""), ["a", "b"]);
    assert_eq!(found(&index, "\"三丰\""), ["b"]);
    assert_eq!(found(&index, "\"zhang feng\""), [""; 0]);
}

#[test]
fn pinyin_matches_titles_that_are_names_only() {
    let article = Document { title_is_name: false, ..person("a", "张三") };
    let described = Document { brief: "张三".to_owned(), ..person("b", "Ann") };
    let (index, _writer) = index_of(vec![article, described]);
    for keyword in ["zhangsan", "zhang", "zs", "san", "张san"] {
        assert_eq!(found(&index, keyword), [""; 0], "{keyword}");
    }
    assert_eq!(found(&index, "张三"), ["a", "b"]);
}

#[test]
fn whole_name_ranks_before_longer_names() {
    let names = [
        "张伟明",
        "大张伟",
        "张伟",
        "Jean-Luc Picard-Moreau",
        "Jean-Luc Picard",
        "Sinéad O'Brien Murphy",
        "Sinéad O’Brien",
        "歐陽娜娜",
        "欧阳娜",
        "单雄信",
        "Chen Mei 陈梅",
        "陈梅梅",
        "何伟",
    ];
    let index = people(&names);
    for (keyword, expected) in [
        ("张伟", "张伟"),
        ("張偉", "张伟"),
        ("zhangwei", "张伟"),
        ("zhang wei", "张伟"),
        ("Wei Zhang ", "张伟"),
        ("zw", "张伟"),
        ("zhangweiming", "张伟明"),
        ("zhang weiming", "张伟明"),
        ("dazhangwei", "大张伟"),
        ("jean-luc picard", "Jean-Luc Picard"),
        ("jean luc picard", "Jean-Luc Picard"),
        ("jeanluc picard", "Jean-Luc Picard"),
        ("jeanluc picard moreau", "Jean-Luc Picard-Moreau"),
        ("sinead o'brien", "Sinéad O’Brien"),
        ("sinead obrien", "Sinéad O’Brien"),
        ("ouyang na", "欧阳娜"),
        ("ouyangnana", "歐陽娜娜"),
        ("欧阳娜娜", "歐陽娜娜"),
        ("shanxiongxin", "单雄信"),
        ("dan xiongxin", "单雄信"),
        ("chen mei", "Chen Mei 陈梅"),
        ("陈梅", "Chen Mei 陈梅"),
        ("chenmeimei", "陈梅梅"),
        // `he` is a stop word elsewhere.
        ("he wei", "何伟"),
    ] {
        let found = ranked(&index, keyword);
        let first = found.first().map(|id| names[usize::from(id.as_bytes()[0] - b'a')]);
        assert_eq!(first, Some(expected), "{keyword}: {found:?}");
    }
}

#[test]
fn other_names_match_and_rank_like_the_title() {
    let named = |id: &str, name: &str, other: &[&str]| Document {
        other_names: other.iter().map(|name| (*name).to_owned()).collect(),
        ..person(id, name)
    };
    let (index, _writer) = index_of(vec![
        named("a", "Mei", &["mei.chen", "00417", "陈梅"]),
        named("b", "Mei Chen Ltd", &[]),
        named("c", "Chen", &["mei", "chen"]),
    ]);
    for (keyword, expected) in
        [("mei.chen", "a"), ("meichen", "a"), ("00417", "a"), ("chenmei", "a"), ("mei chen ltd", "b")]
    {
        assert_eq!(ranked(&index, keyword).first().map(String::as_str), Some(expected), "{keyword}");
    }
    assert_eq!(found(&index, "\"mei chen\""), ["a", "b"]);
    assert_eq!(found(&index, "0041"), ["a"]);
}

#[test]
fn names_over_the_variant_budget_match_as_written() {
    let many = |length: usize| "重单解曾仇朴".chars().cycle().take(length).collect::<String>();
    let hostile = Document { other_names: vec![many(16), "張三".to_owned()], ..person("a", "李四") };
    let (index, _writer) = index_of(vec![hostile, person("b", &many(64)), person("c", "张三")]);
    for (keyword, expected) in [
        ("lisi", &["a"][..]),
        ("chongdanjie", &["a"]),
        ("重单解", &["a", "b"]),
        ("张三", &["a", "c"]),
        ("zhangsan", &["c"]),
        ("chong dan xie", &["a", "b"]),
        // In parts, as `chong dan`.
        ("chongdan", &["a", "b"]),
    ] {
        assert_eq!(found(&index, keyword), expected, "{keyword}");
    }
}

#[test]
fn whole_name_terms_are_unreachable_by_queries() {
    let index = people(&["张三", "O'Brien"]);
    for keyword in ["=zhangsan zhang", "\"=zhangsan\"", "=张三", "= zhangsan"] {
        assert_eq!(found(&index, keyword), ["a"], "{keyword}");
    }
    let corrected = |keyword: &str| {
        let corrected = index.snapshot().unknown_words(&[news().into()], &Arc::default(), keyword);
        corrected.unwrap().correction.map(|correction| correction.keyword)
    };
    assert_eq!(corrected("xzhang").as_deref(), Some("zhang"));
    assert_eq!(corrected("zhangsin").as_deref(), Some("zhangsan"));
    assert_eq!(corrected("o'brein").as_deref(), Some("o'brien"));
}
