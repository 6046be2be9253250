//! S3 servers: moto (`tests/s3/server.py`) with all operations, s3s-fs in this process with signature checks.

use std::{
    collections::HashSet,
    path::Path,
    process::{Child, ChildStdin, Command},
    sync::{LazyLock, Mutex, PoisonError},
};

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use s3s::{auth::SimpleAuth, service::S3ServiceBuilder};
use s3s_fs::FileSystem;
use tempfile::TempDir;
use tokio::{net::TcpListener, task::JoinSet};
use trawl::config::S3Settings;

use super::program::{Process, spawn_helper};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/s3");

const BUCKET: &str = "harbour";
const KEY: (&str, &str) = ("trawl-key", "secret-of-the-key");

fn settings(endpoint: &str) -> S3Settings {
    S3Settings {
        endpoint: Some(endpoint.parse().unwrap()),
        bucket: BUCKET.to_owned(),
        region: "eu-north-1".to_owned(),
        access_key_id: KEY.0.to_owned(),
        secret_access_key: KEY.1.into(),
    }
}

/// Its bucket is empty. Killed on drop and ended with this process.
pub(crate) struct S3Server {
    pub(crate) settings: S3Settings,
    _process: Process,
    /// Closing it ends the server.
    _stdin: ChildStdin,
}

impl S3Server {
    pub(crate) async fn start() -> Self {
        let start = || {
            let (child, stdin, endpoint) = spawn();
            make_bucket(&endpoint, BUCKET);
            (child, stdin, endpoint)
        };
        let (child, stdin, endpoint) = tokio::task::spawn_blocking(start).await.unwrap();
        let settings = settings(&endpoint);
        Self { settings, _process: Process(child), _stdin: stdin }
    }
}

fn spawn() -> (Child, ChildStdin, String) {
    let python = Path::new(FOLDER).join("venv/bin/python");
    assert!(python.exists(), "{} is not there; ./tests/run installs it", python.display());
    let mut command = Command::new(python);
    command.args(["-u", "server.py"]).current_dir(FOLDER);
    let (child, stdin, line) = spawn_helper(command, None, "http://");
    (child, stdin, line.trim().to_owned())
}

fn make_bucket(endpoint: &str, name: &str) {
    // The signature names the region.
    let scope =
        format!("authorization: AWS4-HMAC-SHA256 Credential={}/20260101/eu-north-1/s3/aws4_request", KEY.0);
    let region = "<CreateBucketConfiguration>\
        <LocationConstraint>eu-north-1</LocationConstraint></CreateBucketConfiguration>";
    let mut command = Command::new("curl");
    command.args(["--silent", "--show-error", "--fail", "--noproxy", "*", "--request", "PUT"]);
    command.args(["--header", &scope, "--header", "content-type: application/xml", "--data", region]);
    assert!(command.arg(format!("{endpoint}/{name}")).status().unwrap().success(), "no bucket {name}");
}

/// Over a directory, with signature checks.
pub(crate) struct CheckingServer {
    pub(crate) settings: S3Settings,
    directory: TempDir,
    _serving: JoinSet<()>,
}

/// Settings of a bucket of this name, in a server for all tests of this process.
pub(crate) fn shared_bucket(name: &str) -> S3Settings {
    static SERVER: LazyLock<(Child, ChildStdin, String)> = LazyLock::new(spawn);
    static MADE: Mutex<Option<HashSet<String>>> = Mutex::new(None);
    let endpoint = &SERVER.2;
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if made.get_or_insert_default().insert(name.to_owned()) {
        make_bucket(endpoint, name);
    }
    S3Settings { bucket: name.to_owned(), ..settings(endpoint) }
}

impl CheckingServer {
    pub(crate) async fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join(BUCKET)).unwrap();
        let mut builder = S3ServiceBuilder::new(FileSystem::new(directory.path()).unwrap());
        builder.set_auth(SimpleAuth::from_single(KEY.0, KEY.1));
        let service = builder.build();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let settings = settings(&format!("http://{}", listener.local_addr().unwrap()));
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let connection =
                    http1::Builder::new().serve_connection(TokioIo::new(stream), service.clone());
                connections.spawn(async move {
                    let _ = connection.await;
                });
            }
        });
        Self { settings, directory, _serving: serving }
    }

    pub(crate) fn object(&self, key: &str) -> Option<Vec<u8>> {
        std::fs::read(self.directory.path().join(BUCKET).join(key)).ok()
    }

    pub(crate) fn put(&self, key: &str, content: &[u8]) {
        let path = self.directory.path().join(BUCKET).join(key);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
}
