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
    let index = people(&["张三", "張三豐", "李四 Lisa", "单雄信", "重庆销售群", "吕布", "王乾", "黎明"]);
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
