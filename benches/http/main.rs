//! What trawl costs over HTTP beside the least that the same work can cost, in one run on one machine.
//!
//! Every section measures the `trawl` program and its peer at the same time, in short slices that take turns, so that
//! what disturbs one disturbs the other. Servers and peers are processes of their own. README.md says how to read it.
//!
//! `cargo bench --bench http [-- quick] [-- large] [-- pages|freshness|merge|import|todos|objects|directory|files …]`

#![allow(clippy::unwrap_used, reason = "a bench that cannot go on has nothing better to do")]
#![allow(clippy::panic, reason = "an answer that is wrong ends the bench")]
#![allow(clippy::cast_precision_loss, reason = "a figure needs no more than 52 bits")]

#[path = "../common/mod.rs"]
mod common;
mod data;
mod directory;
mod files;
mod objects;
mod pages;
mod peers;
mod texts;
mod todos;
mod worn;
mod writes;

use std::time::{Duration, Instant};

use self::common::{report, turns::Turns};

// The same allocator as the program's, for the peers that run from this executable.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    /// Documents of the small and the large index.
    pub(crate) documents: [usize; 2],
    /// The turns of pages and to-dos.
    pub(crate) turns: Turns,
    /// How long single writes go in.
    pub(crate) freshness: Duration,
    /// Documents of the bulk import.
    pub(crate) import: usize,
    /// Everyday objects of each kind.
    pub(crate) objects: usize,
    /// Departments and users of the directory.
    pub(crate) directory: [usize; 2],
    /// Rounds of files up and down.
    pub(crate) files: usize,
}

const FULL: Scale = Scale {
    documents: [100_000, 1_000_000],
    turns: Turns { slice: Duration::from_millis(250), slices: 8 },
    freshness: Duration::from_secs(15),
    import: 100_000,
    objects: 1_000,
    directory: [5_000, 100_000],
    files: 8,
};

const QUICK: Scale = Scale {
    documents: [50_000, 200_000],
    turns: Turns { slice: Duration::from_millis(100), slices: 5 },
    freshness: Duration::from_secs(4),
    import: 20_000,
    objects: 400,
    directory: [1_000, 20_000],
    files: 2,
};

/// The documents of the large index when it is asked for.
const LARGE: usize = 10_000_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if peers::run_if_asked(&arguments) {
        return;
    }
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let mut scale = if has("quick") { QUICK } else { FULL };
    if has("large") {
        scale.documents[1] = LARGE;
    }
    let sections = ["pages", "freshness", "merge", "import", "todos", "objects", "directory", "files"];
    let chosen = |name: &str| has(name) || !sections.iter().any(|section| has(section));

    let started = Instant::now();
    report::head("http", "Load over HTTP", &arguments, &scale.turns.described());
    if chosen("pages") {
        pages::run(&scale);
    }
    if chosen("freshness") {
        writes::freshness(&scale);
    }
    if chosen("merge") {
        writes::freshness_while_merging(&scale);
    }
    if chosen("import") {
        writes::import(&scale);
    }
    if chosen("todos") {
        todos::run(&scale);
    }
    if chosen("objects") {
        objects::run(&scale);
    }
    if chosen("directory") {
        directory::run(&scale);
    }
    if chosen("files") {
        files::run(&scale);
    }
    println!("\nThe run took {:.0} s.", started.elapsed().as_secs_f64());
}
