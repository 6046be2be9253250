//! Server processes over one PostgreSQL database, as replicas.

use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use super::{
    caller::Caller,
    postgres::{database, environment_of},
    program::{Server, run, text, trawl},
};

/// Public address of all replicas, where none listens.
const PUBLIC: &str = "127.0.0.1:1";

pub(crate) struct Cluster {
    pub(crate) url: String,
    shared: TempDir,
    /// Data directories of the replicas `r0`, `r1` and so on.
    directories: Vec<TempDir>,
}

impl Cluster {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            url: database(&format!("replicas_{name}")),
            shared: tempfile::tempdir().unwrap(),
            directories: Vec::new(),
        }
    }

    /// Starts another replica and waits until it is ready.
    pub(crate) async fn add(&mut self) -> Server {
        let server = self.launch_new(&[]).await;
        server.wait_until_ready().await;
        server
    }

    pub(crate) async fn launch_new(&mut self, changes: &[(&'static str, &str)]) -> Server {
        self.directories.push(tempfile::tempdir().unwrap());
        self.launch(self.directories.len() - 1, changes).await
    }

    /// Starts a replica in its directory, again if it ran before.
    pub(crate) async fn launch(&self, number: usize, changes: &[(&'static str, &str)]) -> Server {
        let mut environment = environment_of(&self.url, self.shared.path(), PUBLIC);
        environment.push(("TRAWL_CLUSTER__REPLICA", format!("r{number}")));
        environment.extend(changes.iter().map(|(name, value)| (*name, (*value).to_owned())));
        Server::launch_by(self.directories[number].path(), "127.0.0.1:0", environment, &[]).await
    }

    /// A command of the program over the database.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = trawl(arguments);
        command.current_dir(self.shared.path());
        command.envs(environment_of(&self.url, self.shared.path(), PUBLIC));
        command
    }

    pub(crate) async fn application(&self, tenant: &str, kind: &str) -> Value {
        let command = self.command(&["app", "create", "--tenant", tenant, "--kind", kind, "--json"]);
        let output = run(command).await;
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// The same caller at another replica.
pub(crate) fn at(server: &Server, caller: &Caller) -> Caller {
    Caller { base: server.base.clone(), ..caller.clone() }
}
