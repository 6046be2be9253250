//! Server processes: the `trawl` program, and peers that are this executable again.

use std::{
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
};

use axum::{Router, serve::ListenerExt};
use secrecy::ExposeSecret;
use tokio::net::TcpListener;

use super::{data::Prepared, load::block_on};

/// What every server prints before its address, once it listens.
const LISTENING: &str = "listening on http://";

/// A running server; it ends with this value.
pub(crate) struct Server {
    /// Its process.
    pub(crate) process: Child,
    /// Where it listens.
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Starts `trawl serve` on a data directory with these settings, as environment variables without `TRAWL_`;
    /// `BENCH_PROGRAM` may name another build of it, to compare two.
    pub(crate) fn trawl(data: &Path, settings: &[(&str, &str)]) -> Self {
        let built = || env!("CARGO_BIN_EXE_trawl").into();
        let mut command = Command::new(std::env::var_os("BENCH_PROGRAM").unwrap_or_else(built));
        command.arg("serve").arg("--data").arg(data).args(["--listen", "127.0.0.1:0"]);
        // The benches write faster than one application usually may.
        command.env("TRAWL_LIMITS__WRITES_PER_MINUTE", "1000000000");
        command.envs(settings.iter().map(|(name, value)| (format!("TRAWL_{name}"), value)));
        Self::start(command)
    }

    /// Starts a peer with these arguments; see `serve`.
    pub(crate) fn peer(arguments: &[&str]) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(arguments);
        Self::start(command)
    }

    fn start(mut command: Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let address = lines.find_map(|line| line.unwrap().strip_prefix(LISTENING)?.parse().ok()).unwrap();
        Self { process, address }
    }

    /// A token for the application that the data directory was prepared with.
    pub(crate) fn token(&self, prepared: &Prepared) -> String {
        self.grant(prepared, &[("grant_type", "client_credentials")])
    }

    /// A token by this form of the token endpoint, asked for by that application.
    pub(crate) fn grant(&self, prepared: &Prepared, form: &[(&str, &str)]) -> String {
        let request = async {
            let credentials = &prepared.registered.credentials;
            let client = reqwest::Client::builder().no_proxy().build().unwrap();
            let answer = client
                .post(format!("http://{}/oauth2/token", self.address))
                .basic_auth(&credentials.client_id, Some(credentials.client_secret.expose_secret()))
                .form(form)
                .send();
            let answer: serde_json::Value = answer.await.unwrap().json().await.unwrap();
            answer["access_token"].as_str().unwrap().to_owned()
        };
        block_on(request)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Everything that it holds is thrown away with its data directory.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// Makes this process a peer that serves these routes until it is killed.
#[tokio::main]
pub(crate) async fn serve(router: Router) {
    let listener = listen().await;
    axum::serve(listener.tap_io(|connection| drop(connection.set_nodelay(true))), router).await.unwrap();
}

/// Listens on a free port of this machine, and says so to the bench that started this process.
pub(crate) async fn listen() -> TcpListener {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("{LISTENING}{}", listener.local_addr().unwrap());
    listener
}
