//! Real texts where present, else made-up ones.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
};

use serde_json::Value;

/// Relative to a clone or a worktree beside it.
const PLACES: [&str; 2] = ["../shared/data/texts", "shared/data/texts"];

/// Characters of the longest text.
const LONGEST: usize = 300;

/// Feeds of about eleven characters.
pub(crate) fn chinese() -> Vec<String> {
    read(&["zh_weibo_hot_search.jsonl.zst"])
}

/// Commit titles and news items.
pub(crate) fn english() -> Vec<String> {
    read(&["en_feed_git_commits.jsonl.zst", "en_news_twir_items.jsonl.zst"])
}

fn read(files: &[&str]) -> Vec<String> {
    let mut texts = Vec::new();
    for file in files {
        let places = PLACES.iter().map(|place| Path::new(env!("CARGO_MANIFEST_DIR")).join(place).join(file));
        let Some(path) = places.into_iter().find(|path| path.is_file()) else {
            eprintln!("skipped: {file} is not here; measuring on made-up texts");
            return made_up();
        };
        texts.extend(read_file(&path));
    }
    texts
}

fn read_file(path: &PathBuf) -> Vec<String> {
    let file = zstd::Decoder::new(std::fs::File::open(path).unwrap()).unwrap();
    BufReader::new(file)
        .lines()
        .map(|line| {
            let row: Value = serde_json::from_str(&line.unwrap()).unwrap();
            let [title, text] = ["title", "text"].map(|name| row[name].as_str().unwrap_or_default());
            let text = if title.is_empty() { text } else { title };
            text.chars().take(LONGEST).collect::<String>()
        })
        .filter(|text| !text.trim().is_empty())
        .collect()
}

/// A rough Zipf law.
fn made_up() -> Vec<String> {
    let mut state = 1_u64;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let mut word = move || {
        let most = 1 << (next() % 16);
        format!("word{}", next() % most)
    };
    (0..200_000).map(|_| [word(), word(), word(), word(), word()].join(" ")).collect()
}
