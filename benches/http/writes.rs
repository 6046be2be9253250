//! Freshness and bulk import.

use std::{
    cell::RefCell,
    rc::Rc,
    time::{Duration, Instant},
};

use futures::future::join_all;
use serde_json::json;
use tokio::time::sleep_until;
use trawl::store::{Store, sql};
use trawl_engine::{Change, Checkpoint, Document, Scope};
use trawl_index::{Index, Options};

use crate::{
    Scale,
    common::{
        load::{Connection, Samples, Target, block_on},
        report::{Report, millis},
        server::Server,
    },
    corpus::{self, CHINESE, ENGLISH},
    texts,
};

const WRITES_A_SECOND: u64 = 1_000;
const WRITERS: u64 = 64;
/// Every n-th write.
const SEARCHED: u64 = 20;
const LOOK_INTERVAL: Duration = Duration::from_millis(1);

const IMPORT_BATCH: usize = 1_000;
const IMPORT_CALLS: usize = 2;
/// A word of every imported item.
const IMPORTED: &str = "importedbybench";

/// Measures the time from acknowledged to found, at a fixed rate.
pub(crate) fn freshness(scale: &Scale, report: &mut Report) {
    let documents = scale.documents[0];
    let prepared = corpus::prepare(documents);
    let trawl = Server::trawl(prepared.directory.path(), &[]);
    let token = trawl.token(&prepared);
    writeln!(report, "\n## From acknowledged to found\n");
    writeln!(
        report,
        "{WRITES_A_SECOND} single writes per second (open loop, {WRITERS} connections) for {} s into {documents} documents. Every \
         {SEARCHED}th is searched for, every {} ms. Milliseconds. Bars: ≤ 5 ms median, ≤ 15 ms p99.\n",
        scale.freshness.as_secs(),
        LOOK_INTERVAL.as_millis(),
    );
    writeln!(report, "| | median | p99 | max | per second |\n|---|---|---|---|---|");
    let (acknowledged, found) = (RefCell::default(), RefCell::default());
    let run = FreshnessRun { trawl, token, acknowledged, found };
    let started = Instant::now();
    block_on(run.write_all(scale.freshness));
    let took = started.elapsed();
    for (name, latencies) in [("due → acknowledged", &run.acknowledged), ("acknowledged → found", &run.found)]
    {
        let samples = Samples::new(latencies.take(), took);
        let [median, p99, most] = [0.5, 0.99, 1.0].map(|share| millis(samples.quantile(share)));
        writeln!(report, "| {name} | {median} | {p99} | {most} | {:.0} |", samples.rate());
    }
}

struct FreshnessRun {
    trawl: Server,
    token: String,
    acknowledged: RefCell<Vec<Duration>>,
    found: RefCell<Vec<Duration>>,
}

impl FreshnessRun {
    async fn write_all(&self, time: Duration) {
        let writes = WRITES_A_SECOND * time.as_secs();
        let start = tokio::time::Instant::now() + Duration::from_millis(100);
        join_all((0..WRITERS).map(|writer| async move {
            let mut connection = Connection::open(self.trawl.address).await;
            let mut looking = Connection::open(self.trawl.address).await;
            for number in (writer..writes).step_by(usize::try_from(WRITERS).unwrap()) {
                let due = start + Duration::from_micros(number * 1_000_000 / WRITES_A_SECOND);
                sleep_until(due).await;
                connection.call(&self.write(number)).await;
                let acknowledged = tokio::time::Instant::now();
                self.acknowledged.borrow_mut().push(acknowledged - due);
                if number % SEARCHED == 0 {
                    self.look_for(number, &mut looking).await;
                    self.found.borrow_mut().push(acknowledged.elapsed());
                }
            }
        }))
        .await;
    }

    async fn look_for(&self, number: u64, connection: &mut Connection) {
        let search = Target {
            method: "POST",
            path: format!("/contents/search?moduleId={CHINESE}&keyword={}+", word(number)),
            body: None,
            expected: "\"total\":".to_owned(),
            ..self.write(number)
        };
        let id = format!("\"id\":\"{}\"", id(number));
        loop {
            let answer = connection.call(&search).await;
            if std::str::from_utf8(&answer).unwrap().contains(&id) {
                return;
            }
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    }

    fn write(&self, number: u64) -> Target {
        let item = json!([{ "id": id(number), "title": format!("news of {}", word(number)) }]);
        Target {
            address: self.trawl.address,
            method: "PUT",
            path: format!("/v1/contents/{CHINESE}"),
            token: Some(self.token.clone()),
            body: Some(item.to_string()),
            expected: "\"total\":0".to_owned(),
        }
    }
}

fn id(number: u64) -> String {
    format!("fresh-{number}")
}

fn word(number: u64) -> String {
    format!("fresh{:08x}", number.wrapping_mul(0x9e37_79b1) & 0xffff_ffff)
}

/// Measures bulk import beside indexing alone and inserts alone.
pub(crate) fn import(scale: &Scale, report: &mut Report) {
    writeln!(report, "\n## Bulk import of {} items\n", scale.import);
    writeln!(
        report,
        "Batches of {IMPORT_BATCH}, {IMPORT_CALLS} in flight, until everything is found. Documents per second; the peers run in this process. \
         Bar: ≥ 0.6 × of indexing alone.\n"
    );
    writeln!(report, "| texts | trawl over HTTP | indexing alone | × | durable inserts alone | × |");
    writeln!(report, "|---|---|---|---|---|---|");
    for (name, module, texts) in
        [("Chinese", CHINESE, texts::chinese()), ("English", ENGLISH, texts::english())]
    {
        let documents = imported(scale.import, module, &texts);
        let [over_http, indexing, rows] =
            [import_over_http(module, &documents), bare_index(&documents), bare_inserts(module, &documents)]
                .map(|took| documents.len() as f64 / took.as_secs_f64());
        writeln!(
            report,
            "| {name} | {over_http:.0} | {indexing:.0} | {:.2} | {rows:.0} | {:.2} |",
            over_http / indexing,
            over_http / rows
        );
    }
}

fn imported(count: usize, module: &str, texts: &[String]) -> Vec<Document> {
    let scope = Scope::new(1, module);
    let document = |number: usize| {
        let mut document = corpus::document(&scope, texts, number);
        document.title.push(' ');
        document.title.push_str(IMPORTED);
        document
    };
    (0..count).map(document).collect()
}

/// Returns the time until everything is found.
fn import_over_http(module: &str, documents: &[Document]) -> Duration {
    let prepared = corpus::prepare(0);
    let trawl = Server::trawl(prepared.directory.path(), &[]);
    let token = trawl.token(&prepared);
    let target = |method, path: String, body, expected: String| Target {
        address: trawl.address,
        method,
        path,
        token: Some(token.clone()),
        body,
        expected,
    };
    let batches: Vec<Target> = documents
        .chunks(IMPORT_BATCH)
        .map(|batch| {
            let items: Vec<_> = batch
                .iter()
                .map(|document| json!({ "id": document.id, "title": document.title, "author": document.author, "displayTime": document.display_time }))
                .collect();
            let body = serde_json::to_string(&items).unwrap();
            target("PUT", format!("/v1/contents/{module}"), Some(body), "\"total\":0".to_owned())
        })
        .collect();
    let search = target(
        "POST",
        format!("/contents/search?moduleId={module}&keyword={IMPORTED}+&limit=1&paging=cursor"),
        None,
        "\"total\":".to_owned(),
    );
    let all = format!("\"total\":{},", documents.len());
    block_on(async {
        let queue = Rc::new(RefCell::new(batches.into_iter()));
        let started = Instant::now();
        join_all((0..IMPORT_CALLS).map(|_| async {
            let mut connection = Connection::open(trawl.address).await;
            loop {
                let next = queue.borrow_mut().next();
                let Some(batch) = next else { break };
                connection.call(&batch).await;
            }
        }))
        .await;
        let mut connection = Connection::open(trawl.address).await;
        while !std::str::from_utf8(&connection.call(&search).await).unwrap().contains(&all) {
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
        started.elapsed()
    })
}

/// Same analysis, schema and batches, one commit.
fn bare_index(documents: &[Document]) -> Duration {
    let directory = tempfile::tempdir().unwrap();
    let (_index, mut writer) = Index::open(directory.path(), &Options::default()).unwrap();
    let batches: Vec<Vec<Change>> = documents
        .chunks(IMPORT_BATCH)
        .map(|batch| batch.iter().cloned().map(Change::Put).collect())
        .collect();
    let started = Instant::now();
    for batch in batches {
        writer.apply(batch).unwrap();
    }
    writer.commit(&Checkpoint { store: "bench".to_owned(), position: 1, complete: true }).unwrap();
    started.elapsed()
}

/// The same rows, one durable transaction per call.
fn bare_inserts(module: &str, documents: &[Document]) -> Duration {
    let prepared = corpus::prepare(0);
    let tenant_id = prepared.registered.tenant.id;
    block_on(async {
        let store = Store::open(prepared.directory.path(), 1).await.unwrap();
        let mut text = String::from(
            "INSERT INTO contents (tenant_id, module, id, display_time, created_at, item) VALUES (?, ?, ?, ?, 0, ?)",
        );
        text.extend(std::iter::repeat_n(", (?, ?, ?, ?, 0, ?)", IMPORT_BATCH - 1));
        let batches: Vec<Vec<Document>> =
            documents.chunks_exact(IMPORT_BATCH).map(<[Document]>::to_vec).collect();
        let started = Instant::now();
        for batch in batches {
            let (text, module) = (text.clone(), module.to_owned());
            store
                .write(move |transaction| {
                    Box::pin(async move {
                        let values = batch.into_iter().flat_map(|document| {
                            transaction.record_change(tenant_id, &module, &document.id);
                            [
                                tenant_id.into(),
                                module.as_str().into(),
                                document.id.into(),
                                document.display_time.into(),
                                document.item.into(),
                            ]
                        });
                        sql(text, values).execute(transaction).await?;
                        Ok(())
                    })
                })
                .await
                .unwrap();
        }
        let took = started.elapsed();
        store.close().await.unwrap();
        took
    })
}
