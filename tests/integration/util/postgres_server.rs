//! PostgreSQL servers of one test, which it may crash and promote.

use std::{os::unix::fs::MetadataExt as _, path::PathBuf, process::Command};

use tempfile::TempDir;

use super::program::{own_address, run};

/// Killed on drop.
pub(crate) struct PostgresServer {
    directory: TempDir,
    /// Host and port.
    pub(crate) address: String,
}

impl PostgresServer {
    pub(crate) async fn start() -> Self {
        let server = Self::new();
        server
            .run("initdb", &["--auth", "trust", "--username", "trawl", "--encoding", "UTF8", "--locale", "C"])
            .await;
        server.start_again().await;
        server
    }

    /// Starts a standby, which reaches this server at `address`.
    pub(crate) async fn standby(&self, address: &str) -> Self {
        let standby = Self::new();
        let (host, port) = address.split_once(':').unwrap();
        let arguments = [
            "--host",
            host,
            "--port",
            port,
            "--username",
            "trawl",
            "--write-recovery-conf",
            "--checkpoint",
            "fast",
        ];
        standby.run("pg_basebackup", &arguments).await;
        standby.start_again().await;
        standby
    }

    /// Starts it after a crash.
    pub(crate) async fn start_again(&self) {
        let (_, port) = self.address.split_once(':').unwrap();
        let directory = self.directory.path().display();
        let log = format!("{directory}/log");
        let options = format!(
            "-p {port} -k {directory} -c listen_addresses=127.0.0.1 -c fsync=off -c max_connections=50"
        );
        self.run("pg_ctl", &["start", "--silent", "--wait", "--log", &log, "--options", &options]).await;
    }

    /// Ends it as a crash would.
    pub(crate) async fn crash(&self) {
        self.run("pg_ctl", &["stop", "--silent", "--mode", "immediate"]).await;
    }

    pub(crate) async fn promote(&self) {
        self.run("pg_ctl", &["promote", "--silent", "--wait"]).await;
    }

    /// Its database `postgres`, at an address that relays to it.
    pub(crate) fn url(address: &str) -> String {
        format!("postgres://trawl@{address}/postgres")
    }

    fn new() -> Self {
        let directory = tempfile::Builder::new().prefix("trawl-postgres-").tempdir().unwrap();
        if is_root() {
            let owner = Command::new("chown").arg("postgres").arg(directory.path()).status().unwrap();
            assert!(owner.success());
        }
        Self { directory, address: own_address() }
    }

    async fn run(&self, program: &str, arguments: &[&str]) {
        let mut command = self.command(program);
        command.args(arguments);
        let output = run(command).await;
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// PostgreSQL refuses to run as root.
    fn command(&self, program: &str) -> Command {
        let path = programs().join(program);
        let mut command = if is_root() {
            let mut command = Command::new("runuser");
            command.args(["--user", "postgres", "--"]).arg(path);
            command
        } else {
            Command::new(path)
        };
        command.current_dir(self.directory.path()).arg("--pgdata").arg(self.directory.path().join("data"));
        command
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        let _ = self.command("pg_ctl").args(["stop", "--silent", "--mode", "immediate"]).output();
    }
}

pub(crate) fn is_root() -> bool {
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}

/// The newest version's directory of programs, as Debian places it.
fn programs() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").expect("./tests/run installs PostgreSQL");
    versions.map(|version| version.unwrap().path().join("bin")).max().unwrap()
}
