use std::sync::mpsc;

use futures::future::join_all;
use tokio::runtime::Builder;
use trawl_engine::{Change, Engine as _, Query, Scope};
use trawl_index::{EmbeddedEngine, Index, Writer};

use super::*;
use crate::testing::{commit, document, index};

const SETTINGS: CacheSettings = CacheSettings { fresh_ms: 0, stale_ms: 0, bytes: 4 << 20 };

fn put(writer: &mut Writer, position: i64, id: &str, length: usize) {
    let document = document(Scope::new(1, "article"), id, "harbour quay", "x".repeat(length));
    commit(writer, position, vec![Change::Put(document)]);
}

fn request(keyword: &str) -> Arc<Request> {
    Arc::new(Request {
        scope: Arc::new(Scope::new(1, "article")),
        query: Arc::new(Query::parse(keyword)),
        principals: Arc::default(),
        from: None,
        to: None,
        author: None,
        start: Start::relevance(0, 0),
        limit: 10,
    })
}

async fn get(cache: &IndexPageCache, index: &Index, request: &Arc<Request>) -> Arc<HitPage> {
    get_from(cache, EmbeddedEngine::from(index.clone()).view(), request).await
}

async fn get_from(cache: &IndexPageCache, view: Arc<dyn View>, request: &Arc<Request>) -> Arc<HitPage> {
    cache.get(Arc::clone(request), view, |failure| panic!("{failure}")).await.unwrap()
}

fn ids(page: &HitPage) -> Vec<&str> {
    page.hits.iter().map(|hit| hit.id.as_str()).collect()
}

#[tokio::test]
async fn page_is_reused_until_the_index_changes() {
    let (index, mut writer) = index();
    put(&mut writer, 1, "a", 10);
    let (cache, key) = (IndexPageCache::new(SETTINGS), request("harbour quay"));
    let first = get(&cache, &index, &key).await;
    assert!(Arc::ptr_eq(&first, &get(&cache, &index, &key).await));
    let before = EmbeddedEngine::from(index.clone()).view();
    put(&mut writer, 2, "b", 10);
    let second = get(&cache, &index, &key).await;
    assert_eq!((ids(&first), ids(&second)), (vec!["a"], vec!["a", "b"]));
    let earlier = get_from(&cache, before, &key).await;
    assert_eq!(ids(&earlier), ["a"]);
    assert!(Arc::ptr_eq(&second, &get(&cache, &index, &key).await));
}

#[tokio::test]
async fn each_field_makes_another_request() {
    let (index, mut writer) = index();
    put(&mut writer, 1, "a", 10);
    let cache = IndexPageCache::new(SETTINGS);
    let one = Request::clone(&request("harbour quay"));
    let principals = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let after = |id: Option<&str>| {
        let after = TimePosition { display_time: 9, id: id.map(str::to_owned) };
        Start::Time { after: Some(after), whole_ties: None }
    };
    let others = [
        Request { scope: Arc::new(Scope::new(2, "article")), ..one.clone() },
        Request { scope: Arc::new(Scope::new(1, "news")), ..one.clone() },
        Request { query: Arc::new(Query::parse("quay harbour")), ..one.clone() },
        Request { principals: principals(&["user:mei"]), ..one.clone() },
        Request { principals: principals(&["user:omar"]), ..one.clone() },
        Request { from: Some(1), ..one.clone() },
        Request { to: Some(1), ..one.clone() },
        Request { author: Some("ann".to_owned()), ..one.clone() },
        Request { limit: 11, ..one.clone() },
        Request { start: Start::relevance(1, 0), ..one.clone() },
        Request { start: Start::Time { after: None, whole_ties: None }, ..one.clone() },
        Request { start: Start::Time { after: None, whole_ties: Some(1) }, ..one.clone() },
        Request { start: after(None), ..one.clone() },
        Request { start: after(Some("a")), ..one.clone() },
        one,
    ];
    let mut found = Vec::new();
    for key in others.map(Arc::new) {
        found.push(get(&cache, &index, &key).await);
    }
    for (place, page) in found.iter().enumerate() {
        assert!(found[..place].iter().all(|other| !Arc::ptr_eq(page, other)), "{place}");
    }
}

#[test]
fn identical_concurrent_requests_share_one_search() {
    let runtime = Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
    let (index, mut writer) = index();
    put(&mut writer, 1, "a", 10);
    let cache = IndexPageCache::new(CacheSettings { bytes: 0, ..SETTINGS });
    let key = request("harbour quay");
    runtime.block_on(async {
        // It keeps the only thread of searches busy.
        let (let_go, held) = mpsc::channel();
        let busy = tokio::task::spawn_blocking(move || held.recv());
        let mut waiting: Vec<_> = (0..20).map(|_| Box::pin(get(&cache, &index, &key))).collect();
        for request in &mut waiting {
            assert!(futures::poll!(request).is_pending());
        }
        let_go.send(()).unwrap();
        busy.await.unwrap().unwrap();
        let found = join_all(waiting).await;
        assert!(found.iter().all(|page| Arc::ptr_eq(page, &found[0])));
        assert!(cache.in_flight.is_empty());
        assert!(!Arc::ptr_eq(&found[0], &get(&cache, &index, &key).await));
    });
}

#[test]
fn search_ends_once_the_last_of_its_callers_leaves() {
    let runtime = Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
    let (index, mut writer) = index();
    put(&mut writer, 1, "a", 10);
    let (cache, key) = (IndexPageCache::new(SETTINGS), request("harbour quay"));
    runtime.block_on(async {
        // It keeps the only thread of searches busy.
        let (let_go, held) = mpsc::channel();
        let busy = tokio::task::spawn_blocking(move || held.recv());
        let mut callers = [(); 2].map(|()| Box::pin(get(&cache, &index, &key)));
        for caller in &mut callers {
            assert!(futures::poll!(caller).is_pending());
        }
        let [first, last] = callers;
        drop(first);
        assert!(!cache.in_flight.is_empty());
        drop(last);
        assert!(cache.in_flight.is_empty());
        let_go.send(()).unwrap();
        busy.await.unwrap().unwrap();
    });
}

#[tokio::test]
async fn cached_pages_are_bounded_and_large_ones_left_out() {
    let (index, mut writer) = index();
    for number in 0..20 {
        put(&mut writer, number, &number.to_string(), 1_000);
    }
    let cache = IndexPageCache::new(CacheSettings { bytes: 1 << 20, ..SETTINGS });
    for number in 0..200 {
        get(&cache, &index, &request(&format!("harbour -x{number}"))).await;
    }
    cache.pages.run_pending_tasks();
    assert!((10..25).contains(&cache.pages.entry_count()), "{} cache", cache.pages.entry_count());
    assert!(cache.pages.weighted_size() <= 1 << 18);
    let large = Arc::new(Request { limit: 20, ..Request::clone(&request("harbour quay")) });
    get(&cache, &index, &large).await;
    assert!(!cache.pages.contains_key(&large), "it would take a twelfth of the room");
}
