//! The engine over OpenSearch beside the embedded one and plain OpenSearch.
//!
//! Prints the tables of `benches/results/engines.md`.
//!
//! `TRAWL_TEST_OPENSEARCH=http://127.0.0.1:9200 cargo bench -p trawl-opensearch --bench engines`

#![allow(clippy::unwrap_used, reason = "a bench that cannot go on has nothing better to do")]
#![allow(clippy::cast_precision_loss, reason = "a rate needs no more than 52 bits")]

mod bare;
#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../../tests/texts/corpus.rs"]
mod corpus;
#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../../tests/texts/engines.rs"]
mod engines;
#[path = "../../tests/node/mod.rs"]
mod node;
mod plain;

use std::cell::Cell;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::runtime::Runtime;
use trawl_engine::{Audience, Document, Engine, Query, Request, Scope, Start, TimePosition, View};

use bare::Bare;
use engines::Engines;
use plain::Plain;

const FILE: &str = "texts/zh_weibo_hot_search.jsonl.zst";
const DOCUMENTS: usize = 200_000;
const LIMIT: usize = 10;
const DEEP_PAGE: usize = 1_000;
const ROUNDS: usize = 300;
const BARE_ROUNDS: usize = 2_000;
/// Each question is new: caches hold no total of its bound, below all documents.
const FIRST_BOUND: i64 = 0;

/// Words, the most frequent first.
const WORDS: [&str; 4] = ["的", "中国", "苹果", "嫦娥五号"];
const QUESTIONS: [&str; 4] = ["中国", "苹果 发布会", "男子网购附片自行泡制中毒身亡", "iphon"];

type Work<'a> = Box<dyn Fn() -> Pin<Box<dyn Future<Output = usize> + 'a>> + 'a>;

/// All that is measured.
struct Bench {
    runtime: Arc<Runtime>,
    scope: Arc<Scope>,
    engines: Engines,
    plain: Plain,
    bound: Cell<i64>,
}

fn main() {
    let runtime = Arc::new(Runtime::new().unwrap());
    let (Some(data), Some(node)) = (corpus::data(), runtime.block_on(node::node())) else {
        println!("skipped: TRAWL_TEST_OPENSEARCH names no node, or the texts are missing");
        return;
    };
    let scope = Arc::new(Scope::new(1, "feed"));
    let rows = corpus::lines(&data.join(FILE)).take(DOCUMENTS).enumerate();
    let documents: Vec<Document> = rows.map(|(number, row)| document(&scope, number, &row)).collect();
    let engines = Engines::load(&runtime, &documents).unwrap();
    let plain = runtime.block_on(Plain::load(&node, &documents));
    let bench = Bench { runtime, scope, engines, plain, bound: Cell::new(FIRST_BOUND) };
    bench.pages();
    bench.relevance();
    bench.overhead(&node);
    bench.runtime.block_on(bench.plain.delete());
}

impl Bench {
    fn pages(&self) {
        println!("## A page of {LIMIT} in time order, with its total, among {DOCUMENTS} headlines\n");
        println!("Milliseconds, median / p99. Each question is new, so that no total is cached.\n");
        println!(
            "| word | matches | page | embedded | over OpenSearch | its total cached | plain OpenSearch |"
        );
        println!("|---|---|---|---|---|---|---|");
        for word in WORDS {
            for page in [1, DEEP_PAGE] {
                self.page_row(word, page);
            }
        }
    }

    /// Prints nothing if there is no such page.
    fn page_row(&self, word: &str, page: usize) {
        let keyword = format!("{word} ");
        let skipped = (page - 1) * LIMIT;
        let before = self.request(&keyword, newest(None), skipped, None);
        let before = self.runtime.block_on(self.engines.embedded.view().search(&before)).unwrap();
        let after = before
            .hits
            .last()
            .map(|last| TimePosition { display_time: last.display_time, id: Some(last.id.clone()) });
        if skipped > 0 && (after.is_none() || !before.more) {
            return;
        }
        let [embedded, opensearch] = self.views();
        let new = || self.request(&keyword, newest(after.clone()), LIMIT, Some(self.next_bound()));
        let again = self.request(&keyword, newest(after.clone()), LIMIT, None);
        let works: [Work<'_>; 4] = [
            Box::new(|| found(&embedded, new())),
            Box::new(|| found(&opensearch, new())),
            Box::new(|| found(&opensearch, Arc::clone(&again))),
            Box::new(|| Box::pin(self.plain.newest(word, self.next_bound(), after.as_ref(), LIMIT))),
        ];
        let [embedded, opensearch, again, plain] = self.measure(&works, ROUNDS);
        println!("| `{word}` | {} | {page} | {embedded} | {opensearch} | {again} | {plain} |", before.total);
    }

    fn relevance(&self) {
        println!("\n## The {LIMIT} best, with their total\n");
        println!(
            "| question | matches | embedded | over OpenSearch | plain OpenSearch |\n|---|---|---|---|---|"
        );
        let [embedded, opensearch] = self.views();
        for keyword in QUESTIONS {
            let best = Start::relevance(0, 0);
            let total = self.request(keyword, best.clone(), 0, None);
            let total = self.runtime.block_on(embedded.search(&total)).unwrap().total;
            let new = || self.request(keyword, best.clone(), LIMIT, Some(self.next_bound()));
            let works: [Work<'_>; 3] = [
                Box::new(|| found(&embedded, new())),
                Box::new(|| found(&opensearch, new())),
                Box::new(|| Box::pin(self.plain.best(keyword, self.next_bound(), LIMIT))),
            ];
            let [embedded, opensearch, plain] = self.measure(&works, ROUNDS);
            println!("| `{keyword}` | {total} | {embedded} | {opensearch} | {plain} |");
        }
    }

    /// Time that a page takes beyond its own bytes, sent by a bare client.
    fn overhead(&self, node: &url::Url) {
        println!("\n## Time that trawl adds to a page in time order\n");
        println!(
            "| word | the engine | its `_msearch` alone | median of the differences |\n|---|---|---|---|"
        );
        let [_, opensearch] = self.views();
        for word in WORDS {
            let request = self.request(&format!("{word} "), newest(None), LIMIT, None);
            let bare = Bare::record(node, self.engines.layout.clone(), &request);
            let bare = self.runtime.block_on(bare);
            let works: [Work<'_>; 2] =
                [Box::new(|| found(&opensearch, Arc::clone(&request))), Box::new(|| Box::pin(bare.send()))];
            let [engine, alone] = self.samples(&works, BARE_ROUNDS);
            let mut differences: Vec<f64> = engine
                .iter()
                .zip(&alone)
                .map(|(engine, alone)| (engine.as_secs_f64() - alone.as_secs_f64()) * 1e3)
                .collect();
            differences.sort_by(f64::total_cmp);
            let median = differences[differences.len() / 2];
            println!("| `{word}` | {} | {} | {median:.3} |", Percentiles::of(engine), Percentiles::of(alone));
        }
    }

    fn views(&self) -> [Arc<dyn View>; 2] {
        [self.engines.embedded.view(), self.engines.opensearch.view()]
    }

    fn next_bound(&self) -> i64 {
        self.bound.set(self.bound.get() + 1);
        self.bound.get()
    }

    fn request(&self, keyword: &str, start: Start, limit: usize, from: Option<i64>) -> Arc<Request> {
        let all = Request::total_of(&self.scope, &Arc::default(), Arc::new(Query::parse(keyword)));
        Arc::new(Request { from, start, limit, ..all })
    }

    fn measure<const COUNT: usize>(&self, works: &[Work<'_>; COUNT], rounds: usize) -> [Percentiles; COUNT] {
        self.samples(works, rounds).map(Percentiles::of)
    }

    /// Samples works by turns, so that disturbances hit all alike.
    fn samples<const COUNT: usize>(
        &self,
        works: &[Work<'_>; COUNT],
        rounds: usize,
    ) -> [Vec<Duration>; COUNT] {
        let mut samples = [const { Vec::new() }; COUNT];
        for round in 0..rounds + rounds / 10 {
            for (work, samples) in works.iter().zip(&mut samples) {
                let started = Instant::now();
                std::hint::black_box(self.runtime.block_on(work()));
                // Warms up.
                if round >= rounds / 10 {
                    samples.push(started.elapsed());
                }
            }
        }
        samples
    }
}

fn found(view: &Arc<dyn View>, request: Arc<Request>) -> Pin<Box<dyn Future<Output = usize> + '_>> {
    Box::pin(async move { view.search(&request).await.unwrap().hits.len() })
}

fn newest(after: Option<TimePosition>) -> Start {
    Start::Time { after, whole_ties: None }
}

fn document(scope: &Scope, number: usize, row: &str) -> Document {
    let row: serde_json::Value = serde_json::from_str(row).unwrap();
    let (id, title) = (row["id"].as_str().unwrap(), row["text"].as_str().unwrap());
    let display_time = 1_600_000_000_000 + i64::try_from(number).unwrap() * 1_000;
    Document {
        scope: scope.clone(),
        id: id.to_owned(),
        display_time,
        title: title.to_owned(),
        audience: Audience::Tenant,
        item: json!({"itemId": id, "title": title, "displayTime": display_time}).to_string(),
        ..Document::default()
    }
}

/// Milliseconds.
struct Percentiles {
    median: f64,
    p99: f64,
}

impl Percentiles {
    fn of(mut samples: Vec<Duration>) -> Self {
        samples.sort_unstable();
        let at = |place: usize| samples[place].as_secs_f64() * 1e3;
        Self { median: at(samples.len() / 2), p99: at(samples.len() * 99 / 100) }
    }
}

impl std::fmt::Display for Percentiles {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:.2} / {:.2}", self.median, self.p99)
    }
}
