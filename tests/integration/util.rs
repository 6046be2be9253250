pub(crate) mod all_modules;
pub(crate) mod answer;
pub(crate) mod app;
pub(crate) mod authenticator;
pub(crate) mod browser;
pub(crate) mod callback;
pub(crate) mod caller;
pub(crate) mod clamd;
pub(crate) mod clock;
pub(crate) mod cluster;
pub(crate) mod collector;
pub(crate) mod console;
pub(crate) mod database;
pub(crate) mod devtools;
pub(crate) mod directory;
pub(crate) mod events;
pub(crate) mod external;
pub(crate) mod fake_issuer;
pub(crate) mod favorites;
pub(crate) mod feed_server;
pub(crate) mod files;
pub(crate) mod folders;
pub(crate) mod gate;
pub(crate) mod groups;
pub(crate) mod internals;
pub(crate) mod issuer;
pub(crate) mod items;
pub(crate) mod lists;
pub(crate) mod login;
pub(crate) mod openid;
pub(crate) mod opensearch;
pub(crate) mod opensearch_nodes;
pub(crate) mod own_search;
pub(crate) mod paging;
pub(crate) mod paths;
pub(crate) mod pgbouncer;
pub(crate) mod planning;
pub(crate) mod postgres;
pub(crate) mod postgres_server;
pub(crate) mod program;
pub(crate) mod protected;
pub(crate) mod quick_handling;
pub(crate) mod raw;
pub(crate) mod relay;
pub(crate) mod robots;
pub(crate) mod s3;
pub(crate) mod search_page;
pub(crate) mod session;
pub(crate) mod sizes;
pub(crate) mod small_disk;
pub(crate) mod stage;
pub(crate) mod stored;
pub(crate) mod subscriptions;
pub(crate) mod systems;
pub(crate) mod tasks;
pub(crate) mod tls;
pub(crate) mod usable;
pub(crate) mod web;
pub(crate) mod webdriver;
#[path = "../../connectors/tests/zoo/mod.rs"]
pub(crate) mod zoo;

use std::time::Duration;

/// Limit of every wait.
pub(crate) const TIMEOUT: Duration = Duration::from_mins(1);

/// Time between two looks at a condition without an event.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

pub(crate) async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let waiting = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    };
    let found = tokio::time::timeout(TIMEOUT, waiting).await;
    found.unwrap_or_else(|_| panic!("{what}: not within {TIMEOUT:?}"))
}
