use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
};

use sqlx::Connection as _;
use sqlx_postgres::{PgConnectOptions, PgConnection, PgSslMode};
use tokio::runtime::Runtime;

use crate::{
    common::load::block_on,
    engine::{BATCH, Client, Engine, Found, LIMIT, Process, free_address, run, version},
    queries::{Language, Order, Query, Row},
};

const PROGRAMS: &str = "/usr/lib/postgresql";

/// A stored `tsvector` under a GIN index; of ideographs, of each two side by side.
pub(crate) struct Postgres {
    programs: PathBuf,
    directory: tempfile::TempDir,
    address: SocketAddr,
    process: Process,
}

struct PostgresClient {
    runtime: Runtime,
    connection: PgConnection,
}

impl Postgres {
    /// `None` if it is not installed.
    pub(crate) fn start() -> Option<Self> {
        let versions = std::fs::read_dir(PROGRAMS).ok()?.flatten();
        let programs = versions.map(|version| version.path().join("bin")).max()?;
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("data");
        run(Command::new("chmod").arg("a+rwx").arg(directory.path()));
        run(as_postgres(&programs.join("initdb")).arg("--pgdata").arg(&data).args([
            "--auth",
            "trust",
            "--username",
            "bench",
            "--encoding",
            "UTF8",
            "--locale",
            "C",
        ]));
        let address = free_address();
        let mut command = as_postgres(&programs.join("postgres"));
        command.arg("-D").arg(&data).args(["-p", &address.port().to_string(), "-k", ""]);
        // A quarter of the memory for buffers, as its documents advise.
        for setting in [
            "shared_buffers=4GB",
            "effective_cache_size=12GB",
            "work_mem=64MB",
            "maintenance_work_mem=1GB",
            "max_wal_size=8GB",
            "jit=off",
        ] {
            command.args(["-c", setting]);
        }
        let process = Process::start(&mut command, address);
        Some(Self { programs, directory, address, process })
    }

    async fn open(&self) -> PgConnection {
        let options = PgConnectOptions::new_without_pgpass()
            .host("127.0.0.1")
            .port(self.address.port())
            .username("bench")
            .database("postgres")
            .ssl_mode(PgSslMode::Disable);
        loop {
            // It listens before it is ready.
            if let Ok(connection) = PgConnection::connect_with(&options).await {
                return connection;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    }
}

/// It refuses to run as root.
fn as_postgres(program: &Path) -> Command {
    let is_root = version(Path::new("id"), &["-u"]).as_deref() == Some("0");
    let mut command = Command::new(if is_root { "setpriv".as_ref() } else { program.as_os_str() });
    if is_root {
        command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(program);
    }
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    command
}

impl Engine for Postgres {
    fn name(&self) -> String {
        let version = version(&self.programs.join("postgres"), &["--version"]).unwrap_or_default();
        version.replace("postgres (PostgreSQL)", "PostgreSQL")
    }

    fn fill(&mut self, language: Language, rows: &[Row]) {
        block_on(async {
            let mut connection = self.open().await;
            let execute = async |connection: &mut PgConnection, statement: &'static str| {
                sqlx::query(statement).execute(connection).await.unwrap();
            };
            execute(
                &mut connection,
                "CREATE TABLE texts (id TEXT PRIMARY KEY, title TEXT NOT NULL, time BIGINT NOT NULL, \
                 words TSVECTOR NOT NULL)",
            )
            .await;
            for batch in rows.chunks(BATCH) {
                let ids: Vec<&str> = batch.iter().map(|row| row.id.as_str()).collect();
                let titles: Vec<&str> = batch.iter().map(|row| row.title.as_str()).collect();
                let times: Vec<i64> = batch.iter().map(|row| row.time).collect();
                let spaced: Vec<String> = batch.iter().map(|row| language.spaced(&row.title)).collect();
                sqlx::query(
                    "INSERT INTO texts SELECT id, title, time, to_tsvector($5::REGCONFIG, spaced) \
                     FROM UNNEST($1::TEXT[], $2::TEXT[], $3::BIGINT[], $4::TEXT[]) AS texts (id, title, time, spaced)",
                )
                .bind(ids)
                .bind(titles)
                .bind(times)
                .bind(spaced)
                .bind(configuration(language))
                .execute(&mut connection)
                .await
                .unwrap();
            }
            // Indexes of a filled table are built at once.
            execute(&mut connection, "CREATE INDEX ON texts USING gin (words)").await;
            execute(&mut connection, "CREATE INDEX ON texts (time)").await;
            execute(&mut connection, "VACUUM ANALYZE texts").await;
        });
    }

    fn connect(&self) -> Box<dyn Client> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let connection = runtime.block_on(self.open());
        Box::new(PostgresClient { runtime, connection })
    }

    fn process(&self) -> Option<u32> {
        Some(self.process.id())
    }

    fn files(&self) -> PathBuf {
        self.directory.path().to_owned()
    }
}

impl Client for PostgresClient {
    fn search(&mut self, query: &Query) -> Found {
        let words = query.spaced();
        let (words, matching) = match (query.is_phrase, query.order) {
            (true, _) => (words, "phraseto_tsquery($1::REGCONFIG, $2)"),
            (false, Order::Newest) => (words, "plainto_tsquery($1::REGCONFIG, $2)"),
            (false, Order::Best) => (words.replace(' ', " or "), "websearch_to_tsquery($1::REGCONFIG, $2)"),
        };
        let order = match query.order {
            Order::Newest => "time".to_owned(),
            Order::Best => format!("ts_rank(words, {matching})"),
        };
        let page = format!(
            "SELECT id, title, time FROM texts WHERE words @@ {matching} ORDER BY {order} DESC LIMIT {LIMIT}"
        );
        let total = format!("SELECT COUNT(*) FROM texts WHERE words @@ {matching}");
        let configuration = configuration(query.language);
        self.runtime.block_on(async {
            let rows: Vec<(String, String, i64)> = sqlx::query_as(sqlx::AssertSqlSafe(page))
                .bind(configuration)
                .bind(&words)
                .fetch_all(&mut self.connection)
                .await
                .unwrap();
            let total: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(total))
                .bind(configuration)
                .bind(&words)
                .fetch_one(&mut self.connection)
                .await
                .unwrap();
            Found { total: total.try_into().unwrap(), rows: rows.len() }
        })
    }
}

/// The configuration of text search.
fn configuration(language: Language) -> &'static str {
    match language {
        Language::English => "english",
        Language::Chinese => "simple",
    }
}
