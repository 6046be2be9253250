//! A headless Chromium.

use std::{
    io::{BufRead, BufReader},
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
};

use fantoccini::{Client, ClientBuilder};
use serde_json::json;
use tempfile::TempDir;

/// No display, no sandbox (tests may run as root), no network traffic of its own.
const ARGUMENTS: [&str; 8] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
];

const STARTED: &str = "was started successfully on port ";

/// A driver fails when the IPv6 port of its free IPv4 port is taken.
const STARTS: usize = 10;

/// Returns the driver and its port, or none if it failed.
fn start_driver() -> Option<(Child, String)> {
    let mut command = Command::new("chromedriver");
    let driver =
        command.arg("--port=0").process_group(0).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut driver = driver.expect("chromedriver is installed by ./tests/run");
    let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
    let port = lines.find_map(|line| {
        line.unwrap().split_once(STARTED).map(|(_, port)| port.trim_end_matches('.').to_owned())
    });
    let Some(port) = port else {
        driver.wait().unwrap();
        return None;
    };
    std::thread::spawn(move || lines.for_each(drop));
    Some((driver, port))
}

pub(crate) struct Browser {
    pub(crate) client: Client,
    driver: Child,
    _profile: TempDir,
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The process group includes the browser.
        let group = format!("-{}", self.driver.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        let _ = self.driver.wait();
    }
}

impl Browser {
    pub(crate) async fn start() -> Self {
        Self::start_in("en-US").await
    }

    pub(crate) async fn start_in(language: &str) -> Self {
        let (driver, port) = (0..STARTS).find_map(|_| start_driver()).expect("chromedriver says its port");
        let profile = tempfile::tempdir().unwrap();
        let mut arguments: Vec<String> = ARGUMENTS.map(str::to_owned).to_vec();
        arguments.push(format!("--user-data-dir={}", profile.path().display()));
        arguments.push(format!("--accept-lang={language}"));
        let capabilities = json!({
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL" },
        });
        let client = ClientBuilder::new(hyper_util::client::legacy::connect::HttpConnector::new())
            .capabilities(capabilities.as_object().unwrap().clone())
            .connect(&format!("http://127.0.0.1:{port}"))
            .await
            .unwrap();
        Self { client, driver, _profile: profile }
    }

    pub(crate) async fn close(self) {
        self.client.clone().close().await.unwrap();
    }
}
