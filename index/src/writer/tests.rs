use std::fs;

use trawl_engine::Document;

use super::*;
use crate::Index;
use crate::queue::Reservation;

const MAX_WORDS: usize = 100_000;
const MAX_TEXT_BYTES: usize = WORD.len() * MAX_WORDS;
const WORD: &str = "harbour ";

const QUEUE_BYTES: usize = 64 << 10;

fn open_with_small_queue(directory: &std::path::Path) -> (Index, Writer) {
    let options = Options { small_commit_documents: 0, ..Options::default() };
    let (index, mut writer) = Index::open(directory, &options).unwrap();
    writer.queue = IndexingQueue::new(QUEUE_BYTES);
    (index, writer)
}

fn with_text(number: usize, words: usize) -> Document {
    crate::testing::sample_document(&format!("id{number}"), Some(&WORD.repeat(words)))
}

#[test]
fn all_queued_documents_are_indexed() {
    let directory = tempfile::tempdir().unwrap();
    let (index, mut writer) = open_with_small_queue(directory.path());
    // Some are larger than the queue.
    let words = |number: usize| if number.is_multiple_of(50) { MAX_WORDS } else { 1_000 };
    for first in (0..200).step_by(100) {
        let put = |number| Change::Put(with_text(number, words(number)));
        writer.apply((first..first + 100).map(put).collect()).unwrap();
    }
    writer.commit(&Checkpoint { store: "s".to_owned(), position: 1, complete: true }).unwrap();
    assert_eq!(index.snapshot().documents(), 200);
    assert_eq!(writer.queue.bytes(), 0);
    let peak = writer.queue.peak_bytes();
    assert!((MAX_TEXT_BYTES..MAX_BATCH_BYTES + MAX_TEXT_BYTES + QUEUE_BYTES).contains(&peak), "{peak}");
    writer.close().unwrap();
}

#[test]
fn apply_fails_when_the_engine_has_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let (_index, mut writer) = open_with_small_queue(directory.path());
    // The engine fails at its first segment.
    fs::remove_dir_all(directory.path()).unwrap();
    let bare = || QueuedDocument::new(bare_document(with_text(0, 1)), &Arc::new(reserve(&writer, 0)));
    while writer.engine.run([UserOperation::Add(bare())]).is_ok() {}
    // Not taken by the engine.
    let _left = reserve(&writer, QUEUE_BYTES);
    let applied = writer.apply(vec![Change::Put(with_text(1, 1_000))]);
    assert!(matches!(applied, Err(Error::Engine(_))), "{applied:?}");
}

#[test]
fn commit_of_few_documents_hands_the_engine_none() {
    let (_index, mut writer) = Index::in_memory(&Options::default()).unwrap();
    let commit = |writer: &mut Writer| {
        writer.commit(&Checkpoint { store: "s".to_owned(), position: 1, complete: true }).unwrap();
    };
    let put = |number| Change::Put(with_text(number, 1));
    writer.apply(vec![put(0)]).unwrap();
    assert!(writer.small.is_none(), "the index is empty");
    commit(&mut writer);
    writer.apply((0..256).map(put).collect()).unwrap();
    assert!(writer.small.is_some());
    writer.apply(vec![put(256)]).unwrap();
    assert!(writer.small.is_none(), "it is one too many");
    commit(&mut writer);
    assert!(writer.small.is_some());
}

fn reserve(writer: &Writer, bytes: usize) -> Reservation {
    writer.queue.reserve(bytes, || Ok::<_, Error>(())).unwrap()
}
