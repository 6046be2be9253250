//! Indexes over their life: progress, requests for a rebuild, large tenants, stubs, damage.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use trawl_engine::{Change, Document, Engine, Failure, MAX_ID_BYTES, Scope};
use trawl_opensearch::{GenerationProgress, OpenSearch, OpenSearchIndexes, SharedProgress};

use crate::engine_under_test::{engine_of, node, run};
use crate::proxy::{Hold, Proxy, Stage};
use crate::replica::{Installation, Leader, ages, harbour, search, write};
use crate::suite::support::{checkpoint, document, news, remove};

fn is_unavailable<T>(result: Result<T, Failure>, text: &str) -> bool {
    matches!(result, Err(Failure::Unavailable(found)) if found == text)
}

fn of_tenant(tenant: i64, id: &str, title: &str) -> Change {
    Change::Put(Document { scope: scope_of(tenant), ..document(id, title) })
}

fn scope_of(tenant: i64) -> Scope {
    Scope::new(tenant, news().module)
}

/// Documents and stubs of an index.
async fn count(installation: &Installation, index: &str) -> Value {
    installation.ask(Method::POST, &format!("{index}/_refresh"), None).await;
    installation.ask(Method::GET, &format!("{index}/_count"), None).await["count"].take()
}

#[test]
fn progress_of_the_leader_is_read_by_every_replica() {
    run(async {
        let installation = Installation::new();
        let reader = installation.replica();
        let not_filled = "the index is not filled yet";
        assert_eq!(reader.progress().await.unwrap(), None);
        assert!(is_unavailable(search(&reader, &news(), "harbour").await, not_filled));
        assert!(is_unavailable(reader.documents().await, not_filled));

        let mut leader = installation.leader().await;
        let empty = GenerationProgress { number: 1, checkpoint: None, note: None };
        let progress = SharedProgress { served: Some(empty.clone()), beside: None, rebuild_wanted: false };
        assert_eq!(reader.progress().await.unwrap(), Some(progress.clone()));
        assert_eq!(search(&reader, &news(), "harbour").await.unwrap(), [""; 0]);

        let before = reader.view().generation();
        reader.progress().await.unwrap();
        assert_eq!(reader.view().generation(), before, "nothing was committed");
        leader.sink().apply(vec![harbour("old")]).await.unwrap();
        leader.sink().commit(&checkpoint(1), Some("half".to_owned())).await.unwrap();
        let note = Some("half".to_owned());
        let served = GenerationProgress { checkpoint: Some(checkpoint(1)), note, ..empty.clone() };
        let progress = SharedProgress { served: Some(served), ..progress };
        assert_eq!(reader.progress().await.unwrap(), Some(progress.clone()));
        assert!(reader.view().generation() > before);

        leader.open_replacement().await.unwrap();
        let beside = Some(GenerationProgress { number: 2, ..empty });
        let progress = SharedProgress { beside, ..progress };
        assert_eq!(reader.progress().await.unwrap(), Some(progress));
        let mut next = installation.leader().await;
        assert_eq!(next.sink().note(), Some("half"));
        assert_eq!(next.sink().checkpoint(), Some(&checkpoint(1)));
    });
}

#[test]
fn wanted_rebuild_is_noted_beside_commits_until_it_begins() {
    run(async {
        let installation = Installation::new();
        let reader = installation.replica();
        assert!(is_unavailable(reader.want_rebuild().await, "the index is not filled yet"));
        let mut leader = installation.leader().await;
        let is_wanted = async || reader.progress().await.unwrap().unwrap().rebuild_wanted;
        assert!(!is_wanted().await);
        reader.want_rebuild().await.unwrap();
        write(leader.sink(), vec![harbour("old")], 1).await.unwrap();
        assert!(is_wanted().await);
        leader.open().await.unwrap();
        assert!(is_wanted().await);
        leader.open_replacement().await.unwrap();
        assert!(!is_wanted().await);
    });
}

#[test]
fn search_follows_a_swap_that_its_replica_has_not_noticed() {
    run(async {
        let installation = Installation::new();
        let mut leader = installation.leader().await;
        write(leader.sink(), vec![harbour("old")], 1).await.unwrap();
        let reader = installation.reader().await;
        leader.rebuild("new", 2).await;
        assert_eq!(search(&reader, &news(), "new harbour").await.unwrap(), ["a"]);
        let principals = [].into();
        leader.rebuild("fresh", 3).await;
        let corrected = reader.view().unknown_words(&[news().into()].into(), &principals, "frehs").await;
        assert_eq!(corrected.unwrap().correction.unwrap().keyword, "fresh");
    });
}

#[test]
fn large_tenant_is_found_in_indexes_of_its_own() {
    run(async {
        let installation = Installation::of_one_kind();
        let mut leader = Leader::of(OpenSearchIndexes::new(installation.replica()));
        leader.indexes.set_own_tenants([42, 42]);
        leader.open().await.unwrap();
        let documents = || vec![of_tenant(42, "a", "harbour"), of_tenant(4, "b", "harbour")];
        write(leader.sink(), documents(), 1).await.unwrap();
        assert_eq!(installation.indexes().await, ["contents-g1", "contents-t42-g1"]);
        assert_eq!(count(&installation, "contents-g1").await, 1);
        assert_eq!(count(&installation, "contents-t42-g1").await, 1);

        let reader = installation.reader().await;
        let both = async |reader: &OpenSearch| {
            let found = [42, 4].map(scope_of);
            [
                search(reader, &found[0], "harbour").await.unwrap(),
                search(reader, &found[1], "harbour").await.unwrap(),
            ]
        };
        assert_eq!(both(&reader).await, [["a"], ["b"]]);
        assert_eq!(reader.documents().await.unwrap(), 2);

        // The next generation has another list, which this replica has not read.
        leader.indexes.set_own_tenants([4]);
        leader.open_replacement().await.unwrap();
        write(leader.fresh(), documents(), 2).await.unwrap();
        leader.swap().await.unwrap();
        assert_eq!(both(&reader).await, [["a"], ["b"]]);
        leader.open().await.unwrap();
        assert_eq!(installation.indexes().await, ["contents-g2", "contents-t4-g2"]);

        write(leader.sink(), vec![Change::RemoveTenant { tenant: 4 }], 3).await.unwrap();
        assert_eq!(both(&reader).await, [vec!["a"], vec![]]);
    });
}

#[test]
fn removed_document_does_not_come_back_when_its_index_was_closed() {
    run(async {
        let installation = Installation::of_one_kind();
        let mut first = installation.leader().await;
        write(first.sink(), vec![harbour("old")], 1).await.unwrap();
        let mut second = installation.leader().await;
        write(second.sink(), vec![remove("a")], 2).await.unwrap();
        for action in ["_flush", "_close", "_open?wait_for_active_shards=1"] {
            let done = installation.ask(Method::POST, &format!("contents-g1/{action}"), None).await;
            assert!(done.get("error").is_none(), "{done}");
        }
        first.sink().apply(vec![harbour("old")]).await.unwrap();
        write(second.sink(), vec![Change::Put(document("b", "quay"))], 3).await.unwrap();
        assert_eq!(ages(&installation).await, [""; 0]);
        write(second.sink(), vec![harbour("new")], 4).await.unwrap();
        assert_eq!(ages(&installation).await, ["new"]);
    });
}

#[test]
fn write_that_arrives_again_changes_nothing() {
    run(async {
        let installation = Installation::of_one_kind();
        let mut leader = installation.leader().await;
        write(leader.sink(), vec![harbour("old")], 1).await.unwrap();
        let found = installation.ask(Method::GET, "contents-g1/_search?version=true", None).await;
        let written = &found["hits"]["hits"][0];
        write(leader.sink(), vec![harbour("new")], 1).await.unwrap();
        let path = format!(
            "contents-g1/_doc/{}?routing={}&version={}&version_type=external",
            written["_id"].as_str().unwrap(),
            written["_routing"].as_str().unwrap(),
            written["_version"],
        );
        let again = installation.ask(Method::PUT, &path, Some(written["_source"].clone())).await;
        assert_eq!(again["status"], 409, "{again}");
        assert_eq!(ages(&installation).await, ["new"]);
    });
}

#[test]
fn stubs_are_purged_after_their_time() {
    run(async {
        let installation = Installation::of_one_kind();
        let changes = || vec![harbour("old"), Change::Put(document("b", "quay")), remove("b")];
        let mut leader = installation.leader().await;
        write(leader.sink(), changes(), 1).await.unwrap();
        assert_eq!(count(&installation, "contents-g1").await, 2, "a stub is younger than a day");
        assert_eq!(leader.sink().engine().documents().await.unwrap(), 1);

        let mut leader =
            Leader::of(OpenSearchIndexes::new(installation.replica()).with_stub_age(Duration::ZERO));
        leader.open().await.unwrap();
        leader.sink().commit(&checkpoint(2), None).await.unwrap();
        assert_eq!(count(&installation, "contents-g1").await, 1);
        assert_eq!(ages(&installation).await, ["old"]);
    });
}

#[test]
fn document_put_during_a_purge_stays() {
    run(async {
        let installation = Installation::of_one_kind();
        let proxy = Proxy::start().await;
        let of_proxy = installation.replica_at(proxy.url.clone());
        let mut first = Leader::of(OpenSearchIndexes::new(of_proxy).with_stub_age(Duration::ZERO));
        first.open().await.unwrap();
        first.sink().apply(vec![harbour("old"), remove("a")]).await.unwrap();
        // The purge has read the stub and is about to delete it.
        proxy.hold(Hold { of: "/_bulk ", number: 1, at: Stage::Request });
        let committing = tokio::spawn(async move { first.sink().commit(&checkpoint(1), None).await });
        proxy.reached().await;
        let mut second = installation.leader().await;
        write(second.sink(), vec![harbour("new")], 2).await.unwrap();
        proxy.release();
        committing.await.unwrap().unwrap();
        write(second.sink(), Vec::new(), 3).await.unwrap();
        assert_eq!(count(&installation, "contents-g1").await, 1);
        assert_eq!(ages(&installation).await, ["new"]);
    });
}

#[test]
fn index_that_is_gone_is_said_and_replaced() {
    run(async {
        let installation = Installation::new();
        let mut leader = installation.leader().await;
        write(leader.sink(), vec![harbour("old")], 1).await.unwrap();
        let reader = installation.reader().await;
        installation.ask(Method::DELETE, "contents-g1", None).await;
        let lacks = "OpenSearch lacks a part of the index";
        assert!(is_unavailable(search(&reader, &news(), "harbour").await, lacks));
        assert!(is_unavailable(leader.sink().apply(vec![harbour("new")]).await, lacks));
        let damage = format!("OpenSearch lacks the index {}-contents-g1", installation.layout.index_prefix);
        assert_eq!(leader.open().await.unwrap(), (false, Some(damage)));
        assert_eq!(leader.sink().checkpoint(), None);
        assert_eq!(installation.indexes().await, ["article-g2", "contents-g2"]);
        write(leader.sink(), vec![harbour("new")], 2).await.unwrap();
        assert_eq!(ages(&installation).await, ["new"]);
    });
}

#[test]
fn state_that_is_gone_is_said_and_no_number_is_given_twice() {
    run(async {
        let installation = Installation::new();
        let mut leader = installation.leader().await;
        leader.rebuild("old", 1).await;
        let reader = installation.reader().await;
        installation.ask(Method::DELETE, "state", None).await;
        assert!(leader.sink().commit(&checkpoint(2), None).await.is_err());
        assert_eq!(reader.progress().await.unwrap(), None);
        let damage = format!("OpenSearch lacks the index {}-state", installation.layout.index_prefix);
        assert_eq!(leader.open().await.unwrap(), (false, Some(damage)));
        assert_eq!(installation.indexes().await, ["article-g3", "contents-g3"]);
        assert_eq!(search(&reader, &news(), "harbour").await.ok(), None, "it knows no state");
        write(leader.sink(), vec![harbour("new")], 2).await.unwrap();
        assert_eq!(ages(&installation).await, ["new"]);
    });
}

#[test]
fn wiping_leaves_one_empty_generation() {
    run(async {
        let installation = Installation::new();
        let mut leader = installation.leader().await;
        write(leader.sink(), vec![harbour("old")], 1).await.unwrap();
        leader.open_replacement().await.unwrap();
        let mut leader = Leader::of(OpenSearchIndexes::new(installation.replica()));
        leader.open_wiped().await.unwrap();
        assert_eq!(leader.sink().checkpoint(), None);
        assert_eq!(ages(&installation).await, [""; 0]);
        assert_eq!(installation.indexes().await, ["article-g3", "contents-g3"]);
    });
}

#[test]
fn indexes_of_another_database_are_refused_until_they_are_wiped() {
    run(async {
        let installation = Installation::new();
        let mut leader = installation.leader().await;
        write(leader.sink(), vec![harbour("old")], 1).await.unwrap();
        let of_other = engine_of("another store", vec![node()], &installation.layout);
        assert!(matches!(of_other.progress().await, Err(Failure::Foreign(_))));
        assert!(matches!(of_other.want_rebuild().await, Err(Failure::Foreign(_))));
        assert!(matches!(search(&of_other, &news(), "harbour").await, Err(Failure::Foreign(_))));
        let mut other = Leader::of(OpenSearchIndexes::new(of_other));
        assert!(matches!(other.open().await, Err(Failure::Foreign(_))));
        write(leader.sink(), vec![harbour("new")], 2).await.unwrap();
        other.open_wiped().await.unwrap();
        assert!(matches!(leader.open().await, Err(Failure::Foreign(_))));
        let replica = installation.replica();
        assert!(matches!(replica.progress().await, Err(Failure::Foreign(_))));
        assert!(matches!(search(&replica, &news(), "harbour").await, Err(Failure::Foreign(_))));
    });
}

#[test]
fn indexes_of_another_version_are_replaced() {
    run(async {
        let installation = Installation::new();
        let mut leader = installation.leader().await;
        write(leader.sink(), vec![harbour("old")], 1).await.unwrap();
        let older = json!({"doc": {"generations": {"1": {"document_version": 0}}}});
        installation.ask(Method::POST, "state/_update/state", Some(older)).await;
        let damage = Some("another version of trawl has filled OpenSearch".to_owned());
        assert_eq!(leader.open().await.unwrap(), (false, damage));
        assert_eq!(leader.sink().checkpoint(), None);
        assert_eq!(installation.indexes().await, ["article-g2", "contents-g2"]);
    });
}

#[test]
fn id_over_the_limit_is_refused_before_anything_is_applied() {
    run(async {
        let installation = Installation::of_one_kind();
        let mut leader = installation.leader().await;
        let long = "i".repeat(MAX_ID_BYTES + 1);
        let changes = vec![harbour("old"), Change::Put(document(&long, "quay"))];
        assert!(matches!(leader.sink().apply(changes).await, Err(Failure::Failed(_))));
        let longest = "i".repeat(MAX_ID_BYTES);
        write(leader.sink(), vec![Change::Put(document(&longest, "quay"))], 1).await.unwrap();
        assert_eq!(count(&installation, "contents-g1").await, 1);
        assert_eq!(search(&installation.reader().await, &news(), "quay").await.unwrap(), [longest]);
    });
}

#[test]
fn changes_over_the_size_of_a_bulk_are_all_found() {
    run(async {
        let installation = Installation::of_one_kind();
        let mut leader = installation.leader().await;
        let item = json!({"text": "x".repeat(1 << 20)}).to_string();
        let large = |number: i64| {
            Change::Put(Document { item: item.clone(), ..document(&number.to_string(), "harbour") })
        };
        write(leader.sink(), (0..12).map(large).collect(), 1).await.unwrap();
        assert_eq!(search(&installation.reader().await, &news(), "harbour").await.unwrap().len(), 12);
    });
}
