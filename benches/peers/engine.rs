//! Search engines that are compared, and their clients.

use std::{
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::{Child, Command},
    time::Duration,
};

use hyper::body::Bytes;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::{
    common::load::{Connection, Target},
    queries::{Language, Query, Row},
};

/// Rows of one call while an engine is filled.
pub(crate) const BATCH: usize = 1_000;
/// Results of a page.
pub(crate) const LIMIT: usize = 10;
const START_LOOKS: usize = 600;
const START_LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// A search engine over the texts.
pub(crate) trait Engine: Sync {
    /// The name and version.
    fn name(&self) -> String;

    /// Returns once every row is found.
    fn fill(&mut self, language: Language, rows: &[Row]);

    /// A connection of one client.
    fn connect(&self) -> Box<dyn Client>;

    /// Its server; `None` in this process.
    fn process(&self) -> Option<u32>;

    /// The directory of its files.
    fn files(&self) -> PathBuf;
}

/// A client, with one query in flight.
pub(crate) trait Client: Send {
    /// Reads a page whole.
    fn search(&mut self, query: &Query) -> Found;
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    /// All matches.
    pub(crate) total: u64,
    /// Rows of the page.
    pub(crate) rows: usize,
}

/// A client over HTTP/1.1, kept alive.
pub(crate) struct Http {
    runtime: Runtime,
    connection: Connection,
    /// Its calls differ from this one.
    template: Target,
}

impl Http {
    pub(crate) fn open(address: SocketAddr, token: Option<&str>) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let template = Target {
            address,
            method: "GET",
            path: String::new(),
            token: token.map(str::to_owned),
            body: None,
            expected: String::new(),
        };
        let connection = runtime.block_on(Connection::open(template.address));
        Self { runtime, connection, template }
    }

    /// Sends a header with each call over this connection.
    pub(crate) fn with_header(mut self, name: &'static str, value: &str) -> Self {
        self.connection.headers.push((name, value.to_owned()));
        self
    }

    /// Connects again to a server that closes connections after each answer.
    pub(crate) fn open_again(&mut self) -> &mut Self {
        self.connection = self.runtime.block_on(Connection::open(self.template.address));
        self
    }

    /// The answer must be of status 200 and contain `expected`.
    pub(crate) fn call(
        &mut self,
        method: &'static str,
        path: String,
        body: Option<String>,
        expected: &str,
    ) -> Bytes {
        let target = Target { method, path, body, expected: expected.to_owned(), ..self.template.clone() };
        self.runtime.block_on(self.connection.call(&target))
    }

    pub(crate) fn json(&mut self, method: &'static str, path: String, body: Option<String>) -> Value {
        serde_json::from_slice(&self.call(method, path, body, "")).unwrap()
    }
}

/// A server process, killed at the end.
pub(crate) struct Process(Child);

impl Process {
    /// Returns once `address` accepts connections.
    pub(crate) fn start(command: &mut Command, address: SocketAddr) -> Self {
        let process = Self(command.spawn().unwrap());
        for _ in 0..START_LOOKS {
            if std::net::TcpStream::connect(address).is_ok() {
                return process;
            }
            std::thread::sleep(START_LOOK_INTERVAL);
        }
        panic!("{command:?} does not listen at {address}");
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

pub(crate) fn run(command: &mut Command) {
    assert!(command.status().unwrap().success(), "{command:?} failed");
}

/// Memory of a process and its children, shared pages counted once.
pub(crate) fn memory_mib(process: u32) -> f64 {
    let rollup = std::fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap_or_default();
    let own = rollup.lines().find_map(|line| line.strip_prefix("Pss:")?.trim().strip_suffix(" kB"));
    let own = own.map_or(0.0, |kib| kib.trim().parse::<f64>().unwrap() / 1_024.0);
    let children = std::fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
    let children = children.unwrap_or_default();
    own + children.split_whitespace().map(|child| memory_mib(child.parse().unwrap())).sum::<f64>()
}

pub(crate) fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// The first line that a program prints.
pub(crate) fn version(program: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().next().map(str::to_owned)
}

pub(crate) fn encode(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
