//! Quality of `sort=relevance` on judged test collections. These are not part of the project; without them a test
//! prints a line. benches/results/relevance.md lists the gain of each ranking part.

#![allow(clippy::cast_precision_loss, reason = "counts of documents, and ranks")]

use std::{
    collections::HashMap,
    fs::File,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
};

use flate2::read::GzDecoder;
use futures::{StreamExt, stream};
use serde_json::{Value, json};

use super::quality::{GAIN_RANKS, average_precision, normalised_gain, read_judgements};
use crate::util::{app::TestApp, caller::Caller};

/// A lower rank counts as not found.
const DEPTH: usize = 1_000;
const AT_ONCE: usize = 4;

const MODULES: [&str; 3] = ["article", "news", "feed"];

/// The minimum scores are slightly below the measured ones and above plain BM25.
struct Collection {
    name: &'static str,
    mean_average_precision: f64,
    gain: f64,
}

const CRANFIELD: Collection = Collection { name: "cranfield", mean_average_precision: 0.459, gain: 0.55 };
const CACM: Collection = Collection { name: "cacm", mean_average_precision: 0.345, gain: 0.47 };
const RGB_ZH: Collection = Collection { name: "rgb_zh", mean_average_precision: 0.56, gain: 0.598 };

/// Tenants, and how many of ten documents each of their modules gets.
const SPREADS: [(&str, [usize; 3]); 3] = [("one", [10, 0, 0]), ("even", [4, 3, 3]), ("uneven", [8, 1, 1])];

#[tokio::test]
async fn english_abstracts_reach_the_minimum_scores() {
    CRANFIELD.hold().await;
}

#[tokio::test]
async fn long_questions_on_titles_reach_the_minimum_scores() {
    CACM.hold().await;
}

#[tokio::test]
async fn chinese_news_reaches_the_minimum_scores() {
    RGB_ZH.hold().await;
}

impl Collection {
    async fn hold(&self) {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/eval").join(self.name);
        if !directory.exists() {
            println!("skipped: there is no {}", directory.display());
            return;
        }
        // Some questions exceed the default limit.
        let app = TestApp::start_with(|config| config.limits.keyword_chars = 1_024).await;
        let items: Vec<Value> = rows(&directory.join("docs.jsonl.gz"))
            .filter(|row| row["title"] != "" || row["text"] != "")
            .map(|row| json!({ "id": row["id"], "title": row["title"], "brief": row["text"] }))
            .collect();
        let judgements = read_judgements(&directory.join("qrels.tsv"));
        let questions: Vec<Value> = rows(&directory.join("queries.jsonl.gz")).collect();
        let judged = questions.iter().filter_map(|question| {
            let judged = judgements.get(question["id"].as_str().unwrap())?;
            judged.values().any(|&grade| grade > 0).then_some((question["text"].as_str().unwrap(), judged))
        });
        let judged: Vec<_> = judged.collect();
        for (tenant, spread) in SPREADS {
            let application = app.tenant(tenant).await;
            for (place, module) in MODULES.into_iter().enumerate() {
                let before: usize = spread[..place].iter().sum();
                let part = before..before + spread[place];
                let of_module = items.iter().enumerate().filter(|(number, _)| part.contains(&(number % 10)));
                let of_module: Vec<Value> = of_module.map(|(_, item)| item.clone()).collect();
                app.put_contents(&application.caller, module, &of_module).await;
            }
            let sources = MODULES.map(|module| format!("builtin:{module}"));
            let sources = sources.each_ref().map(String::as_str);
            app.operator().await.caller.on(tenant).register_module("mixed", &sources).await;
            let measured: Vec<(f64, f64)> = stream::iter(&judged)
                .map(|(question, judged)| async {
                    let ranked = rank(&application.caller, question).await;
                    (average_precision(&ranked, judged), normalised_gain(&ranked, judged))
                })
                .buffer_unordered(AT_ONCE)
                .collect()
                .await;
            let mean =
                |of: fn(&(f64, f64)) -> f64| measured.iter().map(of).sum::<f64>() / measured.len() as f64;
            let (precision, gain) = (mean(|of| of.0), mean(|of| of.1));
            println!(
                "{:10} {:6} documents {spread:?} {:4} questions: MAP {precision:.4}, nDCG@{GAIN_RANKS} {gain:.4}",
                self.name,
                items.len(),
                measured.len()
            );
            assert!(precision >= self.mean_average_precision, "MAP {precision:.4} on {}", self.name);
            assert!(gain >= self.gain, "nDCG@{GAIN_RANKS} {gain:.4} on {}", self.name);
        }
    }
}

async fn rank(caller: &Caller, question: &str) -> Vec<String> {
    let depth = DEPTH.to_string();
    let parameters = [("keyword", question), ("moduleId", "mixed"), ("sort", "relevance"), ("limit", &depth)];
    let answer = caller.search(&parameters).await.ok();
    answer.ids().into_iter().map(str::to_owned).collect()
}

fn rows(file: &PathBuf) -> impl Iterator<Item = Value> {
    let lines = BufReader::new(GzDecoder::new(File::open(file).unwrap())).lines();
    lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap())
}

#[test]
fn measures_equal_textbook_values() {
    let ranked: Vec<String> = ["a", "x", "b"].map(str::to_owned).to_vec();
    let judged =
        HashMap::from([("a".to_owned(), 2), ("b".to_owned(), 1), ("c".to_owned(), 1), ("x".to_owned(), 0)]);
    assert!((average_precision(&ranked, &judged) - (1.0 + 2.0 / 3.0) / 3.0).abs() < 1e-9);
    let best = 2.0 + 1.0 / 3_f64.log2() + 0.5;
    assert!((normalised_gain(&ranked, &judged) - 2.5 / best).abs() < 1e-9);
}
