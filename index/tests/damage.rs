//! Damaged files are noticed: when the index is opened, by its verification, or by the search that meets the place.

#![allow(clippy::unwrap_used, reason = "tests say what they expect by unwrapping it")]

use std::fs;
use std::path::{Path, PathBuf};

use trawl_index::{Audience, Change, Checkpoint, Document, Error, Index, Options, Scope, Writer};

const CHECKPOINT: i64 = 4_711;

fn put(writer: &mut Writer, first: usize, count: usize) {
    let document = |number: usize| Document {
        scope: Scope::new(1, "news"),
        id: format!("id{number}"),
        display_time: i64::try_from(number).unwrap(),
        title: format!("text {number}"),
        sub_title: String::new(),
        brief: String::new(),
        title_is_name: false,
        other_names: Vec::new(),
        text: None,
        author: "Ann".to_owned(),
        audience: if number.is_multiple_of(2) {
            Audience::Tenant
        } else {
            Audience::Principals(vec!["u:1".to_owned()])
        },
        item: "{}".to_owned(),
    };
    writer.apply((first..first + count).map(document).map(Change::Put).collect()).unwrap();
    writer.commit(&Checkpoint { store: "s".to_owned(), position: CHECKPOINT, complete: true }).unwrap();
}

/// Two segments, one of them with deletions.
fn written(directory: &Path) {
    let (_, mut writer) = Index::open(directory, &Options::default()).unwrap();
    put(&mut writer, 0, 50);
    put(&mut writer, 40, 30);
    writer.close().unwrap();
}

/// All files but locks and the note of the boot.
fn files(directory: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(directory).unwrap().map(|file| file.unwrap().path());
    files.filter(|file| file.extension().is_some_and(|kind| kind != "lock")).collect()
}

fn open(directory: &Path) -> Result<(Index, Writer), Error> {
    Index::open(directory, &Options::default())
}

fn verify(index: &Index, piece: u64) -> Result<(), Error> {
    let mut verification = index.verification()?.unwrap();
    while verification.read_on(piece)? {}
    Ok(())
}

#[test]
fn any_flipped_byte_of_a_small_index_is_noticed_when_it_is_opened() {
    let directory = tempfile::tempdir().unwrap();
    written(directory.path());
    let mut noticed = 0;
    for file in files(directory.path()) {
        let whole = fs::read(&file).unwrap();
        // Every byte of what is short, and of the rest some.
        for place in (0..whole.len()).step_by(1 + whole.len() / 40) {
            let mut damaged = whole.clone();
            damaged[place] ^= 0x10;
            fs::write(&file, damaged).unwrap();
            let opened = open(directory.path()).map(|_| ());
            // The footer says by which version a file was written, which is of no account.
            let is_footer = place + 200 > whole.len() && !file.ends_with("meta.json");
            let is_noticed = matches!(opened, Err(Error::Unusable(_)));
            assert!(is_noticed || is_footer && opened.is_ok(), "{file:?} at {place}: {opened:?}");
            noticed += usize::from(is_noticed);
        }
        fs::write(&file, whole).unwrap();
    }
    assert!(noticed > 300, "{noticed}");
    open(directory.path()).unwrap();
}

#[test]
fn damage_under_an_open_index_is_found_by_its_verification() {
    for piece in [1, 1_000, u64::MAX] {
        let directory = tempfile::tempdir().unwrap();
        written(directory.path());
        let (index, _writer) = open(directory.path()).unwrap();
        verify(&index, piece).unwrap();
        for file in files(directory.path()) {
            let whole = fs::read(&file).unwrap();
            let mut damaged = whole.clone();
            damaged[0] ^= 1;
            // Written beside and moved there: what is mapped stays what it was, or the search would end the process.
            let inflict = |content: &[u8]| {
                fs::write(directory.path().join("aside"), content).unwrap();
                fs::rename(directory.path().join("aside"), &file).unwrap();
            };
            for content in [&damaged[..], &whole[..whole.len() / 2], b""] {
                inflict(content);
                let found = verify(&index, piece);
                assert!(matches!(found, Err(Error::Unusable(_))), "{file:?}: {found:?}");
            }
            if file.extension().is_some_and(|kind| kind != "del") {
                fs::remove_file(&file).unwrap();
                let found = verify(&index, piece);
                assert!(matches!(found, Err(Error::Unusable(_))), "{file:?}: {found:?}");
            }
            inflict(&whole);
        }
        verify(&index, piece).unwrap();
    }
}

/// Merges replace files while they are read.
#[test]
fn files_that_a_merge_removed_are_no_damage() {
    let directory = tempfile::tempdir().unwrap();
    written(directory.path());
    let (index, mut writer) = open(directory.path()).unwrap();
    let mut verification = index.verification().unwrap().unwrap();
    assert!(verification.read_on(1).unwrap());
    let before = files(directory.path());
    writer.merge_all().unwrap();
    put(&mut writer, 200, 1);
    let removed = before.iter().filter(|file| !file.exists()).count();
    assert!(removed > 6, "{removed}");
    while verification.read_on(1_000).unwrap() {}
    verify(&index, 1_000).unwrap();
}

#[test]
fn a_checkpoint_that_was_changed_is_not_believed() {
    let directory = tempfile::tempdir().unwrap();
    written(directory.path());
    let description = directory.path().join("meta.json");
    let text = fs::read_to_string(&description).unwrap();
    fs::write(&description, text.replace("4711", "4712")).unwrap();
    assert!(matches!(open(directory.path()), Err(Error::Unusable(_))));
}

#[test]
fn a_note_is_there_after_reopening_until_the_next_commit() {
    let directory = tempfile::tempdir().unwrap();
    let (_, mut writer) = open(directory.path()).unwrap();
    let checkpoint = Checkpoint { store: "s".to_owned(), position: 1, complete: false };
    writer.commit_with_note(&checkpoint, Some("as far as \"x\"".to_owned())).unwrap();
    writer.close().unwrap();
    let (_, mut writer) = open(directory.path()).unwrap();
    assert_eq!((writer.checkpoint(), writer.note()), (Some(&checkpoint), Some("as far as \"x\"")));
    writer.commit(&checkpoint).unwrap();
    assert_eq!(writer.note(), None);
}

#[test]
fn views_of_two_indexes_are_never_of_one_generation() {
    let directories = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [(first, _first_writer), (second, mut second_writer)] =
        directories.each_ref().map(|directory| open(directory.path()).unwrap());
    let before = second.snapshot().generation();
    assert_ne!(first.snapshot().generation(), before);
    put(&mut second_writer, 0, 1);
    assert!(second.snapshot().generation() > before);
}
