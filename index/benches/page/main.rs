//! Pages and indexing beside bare tantivy, as a table for benches/README.md.
//!
//! Both work on the same index and documents; `peers` says what the peers leave out.
//!
//! `cargo bench -p trawl-index --bench page`

#![allow(clippy::unwrap_used, reason = "a bench that cannot go on has nothing better to do")]

mod peers;
#[path = "../shared/mod.rs"]
mod shared;
mod texts;

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use peers::Bare;
use shared::Percentiles;
use texts::Times;
use trawl_engine::{Change, Checkpoint, Document, Page, Query, Request, Scope, Start, TimePosition};
use trawl_index::{Index, Options, Snapshot};

const LIMIT: usize = 10;
const DEEP_PAGE: usize = 1_000;

fn main() {
    let scope = Arc::new(Scope::new(1, "feed"));
    println!("## A page of {LIMIT} in time order, with its total\n");
    println!(
        "Microseconds, median / p99. Seek: a bare hand-written seek over tantivy, without ids, ties and visibility. \
         TopDocs: `(Count, TopDocs::order_by_fast_field)`.\n"
    );
    println!(
        "| documents | segments | query | matches | page | trawl | seek | trawl : seek | TopDocs | TopDocs : trawl |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for (count, times) in [(100_000, Times::Distinct), (1_000_000, Times::Distinct), (1_000_000, Times::Days)]
    {
        let directory = tempfile::tempdir().unwrap();
        let (index, mut writer) = Index::open(directory.path(), &Options::default()).unwrap();
        for batch in texts::documents(&scope, count, times).chunks(20_000) {
            writer.apply(batch.iter().cloned().map(Change::Put).collect()).unwrap();
        }
        commit(&mut writer);
        writer.merge_all().unwrap();
        writer.close().unwrap();
        let snapshot = index.snapshot();
        let bare = Bare::open(directory.path(), &scope);
        let label = format!("{count}{}", if times == Times::Days { ", whole days" } else { "" });
        for (name, keyword) in bare.words() {
            for page in [1, DEEP_PAGE] {
                page_row(&snapshot, &bare, &scope, &label, &format!("{name} `{keyword}`"), &keyword, page);
            }
        }
        if times == Times::Distinct && count == 1_000_000 {
            other_rows(&snapshot, &scope);
        }
    }
    indexing(&scope);
}

/// None if the query has no such page.
fn page_row(
    snapshot: &Snapshot,
    bare: &Bare,
    scope: &Arc<Scope>,
    label: &str,
    name: &str,
    keyword: &str,
    page: usize,
) {
    let query = Query::parse(&format!("{keyword} "));
    let skipped = (page - 1) * LIMIT;
    let after = (skipped > 0).then(|| {
        let before = search(snapshot, scope, query.clone(), None, skipped);
        let last = before.hits.last().unwrap();
        (before.more, TimePosition { display_time: last.display_time, id: Some(last.id.clone()) })
    });
    if matches!(after, Some((false, _))) {
        return;
    }
    let after = after.map(|(_, after)| after);
    let total = search(snapshot, scope, query, after.as_ref(), LIMIT).total;
    let after_time = after.as_ref().map(|after| after.display_time);

    let ours =
        || search(snapshot, scope, Query::parse(&format!("{keyword} ")), after.as_ref(), LIMIT).hits.len();
    let [ours, seek] = measure([&ours, &|| bare.seek_page(keyword, after_time, LIMIT)], 3_000);
    let [top] = measure([&|| bare.top_docs_page(keyword, skipped, LIMIT)], 60);
    println!(
        "| {label} | {} | {name} | {total} | {page} | {ours} | {seek} | {:.2} | {top} | {:.1} |",
        snapshot.segments(),
        ours.median / seek.median,
        top.median / ours.median,
    );
}

fn other_rows(snapshot: &Snapshot, scope: &Arc<Scope>) {
    let keywords = ["中国 美国", "\"中国人\"", "中国 -美国", "回应", "iphon", "n", "的"];
    for keyword in keywords {
        let query = Query::parse(keyword);
        let total = search(snapshot, scope, query, None, LIMIT).total;
        // A new bound each time, below all documents, so that no total is cached.
        let bound = Cell::new(i64::MIN);
        let page = |start: Start| {
            bound.set(bound.get() + 1);
            let query = Query::parse(keyword);
            let request = Request { from: Some(bound.get()), start, ..request(scope, query, None, LIMIT) };
            snapshot.search(&request).unwrap().hits.len()
        };
        let newest = || page(Start::Time { after: None, whole_ties: None });
        let again = || search(snapshot, scope, Query::parse(keyword), None, LIMIT).hits.len();
        let [newest, again] = measure([&newest, &again], 300);
        let [relevance] = measure([&|| page(Start::relevance(0, 0))], 60);
        println!(
            "| | | other `{keyword}` | {total} | 1 | {newest}; total remembered: {again}; \
             by relevance: {relevance} | | | | |"
        );
    }
}

fn request(scope: &Arc<Scope>, query: Query, after: Option<&TimePosition>, limit: usize) -> Request {
    Request {
        scope: Arc::clone(scope),
        query: Arc::new(query),
        principals: Arc::default(),
        from: None,
        to: None,
        author: None,
        start: Start::Time { after: after.cloned(), whole_ties: None },
        limit,
    }
}

fn search(
    snapshot: &Snapshot,
    scope: &Arc<Scope>,
    query: Query,
    after: Option<&TimePosition>,
    limit: usize,
) -> Page {
    snapshot.search(&request(scope, query, after, limit)).unwrap()
}

fn indexing(scope: &Arc<Scope>) {
    const COUNT: usize = 200_000;
    let documents: Vec<Document> = texts::documents(scope, COUNT, Times::Distinct);
    println!("\n## Indexing {COUNT} documents\n");
    println!("| what | documents a second | of bare tantivy |");
    println!("|---|---|---|");

    let analysed: Vec<_> = documents.iter().cloned().map(trawl_index::bare::document).collect();
    let directory = tempfile::tempdir().unwrap();
    let bare_index = trawl_index::bare::index(directory.path()).unwrap();
    let mut bare_writer: tantivy::IndexWriter =
        bare_index.writer_with_num_threads(1, 128 * 1024 * 1024).unwrap();
    let started = Instant::now();
    for document in analysed {
        bare_writer.add_document(document).unwrap();
    }
    bare_writer.commit().unwrap();
    let bare = rate(COUNT, started.elapsed());
    println!("| bare tantivy, analysed documents, one thread, one commit | {bare:.0} | 1.00 |");

    for threads in [1, 2] {
        let directory = tempfile::tempdir().unwrap();
        let options = Options { indexing_threads: threads, ..Options::default() };
        let (_index, mut writer) = Index::open(directory.path(), &options).unwrap();
        let batches: Vec<Vec<Change>> =
            documents.chunks(5_000).map(|batch| batch.iter().cloned().map(Change::Put).collect()).collect();
        let started = Instant::now();
        for batch in batches {
            writer.apply(batch).unwrap();
        }
        commit(&mut writer);
        let ours = rate(COUNT, started.elapsed());
        println!(
            "| trawl, analysis included, {threads} indexing, one commit | {ours:.0} | {:.2} |",
            ours / bare
        );
        if threads == 1 {
            small_commits(&mut writer, &documents);
        }
    }
}

fn small_commits(writer: &mut trawl_index::Writer, documents: &[Document]) {
    for size in [1, 20, 100] {
        let mut samples = Vec::new();
        for batch in documents.chunks(size).step_by(37).take(150) {
            let changes = batch.iter().cloned().map(Change::Put).collect();
            let started = Instant::now();
            writer.apply(changes).unwrap();
            commit(writer);
            samples.push(started.elapsed());
        }
        let measured = Percentiles::of(samples);
        println!(
            "| commit of {size} upserts on {} documents, µs median / p99 | {measured} | |",
            documents.len()
        );
    }
}

fn commit(writer: &mut trawl_index::Writer) {
    writer.commit(&Checkpoint { store: "bench".to_owned(), position: 1, complete: true }).unwrap();
}

#[allow(clippy::cast_precision_loss, reason = "a rate needs no more than 52 bits")]
fn rate(count: usize, elapsed: Duration) -> f64 {
    count as f64 / elapsed.as_secs_f64()
}

/// By turns, so that disturbances hit all alike.
fn measure<const N: usize>(works: [&dyn Fn() -> usize; N], rounds: usize) -> [Percentiles; N] {
    let mut samples = [const { Vec::new() }; N];
    for round in 0..rounds + rounds / 10 {
        for (work, samples) in works.iter().zip(&mut samples) {
            let started = Instant::now();
            std::hint::black_box(work());
            // Warms up.
            if round >= rounds / 10 {
                samples.push(started.elapsed());
            }
        }
    }
    samples.map(Percentiles::of)
}
