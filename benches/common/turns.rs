//! Servers that are measured in short turns of one after the other, so that what disturbs one disturbs all.

use std::{
    sync::Barrier,
    time::{Duration, Instant},
};

use futures::future::join_all;

use super::{
    load::{Connection, Samples, Target, block_on},
    report::millis,
};

/// The turns that servers take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turns {
    /// How long one turn of one server is.
    pub(crate) slice: Duration,
    /// Turns of each server in one case, after one that warms up.
    pub(crate) slices: usize,
}

impl Turns {
    /// How was measured, for the head of a run.
    pub(crate) fn described(self) -> String {
        format!(
            "in {} turns of {} ms for each server and case (longer ones where a request takes long), after one that warms up",
            self.slices,
            self.slice.as_millis()
        )
    }
}

/// A row's cells for a server beside its peer: median, p99 and throughput, with their ratios.
pub(crate) fn beside(ours: &Samples, peer: &Samples) -> String {
    format!(
        "{} / {} | {:.2} | {} / {} | {:.2} | {:.0} / {:.0} | {:.2}",
        millis(ours.quantile(0.5)),
        millis(peer.quantile(0.5)),
        ours.quantile(0.5) / peer.quantile(0.5),
        millis(ours.quantile(0.99)),
        millis(peer.quantile(0.99)),
        ours.quantile(0.99) / peer.quantile(0.99),
        ours.rate(),
        peer.rate(),
        ours.rate() / peer.rate(),
    )
}

/// Drives the servers in turns, each with `clients` connections; gives what was measured of each.
///
/// Two threads at the most make the load, and leave the other cores to the servers.
pub(crate) fn alternate<const N: usize>(targets: &[Target; N], clients: usize, turns: Turns) -> [Samples; N] {
    let threads = clients.min(2);
    let barrier = Barrier::new(threads);
    let per_thread: Vec<[Turn; N]> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|_| scope.spawn(|| drive(targets, clients / threads, turns, &barrier)))
            .collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut all = [const { Turn::NONE }; N];
    for thread in per_thread {
        for (all, its) in all.iter_mut().zip(thread) {
            all.latencies.extend(its.latencies);
            all.took = all.took.max(its.took);
        }
    }
    all.map(|all| Samples::new(all.latencies, all.took))
}

/// What one thread measured of one server.
struct Turn {
    latencies: Vec<Duration>,
    /// Until the last request that was begun in a turn was answered.
    took: Duration,
}

impl Turn {
    const NONE: Self = Self { latencies: Vec::new(), took: Duration::ZERO };
}

fn drive<const N: usize>(
    targets: &[Target; N],
    clients: usize,
    turns: Turns,
    barrier: &Barrier,
) -> [Turn; N] {
    block_on(async {
        let mut all = [const { Turn::NONE }; N];
        let mut connections: Vec<Vec<Connection>> = Vec::new();
        for target in targets {
            connections.push(join_all((0..clients).map(|_| Connection::open(target.address))).await);
        }
        for turn in 0..=turns.slices {
            for ((target, connections), all) in targets.iter().zip(&mut connections).zip(&mut all) {
                // No connection of this thread has anything to do here, so that it may wait.
                barrier.wait();
                let started = Instant::now();
                let end = started + turns.slice;
                let measured = join_all(connections.iter_mut().map(|connection| async move {
                    let mut latencies = Vec::new();
                    connection.call_until(target, end, &mut latencies).await;
                    latencies
                }))
                .await;
                if turn > 0 {
                    all.took += started.elapsed();
                    all.latencies.extend(measured.into_iter().flatten());
                }
            }
        }
        all
    })
}

impl Connection {
    async fn call_until(&mut self, target: &Target, end: Instant, latencies: &mut Vec<Duration>) {
        loop {
            let started = Instant::now();
            if started >= end {
                return;
            }
            self.call(target).await;
            latencies.push(started.elapsed());
        }
    }
}
