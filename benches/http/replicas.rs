//! The same load on SQLite and on up to three replicas over PostgreSQL.

use std::{
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use futures::future::join_all;
use serde_json::json;
use tempfile::TempDir;
use trawl::{auth::applications::Kind, platform::tenants::service::Registered};

use crate::{
    Scale,
    common::{
        data_directory::{DataDirectory, register},
        interleave::Slices,
        load::{Connection, NUMBER, Samples, Target, block_on},
        report::{Report, millis},
        server::Server,
    },
    corpus::{self, ENGLISH},
    process,
};

const SETTINGS: [(&str, &str); 2] = [("LOG__FILTER", "warn"), ("STORAGE__KIND", "none")];

const TENANTS: usize = 8;
const SEARCHING: usize = 16;
const WRITING: usize = 32;
const BATCHING: usize = 8;
const BATCH: usize = 100;
const LOOK_INTERVAL: Duration = Duration::from_millis(1);

/// Servers over one database.
struct Arrangement {
    name: &'static str,
    servers: Vec<Server>,
    /// One for each tenant.
    tokens: Vec<String>,
    _directories: Vec<TempDir>,
    database: Option<Database>,
}

/// A database of the server that `BENCH_POSTGRES` names, dropped at the end.
struct Database {
    server: String,
    name: String,
}

#[derive(Default)]
struct Measured {
    latencies: Vec<Duration>,
    took: Duration,
    /// Seconds of the servers' processes.
    trawl: f64,
    postgres: f64,
}

pub(crate) fn run(scale: &Scale, report: &mut Report) {
    let Ok(postgres) = std::env::var("BENCH_POSTGRES") else {
        println!(
            "Replicas are not measured: BENCH_POSTGRES names no server, such as postgres://postgres@127.0.0.1:5432"
        );
        return;
    };
    let documents = scale.documents[0];
    let prepared = corpus::prepare(documents);
    let others: Vec<_> = (1..TENANTS)
        .map(|number| register(prepared.directory.path(), &format!("bench-{number}"), Kind::Application))
        .collect();
    let mut arrangements = Vec::new();
    for (name, replicas) in [("PostgreSQL, 1 replica", 1), ("2 replicas", 2), ("3 replicas", 3)] {
        arrangements.push(Arrangement::replicated(name, &postgres, &prepared, &others, replicas));
    }
    arrangements.insert(0, Arrangement::embedded(&prepared, &others));
    let target = |path: &str, body: Option<String>, expected: &str| Target {
        address: arrangements[0].servers[0].address,
        method: "POST",
        path: path.to_owned(),
        token: None,
        body,
        expected: expected.to_owned(),
    };
    let todo =
        |id: String| json!({ "appTaskId": id, "title": "Approve the lease", "assigneeLoginId": "mei.chen" });
    let items: Vec<_> = (0..BATCH).map(|item| todo(format!("batch-{NUMBER}-{item}"))).collect();
    let search = target(&format!("/contents/search?moduleId={ENGLISH}&keyword=test"), None, "\"total\":");
    let one = target("/api/todo/create", Some(todo(format!("single-{NUMBER}")).to_string()), "\"code\":200");
    let batch =
        target("/api/todo/batch_create", Some(serde_json::to_string(&items).unwrap()), "\"error\":[]");

    writeln!(report, "\n## Replicas\n");
    writeln!(
        report,
        "{documents} documents. Servers, database and load share the machine: more replicas add no processors, so compare \
         processor time per operation. `found` is from the answer of one replica to the first hit at the last one, \
         looked for every {} ms. Milliseconds.\n",
        LOOK_INTERVAL.as_millis()
    );
    writeln!(
        report,
        "| load | clients | on | per second | median | p99 | processor: trawl | PostgreSQL |\n|---|---|---|---|---|---|---|---|"
    );
    for (name, target, tenants, clients, each) in [
        ("search", &search, 1, SEARCHING, 1),
        ("one to-do", &one, 1, 1, 1),
        ("one to-do", &one, 1, WRITING, 1),
        ("one to-do of 8 tenants", &one, TENANTS, WRITING, 1),
        ("100 to-dos", &batch, 1, BATCHING, BATCH),
    ] {
        let measured = in_turns(&arrangements, scale.slices, |arrangement, length| {
            arrangement.load(target, tenants, clients, length)
        });
        write_rows(report, name, clients, each, &arrangements, measured);
    }
    let measured =
        in_turns(&arrangements, scale.slices, |arrangement, length| arrangement.found_after(&search, length));
    write_rows(report, "found", 1, 1, &arrangements, measured);
}

fn in_turns(
    arrangements: &[Arrangement],
    slices: Slices,
    measure: impl Fn(&Arrangement, Duration) -> Measured,
) -> Vec<Measured> {
    let mut all: Vec<_> = arrangements.iter().map(|_| Measured::default()).collect();
    for slice in 0..=slices.count {
        for (arrangement, all) in arrangements.iter().zip(&mut all) {
            let measured = measure(arrangement, slices.length * 2);
            // The first one is for warm-up.
            if slice > 0 {
                all.latencies.extend(measured.latencies);
                all.took += measured.took;
                all.trawl += measured.trawl;
                all.postgres += measured.postgres;
            }
        }
    }
    all
}

fn write_rows(
    report: &mut Report,
    name: &str,
    clients: usize,
    each: usize,
    arrangements: &[Arrangement],
    measured: Vec<Measured>,
) {
    for (arrangement, measured) in arrangements.iter().zip(measured) {
        let operations = (measured.latencies.len() * each) as f64;
        let samples = Samples::new(measured.latencies, measured.took);
        let [median, p99] = [0.5, 0.99].map(|share| millis(samples.quantile(share)));
        let [trawl, postgres] =
            [measured.trawl, measured.postgres].map(|seconds| millis(seconds * 1_000.0 / operations));
        writeln!(
            report,
            "| {name} | {clients} | {} | {:.0} | {median} | {p99} | {trawl} | {postgres} |",
            arrangement.name,
            samples.rate() * each as f64,
        );
    }
}

impl Arrangement {
    fn embedded(prepared: &DataDirectory, others: &[Registered]) -> Self {
        let servers = vec![Server::trawl(prepared.directory.path(), &SETTINGS)];
        let tokens = tokens(&servers[0], prepared, others);
        Self { name: "SQLite", servers, tokens, _directories: Vec::new(), database: None }
    }

    fn replicated(
        name: &'static str,
        server: &str,
        prepared: &DataDirectory,
        others: &[Registered],
        replicas: usize,
    ) -> Self {
        let database = Database::copy_of(server, prepared.directory.path(), replicas);
        let key = std::fs::read_to_string(prepared.directory.path().join("master.key")).unwrap();
        let url = database.url();
        let start = |number: usize| {
            let directory = tempfile::tempdir().unwrap();
            copy_directory(&corpus::index_of(prepared), &directory.path().join("index"));
            let replica = number.to_string();
            let shared = [
                ("STORE__URL", url.as_str()),
                ("MASTER_KEY", key.trim()),
                ("PUBLIC_URL", "http://127.0.0.1:1"),
                ("CLUSTER__REPLICA", replica.as_str()),
            ];
            (Server::trawl(directory.path(), &[&SETTINGS[..], &shared].concat()), directory)
        };
        let (servers, directories): (Vec<_>, _) = (0..replicas).map(start).unzip();
        let tokens = tokens(&servers[0], prepared, others);
        Self { name, servers, tokens, _directories: directories, database: Some(database) }
    }

    /// Clients are spread over tenants and servers.
    fn load(&self, target: &Target, tenants: usize, clients: usize, length: Duration) -> Measured {
        self.measure(async {
            let end = Instant::now() + length;
            let latencies = join_all((0..clients).map(|client| async move {
                let target = self.at(client, client % tenants, target);
                let mut connection = Connection::open(target.address).await;
                let mut latencies = Vec::new();
                connection.call_until(&target, end, &mut latencies).await;
                latencies
            }));
            latencies.await.into_iter().flatten().collect()
        })
    }

    /// Writes at the first server and searches at the last one.
    fn found_after(&self, search: &Target, length: Duration) -> Measured {
        self.measure(async {
            let end = Instant::now() + length;
            let mut latencies = Vec::new();
            let write = Target {
                method: "PUT",
                path: format!("/v1/contents/{ENGLISH}"),
                expected: "\"total\":0".to_owned(),
                ..self.at(0, 0, search)
            };
            let search = self.at(self.servers.len() - 1, 0, search);
            let mut writing = Connection::open(write.address).await;
            let mut looking = Connection::open(search.address).await;
            while Instant::now() < end {
                let word = format!("fresh{}", uuid::Uuid::new_v4().simple());
                let item = json!([{ "id": word, "title": word }]);
                writing.call(&Target { body: Some(item.to_string()), ..write.clone() }).await;
                let acknowledged = Instant::now();
                let search = Target {
                    path: format!("/contents/search?moduleId={ENGLISH}&keyword={word}"),
                    ..search.clone()
                };
                while !std::str::from_utf8(&looking.call(&search).await).unwrap().contains("\"total\":1") {
                    tokio::time::sleep(LOOK_INTERVAL).await;
                }
                latencies.push(acknowledged.elapsed());
            }
            latencies
        })
    }

    fn measure(&self, work: impl Future<Output = Vec<Duration>>) -> Measured {
        let processes = process::processes_named("postgres");
        let seconds = || {
            let trawl = self.servers.iter().map(|server| process::processor_seconds(server.process.id()));
            let postgres = processes.iter().copied().map(process::processor_seconds);
            (trawl.sum::<f64>(), postgres.sum::<f64>())
        };
        let (started, before) = (Instant::now(), seconds());
        let latencies = block_on(work);
        let (took, after) = (started.elapsed(), seconds());
        let postgres = if self.database.is_some() { after.1 - before.1 } else { 0.0 };
        Measured { latencies, took, trawl: after.0 - before.0, postgres }
    }

    fn at(&self, server: usize, tenant: usize, target: &Target) -> Target {
        let address = self.servers[server % self.servers.len()].address;
        Target { address, token: Some(self.tokens[tenant].clone()), ..target.clone() }
    }
}

impl Database {
    fn copy_of(server: &str, data: &Path, replicas: usize) -> Self {
        let name = format!("trawl_bench_{}_{replicas}", std::process::id());
        let database = Self { server: server.to_owned(), name };
        database.run("createdb", &["--template", "template0", "--locale", "C", "--encoding", "UTF8"]);
        let mut copy = Command::new(Server::program());
        copy.args(["store", "copy", "--from"]).arg(data).args(["--to", &database.url()]);
        assert!(copy.output().unwrap().status.success(), "the store was not copied");
        database
    }

    fn url(&self) -> String {
        format!("{}/{}", self.server, self.name)
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let maintenance = format!("{}/postgres", self.server);
        let mut command = Command::new(program);
        command.args(["--maintenance-db", &maintenance]).args(arguments).arg(&self.name);
        assert!(command.status().unwrap().success(), "{program} failed");
    }
}

impl Drop for Arrangement {
    fn drop(&mut self) {
        self.servers.clear();
        if let Some(database) = &self.database {
            database.run("dropdb", &["--force"]);
        }
    }
}

fn tokens(server: &Server, prepared: &DataDirectory, others: &[Registered]) -> Vec<String> {
    std::iter::once(&prepared.registered)
        .chain(others)
        .map(|application| server.token_of(application))
        .collect()
}

fn copy_directory(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}
