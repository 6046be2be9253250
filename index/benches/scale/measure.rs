//! Times of repeated work.

use std::time::{Duration, Instant};

/// How often something is done, and for how long at most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rounds {
    most: usize,
    time: Duration,
}

impl Rounds {
    /// With nothing remembered.
    pub(crate) const FIRST: Self = Self { most: 300, time: Duration::from_millis(800) };
    /// With everything remembered.
    pub(crate) const AGAIN: Self = Self { most: 3_000, time: Duration::from_millis(400) };
    /// Commits between which everything is searched for.
    pub(crate) const AFTER_COMMIT: usize = 100;
}

/// Microseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Measured {
    pub(crate) median: f64,
    pub(crate) p99: f64,
}

impl Measured {
    pub(crate) fn of(mut samples: Vec<Duration>) -> Self {
        samples.sort_unstable();
        let at = |place: usize| samples.get(place).map_or(0.0, |sample| sample.as_secs_f64() * 1e6);
        Self { median: at(samples.len() / 2), p99: at(samples.len() * 99 / 100) }
    }
}

impl std::fmt::Display for Measured {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:.1} / {:.1}", self.median, self.p99)
    }
}

/// Works in rounds, each after `prepare`, which is not measured. The first tenth warms up.
pub(crate) fn measure<R>(rounds: Rounds, prepare: impl Fn(), work: impl Fn() -> R) -> Measured {
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
    Measured::of(samples)
}
