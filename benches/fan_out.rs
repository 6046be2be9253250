//! What the coordinator adds to the external sources that it waits for: beside the same calls without it, while some of
//! them fail in every way, and where one of them is slow at times.
//!
//! Servers, sources and peers are processes of their own. README.md says how to read it.
//!
//! `cargo bench --bench fan_out [-- quick] [-- added|throughput|hanging|chaos|slow …]`

#![allow(clippy::unwrap_used, reason = "a bench that cannot go on has nothing better to do")]
#![allow(clippy::panic, reason = "an answer that is wrong ends the bench")]
#![allow(clippy::cast_precision_loss, reason = "a figure needs no more than 52 bits")]

#[path = "fan_out/added.rs"]
mod added;
#[path = "fan_out/chaos.rs"]
mod chaos;
mod common;
#[path = "fan_out/hanging.rs"]
mod hanging;
#[path = "fan_out/peers.rs"]
mod peers;
#[path = "fan_out/site.rs"]
mod site;
#[path = "fan_out/slow.rs"]
mod slow;

use std::time::{Duration, Instant};

use self::common::{report, turns::Turns};

// The same allocator as the program's, for the peers that run from this executable.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
struct Scale {
    /// The turns of sources that take no time; those of slow ones are longer.
    turns: Turns,
    /// Requests of each client amid chaos.
    chaos: usize,
}

const FULL: Scale = Scale { turns: Turns { slice: Duration::from_millis(250), slices: 8 }, chaos: 60 };

const QUICK: Scale = Scale { turns: Turns { slice: Duration::from_millis(100), slices: 5 }, chaos: 6 };

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if peers::run_if_asked(&arguments) {
        return;
    }
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let Scale { turns, chaos } = if has("quick") { QUICK } else { FULL };
    // A search takes at least as long as a source: longer turns, so that there are enough of them.
    let long = Turns { slice: turns.slice * 4, ..turns };

    let started = Instant::now();
    report::head("fan_out", "Fan-out to external sources", &arguments, &turns.described());
    let sections: [(&str, &dyn Fn()); 5] = [
        ("added", &|| added::run_slow(long)),
        ("throughput", &|| added::run_throughput(turns)),
        ("hanging", &hanging::run),
        ("chaos", &|| chaos::run(chaos)),
        ("slow", &|| slow::run(long)),
    ];
    let all = !sections.iter().any(|(name, _)| has(name));
    for (_, run) in sections.iter().filter(|(name, _)| all || has(name)) {
        run();
    }
    println!("\nThe run took {:.0} s.", started.elapsed().as_secs_f64());
}
