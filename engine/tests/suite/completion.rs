use std::sync::Arc;

use trawl_engine::{CompletedPart, Document, Request, TypedPrefix};

use super::support::{document, index_of, news, owned, restricted_to};
use crate::engine_under_test::Index;

const LIMIT: usize = 10;

fn by(author: &str, document: Document) -> Document {
    Document { author: author.to_owned(), ..document }
}

fn at(display_time: i64, document: Document) -> Document {
    Document { display_time, ..document }
}

/// Ids of the newest documents that may complete a prefix.
fn completed(index: &Index, typed: &str, part: CompletedPart, principals: &[&str]) -> Vec<String> {
    let (scope, principals): (_, Arc<[String]>) = (Arc::new(news()), owned(principals).into());
    let queries = TypedPrefix::new(typed).unwrap().queries();
    let requests: Vec<Request> = queries
        .iter()
        .map(|(_, query)| Request {
            limit: LIMIT,
            ..Request::total_of(&scope, &principals, Arc::new(query.clone()))
        })
        .collect();
    let found = index.snapshot().newest(&requests).unwrap();
    assert_eq!(found.len(), queries.len());
    let of_part = queries.iter().zip(found).find(|((asked, _), _)| *asked == part);
    of_part.map_or(Vec::new(), |(_, hits)| hits.into_iter().map(|hit| hit.id).collect())
}

#[test]
fn titles_are_completed_newest_first() {
    let in_brief = Document { brief: "annual budget".to_owned(), ..document("brief", "Minutes") };
    let (index, _writer) = index_of(vec![
        at(3, document("c", "Annual Budget 2026")),
        at(1, document("a", "The annual budgets")),
        at(2, document("b", "Annuals of the garden")),
        at(4, document("d", "年度预算报告")),
        at(5, document("e", "國際年度会议")),
        at(6, in_brief),
    ]);
    for (typed, expected) in [
        ("a", &["c", "b", "a"][..]),
        ("annual", &["c", "b", "a"]),
        ("ANNUAL bud", &["c", "a"]),
        ("annual budgets", &["c", "a"]),
        ("ａｎｎ", &["c", "b", "a"]),
        ("nnual", &[]),
        ("2", &["c"]),
        ("年", &["e", "d"]),
        ("年度预", &["d"]),
        ("預算", &["d"]),
        ("国际", &["e"]),
        ("minu", &["brief"]),
    ] {
        assert_eq!(completed(&index, typed, CompletedPart::Title, &[]), expected, "{typed}");
    }
}

#[test]
fn names_are_completed_in_every_form() {
    let name = |id, name| Document { title_is_name: true, ..document(id, name) };
    let with_login = Document { other_names: owned(&["mei.chen"]), ..name("d", "陈梅") };
    let on_the_wall = Document { brief: "Zhou Hailong".to_owned(), ..name("x", "Eve") };
    let (index, _writer) = index_of(vec![
        name("a", "周海龙"),
        name("b", "Wang Fang"),
        name("c", "王芳"),
        with_login,
        name("e", "James Smith"),
        document("f", "周海"),
        on_the_wall,
    ]);
    for (typed, expected) in [
        ("zhouh", &["a"][..]),
        ("zhou hai", &["a"]),
        ("zh", &["a"]),
        ("zhl", &["a"]),
        ("周", &["a"]),
        ("周海龙", &["a"]),
        ("wang f", &["b", "c"]),
        ("WangF", &["b", "c"]),
        ("王", &["c"]),
        ("mei.ch", &["d"]),
        ("chenm", &["d"]),
        ("jame", &["e"]),
        ("james", &["e"]),
        ("james s", &["e"]),
        ("jamess", &["e"]),
        ("ouyang", &[]),
    ] {
        assert_eq!(completed(&index, typed, CompletedPart::Name, &[]), expected, "{typed}");
    }
}

#[test]
fn authors_are_completed() {
    let (index, _writer) = index_of(vec![
        by("Ann Lee", document("a", "one")),
        by("李安", document("b", "two")),
        by("Lee Ann", document("c", "Ann Lee")),
    ]);
    for (typed, expected) in
        [("ann", &["a", "c"][..]), ("ann l", &["a", "c"]), ("李", &["b"]), ("安", &["b"]), ("one", &[])]
    {
        assert_eq!(completed(&index, typed, CompletedPart::Author, &[]), expected, "{typed}");
    }
}

#[test]
fn only_visible_documents_complete_a_prefix() {
    let named = Document { title_is_name: true, ..document("name", "周海龙") };
    let elsewhere = Document {
        scope: trawl_engine::Scope::new(8, "news"),
        ..by("Harbour Master", document("elsewhere", "Harbour"))
    };
    let (index, _writer) = index_of(vec![
        document("open", "Harbour plan"),
        restricted_to(&["u:1", "g:2"], by("Harbour Master", document("restricted", "Harbour secrets"))),
        restricted_to(&["u:1"], named),
        restricted_to(&[], document("nobody", "Harbour for nobody")),
        elsewhere,
    ]);
    for (principals, title, author, name) in [
        (&[][..], &["open"][..], &[][..], &[][..]),
        (&["u:2"], &["open"], &[], &[]),
        (&["g:2"], &["open", "restricted"], &["restricted"], &[]),
        (&["u:1"], &["open", "restricted"], &["restricted"], &["name"]),
    ] {
        assert_eq!(completed(&index, "harb", CompletedPart::Title, principals), title, "{principals:?}");
        assert_eq!(completed(&index, "harb", CompletedPart::Author, principals), author, "{principals:?}");
        assert_eq!(completed(&index, "zhouh", CompletedPart::Name, principals), name, "{principals:?}");
    }
}

#[test]
fn number_of_completions_is_bounded() {
    let (index, _writer) = index_of((0..30).map(|id| document(&format!("{id:02}"), "Harbour")).collect());
    let expected: Vec<String> = (0..LIMIT).map(|id| format!("{id:02}")).collect();
    assert_eq!(completed(&index, "h", CompletedPart::Title, &[]), expected);
}
