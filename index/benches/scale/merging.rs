//! Steady writes into a large index while it merges.

use std::time::{Duration, Instant};

use trawl_engine::{Change, Scope};
use trawl_index::Index;

use crate::cases::Case;
use crate::corpus;
use crate::mixer::{Mixer, Random};
use crate::shared::Percentiles;

/// Half of them replace earlier documents.
const WRITES_A_SECOND: u64 = 1_000;
const SECONDS: u64 = 30;
const COMMIT_EVERY: Duration = Duration::from_millis(10);

/// Slower changes are logged.
const SLOW: Duration = Duration::from_millis(25);

pub(crate) fn run(mixer: &Mixer, directory: &std::path::Path, documents: u64, scope: &Scope) {
    let copy = corpus::copy(directory);
    let (index, mut writer) = corpus::open(copy.path());
    let case = Case { keyword: "but ".to_owned(), ..Case::default() };
    let (mut commits, mut pages, mut fresh, mut segments) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let before = index.snapshot().segments();
    let mut random = Random::new(2, documents);
    let started = Instant::now();
    let mut written = 0;
    while started.elapsed() < Duration::from_secs(SECONDS) {
        let begun = Instant::now();
        let due = u64::try_from(started.elapsed().as_millis()).unwrap_or_default() * WRITES_A_SECOND / 1_000;
        let put = |number: u64| {
            let number = if number.is_multiple_of(2) { random.below(documents) } else { documents + number };
            Change::Put(mixer.document(number, 9))
        };
        let changes: Vec<Change> = (written..due).map(put).collect();
        if !changes.is_empty() {
            // The oldest change has waited since the last commit.
            let waiting = Instant::now();
            written = due;
            writer.apply(changes).unwrap();
            commits.push(Duration::from_secs_f64(corpus::commit(&mut writer) / 1e3));
            fresh.push(waiting.elapsed());
            if waiting.elapsed() > SLOW {
                let (seconds, after) = (started.elapsed().as_secs(), index.snapshot().segments());
                eprintln!(
                    "after {seconds} s: {:?} until visible, of which the commit {:?}; {after} segments",
                    waiting.elapsed(),
                    commits[commits.len() - 1]
                );
            }
        }
        let snapshot = index.snapshot();
        segments.push(snapshot.segments());
        pages.push(case.time_page(&snapshot, scope));
        std::thread::sleep(COMMIT_EVERY.saturating_sub(begun.elapsed()));
    }
    writer.close().unwrap();
    report(&index, before, commits, pages, fresh, segments);
}

fn report(
    index: &Index,
    before: usize,
    commits: Vec<Duration>,
    pages: Vec<Duration>,
    fresh: Vec<Duration>,
    mut segments: Vec<usize>,
) {
    println!("## {WRITES_A_SECOND} writes a second for {SECONDS} s while it merges\n");
    println!(
        "Every {} ms what came in is applied and committed, and a page of a common word is read.\n",
        COMMIT_EVERY.as_millis()
    );
    let count = commits.len();
    segments.sort_unstable();
    let most = |samples: &[Duration]| samples.iter().max().map_or(0.0, Duration::as_secs_f64) * 1e3;
    println!("| what | median | p99 | most |\n|---|---|---|---|");
    for (name, samples) in [("commit", commits), ("handed over → visible", fresh), ("page by time", pages)]
    {
        let most = most(&samples);
        let measured = Percentiles::of(samples);
        println!("| {name}, ms | {:.3} | {:.3} | {most:.1} |", measured.median / 1e3, measured.p99 / 1e3);
    }
    println!(
        "\n{count} commits; segments before {before}, meanwhile {} to {} (median {}), at the end {}.\n",
        segments[0],
        segments[segments.len() - 1],
        segments[segments.len() / 2],
        index.snapshot().segments(),
    );
}
