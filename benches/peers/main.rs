//! trawl beside other search engines (`benches/README.md`).
//!
//! All get the same texts, queries and load on one machine.
//!
//! `cargo bench --bench peers [-- quick] [english] [chinese]`

#![allow(clippy::unwrap_used, reason = "a bench that cannot go on has nothing better to do")]
#![allow(clippy::panic, reason = "an answer that is wrong ends the bench")]
#![allow(clippy::cast_precision_loss, reason = "a figure needs no more than 52 bits")]

#[path = "../common/mod.rs"]
#[allow(dead_code, reason = "other benches use more of it")]
mod common;
mod engine;
mod groonga;
mod opensearch;
mod ours;
mod postgres;
mod queries;
mod seekstorm;
mod sqlite;
#[path = "../http/texts.rs"]
mod texts;

use std::{
    sync::Barrier,
    time::{Duration, Instant},
};

use self::{
    common::{
        load::Samples,
        report::{Report, millis},
    },
    engine::{Client, Engine, memory_mib},
    queries::{Kind, Language, Query},
};

// The program's allocator, for what runs in this process.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Clone, Copy, Debug)]
struct Scale {
    documents: usize,
    /// Slices of each engine and kind of query, after one for warm-up.
    slices: usize,
    slice: Duration,
}

const FULL: Scale = Scale { documents: 1_000_000, slices: 8, slice: Duration::from_millis(500) };
const QUICK: Scale = Scale { documents: 100_000, slices: 3, slice: Duration::from_millis(200) };

/// Closed loop, a thread each.
const CLIENTS: [usize; 2] = [1, 16];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let scale = if arguments.iter().any(|argument| argument == "quick") { QUICK } else { FULL };
    let measured = format!("{} slices of {} ms", scale.slices, scale.slice.as_millis());
    let mut report = Report::begin("peers", &arguments, &measured);
    let languages = [("english", Language::English), ("chinese", Language::Chinese)];
    let is_named = |name: &str| arguments.iter().any(|argument| argument == name);
    let is_any_named = languages.iter().any(|(name, _)| is_named(name));
    for (name, language) in languages {
        if !is_any_named || is_named(name) {
            compare(language, scale, &mut report);
        }
    }
    report.finish();
}

fn compare(language: Language, scale: Scale, report: &mut Report) {
    let rows = queries::rows(language, scale.documents);
    let kinds = queries::kinds(language, &rows);
    let mut engines = vec![boxed(ours::Trawl::start()), boxed(sqlite::Sqlite::start())];
    let others = [
        ("PostgreSQL", postgres::Postgres::start().map(boxed)),
        ("OpenSearch", opensearch::OpenSearch::start().map(boxed)),
        ("groonga", groonga::Groonga::start().map(boxed)),
        ("SeekStorm", seekstorm::SeekStorm::start().map(boxed)),
    ];
    for (name, engine) in others {
        match engine {
            Some(engine) => engines.push(engine),
            None => writeln!(report, "\nSkipped: {name} is not installed."),
        }
    }
    writeln!(report, "\n## {} {language:?} texts\n", scale.documents);
    writeln!(
        report,
        "Filled in batches of {}, in the way that each engine's documents advise for many rows, until all is found. Memory is that of \
         all its processes after the queries, shared pages counted once.\n",
        engine::BATCH
    );
    let filled: Vec<Duration> =
        engines.iter_mut().map(|engine| time(|| engine.fill(language, &rows))).collect();
    let found: Vec<Vec<Measured>> = kinds.iter().map(|kind| measure(&engines, kind, scale)).collect();
    writeln!(
        report,
        "| engine | texts per second | bytes on disk a text | MiB in memory |\n|---|---|---|---|"
    );
    for (engine, took) in engines.iter().zip(&filled) {
        let memory = engine.process().map_or(String::new(), |process| format!("{:.0}", memory_mib(process)));
        let per_second = scale.documents as f64 / took.as_secs_f64();
        writeln!(
            report,
            "| {} | {per_second:.0} | {:.0} | {memory} |",
            engine.name(),
            bytes_of(&engine.files()) as f64 / scale.documents as f64
        );
    }
    writeln!(report, "\n### Pages of {} with their totals\n", engine::LIMIT);
    writeln!(
        report,
        "The engines take turns; {} queries of each kind do so, too. Milliseconds. Totals differ where stems and words do.\n",
        kinds.first().map_or(0, |kind| kind.queries.len())
    );
    let head = "| query | engine | matches | 1 client: p50 | p99 | 16 clients: p50 | p99 | per second |";
    writeln!(report, "{head}\n|---|---|---|---|---|---|---|---|");
    for (kind, of_engines) in kinds.iter().zip(&found) {
        for (engine, Measured { matches, samples: [one, many] }) in engines.iter().zip(of_engines) {
            writeln!(
                report,
                "| {} | {} | {matches:.0} | {} | {} | {} | {} | {:.0} |",
                kind.name,
                engine.name(),
                millis(one.quantile(0.5)),
                millis(one.quantile(0.99)),
                millis(many.quantile(0.5)),
                millis(many.quantile(0.99)),
                many.rate(),
            );
        }
    }
}

fn boxed(engine: impl Engine + 'static) -> Box<dyn Engine> {
    Box::new(engine)
}

struct Measured {
    /// Average matches of a query.
    matches: f64,
    /// Latencies for each number in `CLIENTS`.
    samples: [Samples; CLIENTS.len()],
}

fn measure(engines: &[Box<dyn Engine>], kind: &Kind, scale: Scale) -> Vec<Measured> {
    let by_clients = CLIENTS.map(|clients| take_turns(engines, kind, clients, scale));
    let mut by_clients = by_clients.map(Vec::into_iter);
    let mut of_engine = |engine: &dyn Engine| {
        let mut client = engine.connect();
        let totals = kind.queries.iter().map(|query| {
            let found = client.search(query);
            assert_eq!(
                found.rows as u64,
                found.total.min(engine::LIMIT as u64),
                "{}: {query:?}",
                engine.name()
            );
            found.total as f64
        });
        let matches = totals.sum::<f64>() / kind.queries.len() as f64;
        Measured { matches, samples: by_clients.each_mut().map(|samples| samples.next().unwrap()) }
    };
    engines.iter().map(|engine| of_engine(&**engine)).collect()
}

/// Slices of all engines in turn.
fn take_turns(engines: &[Box<dyn Engine>], kind: &Kind, clients: usize, scale: Scale) -> Vec<Samples> {
    let mut connected: Vec<Vec<Box<dyn Client>>> =
        engines.iter().map(|engine| (0..clients).map(|_| engine.connect()).collect()).collect();
    let mut all: Vec<(Vec<Duration>, Duration)> = vec![Default::default(); engines.len()];
    for slice in 0..=scale.slices {
        for (clients, (latencies, took)) in connected.iter_mut().zip(&mut all) {
            // Slow engines do not ask all queries in a slice.
            let first = slice * kind.queries.len() / (scale.slices + 1);
            let (found, time) = run_slice(clients, &kind.queries, first, scale.slice);
            if slice > 0 {
                latencies.extend(found);
                *took += time;
            }
        }
    }
    all.into_iter().map(|(latencies, took)| Samples::new(latencies, took)).collect()
}

/// Returns the latencies, and the time until the last answer.
fn run_slice(
    clients: &mut [Box<dyn Client>],
    queries: &[Query],
    first: usize,
    length: Duration,
) -> (Vec<Duration>, Duration) {
    let (count, barrier) = (clients.len(), Barrier::new(clients.len()));
    let started = Instant::now();
    let latencies = std::thread::scope(|scope| {
        let running: Vec<_> = clients
            .iter_mut()
            .enumerate()
            .map(|(number, client)| {
                let barrier = &barrier;
                scope.spawn(move || {
                    barrier.wait();
                    let (mut latencies, end) = (Vec::new(), Instant::now() + length);
                    for query in queries.iter().cycle().skip(first + number * queries.len() / count) {
                        let begun = Instant::now();
                        if begun >= end {
                            break;
                        }
                        client.search(query);
                        latencies.push(begun.elapsed());
                    }
                    latencies
                })
            })
            .collect();
        running.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    (latencies, started.elapsed())
}

fn time(work: impl FnOnce()) -> Duration {
    let started = Instant::now();
    work();
    started.elapsed()
}

fn bytes_of(directory: &std::path::Path) -> u64 {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let size = entries.map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => bytes_of(&entry.path()),
        Ok(found) => found.len(),
        Err(_) => 0,
    });
    size.sum()
}
