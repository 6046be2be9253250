//! Leveled merge policy that waits for the end of a bulk.
//!
//! Segments of a level are [`LEVEL_FACTOR`] times larger than those of the level below. At most three stay in a level, seven in the lowest;
//! a full level is merged into the next, so each level rewrites every document once. During a bulk up to [`MAX_BULK_SEGMENTS`] stay in a
//! level, and merges take no time from indexing. The largest segments are not merged. A segment of any size is rewritten once a quarter is deleted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tantivy::index::SegmentMeta;
use tantivy::merge_policy::{MergeCandidate, MergePolicy};

/// Commits of a few documents.
const MAX_LOWEST_LEVEL_DOCUMENTS: u32 = 1_000;
const LEVEL_FACTOR: u32 = 4;
/// Segments of one merge in the lowest level.
const LOWEST_MERGE_FACTOR: usize = 8;
const MERGE_FACTOR: usize = 4;
const MAX_BULK_SEGMENTS: usize = 32;
/// Merging these would take minutes.
const MAX_MERGED_DOCUMENTS: u32 = 8_000_000;
const MAX_DELETED_PERCENT: u32 = 25;

/// The policy, and whether a bulk is under way, which its writer tells.
pub(crate) fn policy(is_bulk: Arc<AtomicBool>) -> Box<dyn MergePolicy> {
    Box::new(LeveledMergePolicy { is_bulk })
}

#[derive(Debug)]
struct LeveledMergePolicy {
    is_bulk: Arc<AtomicBool>,
}

impl MergePolicy for LeveledMergePolicy {
    fn compute_merge_candidates(&self, segments: &[SegmentMeta]) -> Vec<MergeCandidate> {
        let sizes: Vec<SegmentSize> = segments
            .iter()
            .map(|segment| SegmentSize { alive: segment.num_docs(), deleted: segment.num_deleted_docs() })
            .collect();
        let ids = |places: Vec<usize>| places.into_iter().map(|place| segments[place].id()).collect();
        merges(&sizes, self.is_bulk.load(Ordering::Relaxed))
            .into_iter()
            .map(|places| MergeCandidate(ids(places)))
            .collect()
    }
}

#[derive(Debug, Clone, Copy)]
struct SegmentSize {
    alive: u32,
    deleted: u32,
}

impl SegmentSize {
    /// Level from 0; `None` for segments too large to merge.
    fn level(self) -> Option<usize> {
        let mut level = 0;
        let mut end = MAX_LOWEST_LEVEL_DOCUMENTS;
        while self.alive > end {
            level += 1;
            end = end.saturating_mul(LEVEL_FACTOR);
        }
        (self.alive < MAX_MERGED_DOCUMENTS).then_some(level)
    }

    fn needs_rewrite(self) -> bool {
        u64::from(self.deleted) * 100 > u64::from(self.alive + self.deleted) * u64::from(MAX_DELETED_PERCENT)
    }
}

fn merges(sizes: &[SegmentSize], is_bulk: bool) -> Vec<Vec<usize>> {
    let mut levels: Vec<Vec<usize>> = Vec::new();
    for (place, size) in sizes.iter().enumerate() {
        if let Some(level) = size.level() {
            levels.resize(levels.len().max(level + 1), Vec::new());
            levels[level].push(place);
        }
    }
    let mut merges = Vec::new();
    for (level, places) in levels.into_iter().enumerate() {
        let enough = match level {
            _ if is_bulk => MAX_BULK_SEGMENTS,
            0 => LOWEST_MERGE_FACTOR,
            _ => MERGE_FACTOR,
        };
        if places.len() >= enough {
            merges.push(places);
        }
    }
    let is_merged = |place: &usize| merges.iter().any(|merge| merge.contains(place));
    let needs_rewrite = |place: &usize| sizes[*place].level() != Some(0) && sizes[*place].needs_rewrite();
    let alone: Vec<usize> =
        (0..sizes.len()).filter(|place| needs_rewrite(place) && !is_merged(place)).collect();
    merges.extend(alone.into_iter().map(|place| vec![place]));
    merges
}

#[cfg(test)]
mod tests {
    use super::{LOWEST_MERGE_FACTOR, MAX_BULK_SEGMENTS, MERGE_FACTOR, SegmentSize, merges};

    fn segments_after(commits: u32, documents: u32, is_bulk: bool) -> (Vec<SegmentSize>, u64) {
        let (mut segments, mut rewritten) = (Vec::new(), 0);
        for _ in 0..commits {
            segments.push(SegmentSize { alive: documents, deleted: 0 });
            while let Some(merge) = merges(&segments, is_bulk).pop() {
                let alive: u32 = merge.iter().map(|&place| segments[place].alive).sum();
                rewritten += u64::from(alive);
                let mut place = 0;
                segments.retain(|_| {
                    place += 1;
                    !merge.contains(&(place - 1))
                });
                segments.push(SegmentSize { alive, deleted: 0 });
            }
        }
        (segments, rewritten)
    }

    #[test]
    fn segment_count_stays_small_after_many_commits() {
        let (segments, _) = segments_after(20_000, 10, false);
        // 200,000 documents fill five levels.
        assert!(segments.len() < LOWEST_MERGE_FACTOR + 5 * MERGE_FACTOR, "{}", segments.len());
    }

    #[test]
    fn bulk_writing_rewrites_documents_less_often() {
        let (_, often) = segments_after(500, 10_000, false);
        let (segments, seldom) = segments_after(500, 10_000, true);
        let total: u64 = segments.iter().map(|size| u64::from(size.alive)).sum();
        assert!(seldom <= total && often > 3 * total, "{seldom} and {often} of {total}");
        assert!(segments.len() < 2 * MAX_BULK_SEGMENTS, "{}", segments.len());
    }

    #[test]
    fn segment_with_many_deletions_is_rewritten_at_any_size() {
        for alive in [5_000, 500_000, 20_000_000] {
            let deleted = SegmentSize { alive, deleted: alive / 2 };
            let whole = SegmentSize { alive, deleted: 0 };
            assert_eq!(merges(&[whole, deleted], false), [vec![1]]);
        }
        // It is merged soon anyway.
        assert!(merges(&[SegmentSize { alive: 10, deleted: 10 }], false).is_empty());
    }

    #[test]
    fn largest_segments_are_not_merged() {
        let largest = [SegmentSize { alive: 9_000_000, deleted: 0 }; 2 * LOWEST_MERGE_FACTOR];
        assert!(merges(&largest, false).is_empty());
    }
}
