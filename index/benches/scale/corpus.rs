//! Corpora, built once for each size, seed and version, and kept in `target`.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use trawl_engine::{Change, Checkpoint};
use trawl_index::{Index, Options, Writer};

use crate::mixer::{self, Mixer, Random};
use crate::resident;

/// Changes of a commit, as in a server that catches up.
const IMPORT_COMMIT: u64 = 10_000;
const BATCH: u64 = 1_000;
/// One document in this many is replaced after the import, and one removed.
const CHANGED: u64 = 100;
const TELL_INTERVAL: u64 = 500_000;
/// Marks a complete index.
const FACTS: &str = "facts.json";

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct BuildFacts {
    pub(crate) import_seconds: f64,
    /// Time on all processors, over import and changes.
    pub(crate) processor_seconds: f64,
    /// Peak of allocated bytes, without mapped files.
    pub(crate) most_memory: u64,
    pub(crate) memory_before: u64,
}

/// Builds the index unless it exists.
pub(crate) fn prepare(mixer: &Mixer, documents: u64, seed: u64) -> (PathBuf, BuildFacts) {
    let directory = target().join(format!("{documents}-seed{seed}-v{}", mixer::VERSION));
    let facts = directory.join(FACTS);
    if let Some(facts) = std::fs::read(&facts).ok().and_then(|facts| serde_json::from_slice(&facts).ok()) {
        eprintln!("{documents} documents are at hand in {}", directory.display());
        return (directory, facts);
    }
    let _ = std::fs::remove_dir_all(&directory);
    let measured = build(mixer, documents, &directory);
    std::fs::write(facts, serde_json::to_vec(&measured).unwrap()).unwrap();
    (directory, measured)
}

fn target() -> PathBuf {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/scale");
    std::fs::create_dir_all(&target).unwrap();
    target
}

pub(crate) fn copy(directory: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir_in(directory.parent().unwrap()).unwrap();
    for file in std::fs::read_dir(directory).unwrap() {
        let file = file.unwrap();
        let to = copy.path().join(file.file_name());
        // Segments never change; other files are small.
        if file.metadata().unwrap().len() < 1 << 16 {
            std::fs::copy(file.path(), to).unwrap();
        } else {
            std::fs::hard_link(file.path(), to).unwrap();
        }
    }
    copy
}

/// Size of a directory in bytes.
pub(crate) fn size(directory: &Path) -> u64 {
    std::fs::read_dir(directory).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum()
}

fn build(mixer: &Mixer, documents: u64, directory: &Path) -> BuildFacts {
    let memory_before = resident::anonymous();
    let processor_before = resident::processor_seconds();
    let (index, mut writer) = Index::open(directory, &Options::default()).unwrap();
    let stop = AtomicBool::new(false);
    let most = AtomicU64::new(0);
    let import_seconds = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                most.fetch_max(resident::anonymous(), Ordering::Relaxed);
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        });
        let (sender, batches) = mpsc::sync_channel(4);
        scope.spawn(move || {
            for start in (0..documents).step_by(usize::try_from(BATCH).unwrap()) {
                let numbers = start..documents.min(start + BATCH);
                let batch: Vec<Change> =
                    numbers.map(|number| Change::Put(mixer.document(number, 0))).collect();
                if sender.send(batch).is_err() {
                    return;
                }
            }
        });
        let started = Instant::now();
        let mut done = 0;
        for batch in batches {
            let uncommitted = done % IMPORT_COMMIT + batch.len() as u64;
            done += batch.len() as u64;
            writer.apply(batch).unwrap();
            writer.set_bulk(done < documents);
            if uncommitted >= IMPORT_COMMIT || done == documents {
                commit(&mut writer);
            }
            if done.is_multiple_of(TELL_INTERVAL) {
                let rate = done as f64 / started.elapsed().as_secs_f64();
                let (segments, memory) = (index.snapshot().segments(), resident::anonymous() >> 20);
                eprintln!(
                    "{done} of {documents} documents, {rate:.0} a second, {segments} segments, {memory} MiB"
                );
            }
        }
        let import_seconds = started.elapsed().as_secs_f64();
        let mut changes = Vec::new();
        let mut random = Random::new(1, documents);
        for number in 0..documents / CHANGED {
            let other = random.below(documents);
            changes.push(Change::Put(mixer.document(random.below(documents), 1)));
            let removed = mixer.document(other, 0);
            changes.push(Change::Remove { scope: removed.scope, id: removed.id });
            if changes.len() >= 1_000 || number + 1 == documents / CHANGED {
                writer.apply(std::mem::take(&mut changes)).unwrap();
                commit(&mut writer);
            }
        }
        // Single writes after an import trigger the remaining merges.
        for version in 1..=3 {
            std::thread::sleep(std::time::Duration::from_secs(1));
            writer.apply(vec![Change::Put(mixer.document(0, version))]).unwrap();
            commit(&mut writer);
        }
        stop.store(true, Ordering::Relaxed);
        import_seconds
    });
    writer.close().unwrap();
    BuildFacts {
        import_seconds,
        processor_seconds: resident::processor_seconds() - processor_before,
        most_memory: most.into_inner(),
        memory_before,
    }
}

fn commit(writer: &mut Writer) {
    writer.commit(&Checkpoint { store: "bench".to_owned(), position: 1, complete: true }).unwrap();
}

pub(crate) fn open(directory: &Path) -> (Index, Writer) {
    Index::open(directory, &Options::default()).unwrap()
}
