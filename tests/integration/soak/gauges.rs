//! Samples of the memory and descriptors of a server and its processes.

use std::{fs, path::Path, sync::Mutex, time::Duration};

use super::journal::Journal;
use crate::util::program::children_of;

const INTERVAL: Duration = Duration::from_millis(250);

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sample {
    /// Time since the journal began.
    pub(super) at: Duration,
    /// Bytes of memory of the server and its processes; shared ones count once.
    pub(super) memory: u64,
    /// Bytes of the server alone.
    pub(super) own_memory: u64,
    /// Its processes.
    pub(super) processes: usize,
    /// Its open descriptors.
    pub(super) descriptors: usize,
}

/// Samples in the order of their times.
#[derive(Default)]
pub(super) struct Gauges(Mutex<Vec<Sample>>);

impl Gauges {
    /// Adds samples until it is aborted.
    pub(super) async fn follow(&self, journal: &Journal, process: impl Fn() -> Option<u32>) {
        loop {
            if let Some(process) = process() {
                let taken = tokio::task::spawn_blocking(move || Sample::of(process)).await.unwrap();
                self.0.lock().unwrap().push(Sample { at: journal.now(), ..taken });
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }

    pub(super) fn last(&self) -> Option<Sample> {
        self.0.lock().unwrap().last().copied()
    }

    pub(super) fn between(&self, from: Duration, to: Duration) -> Vec<Sample> {
        let samples = self.0.lock().unwrap();
        samples.iter().filter(|sample| sample.at >= from && sample.at < to).copied().collect()
    }
}

impl Sample {
    /// Looks at a process that may have ended.
    fn of(process: u32) -> Self {
        let children = children_of(process);
        let own_memory = proportional_bytes(process);
        let memory = children.iter().map(|child| proportional_bytes(*child)).sum::<u64>() + own_memory;
        let descriptors = fs::read_dir(format!("/proc/{process}/fd")).map_or(0, Iterator::count);
        Self { at: Duration::ZERO, memory, own_memory, processes: children.len(), descriptors }
    }
}

/// Memory of a process; 0 once it has ended.
fn proportional_bytes(process: u32) -> u64 {
    let path = format!("/proc/{process}/smaps_rollup");
    let rollup = fs::read_to_string(Path::new(&path)).unwrap_or_default();
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or_default() << 10
}
