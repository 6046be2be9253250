//! Coordinator overhead on external sources: healthy, failing and slow ones.
//!
//! `cargo bench --bench fan_out [-- quick] [-- overhead|throughput|hanging|chaos|slow|mapped …]`

#![allow(clippy::unwrap_used, reason = "a bench that cannot go on has nothing better to do")]
#![allow(clippy::panic, reason = "an answer that is wrong ends the bench")]
#![allow(clippy::cast_precision_loss, reason = "a figure needs no more than 52 bits")]

#[path = "fan_out/chaos.rs"]
mod chaos;
mod common;
#[path = "fan_out/hanging.rs"]
mod hanging;
#[path = "fan_out/mapped.rs"]
mod mapped;
#[path = "fan_out/overhead.rs"]
mod overhead;
#[path = "fan_out/peers.rs"]
mod peers;
#[path = "fan_out/site.rs"]
mod site;
#[path = "fan_out/slow.rs"]
mod slow;

use std::time::{Duration, Instant};

use self::common::{interleave::Slices, report::Report};

// The program's allocator, also for peers.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Clone, Copy, Debug)]
struct Scale {
    /// For sources without delay.
    slices: Slices,
    /// Requests of each client.
    chaos: usize,
}

type Section<'a> = (&'a str, &'a dyn Fn(&mut Report));

const FULL: Scale = Scale { slices: Slices { length: Duration::from_millis(250), count: 8 }, chaos: 60 };

const QUICK: Scale = Scale { slices: Slices { length: Duration::from_millis(100), count: 5 }, chaos: 6 };

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if peers::run_if_asked(&arguments) {
        return;
    }
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let Scale { slices, chaos } = if has("quick") { QUICK } else { FULL };
    // A search takes as long as its source: longer slices collect enough of them.
    let long = Slices { length: slices.length * 4, ..slices };

    let started = Instant::now();
    let sections: [Section<'_>; 6] = [
        ("overhead", &|report| overhead::run_slow(long, report)),
        ("throughput", &|report| overhead::run_throughput(slices, report)),
        ("hanging", &hanging::run),
        ("chaos", &|report| chaos::run(chaos, report)),
        ("slow", &|report| slow::run(long, report)),
        ("mapped", &|report| mapped::run(slices, report)),
    ];
    let all = !sections.iter().any(|(name, _)| has(name));
    for (name, run) in sections.iter().filter(|(name, _)| all || has(name)) {
        let mut report = Report::begin(&format!("fan_out/{name}"), &arguments, &slices.description());
        run(&mut report);
        report.finish();
    }
    println!("The run took {:.0} s.", started.elapsed().as_secs_f64());
}
