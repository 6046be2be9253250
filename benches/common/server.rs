//! Server processes.

use std::{
    ffi::OsString,
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
};

use secrecy::ExposeSecret;

use super::{data::Prepared, load::block_on};

/// What every server prints before its address, once it listens.
pub(crate) const LISTENING: &str = "listening on http://";

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
        let mut command = Command::new(Self::program());
        command.arg("serve").arg("--data").arg(data).args(["--listen", "127.0.0.1:0"]);
        // The benches write faster than one application usually may.
        command.env("TRAWL_LIMITS__WRITES_PER_MINUTE", "1000000000");
        command.envs(settings.iter().map(|(name, value)| (format!("TRAWL_{name}"), value)));
        Self::start(command)
    }

    /// The program that is measured.
    pub(crate) fn program() -> OsString {
        std::env::var_os("BENCH_PROGRAM").unwrap_or_else(|| env!("CARGO_BIN_EXE_trawl").into())
    }

    /// Starts a program that says where it listens.
    pub(crate) fn start(mut command: Command) -> Self {
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
