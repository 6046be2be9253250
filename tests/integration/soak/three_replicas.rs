//! Three replicas over PostgreSQL, and over OpenSearch where there is one.

use std::{sync::Arc, time::Duration};

use tempfile::TempDir;
use tokio::time::sleep;
use trawl::config::{EngineKind, EngineSettings};

use super::{
    faults::{FAULT_TIME, Machine, kill_readers, soak},
    levers::{Lever, Levers},
    workplace::{Applications, MALLORY, NORTHWIND, SCOPES, Workplace, settings},
};
use crate::util::{
    cluster::Cluster, opensearch, opensearch_nodes::Nodes, postgres_server::PostgresServer, program::Server,
    tls::Authority,
};

/// The replica that lives throughout.
const LIVES: usize = 0;
const PAUSES: usize = 1;
const DIES: usize = 2;
const ITEMS: usize = 4_000;
/// Three nodes of OpenSearch share the processors with three replicas, and answer calls at the pace of one server in seconds.
const SLOWNESS: u32 = 4;
const PAUSE: Duration = Duration::from_secs(3);
/// The node of OpenSearch that is killed.
const NODE: usize = 1;

struct ThreeReplicas {
    cluster: Cluster,
    settings: Vec<(&'static str, String)>,
    /// None while it is dead.
    servers: Vec<Option<Server>>,
    postgres: PostgresServer,
    nodes: Option<Nodes>,
    levers: Levers,
    _directory: TempDir,
}

impl Machine for ThreeReplicas {
    const FAULTS: &'static [&'static str] = &[
        "killed replica",
        "killed readers",
        "killed node of OpenSearch",
        "crashed PostgreSQL",
        "paused replica",
        "clocks ahead",
        "clocks back",
        "names do not resolve",
    ];

    async fn fail(&mut self, fault: &'static str) {
        match fault {
            "killed replica" => {
                self.servers[DIES].take().unwrap().kill();
                sleep(FAULT_TIME).await;
                self.start(DIES).await;
            }
            "killed readers" => self.servers.iter().flatten().for_each(|server| kill_readers(server.id())),
            "killed node of OpenSearch" => {
                if let Some(nodes) = &mut self.nodes {
                    nodes.kill(NODE);
                    sleep(FAULT_TIME).await;
                    nodes.restart(NODE);
                    nodes.wait_until_green().await;
                }
            }
            "crashed PostgreSQL" => {
                self.postgres.crash().await;
                sleep(FAULT_TIME).await;
                self.postgres.start_again().await;
            }
            "paused replica" => {
                self.server(PAUSES).pause();
                sleep(PAUSE).await;
                self.server(PAUSES).resume();
            }
            "clocks ahead" => self.levers.set(Lever::Clock, 7_200),
            "clocks back" => self.levers.set(Lever::Clock, 0),
            "names do not resolve" => {
                self.levers.set(Lever::Names, 1);
                sleep(FAULT_TIME).await;
                self.levers.set(Lever::Names, 0);
            }
            _ => unreachable!("{fault}"),
        }
    }

    fn process(&self) -> u32 {
        self.server(LIVES).id()
    }

    async fn recover(&self) {
        for server in self.servers.iter().flatten() {
            server.wait_until_ready().await;
            server.wait_for_index().await;
        }
    }

    async fn tasks(&self) -> u64 {
        self.server(LIVES).gauge("trawl_runtime_tasks").await.unwrap()
    }
}

impl ThreeReplicas {
    fn server(&self, number: usize) -> &Server {
        self.servers[number].as_ref().unwrap()
    }

    async fn start(&mut self, number: usize) {
        let changes: Vec<(&'static str, &str)> =
            self.settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let server = if number < self.servers.len() {
            self.cluster.launch(number, &changes).await
        } else {
            self.servers.push(None);
            self.cluster.launch_new(&changes).await
        };
        self.servers[number] = Some(server);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "tests/soak/run runs it"]
async fn three_replicas_with_faults_lose_nothing_and_stay_flat() {
    let (directory, authority) = (tempfile::tempdir().unwrap(), Authority::new());
    let folder = directory.path().join("views");
    let levers = Levers::new(directory.path());
    let (postgres, nodes) = (PostgresServer::start().await, Nodes::start().await);
    let mut settings: Vec<_> =
        settings(&folder, &authority).into_iter().chain(levers.environment()).collect();
    if let Some(nodes) = &nodes {
        let engine = EngineSettings { kind: EngineKind::OpenSearch, opensearch: nodes.settings() };
        settings.extend(opensearch::environment_of(&engine));
    }
    let cluster = Cluster::over(&PostgresServer::url(&postgres.address));
    let mut machine = ThreeReplicas {
        cluster,
        settings,
        servers: Vec::new(),
        postgres,
        nodes,
        levers,
        _directory: directory,
    };
    for number in [LIVES, PAUSES, DIES] {
        machine.start(number).await;
    }
    machine.recover().await;
    let applications = Applications {
        northwind: machine.cluster.application_with(NORTHWIND, "application", &SCOPES).await,
        mallory: machine.cluster.application_with(MALLORY, "application", &SCOPES).await,
        mallorys_operator: machine.cluster.application(MALLORY, "admin").await,
        northwinds_operator: machine.cluster.application(NORTHWIND, "admin").await,
    };
    let bases = machine.servers.iter().flatten().map(|server| server.base.clone()).collect();
    let workplace = Workplace::new(bases, &applications, &authority, SLOWNESS).await;
    workplace.add_people().await;
    workplace.fill(ITEMS, &folder).await;
    soak("three-replicas", Arc::new(workplace), machine).await;
}
