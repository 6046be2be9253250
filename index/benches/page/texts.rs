//! The documents that are measured on: real headlines where they are at hand, made-up ones where not.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use trawl_index::{Audience, Document, Scope};

/// Where the data lies, from the workspace or beside a work tree of it.
const PLACES: [&str; 2] = ["../shared/data/texts", "../../shared/data/texts"];
const FILE: &str = "zh_weibo_hot_search.jsonl.zst";
const DAY: i64 = 86_400_000;

/// Which times the documents have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Times {
    /// Each its own.
    Distinct,
    /// Whole days, with hundreds of documents each.
    Days,
}

/// As many documents, the texts repeated where there are not enough.
pub(crate) fn documents(scope: &Scope, count: usize, times: Times) -> Vec<Document> {
    let texts = texts();
    let day_of = |number: usize| i64::try_from(number / 450).unwrap_or(0);
    (0..count)
        .map(|number| {
            let text = &texts[number % texts.len()];
            let time = match times {
                Times::Distinct => 1_400_000_000_000 + i64::try_from(number).unwrap_or(0) * 1_000,
                Times::Days => 1_400_000_000_000 / DAY * DAY + day_of(number) * DAY,
            };
            let id = format!("{:08x}", number.wrapping_mul(0x9e37_79b1) & 0xffff_ffff);
            Document {
                scope: scope.clone(),
                item: format!(
                    "{{\"itemId\":\"{id}\",\"title\":\"{text}\",\"displayTime\":{time},\"url\":\"https://example.org/{id}\"}}"
                ),
                id,
                display_time: time,
                title: text.clone(),
                title_is_name: false,
                other_names: Vec::new(),
                text: None,
sub_title: String::new(),
                brief: String::new(),
                author: "微博热搜".to_owned(),
                audience: Audience::Tenant,
            }
        })
        .collect()
}

fn texts() -> Vec<String> {
    let places = PLACES
        .iter()
        .map(|place| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(place).join(FILE));
    let Some(file) = places.into_iter().find_map(|path| std::fs::File::open(path).ok()) else {
        eprintln!("skipped: {FILE} is not here; measuring on made-up texts");
        return made_up();
    };
    let lines = BufReader::new(zstd::Decoder::new(file).unwrap()).lines();
    lines
        .map(|line| {
            let line: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
            // Quotes would need escaping in the item, and weigh nothing.
            line["text"].as_str().unwrap_or_default().replace(['"', '\\'], " ")
        })
        .collect()
}

/// Words by a rough Zipf law.
fn made_up() -> Vec<String> {
    let mut state = 1_u64;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let mut word = move || {
        let rank = 1 << (next() % 16);
        format!("word{}", next() % rank)
    };
    (0..200_000).map(|_| [word(), word(), word(), word(), word()].join(" ")).collect()
}
