//! Verifies the served index's files after the start, and again after a read failure.

use std::time::Duration;

use crate::{Error, Index, Verification};
use tokio::sync::{mpsc, watch};

const PIECE: u64 = 8 << 20;
/// The pause after each piece; limits the rate to 64 MiB/s.
const PAUSE: Duration = Duration::from_millis(125);
/// Reports are ignored for this long after a clean verification.
const TRUSTED: Duration = Duration::from_mins(1);

pub(super) struct Damage {
    pub(super) number: u64,
    pub(super) what: String,
}

pub(super) async fn watch_over(
    index: Index,
    number: u64,
    mut reports: watch::Receiver<u64>,
    damages: mpsc::Sender<Damage>,
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
                let _ended = damages.send(Damage { number, what }).await;
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
    let Some(mut verification) = on_thread(move || listed.verification()).await? else { return Ok(()) };
    loop {
        let (reading, more) = on_thread(move || read_on(verification)).await?;
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

async fn on_thread<T, W>(work: W) -> Result<T, Error>
where
    T: Send + 'static,
    W: FnOnce() -> Result<T, Error> + Send + 'static,
{
    let panicked = |_panic| Err(Error::Unusable("the engine panicked when its files were listed".to_owned()));
    tokio::task::spawn_blocking(work).await.unwrap_or_else(panicked)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use tokio::sync::{mpsc, watch};
    use trawl_engine::{Change, Checkpoint};

    use super::{Damage, watch_over};
    use crate::testing::sample_document;
    use crate::{Index, Options};

    #[tokio::test]
    async fn reported_damage_is_verified() {
        let directory = tempfile::tempdir().unwrap();
        let (index, mut writer) = Index::open(directory.path(), &Options::default()).unwrap();
        let document = |number: usize| sample_document(&number.to_string(), Some("harbour crane"));
        writer.apply((0..50).map(document).map(Change::Put).collect()).unwrap();
        writer.commit(&Checkpoint { store: "a".to_owned(), position: 1, complete: true }).unwrap();
        let failed = watch::Sender::new(0);
        let (found, mut damages) = mpsc::channel(1);
        let watch = tokio::spawn(watch_over(index, 3, failed.subscribe(), found));
        let mut files = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
        let file = files.find(|file| file.extension().is_some_and(|kind| kind == "pos")).unwrap();
        let mut content = fs::read(&file).unwrap();
        content[0] ^= 1;
        fs::write(&file, content).unwrap();
        // The first reading may precede the damage.
        let damage = loop {
            failed.send_replace(3);
            match tokio::time::timeout(Duration::from_millis(20), damages.recv()).await {
                Ok(damage) => break damage.unwrap(),
                Err(_elapsed) => assert!(!watch.is_finished(), "it ended"),
            }
        };
        let Damage { number, what } = damage;
        assert_eq!(number, 3);
        assert!(what.contains(".pos is damaged"), "{what}");
    }
}
