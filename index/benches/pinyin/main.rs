//! Titles that are found by their pinyin, as people type it.
//!
//! `cargo bench -p trawl-index --bench pinyin`

#![allow(clippy::panic, clippy::unwrap_used, reason = "a bench that cannot go on has nothing better to do")]

#[path = "../shared/mod.rs"]
mod shared;
#[path = "../page/texts.rs"]
mod texts;

use std::sync::Arc;
use std::time::Instant;

use pinyin::ToPinyin;
use shared::Percentiles;
use trawl_engine::{Change, Checkpoint, Query, Request, Scope};
use trawl_index::{Index, Options, Snapshot};

const TITLES: usize = 588_436;
const ASKED: usize = 300;
const LIMIT: usize = 10;

/// Types a title, given by its ideographs and their usual syllables.
///
/// `None` if it is too short.
type Typing = fn(&[(char, &str)]) -> Option<String>;

const TYPINGS: [(&str, Typing); 7] = [
    ("first four characters, joined", |title| Some(syllables(title.get(..4)?).concat())),
    ("with blanks between", |title| Some(syllables(title.get(..4)?).join(" "))),
    ("the whole title, joined", |title| Some(syllables(title).concat())),
    ("two ideographs, then two syllables", |title| {
        Some(ideographs(title.get(..2)?) + &syllables(title.get(2..4)?).concat())
    }),
    ("first two characters, joined", |title| Some(syllables(title.get(..2)?).concat())),
    ("four initials", |title| {
        Some(syllables(title.get(..4)?).iter().map(|syllable| &syllable[..1]).collect())
    }),
    ("the four characters themselves", |title| Some(ideographs(title.get(..4)?))),
];

fn syllables<'a>(title: &[(char, &'a str)]) -> Vec<&'a str> {
    title.iter().map(|(_, syllable)| *syllable).collect()
}

fn ideographs(title: &[(char, &str)]) -> String {
    title.iter().map(|(ideograph, _)| ideograph).collect()
}

/// Ideographs with their usual syllables, if a title is nothing else and has at least four.
fn read(title: &str) -> Option<Vec<(char, &'static str)>> {
    let read = |character: char| {
        Some((character, character.to_pinyin()?.plain())).filter(|(_, plain)| plain.is_ascii())
    };
    title.chars().map(read).collect::<Option<Vec<_>>>().filter(|title| title.len() >= 4)
}

fn main() {
    let Some(headlines) = texts::headlines() else {
        eprintln!("skipped: the real texts are not here");
        return;
    };
    let scope = Arc::new(Scope::new(1, "feed"));
    let directory = tempfile::tempdir().unwrap();
    let options = Options { indexing_threads: 2, writer_memory_bytes: 512 << 20, ..Options::default() };
    let (index, mut writer) = Index::open(directory.path(), &options).unwrap();
    let documents = texts::documents(&headlines, &scope, TITLES);
    let begun = Instant::now();
    writer.set_bulk(true);
    for batch in documents.chunks(20_000) {
        writer.apply(batch.iter().cloned().map(Change::Put).collect()).unwrap();
    }
    writer.commit(&Checkpoint { store: "bench".to_owned(), position: 1, complete: true }).unwrap();
    let filled = begun.elapsed();
    writer.merge_all().unwrap();
    writer.close().unwrap();
    println!(
        "{TITLES} titles in {:.1} s, {:.1} s with merges, {} bytes each\n",
        filled.as_secs_f64(),
        begun.elapsed().as_secs_f64(),
        index.bytes() / TITLES as u64
    );
    println!(
        "| {ASKED} titles, each by its own letters | found | own title among {LIMIT} | µs p50, p99 |\n|---|---|---|---|"
    );
    let readable: Vec<_> =
        documents.iter().filter_map(|document| Some((&document.id, read(&document.title)?))).collect();
    let asked: Vec<_> = readable.iter().step_by(readable.len() / ASKED).take(ASKED).collect();
    let snapshot = index.snapshot();
    for (name, typing) in TYPINGS {
        let (mut found, mut own, mut times) = (0, 0, Vec::new());
        for (id, title) in &asked {
            let Some(keyword) = typing(title) else { continue };
            let begun = Instant::now();
            let (total, ids) = search(&snapshot, &scope, &keyword);
            times.push(begun.elapsed());
            found += usize::from(total > 0);
            own += usize::from(ids.contains(id));
        }
        let percent = |count: usize| count * 100 / times.len();
        let (found, own, times) = (percent(found), percent(own), Percentiles::of(times));
        println!("| {name} | {found} % | {own} % | {times} |");
    }
}

/// The total and the ids of a page; a correction of the keyword is searched instead.
fn search(snapshot: &Snapshot, scope: &Arc<Scope>, keyword: &str) -> (u64, Vec<String>) {
    let unknown = snapshot.unknown_words(&[Arc::clone(scope)], &Arc::default(), keyword).unwrap();
    let corrected = unknown.correction.map(|correction| correction.keyword);
    let query = Query::parse(corrected.as_deref().unwrap_or(keyword)).into();
    let request = Request { limit: LIMIT, ..Request::total_of(scope, &Arc::default(), query) };
    let page = snapshot.search(&request).unwrap();
    (page.total, page.hits.into_iter().map(|hit| hit.id).collect())
}
