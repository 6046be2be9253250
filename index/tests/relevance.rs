//! Relevance order in scopes of thousands: every match is listed, once, and the best are the best.

#![allow(clippy::unwrap_used, reason = "tests say what they expect by unwrapping it")]

use std::collections::HashSet;

use trawl_index::{
    Audience, Change, Checkpoint, Document, Index, Options, Page, Query, Request, Scope, Snapshot, Start,
    Writer,
};

fn people() -> Scope {
    Scope::new(1, "people")
}

fn put(scope: &Scope, id: String, display_time: i64, brief: &str) -> Change {
    Change::Put(Document {
        scope: scope.clone(),
        id,
        display_time,
        title: String::new(),
        title_is_name: false,
        other_names: Vec::new(),
        text: None,
        sub_title: String::new(),
        brief: brief.to_owned(),
        author: String::new(),
        audience: Audience::Tenant,
        item: "{}".to_owned(),
    })
}

fn commit(writer: &mut Writer, changes: Vec<Change>) {
    writer.apply(changes).unwrap();
    writer.commit(&Checkpoint { store: "s".to_owned(), position: 1, complete: true }).unwrap();
}

fn page(snapshot: &Snapshot, keyword: &str, skip: usize, limit: usize) -> Page {
    let (scope, query) = (people(), Query::parse(keyword));
    let start = Start::Relevance { skip, now: 0 };
    let request = Request {
        scope: &scope,
        query: &query,
        principals: &[],
        from: None,
        to: None,
        author: None,
        start,
        limit,
    };
    snapshot.search(&request).unwrap()
}

fn ids(page: Page) -> Vec<String> {
    page.hits.into_iter().map(|hit| hit.id).collect()
}

/// The ids of all pages of this length, which are as many as the total says, each once.
#[track_caller]
fn walk(snapshot: &Snapshot, keyword: &str, length: usize) -> Vec<String> {
    let mut seen = Vec::new();
    loop {
        let page = page(snapshot, keyword, seen.len(), length);
        let (total, more) = (page.total, page.more);
        seen.extend(ids(page));
        if !more {
            assert_eq!((seen.len() as u64, seen.iter().collect::<HashSet<_>>().len()), (total, seen.len()));
            return seen;
        }
    }
}

/// What the engine keeps to skip documents by is made with the lengths of all scopes.
#[test]
fn long_texts_of_another_module_take_nothing_from_the_best() {
    let long = "filler words of a long article ".repeat(200);
    let long: Vec<Change> = (0..2_000)
        .map(|number| put(&Scope::new(1, "article"), format!("a{number}"), number, &long))
        .collect();
    let short: Vec<Change> = (0..5_000)
        .map(|number| {
            let text = match number {
                0..400 => "budget one two three four five".to_owned(),
                _ if number % 64 == 0 => "budget".to_owned(),
                400..3_000 => format!("budget budget {}", "x ".repeat(60)),
                _ => "other short text here".to_owned(),
            };
            put(&people(), format!("{number:05}"), -number, &text)
        })
        .collect();
    let mut alone = Vec::new();
    for changes in [short.clone(), [long, short].concat()] {
        let (index, mut writer) = Index::in_memory(&Options::default()).unwrap();
        commit(&mut writer, changes);
        let whole = ids(page(&index.snapshot(), "budget ", 0, 10_000));
        assert_eq!(walk(&index.snapshot(), "budget ", 100), whole);
        assert_eq!(ids(page(&index.snapshot(), "budget ", 0, 10)), whole[..10]);
        if alone.is_empty() {
            alone = whole;
        } else {
            assert_eq!(whole[..64], alone[..64]);
        }
    }
}

#[test]
fn equal_documents_stand_in_the_order_of_their_times() {
    let words = ["harbour", "quarterly", "budget", "flow", "heat", "copper", "wing"];
    let text = |number: i64| -> String {
        let kept = |place: &usize| (number % 40) >> (place % 5) & 1 == 0;
        (0..words.len()).filter(kept).map(|place| words[place].to_owned() + " ").collect()
    };
    let changes = (0..4_000).map(|number| put(&people(), format!("{number:05}"), -number, &text(number)));
    let (index, mut writer) = Index::in_memory(&Options::default()).unwrap();
    commit(&mut writer, changes.collect());
    let keyword = words.join(" ");
    let whole = ids(page(&index.snapshot(), &keyword, 0, 10_000));
    assert_eq!(walk(&index.snapshot(), &keyword, 50), whole);
    for group in 0..40 {
        let of_group = whole.iter().filter(|id| id.parse::<i64>().unwrap() % 40 == group);
        assert!(of_group.is_sorted(), "texts of group {group}");
    }
}

#[test]
fn a_word_that_is_typed_plain_and_quoted_is_required() {
    let text = |number: i64| if number % 100 == 0 { "report rare" } else { "report" };
    let changes = (0..5_000).map(|number| put(&people(), format!("{number:05}"), -number, text(number)));
    let (index, mut writer) = Index::in_memory(&Options::default()).unwrap();
    commit(&mut writer, changes.collect());
    assert_eq!(walk(&index.snapshot(), "report rare \"report\"", 1_000).len(), 5_000);
}

/// Which word finds documents changes with the commits: a total of one is none of the other.
#[test]
fn totals_follow_the_words_that_find() {
    let text = |number: i64| match number {
        0..10 => "gamma",
        _ if number % 500 == 0 => "alpha beta",
        _ => "beta",
    };
    let keyword = "alpha beta -gamma ";
    let (index, mut writer) = Index::in_memory(&Options::default()).unwrap();
    let first = (0..5_000).map(|number| put(&people(), format!("{number:05}"), -number, text(number)));
    commit(&mut writer, first.collect());
    assert_eq!(walk(&index.snapshot(), keyword, 1_000).len(), 9);
    let second = (0..30_000).map(|number| put(&people(), format!("n{number:05}"), -number, "alpha"));
    let removed = (0..70).map(|number| Change::Remove { scope: people(), id: format!("{:05}", 51 + number) });
    commit(&mut writer, second.chain(removed).collect());
    assert_eq!(walk(&index.snapshot(), keyword, 1_000).len(), 4_990 - 70);
}
