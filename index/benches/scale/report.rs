use std::process::Command;
use std::time::Instant;

use trawl_engine::Document;

use crate::cases::Case;
use crate::mixer::Mixer;
use crate::shared::three_digits;
use crate::{CaseTimes, CorpusReport};

/// Documents that bare tantivy indexes, for comparison.
const BARE: u64 = 100_000;
const BARE_COMMIT: usize = 10_000;

pub(crate) fn head(arguments: &[String], seed: u64) {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    println!("# scale\n");
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!(
        "{}, revision {}: `cargo bench -p trawl-index --bench scale -- {}` on {cores} cores, {}, load before: {}; seed {seed}.\n",
        output("date", &["-u", "+%Y-%m-%d %H:%M UTC"]),
        output("git", &["describe", "--always", "--dirty"]),
        arguments.join(" "),
        output("uname", &["-sr"]),
        load.trim(),
    );
}

fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    output.map_or_else(|_| "?".to_owned(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

pub(crate) fn tables(cases: &[Case], corpora: &[CorpusReport]) {
    queries(cases, corpora);
    indexes(corpora);
}

/// Compares the first corpus with the last.
fn queries(cases: &[Case], corpora: &[CorpusReport]) {
    let (Some(smallest), Some(largest)) = (corpora.first(), corpora.last()) else { return };
    let rows: Vec<&CaseTimes> = largest.rows.iter().flatten().collect();
    let at_once = rows.iter().filter(|row| row.at_once).count();
    println!("## The queries\n");
    println!(
        "Microseconds, median, in one column also p99. × compares the corpora (bar: 1.5); the columns after it are of the \
         larger one. {at_once} of {} queries ran on the runtime's own thread.\n",
        rows.len()
    );
    println!(
        "| query | matches | {} | {} | × | empty caches | by relevance | — empty caches | — two modules as one |",
        smallest.documents, largest.documents
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (place, case) in cases.iter().enumerate() {
        let Some(row) = &largest.rows[place] else { continue };
        let small = smallest.rows[place].as_ref().map(|row| row.again.median);
        let [first, again, mixed] = row
            .relevance
            .map_or([const { String::new() }; 3], |all| all.map(|measured| three_digits(measured.median)));
        println!(
            "| {} | {} | {} | {} | {} | {} | {again} | {first} | {mixed} |",
            case.name,
            row.total,
            small.map(three_digits).unwrap_or_default(),
            row.again,
            small.map(|small| format!("{:.2}", row.again.median / small)).unwrap_or_default(),
            three_digits(row.first.median),
        );
    }
    println!();
}

fn indexes(corpora: &[CorpusReport]) {
    println!("## The indexes\n");
    println!(
        "| documents | import, per second | CPU, µs per document | peak memory of the import, MiB | segments | MiB on disk | opened in, ms | allocated when opened / after all searches, MiB | mapped, MiB |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for corpus in corpora {
        let facts = &corpus.facts;
        println!(
            "| {} | {:.0} | {:.1} | {} | {} | {} | {:.0} | {} / {} | {} |",
            corpus.documents,
            corpus.documents as f64 / facts.import_seconds,
            facts.processor_seconds * 1e6 / corpus.documents as f64,
            facts.most_memory.saturating_sub(facts.memory_before) >> 20,
            corpus.segments,
            corpus.bytes >> 20,
            corpus.open_ms,
            corpus.memory[0] >> 20,
            corpus.memory[1] >> 20,
            corpus.mapped >> 20,
        );
    }
    println!();
}

/// The same documents, analysed before, with as many commits, on one thread.
pub(crate) fn beside_bare(mixer: &Mixer, ours: f64) {
    let documents: Vec<Document> = (0..BARE).map(|number| mixer.document(number, 0)).collect();
    let analysed: Vec<_> = documents.into_iter().map(trawl_index::bare::document).collect();
    let directory = tempfile::tempdir().unwrap();
    let index = trawl_index::bare::index(directory.path()).unwrap();
    let mut writer: tantivy::IndexWriter = index.writer_with_num_threads(1, 128 << 20).unwrap();
    let started = Instant::now();
    for (number, document) in analysed.into_iter().enumerate() {
        writer.add_document(document).unwrap();
        if (number + 1) % BARE_COMMIT == 0 {
            writer.commit().unwrap();
        }
    }
    let bare = BARE as f64 / started.elapsed().as_secs_f64();
    println!(
        "Bare tantivy indexes {bare:.0} analysed documents per second (one thread, {BARE} documents, a commit every {BARE_COMMIT}). \
         trawl, with analysis, reaches {:.2} × of it.",
        ours / bare
    );
}
