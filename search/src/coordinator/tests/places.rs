//! Places of searches.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use futures::{
    FutureExt,
    future::{BoxFuture, pending},
};

use super::*;

/// Searches that have a place wait for their modules for ever.
#[derive(Default)]
struct HeldSearches {
    begun: AtomicUsize,
}

#[async_trait::async_trait]
impl ModuleDirectory for HeldSearches {
    async fn modules_of(&self, _tenant_id: i64) -> Result<Arc<TenantModules>> {
        self.begun.fetch_add(1, Relaxed);
        pending().await
    }
}

fn person(name: &str) -> Viewer {
    Viewer { user_id: Some(name.to_owned()), ..viewer() }
}

type Searching<'a> = BoxFuture<'a, Result<SearchPage, SearchFailure>>;

fn begin(coordinator: &Coordinator, viewer: Viewer, timeout: Duration) -> Searching<'_> {
    let parameters = SearchParameters { timeout, ..crate::testing::parameters() };
    let search = ModuleSearch { module: "article".to_owned(), page: request(10).page(), parameters };
    let mut searching = coordinator.search(viewer, search).boxed();
    assert!((&mut searching).now_or_never().is_none());
    searching
}

#[tokio::test(start_paused = true)]
async fn caller_with_half_of_the_places_waits_while_others_get_in() {
    let timeout = Duration::from_secs(10);
    for [greedy, modest] in [[person("mei"), person("omar")], [viewer(), person("mei")]] {
        let searches = Arc::new(HeldSearches::default());
        let (key, figures) = (TestKey::new(1), Figures::new(Arc::new(SystemClock)));
        let coordinator =
            Coordinator::new(Arc::clone(&searches) as _, Arc::new(key), 4, 10, Arc::new(figures));
        let mut held = Vec::from([(); 2].map(|()| begin(&coordinator, greedy.clone(), timeout)));
        assert_eq!(searches.begun.load(Relaxed), 2);
        let _other = begin(&coordinator, modest, timeout);
        assert_eq!(searches.begun.load(Relaxed), 3);

        for (timeout, most) in [(timeout, MAX_PLACE_WAIT), (MAX_PLACE_WAIT, MAX_PLACE_WAIT / 2)] {
            let begun = Instant::now();
            let waiting = begin(&coordinator, greedy.clone(), timeout);
            assert_eq!(searches.begun.load(Relaxed), 3, "one more got in");
            let refused = waiting.await.unwrap_err();
            assert!(matches!(refused, SearchFailure::Refused(Error::TooManySearches)), "{refused:?}");
            assert_eq!(begun.elapsed().as_millis(), most.as_millis());
        }

        let mut next = begin(&coordinator, greedy, timeout);
        assert_eq!(searches.begun.load(Relaxed), 3);
        held.pop();
        assert!((&mut next).now_or_never().is_none());
        assert_eq!(searches.begun.load(Relaxed), 4, "an own place is free again");
    }
}
