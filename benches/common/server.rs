use std::{
    ffi::OsString,
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
};

use secrecy::ExposeSecret;
use trawl::platform::tenants::service::Registered;

use super::{data_directory::DataDirectory, load::block_on};

/// Every server prints this before its address.
pub(crate) const LISTENING: &str = "listening on http://";

/// Dropping it kills the process.
pub(crate) struct Server {
    pub(crate) process: Child,
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Settings are environment variables without `TRAWL_`.
    pub(crate) fn trawl(data: &Path, settings: &[(&str, &str)]) -> Self {
        let mut command = Command::new(Self::program());
        command.arg("serve").arg("--data").arg(data).args(["--listen", "127.0.0.1:0"]);
        // The benches exceed the default rate of writes.
        command.env("TRAWL_LIMITS__WRITES_PER_MINUTE", "1000000000");
        command.envs(settings.iter().map(|(name, value)| (format!("TRAWL_{name}"), value)));
        Self::start(command)
    }

    /// `BENCH_PROGRAM` names another build.
    pub(crate) fn program() -> OsString {
        std::env::var_os("BENCH_PROGRAM").unwrap_or_else(|| env!("CARGO_BIN_EXE_trawl").into())
    }

    /// The program must print its address.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let address = lines.find_map(|line| line.unwrap().strip_prefix(LISTENING)?.parse().ok()).unwrap();
        Self { process, address }
    }

    pub(crate) fn token(&self, prepared: &DataDirectory) -> String {
        self.token_of(&prepared.registered)
    }

    pub(crate) fn token_of(&self, application: &Registered) -> String {
        self.grant(application, &[("grant_type", "client_credentials")])
    }

    /// A token by a form of the token endpoint.
    pub(crate) fn grant(&self, application: &Registered, form: &[(&str, &str)]) -> String {
        let request = async {
            let credentials = &application.credentials;
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
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
