//! Real headlines, or made-up ones if these are missing.

use std::io::{BufRead, BufReader};

use trawl_engine::{Audience, Document, Scope};

use crate::shared::text_folder;

const FILE: &str = "zh_weibo_hot_search.jsonl.zst";
const DAY: i64 = 86_400_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Times {
    Distinct,
    Days,
}

/// Repeats texts if there are too few.
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
    let Some(file) = text_folder().and_then(|folder| std::fs::File::open(folder.join(FILE)).ok()) else {
        eprintln!("skipped: {FILE} is missing; made-up texts are measured");
        return made_up();
    };
    let lines = BufReader::new(zstd::Decoder::new(file).unwrap()).lines();
    lines
        .map(|line| {
            let line: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
            line["text"].as_str().unwrap_or_default().replace(['"', '\\'], " ")
        })
        .collect()
}

/// A rough Zipf distribution.
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
