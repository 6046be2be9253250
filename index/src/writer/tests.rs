use std::fs;

use super::*;
use crate::Index;
use crate::document::{Audience, Document};
use crate::queue::Place;

const MOST_WORDS: usize = 100_000;
const TEXT_OF_MOST: usize = WORD.len() * MOST_WORDS;
const WORD: &str = "harbour ";

/// Bytes that may wait: so few that all but the first of these have to.
const ROOM: usize = 64 << 10;

fn with_little_room(directory: &std::path::Path) -> (Index, Writer) {
    let (index, mut writer) = Index::open(directory, &Options::default()).unwrap();
    writer.queue = Queue::new(ROOM);
    (index, writer)
}

/// A document whose text has so many words.
fn with_text(number: usize, words: usize) -> Document {
    Document {
        scope: Scope::new(1, "file"),
        id: format!("id{number}"),
        display_time: 1,
        title: String::new(),
        title_is_name: false,
        other_names: Vec::new(),
        sub_title: String::new(),
        brief: String::new(),
        text: Some(WORD.repeat(words).into()),
        author: String::new(),
        audience: Audience::Tenant,
        item: "{}".to_owned(),
    }
}

#[test]
fn all_of_what_had_to_wait_is_there() {
    let directory = tempfile::tempdir().unwrap();
    let (index, mut writer) = with_little_room(directory.path());
    // Some of them are larger than all that may wait together.
    let words = |number: usize| if number.is_multiple_of(50) { MOST_WORDS } else { 1_000 };
    for first in (0..200).step_by(100) {
        let put = |number| Change::Put(with_text(number, words(number)));
        writer.apply((first..first + 100).map(put).collect()).unwrap();
    }
    writer.commit(&Checkpoint { store: "s".to_owned(), position: 1, complete: true }).unwrap();
    assert_eq!(index.snapshot().documents(), 200);
    assert_eq!(writer.queue.bytes(), 0);
    // All that is handed over at once is larger than what may wait together, and so waits alone.
    let most = writer.queue.most_seen();
    assert!((TEXT_OF_MOST..BATCH_BYTES + TEXT_OF_MOST + ROOM).contains(&most), "{most}");
    writer.close().unwrap();
}

#[test]
fn nobody_waits_for_an_engine_that_has_ended() {
    let directory = tempfile::tempdir().unwrap();
    let (_index, mut writer) = with_little_room(directory.path());
    // It ends with the first segment that it can write nowhere.
    fs::remove_dir_all(directory.path()).unwrap();
    let bare = || Queued::new(bare_document(with_text(0, 1)), &Arc::new(enter(&writer, 0)));
    while writer.engine.run([UserOperation::Add(bare())]).is_ok() {}
    // What it did not take is as much as may wait.
    let _left = enter(&writer, ROOM);
    let applied = writer.apply(vec![Change::Put(with_text(1, 1_000))]);
    assert!(matches!(applied, Err(Error::Engine(_))), "{applied:?}");
}

fn enter(writer: &Writer, bytes: usize) -> Place {
    writer.queue.enter(bytes, || Ok::<_, Error>(())).unwrap()
}
