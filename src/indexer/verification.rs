//! Verifies the served index's files after the start, and again after a read failure.

use std::time::Duration;

use tokio::sync::{mpsc, watch};
use trawl_index::{Error, Index, Verification};

const PIECE: u64 = 8 << 20;
/// The pause after each piece; limits the rate to 64 MiB/s.
const PAUSE: Duration = Duration::from_millis(125);
/// Reports are ignored for this long after a clean verification.
const TRUSTED: Duration = Duration::from_mins(1);

pub(super) struct IndexDamage {
    pub(super) number: u64,
    pub(super) what: String,
}

pub(super) async fn watch_over(
    index: Index,
    number: u64,
    mut reports: watch::Receiver<u64>,
    damages: mpsc::Sender<IndexDamage>,
) {
    let mut is_urgent = false;
    loop {
        match verify(&index, number, &mut reports, is_urgent).await {
            Ok(()) if is_urgent => {
                tracing::warn!("the index failed, but its files are intact");
                tokio::time::sleep(TRUSTED).await;
                reports.mark_unchanged();
            }
            Ok(()) => tracing::debug!("the index files are intact"),
            Err(Error::Unusable(what)) => {
                let _ended = damages.send(IndexDamage { number, what }).await;
                return;
            }
            Err(error) => {
                tracing::warn!(%error, "the index files could not be verified; verification will be retried");
                tokio::time::sleep(TRUSTED).await;
                continue;
            }
        }
        is_urgent = true;
        while reports.changed().await.is_ok() && *reports.borrow() != number {}
        if reports.has_changed().is_err() {
            return;
        }
    }
}

/// Reads everything once; without pauses while, or as soon as, it is urgent.
async fn verify(
    index: &Index,
    number: u64,
    reports: &mut watch::Receiver<u64>,
    mut is_urgent: bool,
) -> Result<(), Error> {
    let listed = index.clone();
    let Some(mut verification) = blocking(move || listed.verification()).await? else { return Ok(()) };
    loop {
        let (reading, more) = blocking(move || read_on(verification)).await?;
        if !more {
            return Ok(());
        }
        verification = reading;
        if !is_urgent {
            let report = tokio::time::timeout(PAUSE, reports.changed()).await;
            is_urgent = matches!(report, Ok(Ok(()))) && *reports.borrow() == number;
        }
    }
}

fn read_on(mut verification: Verification) -> Result<(Verification, bool), Error> {
    let more = verification.read_on(PIECE)?;
    Ok((verification, more))
}

async fn blocking<T, W>(work: W) -> Result<T, Error>
where
    T: Send + 'static,
    W: FnOnce() -> Result<T, Error> + Send + 'static,
{
    let panicked = |_panic| Err(Error::Unusable("the engine panicked when its files were listed".to_owned()));
    tokio::task::spawn_blocking(work).await.unwrap_or_else(panicked)
}
