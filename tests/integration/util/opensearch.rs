//! OpenSearch as the engine of servers under test, where `TRAWL_TEST_ENGINE` is `opensearch`.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Mutex, PoisonError},
};

use trawl::config::{EngineKind, EngineSettings, OpenSearchSettings};

/// Address of the node that `./tests/run` started.
pub(crate) fn node() -> Option<String> {
    std::env::var("TRAWL_TEST_OPENSEARCH").ok()
}

pub(crate) fn is_engine() -> bool {
    std::env::var("TRAWL_TEST_ENGINE").is_ok_and(|engine| engine == "opensearch")
}

/// Engine of a data directory's server, with indexes of its own.
///
/// It is `None` for the embedded engine.
pub(crate) fn engine_of(data: &Path) -> Option<EngineSettings> {
    is_engine().then(|| on_node(data))
}

/// Settings of the program for a data directory; none for the embedded engine.
pub(crate) fn environment(data: &Path) -> Vec<(&'static str, String)> {
    engine_of(data).map_or_else(Vec::new, |engine| environment_of(&engine))
}

pub(crate) fn environment_of(engine: &EngineSettings) -> Vec<(&'static str, String)> {
    let OpenSearchSettings { urls, index_prefix, replicas, .. } = &engine.opensearch;
    let urls: Vec<String> = urls.iter().map(ToString::to_string).collect();
    vec![
        ("TRAWL_ENGINE__KIND", engine.kind.name().to_owned()),
        ("TRAWL_ENGINE__OPENSEARCH__URLS", urls.join(",")),
        ("TRAWL_ENGINE__OPENSEARCH__INDEX_PREFIX", index_prefix.clone()),
        ("TRAWL_ENGINE__OPENSEARCH__REPLICAS", replicas.to_string()),
    ]
}

/// Indexes of a data directory on the shared node.
pub(crate) fn on_node(data: &Path) -> EngineSettings {
    let node = node().expect("TRAWL_TEST_OPENSEARCH is the address of a node");
    let mut hasher = DefaultHasher::new();
    data.hash(&mut hasher);
    let index_prefix = format!("test-{}-{:x}", std::process::id(), hasher.finish());
    remove_indexes_of_ended_servers(&node, data, &index_prefix);
    let urls = vec![node.parse().unwrap()];
    let opensearch = OpenSearchSettings { urls, index_prefix, replicas: 0, ..OpenSearchSettings::default() };
    EngineSettings { kind: EngineKind::OpenSearch, opensearch }
}

/// A node holds a thousand shards.
fn remove_indexes_of_ended_servers(node: &str, data: &Path, index_prefix: &str) {
    static USED: Mutex<Vec<(PathBuf, String)>> = Mutex::new(Vec::new());
    let mut used = USED.lock().unwrap_or_else(PoisonError::into_inner);
    let (over, mut current): (Vec<_>, Vec<_>) = used.drain(..).partition(|(data, _)| !data.exists());
    if current.iter().all(|(known, _)| known != data) {
        current.push((data.to_owned(), index_prefix.to_owned()));
    }
    *used = current;
    drop(used);
    for (_, index_prefix) in over {
        let address = format!("{node}/{index_prefix}-*");
        let mut command = Command::new("curl");
        // Their servers may have ended within a request of theirs.
        command.args(["--retry", "5", "--retry-all-errors"]);
        command.args(["--fail", "--silent", "--show-error", "--request", "DELETE", &address]);
        command.stdout(Stdio::null());
        assert!(command.status().unwrap().success());
    }
}
