//! A cluster of three nodes of OpenSearch, which its test kills and pauses.

use std::{
    fs::{self, File, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use futures::future::select_ok;
use serde_json::Value;
use tempfile::TempDir;
use tokio::time::timeout;
use trawl::config::OpenSearchSettings;

use super::program::{Process, own_address};

pub(crate) const NODES: usize = 3;

/// A busy machine takes a minute to start three nodes.
const TIMEOUT: Duration = Duration::from_mins(3);
const TRIES: usize = 3;

/// Ended on drop.
pub(crate) struct Nodes {
    home: PathBuf,
    /// Absent while it is killed. They end before their directory.
    processes: [Option<Process>; NODES],
    directory: TempDir,
    addresses: [String; NODES],
    transport_addresses: [String; NODES],
    http: reqwest::Client,
}

impl Nodes {
    /// `None` without programs to start.
    pub(crate) async fn start() -> Option<Self> {
        let Some(home) = std::env::var_os("TRAWL_TEST_OPENSEARCH_HOME") else {
            eprintln!("skipped: TRAWL_TEST_OPENSEARCH_HOME names no programs of OpenSearch");
            return None;
        };
        // The nodes run as another user.
        let directory = tempfile::Builder::new()
            .prefix("trawl-opensearch-")
            .permissions(Permissions::from_mode(0o755))
            .tempdir()
            .unwrap();
        let addresses = || std::array::from_fn(|_| own_address());
        let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(10)).build().unwrap();
        let mut nodes = Self {
            home: home.into(),
            directory,
            addresses: addresses(),
            transport_addresses: addresses(),
            processes: Default::default(),
            http,
        };
        (0..NODES).for_each(|node| nodes.launch(node));
        nodes.wait_until_green().await;
        Some(nodes)
    }

    /// Settings of a server's engine, each shard with a copy.
    pub(crate) fn settings(&self) -> OpenSearchSettings {
        let urls = self.addresses.iter().map(|address| format!("http://{address}").parse().unwrap());
        OpenSearchSettings { urls: urls.collect(), replicas: 1, ..OpenSearchSettings::default() }
    }

    /// Waits until every node sees all nodes and all copies.
    pub(crate) async fn wait_until_green(&mut self) {
        for _ in 0..TRIES {
            if timeout(TIMEOUT, self.green()).await.is_ok() {
                return;
            }
            let Some(node) = self.stuck_node().await else { break };
            eprintln!("OpenSearch is stuck; node {node} is killed once more\n{}", self.logs());
            self.kill(node);
            self.launch(node);
        }
        panic!("three nodes do not become green\n{}", self.logs());
    }

    async fn green(&self) {
        let path = format!("_cluster/health?wait_for_status=green&wait_for_nodes={NODES}&timeout=5s");
        for address in &self.addresses {
            // Another node may not have noticed yet that this one was killed.
            while self.ask(address, &path).await.is_err() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }

    /// Finds the node with a primary that does not get its copy.
    ///
    /// OpenSearch 2.19 may leave a replica that it made the primary outside of primary mode, where it takes no writes and gives no copies.
    async fn stuck_node(&self) -> Option<usize> {
        let shards = self.get("_cat/shards?format=json").await;
        let shards = shards.as_array().unwrap();
        let lacking = shards.iter().find(|shard| shard["state"] != "STARTED")?;
        let is_primary = |shard: &&Value| shard["index"] == lacking["index"] && shard["prirep"] == "p";
        shards.iter().find(is_primary)?["node"].as_str().map(number_of)
    }

    /// The node with the primary of an index's only shard.
    pub(crate) async fn primary_of(&self, index: &str) -> usize {
        let shards = self.get(&format!("_cat/shards/{index}?format=json")).await;
        let primary = shards.as_array().unwrap().iter().find(|shard| shard["prirep"] == "p").unwrap();
        number_of(primary["node"].as_str().unwrap())
    }

    pub(crate) async fn cluster_manager(&self) -> usize {
        number_of(self.get("_cat/cluster_manager?format=json").await[0]["node"].as_str().unwrap())
    }

    /// Kills a node like `kill -9`.
    pub(crate) fn kill(&mut self, node: usize) {
        drop(self.processes[node].take().unwrap());
    }

    /// Starts a killed node in its directory.
    pub(crate) fn restart(&mut self, node: usize) {
        assert!(self.processes[node].is_none(), "node {node} runs");
        self.launch(node);
    }

    /// Stops the process until [`Self::resume`].
    pub(crate) fn pause(&self, node: usize) {
        self.signal(node, "-STOP");
    }

    pub(crate) fn resume(&self, node: usize) {
        self.signal(node, "-CONT");
    }

    /// The first success of any node.
    async fn get(&self, path: &str) -> Value {
        let asked = self.addresses.iter().map(|address| Box::pin(self.ask(address, path)));
        select_ok(asked).await.unwrap().0
    }

    /// A wait that timed out is an error, too.
    async fn ask(&self, address: &str, path: &str) -> reqwest::Result<Value> {
        let request = self.http.get(format!("http://{address}/{path}"));
        request.send().await?.error_for_status()?.json().await
    }

    fn launch(&mut self, node: usize) {
        let port = |address: &str| address.rsplit_once(':').unwrap().1.to_owned();
        let log = File::options().create(true).append(true).open(self.log(node)).unwrap();
        let names: [String; NODES] = std::array::from_fn(name_of);
        let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/opensearch/node"));
        command.arg(&self.home).arg(self.directory.path().join(name_of(node)));
        command.arg(port(&self.addresses[node])).args([
            format!("-Enode.name={}", name_of(node)),
            format!("-Etransport.port={}", port(&self.transport_addresses[node])),
            format!("-Ediscovery.seed_hosts={}", self.transport_addresses.join(",")),
            format!("-Ecluster.initial_cluster_manager_nodes={}", names.join(",")),
        ]);
        // A paused node is missed within seconds.
        for check in ["leader_check", "follower_check"] {
            command.arg(format!("-Ecluster.fault_detection.{check}.timeout=1s"));
        }
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.processes[node] = Some(Process(command.spawn().unwrap()));
    }

    fn signal(&self, node: usize, signal: &str) {
        let process = self.processes[node].as_ref().unwrap().0.id().to_string();
        assert!(Command::new("kill").args([signal, &process]).status().unwrap().success());
    }

    fn log(&self, node: usize) -> PathBuf {
        self.directory.path().join(format!("{}.log", name_of(node)))
    }

    /// The last lines of each.
    fn logs(&self) -> String {
        let last = |node| {
            let log = fs::read_to_string(self.log(node)).unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            lines[lines.len().saturating_sub(20)..].join("\n")
        };
        (0..NODES).map(last).collect::<Vec<_>>().join("\n\n")
    }
}

fn name_of(node: usize) -> String {
    format!("n{node}")
}

fn number_of(name: &str) -> usize {
    name.strip_prefix('n').unwrap().parse().unwrap()
}
