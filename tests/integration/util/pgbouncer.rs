//! `PgBouncer` before a PostgreSQL server.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    process::{Child, Command, Stdio},
};

use tempfile::TempDir;
use tokio::net::TcpStream;

use super::{eventually, postgres_server::is_root, program::own_address};

const PROGRAM: &str = "/usr/sbin/pgbouncer";

/// Killed on drop.
pub(crate) struct PgBouncer {
    process: Child,
    _directory: TempDir,
    /// Host and port.
    pub(crate) address: String,
}

impl PgBouncer {
    /// Serves all databases of a server to its user `trawl`; `settings` are lines of its file.
    pub(crate) async fn start(server: &str, settings: &str) -> Self {
        let directory = tempfile::Builder::new().prefix("trawl-pgbouncer-").tempdir().unwrap();
        // It refuses to run as root.
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let (host, port) = server.split_once(':').unwrap();
        let address = own_address();
        let (own_host, own_port) = address.split_once(':').unwrap();
        let users = directory.path().join("users.txt");
        fs::write(&users, "\"trawl\" \"\"\n").unwrap();
        let file = directory.path().join("pgbouncer.ini");
        let text = format!(
            "[databases]\n* = host={host} port={port}\n[pgbouncer]\nlisten_addr = {own_host}\nlisten_port = {own_port}\n\
             unix_socket_dir =\nauth_type = trust\nauth_file = {}\n{settings}\n",
            users.display()
        );
        fs::write(&file, text).unwrap();
        let mut command = if is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", "postgres", "--regid", "postgres", "--clear-groups", PROGRAM]);
            command
        } else {
            Command::new(PROGRAM)
        };
        let process = command
            .arg("--quiet")
            .arg(&file)
            .stdin(Stdio::null())
            .spawn()
            .expect("./tests/install installs PgBouncer");
        let pooler = Self { process, _directory: directory, address };
        eventually("PgBouncer", async || TcpStream::connect(&pooler.address).await.ok()).await;
        pooler
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
