use std::sync::mpsc;

use futures::future::join_all;
use tokio::runtime::Builder;
use trawl_index::{Audience, Change, Checkpoint, Document, Index, Options, Query, Scope, Start, Writer};

use super::*;

const SETTINGS: config::Cache = config::Cache { fresh_ms: 0, stale_ms: 0, bytes: 4 << 20 };

fn index() -> (Index, Writer) {
    Index::in_memory(&Options { writer_memory_bytes: 15 << 20, ..Options::default() }).unwrap()
}

/// Puts a document of this id, whose item is so long, and lets it be found.
fn put(writer: &mut Writer, position: i64, id: &str, length: usize) {
    let document = Document {
        scope: Scope::new(1, "article"),
        id: id.to_owned(),
        title: "harbour quay".to_owned(),
        title_is_name: false,
        other_names: Vec::new(),
        text: None,
        sub_title: String::new(),
        brief: String::new(),
        author: String::new(),
        audience: Audience::Tenant,
        display_time: 1,
        item: "x".repeat(length),
    };
    writer.apply(vec![Change::Put(document)]).unwrap();
    writer.commit(&Checkpoint { store: "test".to_owned(), position, complete: true }).unwrap();
}

fn question(keyword: &str) -> Arc<Question> {
    Arc::new(Question {
        scope: Arc::new(Scope::new(1, "article")),
        query: Arc::new(Query::parse(keyword)),
        principals: Arc::default(),
        from: None,
        to: None,
        author: None,
        start: Start::Relevance { skip: 0, now: 0 },
        limit: 10,
    })
}

async fn ask(pages: &BuiltInPages, index: &Index, question: &Arc<Question>) -> Arc<index::Page> {
    let failed = |error: &index::Error| panic!("{error}");
    pages.get(Arc::clone(question), index.snapshot(), failed).await.unwrap()
}

fn ids(page: &index::Page) -> Vec<&str> {
    page.hits.iter().map(|hit| hit.id.as_str()).collect()
}

#[tokio::test]
async fn a_page_is_used_again_until_the_index_changes() {
    let (index, mut writer) = index();
    put(&mut writer, 1, "a", 10);
    let (pages, question) = (BuiltInPages::new(SETTINGS), question("harbour quay"));
    let first = ask(&pages, &index, &question).await;
    assert!(Arc::ptr_eq(&first, &ask(&pages, &index, &question).await));
    let before = index.snapshot();
    put(&mut writer, 2, "b", 10);
    let second = ask(&pages, &index, &question).await;
    assert_eq!((ids(&first), ids(&second)), (vec!["a"], vec!["a", "b"]));
    // A search that began before the change sees what was there, and does not put it in the place of what is there now.
    let failed = |error: &index::Error| panic!("{error}");
    let earlier = pages.get(Arc::clone(&question), before, failed).await.unwrap();
    assert_eq!(ids(&earlier), ["a"]);
    assert!(Arc::ptr_eq(&second, &ask(&pages, &index, &question).await));
}

#[tokio::test]
async fn whatever_differs_makes_another_question() {
    let (index, mut writer) = index();
    put(&mut writer, 1, "a", 10);
    let pages = BuiltInPages::new(SETTINGS);
    let one = Question::clone(&question("harbour quay"));
    let principals = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let after = |id: Option<&str>| {
        let after = index::TimePosition { display_time: 9, id: id.map(str::to_owned) };
        Start::Time { after: Some(after), whole_ties: None }
    };
    let others = [
        Question { scope: Arc::new(Scope::new(2, "article")), ..one.clone() },
        Question { scope: Arc::new(Scope::new(1, "news")), ..one.clone() },
        Question { query: Arc::new(Query::parse("quay harbour")), ..one.clone() },
        Question { principals: principals(&["user:mei"]), ..one.clone() },
        Question { principals: principals(&["user:omar"]), ..one.clone() },
        Question { from: Some(1), ..one.clone() },
        Question { to: Some(1), ..one.clone() },
        Question { author: Some("ann".to_owned()), ..one.clone() },
        Question { limit: 11, ..one.clone() },
        Question { start: Start::Relevance { skip: 1, now: 0 }, ..one.clone() },
        Question { start: Start::Time { after: None, whole_ties: None }, ..one.clone() },
        Question { start: Start::Time { after: None, whole_ties: Some(1) }, ..one.clone() },
        Question { start: after(None), ..one.clone() },
        Question { start: after(Some("a")), ..one.clone() },
        one,
    ];
    let mut found = Vec::new();
    for question in others.map(Arc::new) {
        found.push(ask(&pages, &index, &question).await);
    }
    for (place, page) in found.iter().enumerate() {
        assert!(found[..place].iter().all(|other| !Arc::ptr_eq(page, other)), "{place}");
    }
}

#[tokio::test]
async fn those_who_ask_the_same_at_once_share_one_look() {
    let (index, mut writer) = index();
    put(&mut writer, 1, "a", 10);
    // Without room, what is the same was shared.
    let pages = BuiltInPages::new(config::Cache { bytes: 0, ..SETTINGS });
    let question = question("harbour quay");
    let found = join_all((0..20).map(|_| ask(&pages, &index, &question))).await;
    assert!(found.iter().all(|page| Arc::ptr_eq(page, &found[0])));
    assert!(pages.flights.is_empty());
    assert!(!Arc::ptr_eq(&found[0], &ask(&pages, &index, &question).await));
}

#[test]
fn what_nobody_waits_for_any_more_is_not_begun() {
    let runtime = Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
    let (index, mut writer) = index();
    put(&mut writer, 1, "a", 10);
    let pages = BuiltInPages::new(SETTINGS);
    runtime.block_on(async {
        let (let_go, held) = mpsc::channel::<()>();
        let busy = tokio::task::spawn_blocking(move || held.recv());
        let question = question("harbour quay");
        let mut first = Box::pin(ask(&pages, &index, &question));
        let mut second = Box::pin(ask(&pages, &index, &question));
        assert!(futures::poll!(&mut first).is_pending() && futures::poll!(&mut second).is_pending());
        drop(first);
        assert!(!pages.flights.is_empty(), "one still waits");
        drop(second);
        assert!(pages.flights.is_empty());
        let_go.send(()).unwrap();
        busy.await.unwrap().unwrap();
        tokio::task::spawn_blocking(|| ()).await.unwrap();
        assert!(!pages.kept.contains_key(&question));
        ask(&pages, &index, &question).await;
        assert!(pages.kept.contains_key(&question));
    });
}

#[tokio::test]
async fn the_pages_together_are_bounded_by_their_bytes_and_none_takes_it_all() {
    let (index, mut writer) = index();
    for number in 0..20 {
        put(&mut writer, number, &number.to_string(), 1_000);
    }
    let pages = BuiltInPages::new(config::Cache { bytes: 1 << 20, ..SETTINGS });
    for number in 0..200 {
        ask(&pages, &index, &question(&format!("harbour -x{number}"))).await;
    }
    pages.kept.run_pending_tasks();
    assert!((10..25).contains(&pages.kept.entry_count()), "{} pages", pages.kept.entry_count());
    assert!(pages.kept.weighted_size() <= 1 << 18);
    let large = Arc::new(Question { limit: 20, ..Question::clone(&question("harbour quay")) });
    ask(&pages, &index, &large).await;
    assert!(!pages.kept.contains_key(&large), "it would take a twelfth of the room");
}
