use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use trawl_engine::{Change, Document};
use trawl_index::{Error, Index, Options, Writer};

use crate::suite::support::{checkpoint, document, restricted_to};

const CHECKPOINT: i64 = 4_711;

fn put_numbers(writer: &mut Writer, numbers: Range<usize>) {
    let document = |number: usize| {
        let document = Document {
            author: "Ann".to_owned(),
            ..document(&format!("id{number}"), &format!("text {number}"))
        };
        if number.is_multiple_of(2) { document } else { restricted_to(&["u:1"], document) }
    };
    writer.apply(numbers.map(document).map(Change::Put).collect()).unwrap();
    writer.commit(&checkpoint(CHECKPOINT)).unwrap();
}

/// Two segments, one with deletions.
fn written(directory: &Path) {
    let (_, mut writer) = Index::open(directory, &Options::default()).unwrap();
    put_numbers(&mut writer, 0..50);
    put_numbers(&mut writer, 40..70);
    writer.close().unwrap();
}

/// Lists files, except locks and the boot id.
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
fn flipped_byte_of_a_small_index_is_detected_on_open() {
    let directory = tempfile::tempdir().unwrap();
    written(directory.path());
    let mut noticed = 0;
    for file in files(directory.path()) {
        let whole = fs::read(&file).unwrap();
        // All bytes of short files, some of others.
        for place in (0..whole.len()).step_by(1 + whole.len() / 40) {
            let mut damaged = whole.clone();
            damaged[place] ^= 0x10;
            fs::write(&file, damaged).unwrap();
            let opened = open(directory.path()).map(|_| ());
            // The version of the engine is not checked.
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
fn verification_detects_damage_under_an_open_index() {
    for piece in [1, 1_000, u64::MAX] {
        let directory = tempfile::tempdir().unwrap();
        written(directory.path());
        let (index, _writer) = open(directory.path()).unwrap();
        verify(&index, piece).unwrap();
        for file in files(directory.path()) {
            let whole = fs::read(&file).unwrap();
            let mut damaged = whole.clone();
            damaged[0] ^= 1;
            // Replaces the file: changing a mapped one would end the process.
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

#[test]
fn verification_ignores_files_removed_by_a_merge() {
    let directory = tempfile::tempdir().unwrap();
    written(directory.path());
    let (index, mut writer) = open(directory.path()).unwrap();
    let mut verification = index.verification().unwrap().unwrap();
    assert!(verification.read_on(1).unwrap());
    let before = files(directory.path());
    writer.merge_all().unwrap();
    put_numbers(&mut writer, 200..201);
    let removed = before.iter().filter(|file| !file.exists()).count();
    assert!(removed > 6, "{removed}");
    while verification.read_on(1_000).unwrap() {}
    verify(&index, 1_000).unwrap();
}

#[test]
fn modified_checkpoint_is_unusable() {
    let directory = tempfile::tempdir().unwrap();
    written(directory.path());
    let description = directory.path().join("meta.json");
    let text = fs::read_to_string(&description).unwrap();
    fs::write(&description, text.replace("4711", "4712")).unwrap();
    assert!(matches!(open(directory.path()), Err(Error::Unusable(_))));
}
