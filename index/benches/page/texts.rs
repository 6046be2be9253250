//! Documents of real headlines.

use std::io::{BufRead, BufReader};

use trawl_engine::{Audience, Document, Scope};

use crate::shared::text_folder;

const FILE: &str = "zh_weibo_hot_search.jsonl.zst";

/// Repeats texts if there are too few.
pub(crate) fn documents(texts: &[String], scope: &Scope, count: usize) -> Vec<Document> {
    (0..count)
        .map(|number| {
            let text = &texts[number % texts.len()];
            let time = 1_400_000_000_000 + i64::try_from(number).unwrap_or(0) * 1_000;
            let id = format!("{:08x}", number.wrapping_mul(0x9e37_79b1) & 0xffff_ffff);
            Document {
                scope: scope.clone(),
                item: format!(
                    "{{\"itemId\":\"{id}\",\"title\":\"{text}\",\"displayTime\":{time},\"url\":\"https://example.org/{id}\"}}"
                ),
                id,
                display_time: time,
                title: text.clone(),
                author: "微博热搜".to_owned(),
                audience: Audience::Tenant,
                ..Document::default()
            }
        })
        .collect()
}

/// `None` if the file is missing.
pub(crate) fn headlines() -> Option<Vec<String>> {
    let file = std::fs::File::open(text_folder()?.join(FILE)).ok()?;
    let lines = BufReader::new(zstd::Decoder::new(file).unwrap()).lines();
    let text = |line: std::io::Result<String>| {
        let line: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        line["text"].as_str().unwrap_or_default().replace(['"', '\\'], " ")
    };
    Some(lines.map(text).collect())
}
