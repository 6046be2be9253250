//! Truncates the change log behind all that follow it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use crate::{
    index_progress::Progress,
    replicas,
    store::{Store, change_log},
};

/// The log is truncated when it keeps this many indexed entries.
const KEPT_ENTRIES: i64 = 20_000;

/// Entries removed per write, so that other writes are not delayed.
const CUT_ENTRIES: u64 = 2_000;

/// Progress of all engines of this process that follow the change log.
///
/// During a move there are two.
#[derive(Clone, Default)]
pub(super) struct Followed(Arc<Mutex<Vec<watch::Receiver<Progress>>>>);

impl Followed {
    /// The position up to which all have followed the log.
    pub(super) fn least(&self) -> i64 {
        self.all().iter().map(|progress| progress.borrow().position).min().unwrap_or(i64::MAX)
    }

    pub(super) fn add(&self, progress: watch::Receiver<Progress>) {
        self.remove(&progress);
        self.all().push(progress);
    }

    pub(super) fn remove(&self, progress: &watch::Receiver<Progress>) {
        self.all().retain(|other| !other.same_channel(progress));
    }

    fn all(&self) -> MutexGuard<'_, Vec<watch::Receiver<Progress>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) struct LogCutter {
    store: Store,
    followed: Followed,
    /// Position of the last cut.
    up_to: i64,
    cutting: Option<AbortOnDropHandle<()>>,
}

impl LogCutter {
    pub(super) fn new(store: Store, followed: Followed) -> Self {
        Self { store, followed, up_to: 0, cutting: None }
    }

    /// Removes committed entries in the background once there are many.
    pub(super) fn cut_behind(&mut self, position: i64) {
        let is_busy = self.cutting.as_ref().is_some_and(|cutting| !cutting.is_finished());
        if is_busy || position - self.up_to < KEPT_ENTRIES {
            return;
        }
        self.up_to = position;
        let position = self.followed.least().min(position);
        self.cutting = Some(AbortOnDropHandle::new(tokio::spawn(cut(self.store.clone(), position))));
    }
}

/// Removes entries that every replica has followed.
async fn cut(store: Store, own: i64) {
    let position = match replicas::least_position(&store, own).await {
        Ok(position) => position,
        Err(error) => {
            tracing::warn!(%error, "the positions of other replicas are unknown; the change log is not truncated");
            return;
        }
    };
    loop {
        let cut = store.write(move |transaction| {
            Box::pin(async move { Ok(change_log::remove_up_to(transaction, position, CUT_ENTRIES).await?) })
        });
        match cut.await {
            Ok(removed) if removed < CUT_ENTRIES => return,
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(%error, "the change log could not be truncated");
                return;
            }
        }
    }
}
