//! Ten thousand small tenants beside a large one in one index.

use std::time::Instant;

use trawl_engine::{Change, Scope};
use trawl_index::{Index, Options, Writer};

use crate::cases::Case;
use crate::mixer::{Mixer, Random};
use crate::shared::Percentiles;
use crate::{corpus, resident};

const LARGE_DOCUMENTS: u64 = 1_000_000;
const SMALL_TENANTS: u64 = 10_000;
const DOCUMENTS_OF_EACH: u64 = 20;
const FIRST_SMALL: u64 = 100;
const COMMIT: u64 = 10_000;
/// Alternating with small tenants.
const SEARCHES: u64 = 10_000;

pub(crate) fn run(mixer: &Mixer) {
    let directory = tempfile::tempdir_in(corpus::target()).unwrap();
    let (index, mut writer) = Index::open(directory.path(), &Options::default()).unwrap();
    let large = Scope::new(1, "feed");
    put(mixer, &mut writer, LARGE_DOCUMENTS, |_| large.clone());
    writer.close().unwrap();
    drop(index);

    println!("## {SMALL_TENANTS} tenants of {DOCUMENTS_OF_EACH} documents beside one of {LARGE_DOCUMENTS}\n");
    println!("A page of a common word by time. Microseconds, median / p99.\n");
    println!(
        "| index | segments | MiB on disk | opened in, ms | large tenant | small tenants, first | again | allocated for the searches, MiB |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    row("the large tenant alone", directory.path(), &large, 0);
    let (index, mut writer) = Index::open(directory.path(), &Options::default()).unwrap();
    put(mixer, &mut writer, SMALL_TENANTS * DOCUMENTS_OF_EACH, |number| small(number / DOCUMENTS_OF_EACH));
    writer.close().unwrap();
    drop(index);
    row("with the small ones", directory.path(), &large, SMALL_TENANTS);
    println!();
}

fn small(number: u64) -> Scope {
    Scope::new(i64::try_from(FIRST_SMALL + number).unwrap(), "feed")
}

fn put(mixer: &Mixer, writer: &mut Writer, documents: u64, scope: impl Fn(u64) -> Scope) {
    for first in (0..documents).step_by(usize::try_from(COMMIT).unwrap()) {
        let numbers = first..documents.min(first + COMMIT);
        let put = |number| Change::Put(mixer.document_in(scope(number), number, 0));
        writer.apply(numbers.map(put).collect()).unwrap();
        corpus::commit(writer);
    }
    eprintln!("{documents} documents are put");
}

fn row(name: &str, directory: &std::path::Path, large: &Scope, tenants: u64) {
    let bytes = corpus::size(directory);
    let started = Instant::now();
    let (index, writer) = Index::open(directory, &Options::default()).unwrap();
    let opened = started.elapsed().as_secs_f64() * 1e3;
    let before = resident::anonymous();
    let snapshot = index.snapshot();
    let case = Case { keyword: "but ".to_owned(), ..Case::default() };
    let (mut of_large, mut first, mut again) = (Vec::new(), Vec::new(), Vec::new());
    let mut random = Random::new(3, tenants);
    for search in 0..SEARCHES {
        of_large.push(case.time_page(&snapshot, large));
        if search < tenants {
            first.push(case.time_page(&snapshot, &small(search)));
            again.push(case.time_page(&snapshot, &small(random.below(search + 1))));
        }
    }
    let allocated = resident::anonymous().saturating_sub(before);
    println!(
        "| {name} | {} | {} | {opened:.0} | {} | {} | {} | {} |",
        snapshot.segments(),
        bytes >> 20,
        Percentiles::of(of_large),
        Percentiles::of(first),
        Percentiles::of(again),
        allocated >> 20,
    );
    writer.close().unwrap();
}
