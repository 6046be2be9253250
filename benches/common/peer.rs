//! Peers: this executable with other arguments.

use std::process::Command;

use axum::{Router, serve::ListenerExt};
use tokio::net::TcpListener;

use super::server::{LISTENING, Server};

impl Server {
    pub(crate) fn peer(arguments: &[&str]) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(arguments);
        Self::start(command)
    }
}

/// Prints the port for the bench.
#[tokio::main]
pub(crate) async fn serve(router: Router) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("{LISTENING}{}", listener.local_addr().unwrap());
    axum::serve(listener.tap_io(|connection| drop(connection.set_nodelay(true))), router).await.unwrap();
}
