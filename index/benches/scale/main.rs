//! Pages, totals and building over 100 thousand to ten million documents. Progress goes to stderr.
//!
//! `cargo bench -p trawl-index --bench scale [-- 100k 1m 10m] [relevance] [seed=N] [only=NAME]`

#![allow(clippy::unwrap_used, reason = "a bench that cannot go on has nothing better to do")]
#![allow(clippy::cast_precision_loss, reason = "figures need no more than 52 bits")]

mod cases;
mod corpus;
mod measure;
mod mixer;
mod report;
mod resident;
#[path = "../shared/mod.rs"]
mod shared;

use std::path::Path;

use cases::{Case, LIMIT};
use measure::Rounds;
use mixer::Mixer;
use shared::Percentiles;
use trawl_engine::{RankedScope, Scope, ScopeStart, Start};

/// The server's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let sizes: Vec<u64> = arguments.iter().filter_map(|argument| size(argument)).collect();
    let sizes = if sizes.is_empty() { vec![100_000, 1_000_000] } else { sizes };
    let seed =
        arguments.iter().find_map(|argument| argument.strip_prefix("seed=")?.parse().ok()).unwrap_or(1);
    let only = arguments.iter().find_map(|argument| argument.strip_prefix("only="));
    let by_relevance = arguments.iter().any(|argument| argument == "relevance");
    let Some(mixer) = Mixer::open(seed) else {
        eprintln!("skipped: the real texts are not here");
        return;
    };
    report::head(&arguments, seed);
    let scope = Scope::new(mixer::LARGE.0, mixer::LARGE.1);
    let mut cases: Vec<Case> = Vec::new();
    let mut corpora = Vec::new();
    for documents in sizes {
        let (directory, facts) = corpus::prepare(&mixer, documents, seed);
        let corpus = CorpusBench {
            mixer: &mixer,
            scope: &scope,
            documents,
            directory: &directory,
            facts,
            by_relevance,
            only,
        };
        corpora.push(corpus.measure(&mut cases));
    }
    report::tables(&cases, &corpora);
    report::beside_bare(
        &mixer,
        corpora.first().map_or(0.0, |corpus| corpus.documents as f64 / corpus.facts.import_seconds),
    );
}

/// Parses `100k` and `10m`.
fn size(argument: &str) -> Option<u64> {
    let (number, unit) = argument.split_at_checked(argument.len().checked_sub(1)?)?;
    let unit = match unit {
        "k" => 1_000,
        "m" => 1_000_000,
        _ => return None,
    };
    Some(number.parse::<u64>().ok()? * unit)
}

struct CorpusBench<'a> {
    mixer: &'a Mixer,
    scope: &'a Scope,
    documents: u64,
    directory: &'a Path,
    facts: corpus::BuildFacts,
    by_relevance: bool,
    only: Option<&'a str>,
}

pub(crate) struct CorpusReport {
    documents: u64,
    facts: corpus::BuildFacts,
    segments: usize,
    bytes: u64,
    open_ms: f64,
    memory: [u64; 2],
    mapped: u64,
    rows: Vec<Option<CaseTimes>>,
}

pub(crate) struct CaseTimes {
    total: u64,
    at_once: bool,
    first: Percentiles,
    again: Percentiles,
    /// Latencies with empty caches, again, and beside another module.
    relevance: Option<[Percentiles; 3]>,
}

impl CorpusBench<'_> {
    fn measure(self, cases: &mut Vec<Case>) -> CorpusReport {
        let copy = corpus::copy(self.directory);
        let before = resident::anonymous();
        let started = std::time::Instant::now();
        let (index, writer) = corpus::open(copy.path());
        let open_ms = started.elapsed().as_secs_f64() * 1e3;
        let opened = resident::anonymous().saturating_sub(before);
        let snapshot = index.snapshot();
        if cases.is_empty() {
            *cases = cases::choose(self.mixer, copy.path(), &snapshot, self.scope);
            cases.retain(|case| self.only.is_none_or(|only| case.name.contains(only)));
        }
        eprintln!("{} documents in {} segments", self.documents, snapshot.segments());
        let rows = cases
            .iter()
            .map(|case| Some(self.row(&snapshot, case, &case.start(&snapshot, self.scope)?)))
            .collect();
        let segments = snapshot.segments();
        drop(snapshot);
        let memory = [opened, resident::anonymous().saturating_sub(before)];
        let mapped = resident::mapped();
        writer.close().unwrap();
        CorpusReport {
            documents: self.documents,
            segments,
            bytes: corpus::size(self.directory),
            open_ms,
            memory,
            mapped,
            facts: self.facts,
            rows,
        }
    }

    fn row(&self, snapshot: &trawl_index::Snapshot, case: &Case, start: &Start) -> CaseTimes {
        let page = |start: &Start| case.ask(snapshot, self.scope, start.clone(), LIMIT);
        let total = page(start).total;
        let clear_caches = || trawl_index::bare::clear_caches(snapshot);
        let first = measure::measure(Rounds::FIRST, clear_caches, || page(start));
        let again = measure::measure(Rounds::AGAIN, || {}, || page(start));
        let at_once = case.is_at_once(snapshot, self.scope, start);
        let best = Start::relevance(0, 0);
        let sibling = Scope::new(mixer::SIBLING.0, mixer::SIBLING.1).into();
        let mut mixed = best.clone();
        if let Start::Relevance(list) = &mut mixed {
            list.beside.push(RankedScope { scope: sibling, start: ScopeStart::default() });
        }
        let relevance = (self.by_relevance && case.place == cases::PageStart::First).then(|| {
            [
                measure::measure(Rounds::FIRST, clear_caches, || page(&best)),
                measure::measure(Rounds::FIRST, || {}, || page(&best)),
                measure::measure(Rounds::FIRST, || {}, || page(&mixed)),
            ]
        });
        eprintln!(
            "{}: {total} matches, first {first}, again {again}{}",
            case.name,
            if at_once { ", at once" } else { "" }
        );
        CaseTimes { total, at_once, first, again, relevance }
    }
}
