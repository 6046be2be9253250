use trawl_engine::{Change, Checkpoint};
use trawl_index::{Error, Index, Options};

use crate::suite::support::{checkpoint, commit, document, found, put, remove};

#[test]
fn committed_documents_survive_reopening() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("new");
    let (index, mut writer) = Index::open(&path, &Options::default()).unwrap();
    assert_eq!(writer.checkpoint(), None);
    writer.apply(vec![Change::Put(document("a", "x"))]).unwrap();
    let committed = Checkpoint { store: "s".to_owned(), position: 42, complete: false };
    writer.commit(&committed).unwrap();
    writer.apply(vec![Change::Put(document("b", "x"))]).unwrap();
    assert!(matches!(Index::open(&path, &Options::default()), Err(Error::Locked)));
    writer.close().unwrap();
    drop(index);

    let (index, writer) = Index::open(&path, &Options::default()).unwrap();
    assert_eq!(writer.checkpoint(), Some(&committed));
    assert_eq!(found(&index, "x"), ["a"]);
}

/// A segment without deletions had to lead the merge.
///
/// The engine took the deletion for one of the last commit.
#[test]
fn first_deletion_after_reopening_survives_a_merge() {
    let directory = tempfile::tempdir().unwrap();
    let (_, mut writer) = Index::open(directory.path(), &Options::default()).unwrap();
    put(&mut writer, vec![document("a", "x"), document("b", "x")]);
    // The larger segment leads.
    put(&mut writer, vec![document("c", "x"), document("d", "x"), document("e", "x")]);
    commit(&mut writer, vec![remove("a")]);
    writer.close().unwrap();

    let (index, mut writer) = Index::open(directory.path(), &Options::default()).unwrap();
    writer.apply(vec![remove("b")]).unwrap();
    writer.merge_all().unwrap();
    writer.commit(&checkpoint(2)).unwrap();
    assert_eq!(found(&index, "x "), ["c", "d", "e"]);
}

#[test]
fn truncated_file_is_unusable_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let (_, mut writer) = Index::open(directory.path(), &Options::default()).unwrap();
    put(&mut writer, vec![document("a", "x")]);
    writer.close().unwrap();
    let files = || {
        let mut files: Vec<_> =
            std::fs::read_dir(directory.path()).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        files
    };
    let before = files();
    let segment_files: Vec<_> = before
        .iter()
        .filter(|file| file.extension().is_some_and(|kind| kind != "json" && kind != "lock"))
        .collect();
    assert!(segment_files.len() > 4);
    for file in segment_files.into_iter().chain([&directory.path().join("meta.json")]) {
        let content = std::fs::read(file).unwrap();
        for damaged in [&content[..content.len() / 2], b""] {
            std::fs::write(file, damaged).unwrap();
            let opened = Index::open(directory.path(), &Options::default()).map(|_| ());
            assert!(matches!(opened, Err(Error::Unusable(_))), "{file:?}: {opened:?}");
        }
        std::fs::write(file, &content).unwrap();
    }
    assert_eq!(files(), before);
    assert!(Index::open(directory.path(), &Options::default()).is_ok());
}

#[test]
fn index_of_another_version_is_unusable() {
    let directory = tempfile::tempdir().unwrap();
    let (_, mut writer) = Index::open(directory.path(), &Options::default()).unwrap();
    put(&mut writer, vec![document("a", "x")]);
    writer.close().unwrap();
    let meta = directory.path().join("meta.json");
    let text = std::fs::read_to_string(&meta).unwrap();
    let (text, _checksum) = text.rsplit_once("\ncrc32:").unwrap();
    let other = text.replace("\\\"version\\\":", "\\\"version\\\":99");
    assert_ne!(other, text);
    let checksum = crc32fast::hash(other.as_bytes());
    std::fs::write(&meta, format!("{other}\ncrc32:{checksum:08x}")).unwrap();
    let opened = Index::open(directory.path(), &Options::default()).map(|_| ());
    assert!(matches!(&opened, Err(Error::Unusable(reason)) if reason.contains("version 99")), "{opened:?}");
}

#[test]
fn note_survives_reopening_until_the_next_commit() {
    let directory = tempfile::tempdir().unwrap();
    let (_, mut writer) = Index::open(directory.path(), &Options::default()).unwrap();
    let checkpoint = Checkpoint { store: "s".to_owned(), position: 1, complete: false };
    writer.commit_with_note(&checkpoint, Some("as far as \"x\"".to_owned())).unwrap();
    writer.close().unwrap();
    let (_, mut writer) = Index::open(directory.path(), &Options::default()).unwrap();
    assert_eq!((writer.checkpoint(), writer.note()), (Some(&checkpoint), Some("as far as \"x\"")));
    writer.commit(&checkpoint).unwrap();
    assert_eq!(writer.note(), None);
}

#[test]
fn generations_differ_between_indexes() {
    let directories = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [(first, _first_writer), (second, mut second_writer)] =
        directories.each_ref().map(|directory| Index::open(directory.path(), &Options::default()).unwrap());
    let before = second.snapshot().generation();
    assert_ne!(first.snapshot().generation(), before);
    put(&mut second_writer, vec![document("a", "x")]);
    assert!(second.snapshot().generation() > before);
}
