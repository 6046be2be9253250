use std::process::Command;
use std::time::Instant;

use trawl_index::Document;

use crate::cases::Case;
use crate::mixer::Mixer;
use crate::shared::Percentiles;
use crate::{CaseTimes, CorpusReport};

/// For bare tantivy.
const BARE: u64 = 100_000;
const BARE_COMMIT: usize = 10_000;

pub(crate) fn head(arguments: &[String], seed: u64) {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    println!("# Flat cost\n");
    println!("- date: {}", output("date", &["-u", "+%Y-%m-%d %H:%M UTC"]));
    println!("- command: cargo bench -p trawl-index --bench scale -- {}", arguments.join(" "));
    println!("- revision: {}", output("git", &["describe", "--always", "--dirty"]));
    println!("- machine: {cores} cores, {}", output("uname", &["-sr"]));
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("- load of the machine before the run: {}", load.trim());
    println!("- randomness: everything is drawn from the seed {seed}\n");
}

fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    output.map_or_else(|_| "?".to_owned(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

pub(crate) fn tables(cases: &[Case], corpora: &[CorpusReport]) {
    println!("Microseconds, median / p99; × is the median beside that of the smallest corpus (bar: 1.5).\n");
    table("By time, asked again", cases, corpora, |row| Some(row.again));
    table("By time, the first time: nothing is remembered", cases, corpora, |row| Some(row.first));
    table("By time, each after a commit of 20 documents", cases, corpora, |row| Some(row.after_commit));
    table("By relevance, the first time", cases, corpora, |row| row.relevance.map(|[first, _]| first));
    table("By relevance, asked again", cases, corpora, |row| row.relevance.map(|[_, again]| again));
    indexes(corpora);
}

fn table(
    title: &str,
    cases: &[Case],
    corpora: &[CorpusReport],
    of: impl Fn(&CaseTimes) -> Option<Percentiles>,
) {
    let of = |corpus: &CorpusReport, place: usize| corpus.rows[place].as_ref().and_then(&of);
    if !corpora.iter().any(|corpus| (0..cases.len()).any(|place| of(corpus, place).is_some())) {
        return;
    }
    println!("## {title}\n");
    print!("| query | matches | at once |");
    for corpus in corpora {
        print!(" {} | × |", corpus.documents);
    }
    println!("\n|---|---|---|{}", "---|---|".repeat(corpora.len()));
    for (place, case) in cases.iter().enumerate() {
        let row = corpora.iter().rev().find_map(|corpus| corpus.rows[place].as_ref());
        let Some(row) = row else { continue };
        let smallest = corpora.iter().find_map(|corpus| of(corpus, place));
        print!("| {} | {} | {} |", case.name, row.total, if row.at_once { "yes" } else { "" });
        for corpus in corpora {
            match (of(corpus, place), smallest) {
                (Some(measured), Some(smallest)) => {
                    print!(" {measured} | {:.2} |", measured.median / smallest.median);
                }
                _ => print!(" | |"),
            }
        }
        println!();
    }
    println!();
}

fn indexes(corpora: &[CorpusReport]) {
    println!("## The indexes\n");
    println!(
        "| documents | import, a second | processor, µs a document | most memory while importing, MiB | 2 % changed, seconds | commit of 10,000, ms, median / p99 / most | segments | MiB on disk | opened in, ms | allocated when opened / after all searches, MiB | mapped, MiB |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    for corpus in corpora {
        let facts = &corpus.facts;
        println!(
            "| {} | {:.0} | {:.1} | {} | {:.1} | {:.0} / {:.0} / {:.0} | {} | {} | {:.0} | {} / {} | {} |",
            corpus.documents,
            corpus.documents as f64 / facts.import_seconds,
            facts.processor_seconds * 1e6 / corpus.documents as f64,
            facts.most_memory.saturating_sub(facts.memory_before) >> 20,
            facts.change_seconds,
            facts.commit_median_ms,
            facts.commit_p99_ms,
            facts.commit_most_ms,
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
        "Bare tantivy, one thread, {BARE} documents that are analysed already, a commit every {BARE_COMMIT}: {bare:.0} a second. \
         trawl over the smallest corpus, analysis included: {:.2} × of it.",
        ours / bare
    );
}
