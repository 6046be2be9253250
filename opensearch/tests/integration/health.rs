//! Health and size of the indexes.

use reqwest::Method;
use serde_json::json;
use trawl_engine::{Engine, Health};
use trawl_opensearch::Layout;

use crate::engine_under_test::{layout, run};
use crate::proxy::Proxy;
use crate::replica::{Installation, harbour, search, write};
use crate::suite::support::news;

fn unavailable(text: &str) -> Health {
    Health::Unavailable(text.to_owned())
}

#[test]
fn health_tells_missing_copies_from_missing_shards() {
    run(async {
        let installation = Installation::of(Layout { shards: 2, replicas: 1, ..layout() });
        let reader = installation.replica();
        assert_eq!(reader.health().await, unavailable("the index is not filled yet"));
        let mut leader = installation.leader().await;
        write(leader.sink(), vec![harbour("old")], 1).await.unwrap();
        reader.progress().await.unwrap();
        // The only node holds no copies of its own shards.
        let yellow = "OpenSearch is yellow: 4 copies of its shards are missing";
        assert_eq!(reader.health().await, Health::Degraded(yellow.to_owned()));
        let copies = json!({"number_of_replicas": 0});
        for kind in installation.layout.kinds {
            installation.ask(Method::PUT, &format!("{kind}-g1/_settings"), Some(copies.clone())).await;
        }
        assert_eq!(reader.health().await, Health::Good);
        assert!(reader.bytes().await.unwrap() > 0);

        // No node may hold the shards. The index is created anew: a node takes back shards that it has on disk.
        let index = installation.ask(Method::GET, "contents-g1", None).await;
        let mut index = index.as_object().unwrap().values().next().unwrap().clone();
        let settings = index["settings"]["index"].as_object_mut().unwrap();
        settings.retain(|name, _| !["creation_date", "provided_name", "uuid", "version"].contains(&&**name));
        settings.insert("routing.allocation.require._name".to_owned(), "nowhere".into());
        installation.ask(Method::DELETE, "contents-g1", None).await;
        installation.ask(Method::PUT, "contents-g1?wait_for_active_shards=0", Some(index)).await;
        assert_eq!(reader.health().await, unavailable("OpenSearch is red: 2 shards are missing"));
        assert!(search(&reader, &news(), "harbour").await.is_err(), "it is not an empty success");
        assert!(reader.documents().await.is_err());
        installation.ask(Method::DELETE, "contents-g1", None).await;
        assert_eq!(reader.health().await, unavailable("OpenSearch is red: 1 index is missing"));
    });
}

#[test]
fn cluster_that_cannot_be_reached_is_unavailable() {
    run(async {
        let installation = Installation::of_one_kind();
        let _leader = installation.leader().await;
        let proxy = Proxy::start().await;
        let reader = installation.replica_at(proxy.url.clone());
        reader.progress().await.unwrap();
        assert_eq!(reader.health().await, Health::Good);
        drop(proxy);
        let cannot = "OpenSearch cannot be reached";
        assert_eq!(reader.health().await, unavailable(cannot));
        assert_eq!(search(&reader, &news(), "harbour").await.unwrap_err().to_string(), cannot);
        assert_eq!(reader.progress().await.unwrap_err().to_string(), cannot);
    });
}
