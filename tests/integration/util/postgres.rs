//! PostgreSQL as the store of servers under test, where `TRAWL_TEST_STORE` is `postgres`.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    io::{BufRead as _, BufReader, Lines, Write as _},
    path::Path,
    process::{ChildStdin, ChildStdout, Command, Stdio},
    sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError},
};

use secrecy::ExposeSecret;
use trawl::{
    auth::keys::Keys,
    store::{DatabaseAddress, Store},
};

use super::{
    program::{Process, run},
    s3,
};

const SQLITE_FILE: &str = "trawl.db";

/// Id of servers that are alone over their database.
pub(crate) const REPLICA: &str = "one";

/// Address of the server that `./tests/run` started, without a database.
fn server() -> Option<String> {
    std::env::var("TRAWL_TEST_POSTGRES").ok()
}

pub(crate) fn has_server() -> bool {
    server().is_some()
}

pub(crate) fn is_store() -> bool {
    std::env::var("TRAWL_TEST_STORE").is_ok_and(|store| store == "postgres")
}

/// The value of `store.url` for a data directory, whose database is made; none for SQLite.
pub(crate) fn url_of(data: &Path) -> Option<String> {
    is_store().then(|| migrated_database(&format!("{:x}", hash(data))))
}

/// Settings of the program for a data directory.
///
/// They are those that its `trawl.toml` leaves out; none for SQLite.
pub(crate) fn environment(data: &Path, listen: &str) -> Vec<(&'static str, String)> {
    url_of(data).map_or_else(Vec::new, |url| environment_of(&url, data, listen))
}

/// [`environment`] for this database.
pub(crate) fn environment_of(url: &str, data: &Path, listen: &str) -> Vec<(&'static str, String)> {
    let bucket = s3::shared_bucket(&format!("trawl-{:x}", hash(data)));
    let settings = [
        ("master_key", "TRAWL_MASTER_KEY", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=".to_owned()),
        ("[cluster", "TRAWL_CLUSTER__REPLICA", REPLICA.to_owned()),
        ("public_url", "TRAWL_PUBLIC_URL", format!("http://{listen}")),
        ("[storage", "TRAWL_STORAGE__KIND", "s3".to_owned()),
        ("[storage", "TRAWL_STORAGE__S3__ENDPOINT", bucket.endpoint.unwrap().to_string()),
        ("[storage", "TRAWL_STORAGE__S3__BUCKET", bucket.bucket),
        ("[storage", "TRAWL_STORAGE__S3__REGION", bucket.region),
        ("[storage", "TRAWL_STORAGE__S3__ACCESS_KEY_ID", bucket.access_key_id),
        (
            "[storage",
            "TRAWL_STORAGE__S3__SECRET_ACCESS_KEY",
            bucket.secret_access_key.expose_secret().to_owned(),
        ),
    ];
    let file = std::fs::read_to_string(data.join("trawl.toml")).unwrap_or_default();
    let missing = settings.into_iter().filter(|(name, ..)| !file.contains(name));
    missing
        .map(|(_, variable, value)| (variable, value))
        .chain([("TRAWL_STORE__URL", url.to_owned())])
        .collect()
}

/// Opens the store of a data directory, for what no interface offers.
pub(crate) async fn open_store(data: &Path) -> Store {
    match url_of(data) {
        Some(url) => open(&url).await,
        None => Store::open(data, 1).await.unwrap(),
    }
}

pub(crate) async fn open(url: &str) -> Store {
    Store::open_at(DatabaseAddress::from_url(url).unwrap(), 1).await.unwrap()
}

/// Whether the database of a data directory holds this text anywhere, as text or as bytes.
pub(crate) async fn holds(data: &Path, text: &str) -> bool {
    let (stored, hexadecimal) = if let Some(url) = url_of(data) {
        let mut command = Command::new("pg_dump");
        command.args(["--data-only", &url]);
        let output = run(command).await;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        (output.stdout, hex::encode(text))
    } else {
        let files = ["trawl.db", "trawl.db-wal"].map(|file| std::fs::read(data.join(file)).unwrap());
        (files.concat(), text.to_owned())
    };
    let holds = |text: &str| stored.windows(text.len()).any(|window| window == text.as_bytes());
    holds(text) || holds(&hexadecimal)
}

/// Runs a statement by `psql`.
pub(crate) async fn query(url: &str, text: &str) {
    value(url, text).await;
}

/// The value that a statement gives, as text.
pub(crate) async fn value(url: &str, text: &str) -> String {
    let mut command = Command::new("psql");
    command.args(["--quiet", "--no-psqlrc", "--tuples-only", "--no-align", "--set", "ON_ERROR_STOP=1"]);
    command.args(["--command", text, url]);
    let output = run(command).await;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A session of `psql`.
pub(crate) struct Session {
    _process: Process,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Session {
    pub(crate) fn open(url: &str) -> Self {
        let mut command = Command::new("psql");
        command.args(["--quiet", "--no-psqlrc", "--set", "ON_ERROR_STOP=1", url]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { _process: Process(child), input, output: BufReader::new(output).lines() }
    }

    /// Waits until PostgreSQL has run the statements.
    pub(crate) fn run(&mut self, statements: &str) {
        writeln!(self.input, "{statements};\n\\echo done").unwrap();
        assert!(self.output.any(|line| line.unwrap() == "done"), "psql ended");
    }
}

/// Address of the empty database of this name, which the first call makes anew.
pub(crate) fn database(name: &str) -> String {
    create(name, "template0")
}

/// Address of a database with all tables and no row.
///
/// The first call makes it anew.
pub(crate) fn migrated_database(name: &str) -> String {
    create(name, template())
}

/// Makes a database the first time that its name is given. Others are made meanwhile.
fn create(name: &str, template: &str) -> String {
    static MADE: Mutex<BTreeMap<String, Arc<OnceLock<String>>>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let address = Arc::clone(made.entry(name.to_owned()).or_default());
    drop(made);
    let create = || {
        let server = server().expect("TRAWL_TEST_POSTGRES is not set; ./tests/run starts a server");
        let mut command = Command::new("psql");
        command.args(["--quiet", "--no-psqlrc", "--set", "ON_ERROR_STOP=1"]);
        command.args(["--command", &format!("DROP DATABASE IF EXISTS trawl_{name} WITH (FORCE)")]);
        command.args(["--command", &format!("CREATE DATABASE trawl_{name} TEMPLATE {template}")]);
        let output = command.arg(format!("{server}/postgres")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        format!("{server}/trawl_{name}")
    };
    address.get_or_init(create).clone()
}

/// Names this process's database that is copied for servers.
///
/// It has no store id, so that each copy gets its own.
fn template() -> &'static str {
    static TEMPLATE: LazyLock<String> = LazyLock::new(|| {
        let name = format!("template_{}", std::process::id());
        let address = DatabaseAddress::from_url(&database(&name)).unwrap();
        migrate(&address);
        format!("trawl_{name}")
    });
    &TEMPLATE
}

/// Lays a database with all tables and no row into a data directory without one.
pub(crate) fn seed_sqlite(data: &Path) {
    static TEMPLATE: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let directory = tempfile::tempdir().unwrap();
        migrate(&DatabaseAddress::in_directory(directory.path()));
        std::fs::read(directory.path().join(SQLITE_FILE)).unwrap()
    });
    let file = data.join(SQLITE_FILE);
    if !file.exists() {
        Keys::load(None, data).unwrap();
        std::fs::write(file, &*TEMPLATE).unwrap();
    }
}

/// Callers are within a runtime, which may not be blocked on.
fn migrate(address: &DatabaseAddress) {
    std::thread::scope(|scope| {
        let migration =
            scope.spawn(|| tokio::runtime::Runtime::new().unwrap().block_on(Store::migrate(address)));
        migration.join().unwrap().unwrap();
    });
}

fn hash(data: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    data.hash(&mut hasher);
    hasher.finish()
}
