//! Names of people and groups: found as they are typed by their sound.

#![allow(clippy::unwrap_used, reason = "tests say what they expect by unwrapping it")]

use trawl_index::{Audience, Change, Checkpoint, Document, Index, Options, Query, Request, Scope, Start};

fn person(id: &str, name: &str) -> Document {
    Document {
        scope: Scope::new(7, "people"),
        id: id.to_owned(),
        display_time: 0,
        title: name.to_owned(),
        title_is_name: true,
        other_names: Vec::new(),
        text: None,
        sub_title: String::new(),
        brief: String::new(),
        author: String::new(),
        audience: Audience::Tenant,
        item: String::new(),
    }
}

fn index_of(documents: Vec<Document>) -> Index {
    let (index, mut writer) = Index::in_memory(&Options::default()).unwrap();
    writer.apply(documents.into_iter().map(Change::Put).collect()).unwrap();
    writer.commit(&Checkpoint { store: "store".to_owned(), position: 1, complete: true }).unwrap();
    index
}

/// People by these names, the first one's id `a`.
fn people(names: &[&str]) -> Index {
    index_of(('a'..='z').zip(names).map(|(id, name)| person(&id.to_string(), name)).collect())
}

/// The ids found, in order.
fn found(index: &Index, keyword: &str) -> Vec<String> {
    let request = Request {
        scope: &Scope::new(7, "people"),
        query: &Query::parse(keyword),
        principals: &[],
        from: None,
        to: None,
        author: None,
        start: Start::Time { after: None, whole_ties: None },
        limit: 100,
    };
    index.snapshot().search(&request).unwrap().hits.into_iter().map(|hit| hit.id).collect()
}

#[test]
fn names_are_found_by_pinyin_in_full_and_by_initials() {
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
    // Phrases are of what stands together.
    assert_eq!(found(&index, "\"zhang san\""), ["a", "b"]);
    assert_eq!(found(&index, "\"张三\""), ["a", "b"]);
    assert_eq!(found(&index, "\"三丰\""), ["b"]);
    assert_eq!(found(&index, "\"zhang feng\""), [""; 0]);
}

#[test]
fn only_titles_that_are_names_are_found_by_pinyin() {
    let article = Document { title_is_name: false, ..person("a", "张三") };
    let described = Document { brief: "张三".to_owned(), ..person("b", "Ann") };
    let index = index_of(vec![article, described]);
    for keyword in ["zhangsan", "zhang", "zs", "san", "张san"] {
        assert_eq!(found(&index, keyword), [""; 0], "{keyword}");
    }
    assert_eq!(found(&index, "张三"), ["a", "b"]);
}

/// The ids found in relevance order.
fn ranked(index: &Index, keyword: &str) -> Vec<String> {
    let request = Request {
        scope: &Scope::new(7, "people"),
        query: &Query::parse(keyword),
        principals: &[],
        from: None,
        to: None,
        author: None,
        start: Start::Relevance { skip: 0, now: 0 },
        limit: 100,
    };
    let page = index.snapshot().search(&request).unwrap();
    assert_eq!(page.total, page.hits.len() as u64, "{keyword}");
    page.hits.into_iter().map(|hit| hit.id).collect()
}

#[test]
fn a_name_that_is_all_that_was_typed_comes_before_longer_ones() {
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
        // `he` only joins words elsewhere.
        ("he wei", "何伟"),
    ] {
        let found = ranked(&index, keyword);
        let first = found.first().map(|id| names[usize::from(id.as_bytes()[0] - b'a')]);
        assert_eq!(first, Some(expected), "{keyword}: {found:?}");
    }
}

#[test]
fn other_names_find_and_are_as_good_as_the_title() {
    let named = |id: &str, name: &str, other: &[&str]| Document {
        other_names: other.iter().map(|name| (*name).to_owned()).collect(),
        text: None,
        ..person(id, name)
    };
    let index = index_of(vec![
        named("a", "Mei", &["mei.chen", "00417", "陈梅"]),
        named("b", "Mei Chen Ltd", &[]),
        named("c", "Chen", &["mei", "chen"]),
    ]);
    for (keyword, expected) in
        [("mei.chen", "a"), ("meichen", "a"), ("00417", "a"), ("chenmei", "a"), ("mei chen ltd", "b")]
    {
        assert_eq!(ranked(&index, keyword).first().map(String::as_str), Some(expected), "{keyword}");
    }
    // No phrase reaches from one name into the next.
    assert_eq!(found(&index, "\"mei chen\""), ["a", "b"]);
    assert_eq!(found(&index, "0041"), ["a"]);
}

/// Who has names of many characters that are read in many ways is found by the words of all, and by the sound of the first.
#[test]
fn names_beyond_what_is_indexed_by_sound_are_found_as_they_are_written() {
    let many = |length: usize| "重单解曾仇朴".chars().cycle().take(length).collect::<String>();
    let hostile = Document { other_names: vec![many(16), "張三".to_owned()], ..person("a", "李四") };
    let index = index_of(vec![hostile, person("b", &many(64)), person("c", "张三")]);
    for (keyword, expected) in [
        ("lisi", &["a"][..]),
        ("chongdanjie", &["a"]),
        ("重单解", &["a", "b"]),
        ("张三", &["a", "c"]),
        ("zhangsan", &["c"]),
        // Of long names each character.
        ("chong dan xie", &["a", "b"]),
        ("chongdan", &["a"]),
    ] {
        assert_eq!(found(&index, keyword), expected, "{keyword}");
    }
}

/// What is kept to tell whole names apart is no word of anybody's.
#[test]
fn no_query_reaches_what_names_are_told_apart_by() {
    let index = people(&["张三", "O'Brien"]);
    for keyword in ["=zhangsan zhang", "\"=zhangsan\"", "=张三", "= zhangsan"] {
        assert_eq!(found(&index, keyword), ["a"], "{keyword}");
    }
    let scope = Scope::new(7, "people");
    let corrected = |keyword: &str| index.snapshot().correct(&scope, &[], keyword).unwrap();
    assert_eq!(corrected("xzhang").as_deref(), Some("zhang"));
    assert_eq!(corrected("zhangsin").as_deref(), Some("zhangsan"));
    assert_eq!(corrected("o'brein").as_deref(), Some("o'brien"));
}
