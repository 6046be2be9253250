//! Coordinator overhead on external sources that answer, and on one that hangs.
//!
//! `cargo bench --bench fan_out [-- quick] [-- overhead|throughput|hanging …]`

#![allow(clippy::unwrap_used, reason = "a bench that cannot go on has nothing better to do")]
#![allow(clippy::panic, reason = "an answer that is wrong ends the bench")]
#![allow(clippy::cast_precision_loss, reason = "a figure needs no more than 52 bits")]

mod common;
#[path = "fan_out/hanging.rs"]
mod hanging;
#[path = "fan_out/overhead.rs"]
mod overhead;
#[path = "fan_out/peers.rs"]
mod peers;
#[path = "fan_out/site.rs"]
mod site;

use std::time::{Duration, Instant};

use self::common::{interleave::Slices, report::Report};

// The program's allocator, also for peers.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Section<'a> = (&'a str, &'a dyn Fn(&mut Report));

/// Slices for sources without delay.
const FULL: Slices = Slices { length: Duration::from_millis(250), count: 8 };
const QUICK: Slices = Slices { length: Duration::from_millis(100), count: 5 };

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if peers::run_if_asked(&arguments) {
        return;
    }
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let slices = if has("quick") { QUICK } else { FULL };
    // A search takes as long as its source: longer slices collect enough of them.
    let long = Slices { length: slices.length * 4, ..slices };

    let started = Instant::now();
    let sections: [Section<'_>; 3] = [
        ("overhead", &|report| overhead::run_slow(long, report)),
        ("throughput", &|report| overhead::run_throughput(slices, report)),
        ("hanging", &hanging::run),
    ];
    let all = !sections.iter().any(|(name, _)| has(name));
    for (name, run) in sections.iter().filter(|(name, _)| all || has(name)) {
        let mut report = Report::begin(&format!("fan_out/{name}"), &arguments, &slices.description());
        run(&mut report);
        report.finish();
    }
    println!("The run took {:.0} s.", started.elapsed().as_secs_f64());
}
