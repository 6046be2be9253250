//! `after`: a search finds its caller's change (book: explanation/freshness.md).

use std::time::Instant;

use tokio::{sync::watch, time::timeout};
use trawl_search::SearchParameters;

use crate::index_progress::Progress;

/// Waits until the index holds a change.
///
/// The wait takes nine tenths of the search's time at most, and is taken from it.
pub(super) async fn wait_for_change(
    mut progress: watch::Receiver<Progress>,
    change: i64,
    parameters: &mut SearchParameters,
) {
    let started = Instant::now();
    let holds_it = |progress: &Progress| progress.position >= change;
    let waited = timeout(parameters.timeout * 9 / 10, progress.wait_for(holds_it)).await;
    parameters.missing_change = (!matches!(waited, Ok(Ok(_)))).then_some(change);
    parameters.timeout = parameters.timeout.saturating_sub(started.elapsed());
}
