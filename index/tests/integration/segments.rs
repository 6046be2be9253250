use trawl_engine::{Change, MAX_ID_BYTES};
use trawl_index::{Error, Index, Options};

use crate::suite::support::{NEWEST, document, ids, index_of, page, put};

#[test]
fn too_long_id_rejects_the_whole_batch() {
    let (index, mut writer) = index_of(vec![]);
    let long = "i".repeat(MAX_ID_BYTES + 1);
    let changes = vec![Change::Put(document("a", "x")), Change::Put(document(&long, "x"))];
    assert!(matches!(writer.apply(changes), Err(Error::IdTooLong(1_025))));
    put(&mut writer, vec![document(&"i".repeat(MAX_ID_BYTES), "x")]);
    assert_eq!(index.snapshot().documents(), 1);
}

#[test]
fn small_commits_leave_few_segments() {
    let (index, mut writer) = Index::in_memory(&Options::default()).unwrap();
    for number in 0..200 {
        put(&mut writer, vec![document(&number.to_string(), "x")]);
    }
    writer.close().unwrap();
    assert_eq!(index.snapshot().documents(), 200);
    assert!(index.snapshot().segments() < 100, "{}", index.snapshot().segments());
}

#[test]
fn prefix_expands_to_most_frequent_words_of_all_segments() {
    // 70 of 200 words with the prefix occur twice and must all be taken.
    let letter = |digit: u8| char::from(b"bcdfghjklm"[usize::from(digit - b'0')]);
    let word =
        |number: usize| format!("word{}", format!("{number:03}").bytes().map(letter).collect::<String>());
    let once = (0..200).map(|number| document(&format!("one{number}"), &word(number)));
    let again = (100..170).map(|number| document(&format!("two{number}"), &word(number)));
    let (index, mut writer) = index_of(once.collect());
    put(&mut writer, again.collect());
    let several = page(&index.snapshot(), "word", NEWEST, 1_000);
    let frequent = several.hits.iter().filter(|hit| hit.id.starts_with("two")).count();
    assert_eq!(frequent, 70);
    assert_eq!(several.total, 70 + 128);
    writer.merge_all().unwrap();
    let merged = page(&index.snapshot(), "word", NEWEST, 1_000);
    assert_eq!(index.snapshot().segments(), 1);
    assert_eq!(ids(several), ids(merged));
}
