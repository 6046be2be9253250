//! Server processes over one PostgreSQL database, as replicas.

use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use super::{
    caller::Caller,
    login::CALLBACK,
    postgres::{environment_of, migrated_database},
    program::{Server, own_address, run, text, trawl},
};

/// Public address of all replicas, where none listens.
const PUBLIC: &str = "127.0.0.1:1";

pub(crate) struct Cluster {
    pub(crate) url: String,
    shared: TempDir,
    /// Data directories and addresses of the replicas `r0`, `r1` and so on.
    replicas: Vec<(TempDir, String)>,
}

impl Cluster {
    pub(crate) fn new(name: &str) -> Self {
        Self::over(&migrated_database(&format!("replicas_{name}")))
    }

    /// Over an empty database.
    pub(crate) fn over(url: &str) -> Self {
        Self { url: url.to_owned(), shared: tempfile::tempdir().unwrap(), replicas: Vec::new() }
    }

    /// Starts another replica and waits until it is ready.
    pub(crate) async fn add(&mut self) -> Server {
        let server = self.launch_new(&[]).await;
        server.wait_until_ready().await;
        server
    }

    /// Starts another replica.
    pub(crate) async fn launch_new(&mut self, changes: &[(&'static str, &str)]) -> Server {
        self.replicas.push((tempfile::tempdir().unwrap(), own_address()));
        self.launch(self.replicas.len() - 1, changes).await
    }

    /// Starts a replica in its directory, again if it ran before.
    pub(crate) async fn launch(&self, number: usize, changes: &[(&'static str, &str)]) -> Server {
        let mut environment = environment_of(&self.url, self.shared.path(), PUBLIC);
        environment.push(("TRAWL_CLUSTER__REPLICA", format!("r{number}")));
        environment.push(("TRAWL_LIMITS__WRITES_PER_MINUTE", "1000000".to_owned()));
        environment.extend(changes.iter().map(|(name, value)| (*name, (*value).to_owned())));
        let (directory, address) = &self.replicas[number];
        Server::launch_by(directory.path(), address, environment, &[]).await
    }

    pub(crate) fn address(&self, number: usize) -> &str {
        &self.replicas[number].1
    }

    /// A command of the program over the database.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = trawl(arguments);
        command.current_dir(self.shared.path());
        command.envs(environment_of(&self.url, self.shared.path(), PUBLIC));
        command
    }

    pub(crate) async fn application(&self, tenant: &str, kind: &str) -> Value {
        self.application_with(tenant, kind, &[]).await
    }

    pub(crate) async fn application_with(&self, tenant: &str, kind: &str, scopes: &[&str]) -> Value {
        let scopes: Vec<&str> = scopes.iter().flat_map(|scope| ["--scope", scope]).collect();
        self.create_application(tenant, kind, &scopes).await
    }

    /// An application that signs people in and searches.
    pub(crate) async fn portal(&self, tenant: &str) -> Value {
        let options = ["--scope", "contents:read", "--redirect-uri", CALLBACK];
        self.create_application(tenant, "application", &options).await
    }

    async fn create_application(&self, tenant: &str, kind: &str, options: &[&str]) -> Value {
        let mut command = self.command(&["app", "create", "--tenant", tenant, "--kind", kind, "--json"]);
        command.args(options);
        let output = run(command).await;
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// The same caller at another replica.
pub(crate) fn at(server: &Server, caller: &Caller) -> Caller {
    caller.at(&server.base)
}
