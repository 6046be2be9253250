use std::time::{Duration, Instant};

use crate::shared::Percentiles;

/// Rounds, and their longest duration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rounds {
    most: usize,
    time: Duration,
}

impl Rounds {
    /// Rounds with empty caches.
    pub(crate) const FIRST: Self = Self { most: 300, time: Duration::from_millis(800) };
    /// Rounds with filled caches.
    pub(crate) const AGAIN: Self = Self { most: 3_000, time: Duration::from_millis(400) };
}

/// Leaves out `prepare`; the first tenth warms up.
pub(crate) fn measure<R>(rounds: Rounds, prepare: impl Fn(), work: impl Fn() -> R) -> Percentiles {
    let mut samples = Vec::new();
    let begun = Instant::now();
    for round in 0..rounds.most + rounds.most / 10 {
        prepare();
        let started = Instant::now();
        std::hint::black_box(work());
        if round >= rounds.most / 10 || begun.elapsed() > rounds.time {
            samples.push(started.elapsed());
        }
        if begun.elapsed() > rounds.time && samples.len() >= 5 {
            break;
        }
    }
    Percentiles::of(samples)
}
