//! A view whose work waits for a fair share of this machine's processors.

use std::{num::NonZero, sync::Arc, thread::available_parallelism};

use async_trait::async_trait;
use tokio::time::Instant;
use trawl_engine::{
    FacetFields, Failure, FieldCounts, Hit, HitPage, Request, Scope, View, correction::UnknownWords,
};
use trawl_fair::{FairPermit, FairSemaphore};

use crate::request::{Searcher, SearcherKey};

/// Permits of work on the index, for persons and applications of each tenant.
pub(super) type WorkPermits = FairSemaphore<i64, SearcherKey>;

/// Permits for each processor: one searcher has half, others have the rest.
const FOR_EACH_PROCESSOR: usize = 2;

/// Permits for this machine.
pub(super) fn work_permits() -> WorkPermits {
    let processors = available_parallelism().map_or(1, NonZero::get);
    FairSemaphore::new(FOR_EACH_PROCESSOR * processors, processors, 0)
}

/// An index as one searcher sees it.
pub(super) struct SharedView {
    pub(super) view: Arc<dyn View>,
    pub(super) permits: WorkPermits,
    pub(super) searcher: Searcher,
}

impl SharedView {
    async fn permit(&self) -> FairPermit<i64, SearcherKey> {
        let begun = Instant::now();
        let permit = self.permits.acquire_patiently(self.searcher.clone(), 1).await;
        metrics::histogram!("trawl_search_work_wait_seconds").record(begun.elapsed().as_secs_f64());
        permit
    }
}

#[async_trait]
impl View for SharedView {
    fn search_at_once(&self, request: &Request) -> Result<Option<HitPage>, Failure> {
        self.view.search_at_once(request)
    }

    async fn search(&self, request: &Arc<Request>) -> Result<HitPage, Failure> {
        let _permit = self.permit().await;
        self.view.search(request).await
    }

    async fn newest(&self, requests: &Arc<[Request]>) -> Result<Vec<Vec<Hit>>, Failure> {
        let _permit = self.permit().await;
        self.view.newest(requests).await
    }

    async fn count_fields(
        &self,
        requests: &Arc<[Request]>,
        fields: FacetFields,
    ) -> Result<FieldCounts, Failure> {
        let _permit = self.permit().await;
        self.view.count_fields(requests, fields).await
    }

    async fn unknown_words(
        &self,
        scopes: &Arc<[Arc<Scope>]>,
        principals: &Arc<[String]>,
        keyword: &str,
    ) -> Result<UnknownWords, Failure> {
        let _permit = self.permit().await;
        self.view.unknown_words(scopes, principals, keyword).await
    }

    fn generation(&self) -> u64 {
        self.view.generation()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::{FutureExt, future::pending};
    use trawl_engine::{Engine, Query};

    use super::*;
    use crate::{request::Viewer, sources::builtin::ServedIndex, testing::viewer};

    /// An index whose searches have begun, and never end.
    #[derive(Clone)]
    struct EndlessIndex {
        works_here: bool,
        begun: Arc<AtomicUsize>,
    }

    #[async_trait]
    impl Engine for EndlessIndex {
        fn view(&self) -> Arc<dyn View> {
            Arc::new(self.clone())
        }

        async fn documents(&self) -> Result<u64, Failure> {
            Ok(0)
        }

        async fn bytes(&self) -> Result<u64, Failure> {
            Ok(0)
        }

        fn works_here(&self) -> bool {
            self.works_here
        }
    }

    #[async_trait]
    impl View for EndlessIndex {
        async fn search(&self, _: &Arc<Request>) -> Result<HitPage, Failure> {
            self.begun.fetch_add(1, Ordering::Relaxed);
            pending().await
        }

        async fn newest(&self, _: &Arc<[Request]>) -> Result<Vec<Vec<Hit>>, Failure> {
            pending().await
        }

        async fn count_fields(&self, _: &Arc<[Request]>, _: FacetFields) -> Result<FieldCounts, Failure> {
            pending().await
        }

        async fn unknown_words(
            &self,
            _: &Arc<[Arc<Scope>]>,
            _: &Arc<[String]>,
            _: &str,
        ) -> Result<UnknownWords, Failure> {
            pending().await
        }

        fn generation(&self) -> u64 {
            1
        }
    }

    #[test]
    fn searches_of_one_person_leave_processors_to_others() {
        let processors = available_parallelism().map_or(1, NonZero::get);
        for (works_here, most_of_one) in [(true, processors), (false, 3 * processors)] {
            let index = EndlessIndex { works_here, begun: Arc::default() };
            let served = ServedIndex::of(Arc::new(index.clone()));
            let scope = Arc::new(Scope::new(1, "article"));
            let query = Arc::new(Query::parse("word"));
            let request = Arc::new(Request::total_of(&scope, &Arc::default(), query));
            let search = |person: &str| {
                let viewer = Viewer { user_id: Some(person.to_owned()), ..viewer() };
                let (view, request) = (served.view(&viewer).unwrap().view, Arc::clone(&request));
                let mut searching = async move { view.search(&request).await }.boxed();
                assert!((&mut searching).now_or_never().is_none());
                searching
            };
            let _greedy: Vec<_> = (0..3 * processors).map(|_| search("greedy")).collect();
            assert_eq!(index.begun.load(Ordering::Relaxed), most_of_one);
            let _modest = search("modest");
            assert_eq!(index.begun.load(Ordering::Relaxed), most_of_one + 1);
        }
    }
}
