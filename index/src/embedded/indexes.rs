//! The indexes in a data directory.

use std::path::Path;

use async_trait::async_trait;
use tokio::sync::{mpsc, watch};
use tokio_util::task::AbortOnDropHandle;
use trawl_engine::{BesideIndexes, Failure, Indexes, OpenedIndex, Sink};

use super::blocking;
use super::directories::{Directories, Share};
use super::engine::FailureReports;
use super::sink::EmbeddedSink;
use super::watch::{Damage, watch_over};
use crate::{Error, Index, Writer};

/// The searched index and, during a rebuild, a fresh one beside it.
///
/// The caller locks the data directory.
pub struct EmbeddedIndexes {
    directories: Directories,
    /// Counts the searched indexes.
    number: u64,
    /// Receives the number of an index that failed.
    failed: watch::Sender<u64>,
    found: mpsc::Sender<Damage>,
    damages: mpsc::Receiver<Damage>,
    watch: Option<AbortOnDropHandle<()>>,
}

impl EmbeddedIndexes {
    /// Makes the indexes of a data directory; opens nothing yet.
    ///
    /// They share `memory_bytes` for indexing.
    pub fn new(data: &Path, memory_bytes: usize) -> Self {
        let (found, damages) = mpsc::channel(1);
        Self {
            directories: Directories { data: data.to_owned(), memory_bytes },
            number: 0,
            failed: watch::Sender::new(0),
            found,
            damages,
            watch: None,
        }
    }

    async fn on_directories<T: Send + 'static>(
        &self,
        work: impl FnOnce(Directories) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Failure> {
        let directories = self.directories.clone();
        blocking(move || work(directories)).await
    }

    fn reports(&self) -> FailureReports {
        FailureReports { number: self.number, failed: self.failed.clone() }
    }

    fn sink(&self, opened: (Index, Writer)) -> Box<dyn Sink> {
        Box::new(EmbeddedSink::new(opened, self.reports()))
    }

    /// An index that is opened again keeps its watch.
    fn searched(&mut self, (index, writer): (Index, Writer)) -> Box<dyn Sink> {
        self.watch.get_or_insert_with(|| {
            let (index, reports) = (index.clone(), self.failed.subscribe());
            AbortOnDropHandle::new(tokio::spawn(watch_over(index, self.number, reports, self.found.clone())))
        });
        self.sink((index, writer))
    }

    fn forget_searched(&mut self) {
        self.watch = None;
        self.number += 1;
    }
}

#[async_trait]
impl Indexes for EmbeddedIndexes {
    async fn open(&mut self) -> Result<OpenedIndex, Failure> {
        let opened = self.on_directories(|directories| {
            let was_rebuilding = directories.tidy()?;
            match directories.open(Share::Whole) {
                Err(error) if is_damage(&error) => {
                    tracing::warn!(%error, "the full-text index is unusable; it is removed and rebuilt");
                    Ok((directories.open_wiped()?, was_rebuilding, Some(error.to_string())))
                }
                opened => Ok((opened?, was_rebuilding, None)),
            }
        });
        let (opened, was_rebuilding, damage) = opened.await?;
        if damage.is_some() {
            self.forget_searched();
        }
        Ok(OpenedIndex { sink: self.searched(opened), was_rebuilding, damage })
    }

    async fn open_wiped(&mut self) -> Result<Box<dyn Sink>, Failure> {
        self.forget_searched();
        let opened = self.on_directories(|directories| {
            directories.tidy()?;
            directories.open_wiped()
        });
        let opened = opened.await?;
        Ok(self.searched(opened))
    }

    async fn open_replacement(&mut self, searched: Box<dyn Sink>) -> Result<BesideIndexes, Failure> {
        let opened = self.on_directories(move |directories| {
            drop(searched);
            Ok((directories.open(Share::Least)?, directories.open_fresh()?))
        });
        let (searched, fresh) = opened.await?;
        Ok(BesideIndexes { searched: self.searched(searched), fresh: self.sink(fresh) })
    }

    async fn swap(&mut self, indexes: BesideIndexes) -> Result<(), Failure> {
        let BesideIndexes { searched, fresh } = indexes;
        fresh.close().await?;
        self.on_directories(move |directories| {
            drop(searched);
            Ok(directories.swap()?)
        })
        .await?;
        self.forget_searched();
        Ok(())
    }

    fn has_room_beside(&self) -> bool {
        self.directories.has_room_beside()
    }

    fn local_bytes(&self) -> u64 {
        self.directories.bytes()
    }

    fn doubt(&self) {
        self.reports().report();
    }

    async fn damaged(&mut self) -> String {
        loop {
            match self.damages.recv().await {
                Some(damage) if damage.number == self.number => return damage.what,
                // The damage is of an index that was replaced.
                Some(_) => {}
                None => return std::future::pending().await,
            }
        }
    }
}

fn is_damage(error: &Error) -> bool {
    match error {
        Error::Unusable(_) => true,
        Error::Files(_) => !error.is_transient(),
        _ => false,
    }
}
