//! Alternating slices per server, so that a disturbance affects all of them.

use std::{
    sync::Barrier,
    time::{Duration, Instant},
};

use futures::future::join_all;

use super::{
    load::{Connection, Samples, Target, block_on},
    report::millis,
};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Slices {
    pub(crate) length: Duration,
    /// Measured slices per server, after one for warm-up.
    pub(crate) count: usize,
}

impl Slices {
    pub(crate) fn description(self) -> String {
        format!("{} slices of {} ms", self.count, self.length.as_millis())
    }
}

/// Table cells: both medians and their ratio, the ratio of p99, throughput and its ratio.
pub(crate) fn compared(ours: &Samples, peer: &Samples) -> String {
    format!(
        "{} / {} | {:.2} | {:.2} | {:.0} | {:.2}",
        millis(ours.quantile(0.5)),
        millis(peer.quantile(0.5)),
        ours.quantile(0.5) / peer.quantile(0.5),
        ours.quantile(0.99) / peer.quantile(0.99),
        ours.rate(),
        ours.rate() / peer.rate(),
    )
}

/// Drives the servers in turn, each with `clients` connections.
///
/// At most two threads make the load; the other cores are for the servers.
pub(crate) fn interleave<const N: usize>(
    targets: &[Target; N],
    clients: usize,
    slices: Slices,
) -> [Samples; N] {
    let threads = clients.min(2);
    let barrier = Barrier::new(threads);
    let per_thread: Vec<[Measured; N]> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|_| scope.spawn(|| drive(targets, clients / threads, slices, &barrier)))
            .collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut all = [const { Measured::NONE }; N];
    for thread in per_thread {
        for (all, its) in all.iter_mut().zip(thread) {
            all.latencies.extend(its.latencies);
            all.took = all.took.max(its.took);
        }
    }
    all.map(|all| Samples::new(all.latencies, all.took))
}

struct Measured {
    latencies: Vec<Duration>,
    /// Time of the slices, each until its last answer.
    took: Duration,
}

impl Measured {
    const NONE: Self = Self { latencies: Vec::new(), took: Duration::ZERO };
}

fn drive<const N: usize>(
    targets: &[Target; N],
    clients: usize,
    slices: Slices,
    barrier: &Barrier,
) -> [Measured; N] {
    block_on(async {
        let mut all = [const { Measured::NONE }; N];
        let mut connections: Vec<Vec<Connection>> = Vec::new();
        for target in targets {
            connections.push(join_all((0..clients).map(|_| Connection::open(target.address))).await);
        }
        for slice in 0..=slices.count {
            for ((target, connections), all) in targets.iter().zip(&mut connections).zip(&mut all) {
                // No connection of this thread has work here, so the thread may block.
                barrier.wait();
                let started = Instant::now();
                let end = started + slices.length;
                let latencies = join_all(connections.iter_mut().map(|connection| async move {
                    let mut latencies = Vec::new();
                    connection.call_until(target, end, &mut latencies).await;
                    latencies
                }))
                .await;
                if slice > 0 {
                    all.took += started.elapsed();
                    all.latencies.extend(latencies.into_iter().flatten());
                }
            }
        }
        all
    })
}

impl Connection {
    pub(crate) async fn call_until(&mut self, target: &Target, end: Instant, latencies: &mut Vec<Duration>) {
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
