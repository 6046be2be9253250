//! Leaders that were replaced, and leaders that crashed.

use serde_json::json;
use trawl_engine::{Change, Failure};
use trawl_opensearch::OpenSearchIndexes;

use crate::engine_under_test::{node, run};
use crate::proxy::{Hold, Proxy, Stage};
use crate::replica::{Installation, Leader, ages, harbour, search, write};
use crate::suite::support::{checkpoint, document, news, remove};

fn is_replaced(result: Result<(), Failure>) -> bool {
    matches!(result, Err(Failure::Failed(text)) if text == "another replica writes the index")
}

#[test]
fn replaced_leader_changes_nothing_that_the_next_has_written() {
    run(async {
        let installation = Installation::new();
        let mut first = installation.leader().await;
        write(first.sink(), vec![harbour("old"), Change::Put(document("b", "quay"))], 1).await.unwrap();
        let mut second = installation.leader().await;
        assert_eq!(second.sink().checkpoint(), Some(&checkpoint(1)));
        write(second.sink(), vec![harbour("new"), remove("b")], 5).await.unwrap();

        // It has read the log further.
        let removal = Change::RemoveTenant { tenant: news().tenant };
        first.sink().apply(vec![harbour("old"), Change::Put(document("b", "quay")), removal]).await.unwrap();
        assert!(is_replaced(first.sink().commit(&checkpoint(9), None).await));
        assert_eq!(ages(&installation).await, ["new"]);
        assert_eq!(search(&installation.reader().await, &news(), "quay").await.unwrap(), [""; 0]);
        write(second.sink(), vec![Change::Put(document("b", "quay"))], 6).await.unwrap();
        assert_eq!(search(&installation.reader().await, &news(), "quay").await.unwrap(), ["b"]);
    });
}

#[test]
fn replaced_leader_cannot_finish_its_rebuild() {
    run(async {
        let installation = Installation::new();
        let mut first = installation.leader().await;
        write(first.sink(), vec![harbour("old")], 1).await.unwrap();
        first.open_replacement().await.unwrap();
        write(first.fresh(), vec![harbour("fresh")], 2).await.unwrap();

        let mut second = Leader::of(OpenSearchIndexes::new(installation.replica()));
        assert_eq!(second.open().await.unwrap(), (true, None));
        assert!(is_replaced(first.fresh().commit(&checkpoint(3), None).await));
        assert!(first.fresh().apply(vec![harbour("fresh")]).await.is_err(), "its index is gone");
        assert!(is_replaced(first.swap().await));
        assert_eq!(ages(&installation).await, ["old"]);
        assert_eq!(installation.indexes().await, ["article-g1", "contents-g1"]);
        write(second.sink(), vec![harbour("new")], 2).await.unwrap();
        assert_eq!(ages(&installation).await, ["new"]);
    });
}

#[test]
fn bulk_of_a_replaced_leader_creates_no_index() {
    run(async {
        let installation = Installation::new();
        let pattern = format!("{}-*", installation.layout.index_prefix);
        let settings = node().join("_cluster/settings").unwrap();
        let allow = async |pattern: Option<&str>| {
            let body = json!({"transient": {"action.auto_create_index": pattern}}).to_string();
            let request =
                reqwest::Client::new().put(settings.clone()).header("content-type", "application/json");
            assert!(request.body(body).send().await.unwrap().status().is_success());
        };
        let mut first = installation.leader().await;
        first.open_replacement().await.unwrap();
        let _second = installation.leader().await;
        allow(Some(&pattern)).await;
        let late = first.fresh().apply(vec![harbour("fresh")]).await;
        let indexes = installation.indexes().await;
        allow(None).await;
        assert!(late.is_err());
        assert_eq!(indexes, ["article-g1", "contents-g1"]);
    });
}

/// Work of a leader that takes several requests.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Work {
    FirstOpen,
    Open,
    OpenWiped,
    OpenBeside,
    Swap,
}

impl Work {
    /// A leader that can begin with it.
    async fn prepare(self, installation: &Installation, proxy: &Proxy) -> Leader {
        if self == Self::FirstOpen {
            return Leader::of(OpenSearchIndexes::new(installation.replica_at(proxy.url.clone())));
        }
        let mut leader = installation.leader_at(proxy.url.clone()).await;
        write(leader.sink(), vec![harbour("old")], 1).await.unwrap();
        if self == Self::Swap {
            leader.open_replacement().await.unwrap();
            write(leader.fresh(), vec![harbour("fresh")], 2).await.unwrap();
        }
        leader
    }

    async fn run(self, leader: &mut Leader) -> Result<(), Failure> {
        match self {
            Self::FirstOpen | Self::Open => leader.open().await.map(drop),
            Self::OpenWiped => leader.open_wiped().await,
            Self::OpenBeside => leader.open_replacement().await,
            Self::Swap => leader.swap().await,
        }
    }
}

/// Has work held at each of its requests in turn; `then` gets the leader at work.
async fn at_each_request(
    work: Work,
    at: Stage,
    then: impl AsyncFn(&Installation, Proxy, tokio::task::JoinHandle<Leader>),
) {
    for number in 1.. {
        let installation = Installation::of_one_kind();
        let proxy = Proxy::start().await;
        let mut leader = work.prepare(&installation, &proxy).await;
        proxy.hold(Hold { of: "", number, at });
        let mut working = tokio::spawn(async move {
            // It may be replaced, or its request be late.
            let _ = work.run(&mut leader).await;
            leader
        });
        tokio::select! {
            () = proxy.reached() => then(&installation, proxy, working).await,
            leader = &mut working => {
                leader.unwrap();
                assert!(number > 2, "{work:?} takes requests");
                return;
            }
        }
    }
}

#[test]
fn leader_that_sleeps_at_any_request_changes_nothing_when_it_wakes() {
    run(async {
        for work in [Work::Open, Work::OpenBeside, Work::Swap] {
            at_each_request(work, Stage::Request, async |installation, proxy, working| {
                let mut second = installation.leader().await;
                second.rebuild("new", 5).await;
                proxy.release();
                working.await.unwrap();
                assert_eq!(ages(installation).await, ["new"], "{work:?}");
                // An opening that began late may have replaced the second leader.
                if work != Work::Open {
                    write(second.sink(), vec![harbour("new")], 6).await.unwrap();
                }
                let mut third = Leader::of(OpenSearchIndexes::new(installation.replica()));
                assert_eq!(third.open().await.unwrap().1, None, "{work:?}");
                assert_eq!(ages(installation).await, ["new"], "{work:?}");
                assert_eq!(installation.indexes().await.len(), 1, "{work:?}");
            })
            .await;
        }
    });
}

#[test]
fn crash_at_any_request_leaves_indexes_that_open() {
    run(async {
        for work in [Work::FirstOpen, Work::Open, Work::OpenWiped, Work::OpenBeside, Work::Swap] {
            at_each_request(work, Stage::Answer, async |installation, proxy, working| {
                working.abort();
                drop(proxy);
                let mut next = Leader::of(OpenSearchIndexes::new(installation.replica()));
                let (_, damage) = next.open().await.unwrap();
                assert_eq!(damage, None, "{work:?}");
                let left = ages(installation).await;
                let expected: &[&[&str]] = match work {
                    Work::FirstOpen => &[&[]],
                    Work::Open | Work::OpenBeside => &[&["old"]],
                    Work::OpenWiped => &[&["old"], &[]],
                    Work::Swap => &[&["old"], &["fresh"]],
                };
                assert!(expected.contains(&left.as_slice()), "{work:?}: {left:?}");
                assert_eq!(next.sink().checkpoint().is_none(), left.is_empty(), "{work:?}");
                write(next.sink(), vec![harbour("new")], 3).await.unwrap();
                assert_eq!(ages(installation).await, ["new"], "{work:?}");
                assert_eq!(installation.indexes().await.len(), 1, "{work:?}");
            })
            .await;
        }
    });
}
