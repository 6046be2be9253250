//! The index as the engine of searches.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use trawl_engine::correction::UnknownWords;
use trawl_engine::{Engine, FacetFields, Failure, FieldCounts, Hit, HitPage, Request, Scope, View};

use super::blocking;
use crate::{Error, Index, Snapshot};

/// Answers searches and reports failures, which damaged files may cause.
pub struct EmbeddedEngine {
    index: Index,
    reports: FailureReports,
}

struct EmbeddedView {
    snapshot: Snapshot,
    reports: FailureReports,
}

/// Sends the number of an index that failed.
#[derive(Clone)]
pub(super) struct FailureReports {
    pub(super) number: u64,
    pub(super) failed: watch::Sender<u64>,
}

impl EmbeddedEngine {
    pub(super) fn new(index: Index, reports: FailureReports) -> Self {
        Self { index, reports }
    }
}

impl From<Index> for EmbeddedEngine {
    fn from(index: Index) -> Self {
        Self::new(index, FailureReports { number: 0, failed: watch::Sender::new(0) })
    }
}

impl FailureReports {
    pub(super) fn report(&self) {
        self.failed.send_replace(self.number);
    }

    fn failure(&self, error: &Error) -> Failure {
        self.report();
        Failure::Failed(error.to_string())
    }
}

#[async_trait]
impl Engine for EmbeddedEngine {
    fn view(&self) -> Arc<dyn View> {
        Arc::new(EmbeddedView { snapshot: self.index.snapshot(), reports: self.reports.clone() })
    }

    fn works_here(&self) -> bool {
        true
    }

    async fn documents(&self) -> Result<u64, Failure> {
        Ok(self.index.snapshot().documents())
    }

    async fn bytes(&self) -> Result<u64, Failure> {
        let index = self.index.clone();
        blocking(move || Ok(index.bytes())).await
    }
}

#[async_trait]
impl View for EmbeddedView {
    fn search_at_once(&self, request: &Request) -> Result<Option<HitPage>, Failure> {
        self.snapshot.search_at_once(request).map_err(|error| self.reports.failure(&error))
    }

    async fn search(&self, request: &Arc<Request>) -> Result<HitPage, Failure> {
        let request = Arc::clone(request);
        self.on_thread(move |snapshot| snapshot.search(&request)).await
    }

    async fn newest(&self, requests: &Arc<[Request]>) -> Result<Vec<Vec<Hit>>, Failure> {
        let requests = Arc::clone(requests);
        self.on_thread(move |snapshot| snapshot.newest(&requests)).await
    }

    async fn count_fields(
        &self,
        requests: &Arc<[Request]>,
        fields: FacetFields,
    ) -> Result<FieldCounts, Failure> {
        let requests = Arc::clone(requests);
        self.on_thread(move |snapshot| snapshot.count_fields(&requests, fields)).await
    }

    async fn unknown_words(
        &self,
        scopes: &Arc<[Arc<Scope>]>,
        principals: &Arc<[String]>,
        keyword: &str,
    ) -> Result<UnknownWords, Failure> {
        let are_all_found = self.snapshot.are_all_found(scopes, keyword);
        if are_all_found.map_err(|error| self.reports.failure(&error))? {
            return Ok(UnknownWords::default());
        }
        let (scopes, principals, keyword) = (Arc::clone(scopes), Arc::clone(principals), keyword.to_owned());
        self.on_thread(move |snapshot| snapshot.unknown_words(&scopes, &principals, &keyword)).await
    }

    fn generation(&self) -> u64 {
        self.snapshot.generation()
    }
}

impl EmbeddedView {
    async fn on_thread<T: Send + 'static>(
        &self,
        search: impl FnOnce(&Snapshot) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Failure> {
        // Dropped with this future, it ends the search.
        let cancelled = CancellationToken::new();
        let snapshot = self.snapshot.until(cancelled.clone());
        let _cancel = cancelled.drop_guard();
        let searched = AbortOnDropHandle::new(spawn_blocking(move || search(&snapshot))).await;
        let searched = searched.map_err(|panic| Failure::Failed(panic.to_string()))?;
        searched.map_err(|error| self.reports.failure(&error))
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;
    use trawl_engine::{Change, Checkpoint, Query, Start};

    use super::*;
    use crate::Options;
    use crate::testing::sample_document;

    fn snapshot() -> Snapshot {
        let (index, mut writer) = Index::in_memory(&Options::default()).unwrap();
        let document = |id| Change::Put(sample_document(id, Some("harbour crane")));
        writer.apply(["1", "2"].map(document).into()).unwrap();
        writer.commit(&Checkpoint { store: "a".to_owned(), position: 1, complete: true }).unwrap();
        index.snapshot()
    }

    fn request(start: Start) -> Request {
        let query = Arc::new(Query::parse("harbour crane"));
        let scope = Arc::new(Scope::new(1, "news"));
        Request { start, limit: 10, ..Request::total_of(&scope, &Arc::default(), query) }
    }

    #[test]
    fn work_of_a_cancelled_search_fails_at_its_begin() {
        let newest = Start::Time { after: None, whole_ties: None };
        for start in [newest, Start::relevance(0, 0)] {
            let snapshot = snapshot();
            let requests = [request(start)];
            let scopes = [Arc::clone(&requests[0].scope)];
            let ends = |snapshot: &Snapshot| {
                [
                    ("search", snapshot.search(&requests[0]).err()),
                    ("newest", snapshot.newest(&requests).err()),
                    ("count_fields", snapshot.count_fields(&requests, FacetFields::default()).err()),
                    ("unknown_words", snapshot.unknown_words(&scopes, &Arc::default(), "harbuor").err()),
                ]
            };
            let cancelled = CancellationToken::new();
            let mine = snapshot.until(cancelled.clone());
            cancelled.cancel();
            for (work, error) in ends(&mine) {
                assert!(matches!(error, Some(Error::Cancelled)), "{work}: {error:?}");
            }
            for (work, error) in ends(&snapshot) {
                assert!(error.is_none(), "{work}: {error:?}");
            }
        }
    }

    #[tokio::test]
    async fn thread_of_a_search_stops_once_its_caller_leaves() {
        const SEARCHES: usize = 10_000_000;
        let reports = FailureReports { number: 0, failed: watch::Sender::new(0) };
        let view = EmbeddedView { snapshot: snapshot(), reports };
        let request = request(Start::relevance(0, 0));
        let ((start, begun), (finish, ended)) = (oneshot::channel(), oneshot::channel());
        let searching = view.on_thread(move |snapshot| {
            start.send(()).unwrap();
            let error = (0..SEARCHES).find_map(|_| snapshot.search(&request).err());
            finish.send(error).unwrap();
            Ok(())
        });
        tokio::select! {
            _ = searching => panic!("its caller waits no longer"),
            begun = begun => begun.unwrap(),
        }
        let error = ended.await.unwrap();
        assert!(matches!(error, Some(Error::Cancelled)), "{error:?}");
    }
}
