//! One program for all fuzzers: `TRAWL_FUZZER` names the target.
#![no_main]

mod package;

use std::env;
use std::panic::{self, PanicHookInfo};
use std::sync::OnceLock;

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

#[derive(Clone, Copy)]
struct Target {
    read: fn(&[u8]),
    /// Whether the product reads it in a process of its own.
    is_confined: bool,
}

static TARGET: OnceLock<Target> = OnceLock::new();

fn target(name: &str) -> Option<Target> {
    let (read, is_confined): (fn(&[u8]), bool) = match name {
        "feeds" => (trawl::fuzzing::feed, false),
        "rows" => (trawl::fuzzing::rows, false),
        "charsets" => (trawl::fuzzing::charset, false),
        "markdown" => (trawl::fuzzing::markdown, true),
        "mail" | "archives" | "compound" | "pdf" | "pictures" | "sheets" | "texts" => {
            (trawl::fuzzing::document, true)
        }
        "times" => (trawl_connectors::fuzzing::time, false),
        "answers" => (trawl_connectors::fuzzing::answer, false),
        "mapped" => (trawl_connectors::fuzzing::mapped_answer, true),
        "tokens" => (trawl_connectors::fuzzing::token, false),
        "links" => (trawl_connectors::fuzzing::link, false),
        "queries" => (trawl_engine::fuzzing::query, false),
        "cursors" => (trawl_search::fuzzing::cursor, false),
        _ => return None,
    };
    Some(Target { read, is_confined })
}

fn start() {
    let name = env::var("TRAWL_FUZZER").unwrap_or_default();
    let target = target(&name).unwrap_or_else(|| panic!("TRAWL_FUZZER names no target: `{name}`"));
    TARGET.get_or_init(|| target);
    let abort = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if !(target.is_confined && is_of_library(panic)) {
            abort(panic);
        }
        eprintln!("a library panicked, as the product would tell: {panic}");
    }));
}

fn is_of_library(panic: &PanicHookInfo<'_>) -> bool {
    panic.location().is_some_and(|place| place.file().contains("/registry/src/"))
}

fuzz_target!(init: start(), |input: &[u8]| {
    let target = TARGET.get().expect("it is set at the start");
    if panic::catch_unwind(|| (target.read)(input)).is_err() {
        assert!(target.is_confined);
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    match package::mutate(&data[..size], max_size, seed).filter(|mutated| mutated.len() <= max_size) {
        Some(mutated) => {
            data[..mutated.len()].copy_from_slice(&mutated);
            mutated.len()
        }
        None => fuzzer_mutate(data, size, max_size),
    }
});
