//! When segments are merged: often enough that a page looks into few, seldom enough that small commits stay cheap and a
//! bulk load is not held up.
//!
//! Segments are of levels by their size, each [`GROWTH`] times the one before. Where a level has enough of them, they
//! become one of the next. How many are enough depends on how much is written: each document is written again once a
//! level, so while much comes in more are left beside each other, and merged once it is over.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tantivy::index::SegmentMeta;
use tantivy::merge_policy::{MergeCandidate, MergePolicy};

/// Segments of at most this many documents are of the lowest level: what commits of a few documents make.
const SMALLEST_LEVEL_DOCUMENTS: u32 = 1_000;
/// By how much the segments of a level are larger than those of the one before.
const GROWTH: u32 = 4;
/// As many segments of the lowest level are merged, and as many of any level while much is written.
const MANY: usize = 8;
/// As many segments of the other levels are merged at other times.
const FEW: usize = 4;
/// Segments from this many documents on are not merged into larger ones: such a merge would take minutes.
const LARGEST_DOCUMENTS: u32 = 8_000_000;
/// The share of deleted documents, in percent, from which on a segment is written anew, alone if need be.
const DELETED_PERCENT: u32 = 25;

/// Documents a second from which on much is written.
const MUCH: u64 = 5_000;
/// The time over which they are counted.
const COUNTED_OVER: Duration = Duration::from_millis(500);

/// How much is being written.
#[derive(Debug)]
pub(crate) struct Pace {
    is_fast: AtomicBool,
    counted: Mutex<(u64, Instant)>,
}

impl Pace {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { is_fast: AtomicBool::new(false), counted: Mutex::new((0, Instant::now())) })
    }

    /// So many documents were written now.
    pub(crate) fn count(&self, documents: u64) {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        counted.0 += documents;
        let elapsed = counted.1.elapsed();
        if elapsed >= COUNTED_OVER {
            let milliseconds = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
            self.is_fast.store(counted.0.saturating_mul(1_000) / milliseconds >= MUCH, Ordering::Relaxed);
            *counted = (0, Instant::now());
        }
    }
}

/// The policy that the writer merges by.
pub(crate) fn policy(pace: Arc<Pace>) -> Box<dyn MergePolicy> {
    Box::new(Levels { pace })
}

#[derive(Debug)]
struct Levels {
    pace: Arc<Pace>,
}

impl MergePolicy for Levels {
    fn compute_merge_candidates(&self, segments: &[SegmentMeta]) -> Vec<MergeCandidate> {
        let sizes: Vec<Size> = segments
            .iter()
            .map(|segment| Size { alive: segment.num_docs(), deleted: segment.num_deleted_docs() })
            .collect();
        let ids = |places: Vec<usize>| places.into_iter().map(|place| segments[place].id()).collect();
        merges(&sizes, self.pace.is_fast.load(Ordering::Relaxed))
            .into_iter()
            .map(|places| MergeCandidate(ids(places)))
            .collect()
    }
}

/// The documents of a segment.
#[derive(Debug, Clone, Copy)]
struct Size {
    alive: u32,
    deleted: u32,
}

impl Size {
    /// 0 for the lowest level; none for the segments that are not merged into larger ones.
    fn level(self) -> Option<usize> {
        let mut level = 0;
        let mut end = SMALLEST_LEVEL_DOCUMENTS;
        while self.alive > end {
            level += 1;
            end = end.saturating_mul(GROWTH);
        }
        (self.alive < LARGEST_DOCUMENTS).then_some(level)
    }

    fn is_worn(self) -> bool {
        u64::from(self.deleted) * 100 > u64::from(self.alive + self.deleted) * u64::from(DELETED_PERCENT)
    }
}

/// Which segments are merged with each other, by their places.
fn merges(sizes: &[Size], much_is_written: bool) -> Vec<Vec<usize>> {
    let mut levels: Vec<Vec<usize>> = Vec::new();
    for (place, size) in sizes.iter().enumerate() {
        if let Some(level) = size.level() {
            levels.resize(levels.len().max(level + 1), Vec::new());
            levels[level].push(place);
        }
    }
    let mut merges = Vec::new();
    for (level, places) in levels.into_iter().enumerate() {
        let enough = if level == 0 || much_is_written { MANY } else { FEW };
        if places.len() >= enough {
            merges.push(places);
        }
    }
    let is_merged = |place: &usize| merges.iter().any(|merge| merge.contains(place));
    let is_worn = |place: &usize| sizes[*place].level() != Some(0) && sizes[*place].is_worn();
    let alone: Vec<usize> = (0..sizes.len()).filter(|place| is_worn(place) && !is_merged(place)).collect();
    merges.extend(alone.into_iter().map(|place| vec![place]));
    merges
}

#[cfg(test)]
mod tests {
    use super::{FEW, MANY, Size, merges};

    /// Commits of so many documents, with all that is merged after each.
    fn segments_after(commits: u32, documents: u32, much_is_written: bool) -> (Vec<Size>, u64) {
        let (mut segments, mut rewritten) = (Vec::new(), 0);
        for _ in 0..commits {
            segments.push(Size { alive: documents, deleted: 0 });
            while let Some(merge) = merges(&segments, much_is_written).pop() {
                let alive: u32 = merge.iter().map(|&place| segments[place].alive).sum();
                rewritten += u64::from(alive);
                let mut place = 0;
                segments.retain(|_| {
                    place += 1;
                    !merge.contains(&(place - 1))
                });
                segments.push(Size { alive, deleted: 0 });
            }
        }
        (segments, rewritten)
    }

    #[test]
    fn few_segments_are_left_however_much_was_written() {
        let (segments, _) = segments_after(20_000, 10, false);
        // 200,000 documents are of five levels.
        assert!(segments.len() < MANY + 5 * FEW, "{}", segments.len());
    }

    #[test]
    fn what_much_is_written_of_is_rewritten_less_often() {
        let (_, often) = segments_after(500, 10_000, false);
        let (segments, seldom) = segments_after(500, 10_000, true);
        assert!(seldom < often, "{seldom} {often}");
        let total: u64 = segments.iter().map(|size| u64::from(size.alive)).sum();
        assert!(seldom < 4 * total, "{seldom}");
    }

    #[test]
    fn a_worn_segment_is_written_anew_however_large_it_is() {
        for alive in [5_000, 500_000, 20_000_000] {
            let worn = Size { alive, deleted: alive / 2 };
            let whole = Size { alive, deleted: 0 };
            assert_eq!(merges(&[whole, worn], false), [vec![1]]);
        }
        // What is to be merged soon anyway is not.
        assert!(merges(&[Size { alive: 10, deleted: 10 }], false).is_empty());
    }

    #[test]
    fn the_largest_segments_are_left_alone() {
        let largest = [Size { alive: 9_000_000, deleted: 0 }; 2 * MANY];
        assert!(merges(&largest, false).is_empty());
    }
}
