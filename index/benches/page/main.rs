//! Pages beside bare tantivy over the same index; `bare` says what the peer leaves out.
//!
//! `cargo bench -p trawl-index --bench page`

#![allow(clippy::panic, clippy::unwrap_used, reason = "a bench that cannot go on has nothing better to do")]

#[path = "../shared/bare.rs"]
mod bare;
#[path = "../shared/mod.rs"]
mod shared;
mod texts;

use std::sync::Arc;
use std::time::Instant;

use bare::Bare;
use shared::Percentiles;
use tantivy::Order;
use tantivy::collector::{Count, TopDocs};
use tantivy::query::TermQuery;
use tantivy::schema::IndexRecordOption;
use trawl_engine::{Change, Checkpoint, HitPage, Query, Request, Scope, Start, TimePosition};
use trawl_index::{Index, Options, Snapshot};

const LIMIT: usize = 10;
const DEEP_PAGE: usize = 1_000;

fn main() {
    let Some(headlines) = texts::headlines() else {
        eprintln!("skipped: the real texts are not here");
        return;
    };
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
    for count in [100_000, 1_000_000] {
        let directory = tempfile::tempdir().unwrap();
        let (index, mut writer) = Index::open(directory.path(), &Options::default()).unwrap();
        for batch in texts::documents(&headlines, &scope, count).chunks(20_000) {
            writer.apply(batch.iter().cloned().map(Change::Put).collect()).unwrap();
        }
        writer.commit(&Checkpoint { store: "bench".to_owned(), position: 1, complete: true }).unwrap();
        writer.merge_all().unwrap();
        writer.close().unwrap();
        let snapshot = index.snapshot();
        let bare = Bare::open(directory.path(), scope.tenant);
        for (name, share) in [("common", 10), ("medium", 100), ("rare", 10_000)] {
            // Other words are stemmed, and the peers' are not.
            let fits = |word: &str| !word.is_empty() && !word.is_ascii();
            let words = bare.words(&scope.module, bare.searcher.num_docs() / share, fits);
            let keyword = &words[0].text;
            for page in [1, DEEP_PAGE] {
                page_row(&snapshot, &bare, &scope, count, &format!("{name} `{keyword}`"), keyword, page);
            }
        }
    }
}

/// None if the query has no such page.
fn page_row(
    snapshot: &Snapshot,
    bare: &Bare,
    scope: &Arc<Scope>,
    count: usize,
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
    let seek = || {
        let mut rows = String::new();
        bare.page(&scope.module, keyword, after_time, LIMIT, &mut rows).0 + rows.len()
    };
    let [ours, seek] = measure([&ours, &seek], 3_000);
    let [top] = measure([&|| top_docs_page(bare, &scope.module, keyword, skipped, LIMIT)], 60);
    println!(
        "| {count} | {} | {name} | {total} | {page} | {ours} | {seek} | {:.2} | {top} | {:.1} |",
        snapshot.segments(),
        ours.median / seek.median,
        top.median / ours.median,
    );
}

/// A page by tantivy's collectors.
fn top_docs_page(bare: &Bare, module: &str, word: &str, skip: usize, limit: usize) -> usize {
    let query = TermQuery::new(bare.term(module, word), IndexRecordOption::Basic);
    let newest =
        TopDocs::with_limit(limit).and_offset(skip).order_by_fast_field::<i64>("display_time", Order::Desc);
    let (total, found) = bare.searcher.search(&query, &(Count, newest)).unwrap();
    let mut rows = String::new();
    for (_, address) in found {
        bare.read(address, &mut rows);
    }
    total + rows.len()
}

fn search(
    snapshot: &Snapshot,
    scope: &Arc<Scope>,
    query: Query,
    after: Option<&TimePosition>,
    limit: usize,
) -> HitPage {
    let start = Start::Time { after: after.cloned(), whole_ties: None };
    let all = Request::total_of(scope, &Arc::default(), Arc::new(query));
    snapshot.search(&Request { start, limit, ..all }).unwrap()
}

/// Measures works by turns, so that disturbances hit all alike.
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
