//! Quality of `sort=relevance` on judged test collections.
//!
//! These are not part of the project; without them a test prints a line. benches/results/relevance.md lists the gain of each ranking part.

#![allow(clippy::cast_precision_loss, reason = "counts of documents, and ranks")]

use std::{
    collections::HashMap,
    env,
    fs::File,
    io::{BufRead, BufReader},
    iter,
    path::{Path, PathBuf},
};

use fastrand::Rng;
use flate2::read::GzDecoder;
use futures::{StreamExt, stream};
use serde_json::{Value, json};

use super::quality::{GAIN_RANKS, average_precision, normalised_gain, read_judgements};
use crate::util::{app::TestApp, caller::Caller};

/// A lower rank counts as not found.
const DEPTH: usize = 1_000;
const AT_ONCE: usize = 4;

const MODULES: [&str; 3] = ["article", "news", "feed"];

/// Share of a score that one wrong letter in each question may cost.
const MAX_LOSS: f64 = 0.015;
/// Shorter words are not corrected.
const MIN_LETTERS: usize = 4;
/// Fewer questions are misspelt several times, as one may lose half of its score.
const MIN_MISSPELT: usize = 500;
const SEED_VARIABLE: &str = "MISSPELLING_SEED";

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

type JudgedQuestion<'a> = (&'a str, &'a HashMap<String, u32>);

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
        let judged: Vec<JudgedQuestion<'_>> = judged.collect();
        let typed: Vec<String> = judged.iter().map(|(question, _)| (*question).to_owned()).collect();
        println!("{}: {} documents, {} questions", self.name, items.len(), judged.len());
        for (tenant, spread) in SPREADS {
            let caller = spread_over_modules(&app, tenant, spread, &items).await;
            let (precision, gain) = measure(&caller, &typed, &judged).await;
            println!("{} {spread:?}: MAP {precision:.4}, nDCG@{GAIN_RANKS} {gain:.4}", self.name);
            assert!(precision >= self.mean_average_precision, "MAP {precision:.4} on {}", self.name);
            assert!(gain >= self.gain, "nDCG@{GAIN_RANKS} {gain:.4} on {}", self.name);
            if tenant == "one" {
                self.hold_misspelt(&caller, &judged, (precision, gain)).await;
            }
        }
    }

    async fn hold_misspelt(
        &self,
        caller: &Caller,
        judged: &[JudgedQuestion<'_>],
        (precision, gain): (f64, f64),
    ) {
        let seed = seed();
        let mut random = Rng::with_seed(seed);
        let times = MIN_MISSPELT.div_ceil(judged.len());
        let drawn: Vec<_> = iter::repeat_n(judged, times).flatten().copied().collect();
        let misspelt: Vec<String> =
            drawn.iter().map(|(question, _)| misspell(question, &mut random)).collect();
        let unchanged = misspelt.iter().zip(&drawn).filter(|(misspelt, (typed, _))| misspelt == typed);
        // Questions in Chinese have few letters.
        if unchanged.count() > drawn.len() / 2 {
            return;
        }
        let (of_misspelt, gain_of_misspelt) = measure(caller, &misspelt, &drawn).await;
        println!(
            "{} one wrong letter in each question, {SEED_VARIABLE}={seed}: MAP {of_misspelt:.4}, \
             nDCG@{GAIN_RANKS} {gain_of_misspelt:.4}",
            self.name
        );
        assert!(of_misspelt >= precision * (1.0 - MAX_LOSS), "MAP {of_misspelt:.4} on {}", self.name);
        assert!(gain_of_misspelt >= gain * (1.0 - MAX_LOSS), "nDCG {gain_of_misspelt:.4} on {}", self.name);
    }
}

/// A new tenant whose module `mixed` shows all items.
async fn spread_over_modules(app: &TestApp, tenant: &str, spread: [usize; 3], items: &[Value]) -> Caller {
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
    application.caller
}

/// Fixed by default, as the loss on the smallest collection varies by a hundredth.
fn seed() -> u64 {
    env::var(SEED_VARIABLE).map_or(1, |seed| seed.parse().unwrap())
}

/// Means over all questions.
async fn measure(caller: &Caller, typed: &[String], judged: &[JudgedQuestion<'_>]) -> (f64, f64) {
    let measured: Vec<(f64, f64)> = stream::iter(typed.iter().zip(judged))
        .map(|(question, (_, judged))| async {
            let ranked = rank(caller, question).await;
            (average_precision(&ranked, judged), normalised_gain(&ranked, judged))
        })
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    let mean = |of: fn(&(f64, f64)) -> f64| measured.iter().map(of).sum::<f64>() / measured.len() as f64;
    (mean(|of| of.0), mean(|of| of.1))
}

/// Replaces one letter of one word.
fn misspell(question: &str, random: &mut Rng) -> String {
    let is_letter = |character: char| character.is_ascii_alphabetic();
    let words: Vec<&str> = question
        .split(|character: char| !character.is_alphanumeric())
        .filter(|word| word.len() >= MIN_LETTERS && word.chars().all(is_letter))
        .collect();
    let Some(word) = random.choice(words) else { return question.to_owned() };
    let mut letters = word.to_lowercase().into_bytes();
    let place = random.usize(..letters.len());
    while letters[place] == word.as_bytes()[place].to_ascii_lowercase() {
        letters[place] = random.u8(b'a'..=b'z');
    }
    let start = word.as_ptr().addr() - question.as_ptr().addr();
    let misspelt = String::from_utf8(letters).unwrap();
    format!("{}{misspelt}{}", &question[..start], &question[start + word.len()..])
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
