//! Limit of open files.

use std::fs;

use crate::util::{program::Server, raw::Connection};

/// The system's limit is no round number, as others are.
const HARD: u64 = 702;
/// Connections may take half of so few.
const MAX_CONNECTIONS: usize = 351;
const ALIVE: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";

async fn start(connections: usize) -> (tempfile::TempDir, Server) {
    let directory = tempfile::tempdir().unwrap();
    let settings = format!("[limits]\nconnections = {connections}\n");
    fs::write(directory.path().join("trawl.toml"), settings).unwrap();
    let server = Server::start_within(directory.path(), [200, HARD]).await;
    let limits = server.limits();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let soft_and_hard: Vec<u64> =
        line.split_whitespace().take(2).map(|limit| limit.parse().unwrap()).collect();
    assert_eq!(soft_and_hard, [HARD; 2], "{limits}");
    (directory, server)
}

#[tokio::test]
async fn connection_limit_above_the_open_file_limit_is_lowered() {
    let (_directory, server) = start(10_000).await;
    let log = server.log();
    let told: Vec<_> = log.lines().filter(|line| line.contains("limits.connections is lowered")).collect();
    assert_eq!(told.len(), 1, "{log}");
    assert!(told[0].contains(&format!("most={MAX_CONNECTIONS} wanted=10000")), "{}", told[0]);
    let mut connections = Vec::new();
    for _ in 0..=MAX_CONNECTIONS {
        let mut connection = Connection::open(&server.base).await;
        connection.write(ALIVE).await;
        assert_eq!(connection.read().await.status, 200);
        connections.push(connection);
    }
    assert_eq!(connections[0].read_to_end().await, b"", "the oldest gives way");
}

#[tokio::test]
async fn connection_limit_within_the_open_file_limit_is_kept() {
    let (_directory, server) = start(MAX_CONNECTIONS).await;
    assert!(!server.log().contains("limits.connections"), "{}", server.log());
}
