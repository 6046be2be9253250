//! When segments are merged: often enough that a page looks into few, seldom enough that small commits stay cheap.

use tantivy::merge_policy::{LogMergePolicy, MergePolicy};

/// Segments of at most this many documents are of one level: what commits of a few documents make.
const SMALLEST_LEVEL_DOCUMENTS: u32 = 1_000;
/// As many segments of one level are merged into one of the next.
const SEGMENTS_PER_LEVEL: usize = 8;
/// The share of deleted documents at which a segment is written anew.
const DELETED_SHARE: f32 = 0.3;

/// The policy that the writer merges by.
pub(crate) fn policy() -> Box<dyn MergePolicy> {
    let mut policy = LogMergePolicy::default();
    policy.set_min_layer_size(SMALLEST_LEVEL_DOCUMENTS);
    policy.set_min_num_segments(SEGMENTS_PER_LEVEL);
    policy.set_del_docs_ratio_before_merge(DELETED_SHARE);
    Box::new(policy)
}
