//! Load over HTTP, beside the least that the same work can cost. See `benches/README.md`.
//!
//! `cargo bench --bench http [-- quick] [-- pages|clients|footprint|freshness|import|replicas …]`

#![allow(clippy::unwrap_used, reason = "a bench that cannot go on has nothing better to do")]
#![allow(clippy::panic, reason = "an answer that is wrong ends the bench")]
#![allow(clippy::cast_precision_loss, reason = "a figure needs no more than 52 bits")]

#[path = "../../index/benches/shared/bare.rs"]
mod bare;
#[path = "../common/mod.rs"]
mod common;
mod corpus;
mod footprint;
mod pages;
mod peers;
mod process;
mod replicas;
mod texts;
mod writes;

use std::time::{Duration, Instant};

use self::common::{interleave::Slices, report::Report};

// The program's allocator, also for peers.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    /// Documents of the small and the large index.
    pub(crate) documents: [usize; 2],
    pub(crate) slices: Slices,
    /// Time in which single writes are measured.
    pub(crate) freshness: Duration,
    pub(crate) import: usize,
}

type Section = (&'static str, fn(&Scale, &mut Report));

const FULL: Scale = Scale {
    documents: [100_000, 1_000_000],
    slices: Slices { length: Duration::from_millis(250), count: 8 },
    freshness: Duration::from_secs(15),
    import: 100_000,
};

const QUICK: Scale = Scale {
    documents: [50_000, 200_000],
    slices: Slices { length: Duration::from_millis(100), count: 5 },
    freshness: Duration::from_secs(4),
    import: 20_000,
};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if peers::run_if_asked(&arguments) {
        return;
    }
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let scale = if has("quick") { QUICK } else { FULL };
    let sections: [Section; 6] = [
        ("pages", pages::run),
        ("clients", pages::by_clients),
        ("footprint", footprint::run),
        ("freshness", writes::freshness),
        ("import", writes::import),
        ("replicas", replicas::run),
    ];
    let all = !sections.iter().any(|(name, _)| has(name));
    let started = Instant::now();
    for (name, run) in sections.iter().filter(|(name, _)| all || has(name)) {
        let mut report = Report::begin(&format!("http/{name}"), &arguments, &scale.slices.description());
        run(&scale, &mut report);
        report.finish();
    }
    println!("The run took {:.0} s.", started.elapsed().as_secs_f64());
}
