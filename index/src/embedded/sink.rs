//! The writer as a sink of the indexer.

use std::sync::Arc;

use async_trait::async_trait;
use trawl_engine::{Change, Checkpoint, Engine, Failure, Sink};

use super::blocking;
use super::engine::{EmbeddedEngine, FailureReports};
use crate::{Error, Index, Writer};

/// An open index and its writer.
pub(super) struct EmbeddedSink {
    index: Index,
    /// `None` after a failure or a panic.
    writer: Option<Writer>,
    reports: FailureReports,
}

impl EmbeddedSink {
    pub(super) fn new((index, writer): (Index, Writer), reports: FailureReports) -> Self {
        Self { index, writer: Some(writer), reports }
    }

    async fn write(
        &mut self,
        work: impl FnOnce(&mut Writer) -> Result<(), Error> + Send + 'static,
    ) -> Result<(), Failure> {
        let taken = self.writer.take();
        let mut writer = taken.ok_or_else(|| Failure::Failed("the index is not open".to_owned()))?;
        let worked = blocking(move || {
            work(&mut writer)?;
            Ok(writer)
        });
        self.writer = Some(worked.await?);
        Ok(())
    }
}

#[async_trait]
impl Sink for EmbeddedSink {
    fn engine(&self) -> Arc<dyn Engine> {
        Arc::new(EmbeddedEngine::new(self.index.clone(), self.reports.clone()))
    }

    fn checkpoint(&self) -> Option<&Checkpoint> {
        self.writer.as_ref()?.checkpoint()
    }

    fn note(&self) -> Option<&str> {
        self.writer.as_ref()?.note()
    }

    fn set_bulk(&mut self, is_bulk: bool) {
        if let Some(writer) = &mut self.writer {
            writer.set_bulk(is_bulk);
        }
    }

    async fn apply(&mut self, changes: Vec<Change>) -> Result<(), Failure> {
        self.write(move |writer| writer.apply(changes)).await
    }

    async fn commit(&mut self, checkpoint: &Checkpoint, note: Option<String>) -> Result<(), Failure> {
        let checkpoint = checkpoint.clone();
        self.write(move |writer| writer.commit_with_note(&checkpoint, note)).await
    }

    async fn close(self: Box<Self>) -> Result<(), Failure> {
        let Some(writer) = self.writer else { return Ok(()) };
        blocking(move || writer.close()).await
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::watch;

    use super::*;
    use crate::Options;

    #[tokio::test]
    async fn panic_of_the_writer_is_a_failure() {
        let reports = FailureReports { number: 0, failed: watch::Sender::new(0) };
        let mut sink = EmbeddedSink::new(Index::in_memory(&Options::default()).unwrap(), reports);
        for message in ["a test panics", "not open"] {
            let failure = sink.write(|_| panic!("a test panics")).await.unwrap_err();
            assert!(failure.to_string().contains(message), "{failure}");
        }
    }

    #[tokio::test]
    async fn segments_of_a_bulk_are_merged_after_its_end() {
        let directory = tempfile::tempdir().unwrap();
        let options = Options::default();
        let reports = FailureReports { number: 0, failed: watch::Sender::new(0) };
        let mut sink = EmbeddedSink::new(Index::open(directory.path(), &options).unwrap(), reports);
        let checkpoint = Checkpoint { store: "s".to_owned(), position: 1, complete: true };
        sink.set_bulk(true);
        for number in 0..20 {
            let document = crate::testing::sample_document(&format!("id{number}"), None);
            sink.apply(vec![Change::Put(document)]).await.unwrap();
            sink.commit(&checkpoint, None).await.unwrap();
        }
        assert_eq!(sink.index.snapshot().segments(), 20);
        sink.set_bulk(false);
        sink.commit(&checkpoint, None).await.unwrap();
        // Waits for the merge.
        Box::new(sink).close().await.unwrap();
        let (index, _writer) = Index::open(directory.path(), &options).unwrap();
        assert_eq!((index.snapshot().segments(), index.snapshot().documents()), (1, 20));
    }
}
