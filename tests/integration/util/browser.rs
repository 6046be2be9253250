//! A headless Chromium, driven as a person would use it.

use std::{
    io::{BufRead, BufReader},
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
};

use fantoccini::{Client, ClientBuilder};
use serde_json::json;
use tempfile::TempDir;

/// Without a display, without a sandbox (tests may run as root), and without what it asks of the network by itself.
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

/// What `chromedriver` says before its port.
const STARTED: &str = "was started successfully on port ";

/// It takes a free port of IPv4, and ends where another process has the same one of IPv6: the next try takes another.
const STARTS: usize = 10;

/// Starts a driver; answers it and its port, or nothing where it ended before it had one.
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
    // What it says later is read and thrown away, so that it never waits for a reader.
    std::thread::spawn(move || lines.for_each(drop));
    Some((driver, port))
}

/// A browser. It ends when it is closed or dropped.
pub(crate) struct Browser {
    pub(crate) client: Client,
    driver: Child,
    _profile: TempDir,
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Its browser too, which is of its group.
        let group = format!("-{}", self.driver.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        let _ = self.driver.wait();
    }
}

impl Browser {
    pub(crate) async fn start() -> Self {
        Self::start_in("en-US").await
    }

    /// One whose owner reads this language.
    pub(crate) async fn start_in(language: &str) -> Self {
        let (driver, port) = (0..STARTS).find_map(|_| start_driver()).expect("chromedriver says its port");
        let profile = tempfile::tempdir().unwrap();
        let mut arguments: Vec<String> = ARGUMENTS.map(str::to_owned).to_vec();
        arguments.push(format!("--user-data-dir={}", profile.path().display()));
        arguments.push(format!("--accept-lang={language}"));
        let capabilities = json!({
            "goog:chromeOptions": { "args": arguments },
            // What pages complain of is kept until it is asked for.
            "goog:loggingPrefs": { "browser": "ALL" },
        });
        let client = ClientBuilder::new(hyper_util::client::legacy::connect::HttpConnector::new())
            .capabilities(capabilities.as_object().unwrap().clone())
            .connect(&format!("http://127.0.0.1:{port}"))
            .await
            .unwrap();
        Self { client, driver, _profile: profile }
    }

    /// Ends the browser, its helpers too.
    pub(crate) async fn close(self) {
        self.client.clone().close().await.unwrap();
    }
}
