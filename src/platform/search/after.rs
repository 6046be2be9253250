//! `after`: a search finds its caller's change (book: explanation/freshness.md).

use std::time::Instant;

use tokio::time::timeout;
use trawl_search::SearchParameters;

use super::SearchState;
use crate::index_progress::Progress;

/// Waits until the index holds a change.
///
/// The wait takes nine tenths of the search's time at most, and is taken from it.
pub(super) async fn wait_for_change(state: &SearchState, change: i64, parameters: &mut SearchParameters) {
    let started = Instant::now();
    let holds_it = |progress: &Progress| progress.position >= change;
    let mut progress = state.progress.clone();
    let waiting = state.waiting.add();
    let waited = timeout(parameters.timeout * 9 / 10, progress.wait_for(holds_it)).await;
    drop(waiting);
    parameters.missing_change = (!matches!(waited, Ok(Ok(_)))).then_some(change);
    parameters.timeout = parameters.timeout.saturating_sub(started.elapsed());
}
