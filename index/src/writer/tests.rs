use std::fs;

use super::*;
use crate::Index;
use crate::document::{Audience, Document};

/// So little waits that all but the first of these have to.
fn with_little_room(directory: &std::path::Path) -> (Index, Writer) {
    let (index, mut writer) = Index::open(directory, &Options::default()).unwrap();
    writer.queue = Queue::new(64 << 10);
    (index, writer)
}

/// A document whose text has so many words.
fn with_text(number: usize, words: usize) -> Change {
    Change::Put(Document {
        scope: Scope::new(1, "file"),
        id: format!("id{number}"),
        display_time: 1,
        title: String::new(),
        title_is_name: false,
        other_names: Vec::new(),
        sub_title: String::new(),
        brief: String::new(),
        text: Some("harbour ".repeat(words).into()),
        author: String::new(),
        audience: Audience::Tenant,
        item: "{}".to_owned(),
    })
}

#[test]
fn all_of_what_had_to_wait_is_there() {
    let directory = tempfile::tempdir().unwrap();
    let (index, mut writer) = with_little_room(directory.path());
    // Some of them are larger than all that may wait together.
    let words = |number: usize| if number.is_multiple_of(50) { 100_000 } else { 1_000 };
    for first in (0..200).step_by(100) {
        writer.apply((first..first + 100).map(|number| with_text(number, words(number))).collect()).unwrap();
    }
    writer.commit(&Checkpoint { store: "s".to_owned(), position: 1, complete: true }).unwrap();
    assert_eq!(index.snapshot().documents(), 200);
    assert_eq!(writer.queue.bytes(), 0);
    writer.close().unwrap();
}

#[test]
fn nobody_waits_for_an_engine_that_has_ended() {
    let directory = tempfile::tempdir().unwrap();
    let (_index, mut writer) = with_little_room(directory.path());
    // It ends with the first segment that it can write nowhere.
    fs::remove_dir_all(directory.path()).unwrap();
    let mut numbers = 0..;
    while writer.apply(numbers.by_ref().take(100).map(|number| with_text(number, 1_000)).collect()).is_ok() {}
}
