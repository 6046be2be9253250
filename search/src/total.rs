//! Total of an answer: the sum of what its sources state.

/// A source's total after a page: the page's statement, else the earlier one.
pub(crate) fn latest(before: Option<u64>, of_page: Option<u64>) -> Option<u64> {
    of_page.or(before)
}

/// Sum over sources; a source without a total adds nothing.
pub(crate) fn sum(totals: impl Iterator<Item = Option<u64>>) -> u64 {
    totals.flatten().fold(0, u64::saturating_add)
}
