//! The program in its own process.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::{BufRead, BufReader, Read, Seek, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, ExitStatus, Output, Stdio},
    sync::atomic::{AtomicU16, Ordering},
};

use serde_json::Value;

use super::{
    TIMEOUT,
    answer::Answer,
    app::{LOGIN_ID, TOKEN_EXCHANGE},
    caller::{Caller, send},
    eventually, opensearch, postgres,
};

/// Settings of servers unless a test chooses others.
///
/// A busy machine must not cut searches short, and any free space is enough.
const SETTINGS: [(&str, &str); 2] =
    [("TRAWL_SEARCH__TIMEOUT_MS", "10000"), ("TRAWL_STORE__RESERVE_BYTES", "0")];

pub(crate) fn trawl(arguments: &[&str]) -> Command {
    started_by(program(), arguments)
}

/// The program under test; `TRAWL_TEST_PROGRAM` names another build of it.
fn program() -> OsString {
    std::env::var_os("TRAWL_TEST_PROGRAM").unwrap_or_else(|| env!("CARGO_BIN_EXE_trawl").into())
}

/// Ignores the environment's settings.
fn started_by(program: impl AsRef<OsStr>, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("TRAWL_")) {
        command.env_remove(name);
    }
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Over a data directory and its database.
pub(crate) fn trawl_over(data: &Path, arguments: &[&str]) -> Command {
    let mut command = trawl(arguments);
    command.arg("--data").arg(data).current_dir(data).envs(postgres::environment(data, "127.0.0.1:1"));
    command
}

pub(crate) async fn run(mut command: Command) -> Output {
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Writes a shell script that can be started at once.
///
/// Another process writes it. Programs that other tests start meanwhile would inherit the open file, and Linux starts no
/// file that is open for writing.
pub(crate) fn write_script(directory: &Path, name: &str, lines: &str) -> PathBuf {
    let path = directory.join(name);
    let write = r#"printf '#!/bin/sh\n%s\n' "$2" > "$1" && chmod 700 "$1""#;
    let written = Command::new("sh").args(["-c", write, "sh"]).arg(&path).arg(lines).status();
    assert!(written.unwrap().success());
    path
}

/// Nothing else uses it, so a killed server can return to it.
pub(crate) fn own_address() -> String {
    format!("127.0.0.1:{}", own_port())
}

/// A port for a program that takes it once it runs.
pub(crate) fn own_port() -> u16 {
    // Below the range of ephemeral ports.
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 18_000 + u16::try_from(std::process::id() % 12_000).unwrap();
    loop {
        let port = first + NEXT.fetch_add(1, Ordering::Relaxed);
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// Killed on drop.
pub(crate) struct Process(pub(crate) Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a helper that ends with its input.
///
/// Returns that input, and the first line of its output, which begins with `ready`.
pub(crate) fn spawn_helper(
    mut command: Command,
    settings: Option<&str>,
    ready: &str,
) -> (Child, ChildStdin, String) {
    let mut log = tempfile::tempfile().unwrap();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log.try_clone().unwrap());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let mut stdin = child.stdin.take().unwrap();
    if let Some(settings) = settings {
        // A process that failed to start reports why below.
        let _ = writeln!(stdin, "{settings}");
    }
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    if !line.starts_with(ready) {
        let mut told = String::new();
        log.rewind().unwrap();
        log.read_to_string(&mut told).unwrap();
        panic!("{command:?} did not start: {line}{told}");
    }
    (child, stdin, line)
}

/// The processes that a process started.
pub(crate) fn children_of(process: u32) -> Vec<u32> {
    let parent = format!("PPid:\t{process}\n");
    let processes = fs::read_dir("/proc").unwrap();
    let numbers = processes.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    // One may end meanwhile.
    let status = |process: &u32| fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    numbers.filter(|process| status(process).contains(&parent)).collect()
}

pub(crate) struct Server {
    child: Process,
    pub(crate) base: String,
    http: reqwest::Client,
    log: PathBuf,
}

impl Server {
    /// Waits until it is ready; reads a `trawl.toml` in `data`.
    pub(crate) async fn start(data: &Path) -> Self {
        Self::start_at(data, "127.0.0.1:0", &[]).await
    }

    pub(crate) async fn start_at(data: &Path, listen: &str, arguments: &[&str]) -> Self {
        let server = Self::launch(data, listen, arguments).await;
        server.wait_until_ready().await;
        server
    }

    /// Waits until it serves, which precedes readiness.
    pub(crate) async fn launch(data: &Path, listen: &str, arguments: &[&str]) -> Self {
        // Tokens name the address, which PostgreSQL requires beforehand.
        let own = (postgres::is_store() && listen.ends_with(":0")).then(own_address);
        let listen = own.as_deref().unwrap_or(listen);
        Self::launch_by(data, listen, postgres::environment(data, listen), arguments).await
    }

    /// Like [`Self::launch`], with these settings of the environment.
    pub(crate) async fn launch_by(
        data: &Path,
        listen: &str,
        environment: Vec<(&'static str, String)>,
        arguments: &[&str],
    ) -> Self {
        let mut command = trawl(&["serve", "--listen", listen]);
        command.args(arguments).envs(opensearch::environment(data)).envs(environment);
        Self::launch_command(data, command).await
    }

    /// Like [`Self::start`], with a soft and a hard limit of open files.
    pub(crate) async fn start_within(data: &Path, [soft, hard]: [u64; 2]) -> Self {
        let limited = format!("ulimit -Sn {soft} && ulimit -Hn {hard} && exec \"$0\" \"$@\"");
        let mut command = started_by("sh", &["-c", &limited]);
        command.arg(program()).args(["serve", "--listen", "127.0.0.1:0"]);
        let server = Self::launch_command(data, command).await;
        server.wait_until_ready().await;
        server
    }

    async fn launch_command(data: &Path, mut command: Command) -> Self {
        let address_file = data.join("listen.addr");
        if address_file.exists() {
            fs::remove_file(&address_file).unwrap();
        }
        let log = data.join("test.log");
        command.arg("--data").arg(data).current_dir(data);
        for (name, value) in SETTINGS {
            if command.get_envs().all(|(set, value)| set != name || value.is_none()) {
                command.env(name, value);
            }
        }
        command.stdout(Stdio::null()).stderr(File::create(&log).unwrap());
        let mut child = command.spawn().unwrap();
        let address = eventually("the server's address", async || {
            if let Some(status) = child.try_wait().unwrap() {
                panic!("the server ended with {status}: {}", fs::read_to_string(&log).unwrap());
            }
            fs::read_to_string(&address_file).ok()
        })
        .await;
        let http = reqwest::Client::builder().no_proxy().timeout(TIMEOUT).build().unwrap();
        Self { child: Process(child), base: format!("http://{address}"), http, log }
    }

    pub(crate) async fn wait_until_ready(&self) {
        eventually("readiness", async || (self.readyz().await?.status == 200).then_some(())).await;
    }

    /// Ready, and no rebuild is running.
    pub(crate) async fn wait_until_complete(&self) {
        eventually("the index to be whole", async || {
            let readiness = self.readyz().await?;
            (readiness.status == 200 && readiness.body["rebuilding"] == false).then_some(())
        })
        .await;
    }

    pub(crate) async fn readyz(&self) -> Option<Answer> {
        let response = self.http.get(format!("{}/readyz", self.base)).send().await.ok()?;
        Some(Answer::read(response).await)
    }

    /// Waits until searches see what the change log holds now.
    pub(crate) async fn wait_for_index(&self) {
        let mut stored = None;
        eventually("the index to follow", async || {
            let readiness = self.readyz().await?.body;
            let [indexed, now] = ["indexPosition", "storePosition"].map(|name| readiness[name].as_u64());
            stored = stored.or(now);
            (indexed? >= stored?).then_some(())
        })
        .await;
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    pub(crate) fn sockets(&self) -> usize {
        let open = fs::read_dir(format!("/proc/{}/fd", self.id())).unwrap();
        // A descriptor may be closed between listing and reading.
        let leads_to = open.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
        leads_to.filter(|target| target.to_string_lossy().starts_with("socket:")).count()
    }

    /// Its limits, as the system tells them.
    pub(crate) fn limits(&self) -> String {
        fs::read_to_string(format!("/proc/{}/limits", self.id())).unwrap()
    }

    /// Begins to measure the peak of its memory; returns the present bytes.
    pub(crate) fn begin_peak(&self) -> u64 {
        fs::write(format!("/proc/{}/clear_refs", self.id()), "5").unwrap();
        self.peak()
    }

    /// Most bytes of memory that it held since [`Self::begin_peak`].
    pub(crate) fn peak(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    }

    /// Its processes that run this command.
    pub(crate) fn processes_of(&self, command: &str) -> usize {
        let runs_it = |child: &u32| {
            // It may end meanwhile.
            let line = fs::read_to_string(format!("/proc/{child}/cmdline")).unwrap_or_default();
            line.split('\0').any(|part| part == command)
        };
        children_of(self.id()).iter().filter(|child| runs_it(child)).count()
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.0.id()
    }

    /// Leaves no connection open.
    pub(crate) async fn gauge(&self, name: &str) -> Option<u64> {
        let request = self.http.get(format!("{}/metrics", self.base)).header("connection", "close");
        let response = request.send().await.unwrap();
        let metrics = Answer::read(response).await;
        let mut lines = metrics.text.lines();
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        Some(value.parse().unwrap())
    }

    pub(crate) fn kill(mut self) {
        self.child.0.kill().unwrap();
        self.child.0.wait().unwrap();
    }

    pub(crate) fn terminate(&self) {
        self.signal("-TERM");
    }

    /// Stops the process until [`Self::resume`].
    pub(crate) fn pause(&self) {
        self.signal("-STOP");
    }

    pub(crate) fn resume(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let process = self.id().to_string();
        assert!(Command::new("kill").args([signal, &process]).status().unwrap().success());
    }

    pub(crate) async fn wait_for_end(&mut self) -> ExitStatus {
        eventually("the server's end", async || self.child.0.try_wait().unwrap()).await
    }

    /// Makes a caller of an application that `trawl app create --json` printed.
    pub(crate) async fn caller(&self, application: &Value) -> Caller {
        self.grant(application, &[("grant_type", "client_credentials")]).await
    }

    pub(crate) async fn user(&self, application: &Value, login: &str) -> Caller {
        let form =
            [("grant_type", TOKEN_EXCHANGE), ("subject_token_type", LOGIN_ID), ("subject_token", login)];
        self.grant(application, &form).await
    }

    async fn grant(&self, application: &Value, form: &[(&str, &str)]) -> Caller {
        let request = self
            .http
            .post(format!("{}/oauth2/token", self.base))
            .basic_auth(application["clientId"].as_str().unwrap(), application["clientSecret"].as_str())
            .form(form);
        let answer = send(request).await;
        let token = answer.body["access_token"].as_str().unwrap_or_else(|| panic!("{}", answer.text));
        Caller::new(&self.http, &self.base, token)
    }
}

pub(crate) async fn create_application(data: &Path, tenant: &str) -> Value {
    create(data, tenant, "application", &[]).await
}

pub(crate) async fn create_operator(data: &Path, tenant: &str) -> Value {
    create(data, tenant, "admin", &[]).await
}

pub(crate) async fn create_with_scopes(data: &Path, tenant: &str, scopes: &[&str]) -> Value {
    create(data, tenant, "application", scopes).await
}

async fn create(data: &Path, tenant: &str, kind: &str, scopes: &[&str]) -> Value {
    let mut command = trawl_over(data, &["app", "create", "--tenant", tenant, "--kind", kind, "--json"]);
    command.args(scopes.iter().flat_map(|scope| ["--scope", scope]));
    let output = run(command).await;
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}
