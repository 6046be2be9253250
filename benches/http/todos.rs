//! Durable to-dos beside bare inserts, and concurrent searches.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use serde_json::json;
use tokio::time::sleep_until;
use trawl::{
    auth::applications::Kind,
    store::{Store, Value, sql},
};

use crate::{
    Scale,
    common::{
        data_directory::DataDirectory,
        interleave::{Slices, interleave},
        load::{Connection, NUMBER, Samples, Target, block_on},
        report::{Report, millis},
        server::Server,
    },
    corpus::{self, ENGLISH},
    texts,
};

const CLIENTS: usize = 32;
const BATCH: usize = 100;
const TITLE: &str = "Approve the lease of the warehouse";
const ASSIGNEE: &str = "mei.chen";

/// Open loop.
const SEARCH_EVERY: Duration = Duration::from_millis(5);

pub(crate) fn run(scale: &Scale, report: &mut Report) {
    let documents = scale.documents[0];
    let prepared = corpus::prepare(documents);
    let trawl = Server::trawl(prepared.directory.path(), &[("LOG__FILTER", "warn")]);
    let token = trawl.token(&prepared);
    let target = |path: &str, body: Option<String>, expected: &str| Target {
        address: trawl.address,
        method: "POST",
        path: path.to_owned(),
        token: Some(token.clone()),
        body,
        expected: expected.to_owned(),
    };
    let todo = |id: String| json!({ "appTaskId": id, "title": TITLE, "assigneeLoginId": ASSIGNEE });
    let one = target("/api/todo/create", Some(todo(format!("single-{NUMBER}")).to_string()), "\"code\":200");
    let items: Vec<_> = (0..BATCH).map(|item| todo(format!("batch-{NUMBER}-{item}"))).collect();
    let batch = serde_json::to_string(&items).unwrap();
    let batch = target("/api/todo/batch_create", Some(batch), "\"error\":[]");
    let search = target(
        &format!("/contents/search?moduleId={ENGLISH}&keyword={}+", common_word()),
        None,
        "\"total\":",
    );

    writeln!(report, "\n## Durable to-dos\n");
    writeln!(
        report,
        "Each is durable when it is acknowledged, and indexed concurrently, beside {documents} documents. Peer: bare inserts of the \
         same rows, {BATCH} per durable transaction. Concurrently a search every {} ms (open loop), timed from when it was due. \
         Milliseconds. Bar: one at a time of {CLIENTS} clients ≥ 0.15 ×.\n",
        SEARCH_EVERY.as_millis()
    );
    // Longer slices collect enough group commits.
    let slow = Slices { length: scale.slices.length * 2, ..scale.slices };
    let bare = bare_inserts(slow.length * u32::try_from(slow.count).unwrap());
    let (idle, ()) = with_searches(&search, || std::thread::sleep(slow.length * 4));
    writeln!(
        report,
        "| call | clients | median | p99 | to-dos per second | × of the peer | search median | search p99 |"
    );
    writeln!(report, "|---|---|---|---|---|---|---|---|");
    writeln!(report, "| peer | 1 | | | {bare:.0} | 1 | | |");
    writeln!(report, "| searches alone | | | | | | {} |", search_cells(&idle));
    for (name, target, clients, each) in [
        ("one", &one, 1, 1.0),
        ("one", &one, CLIENTS, 1.0),
        ("a batch of 100", &batch, 4, BATCH as f64),
        ("a batch of 100", &batch, CLIENTS, BATCH as f64),
    ] {
        let (searched, [samples]) =
            with_searches(&search, || interleave(std::array::from_ref(target), clients, slow));
        let [median, p99] = [0.5, 0.99].map(|share| millis(samples.quantile(share)));
        let rate = samples.rate() * each;
        writeln!(
            report,
            "| {name} | {clients} | {median} | {p99} | {rate:.0} | {:.2} | {} |",
            rate / bare,
            search_cells(&searched)
        );
    }
}

fn search_cells(samples: &Samples) -> String {
    let [median, p99] = [0.5, 0.99].map(|share| millis(samples.quantile(share)));
    format!("{median} | {p99}")
}

fn common_word() -> String {
    let texts = texts::english();
    let words = |text: &String| {
        text.split(|character: char| !character.is_ascii_alphanumeric())
            .filter(|word| word.len() > 3)
            .map(str::to_lowercase)
            .collect::<Vec<_>>()
    };
    let mut counts = std::collections::BTreeMap::<String, usize>::new();
    for word in texts.iter().take(10_000).flat_map(words) {
        *counts.entry(word).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count).unwrap().0
}

fn with_searches<T>(search: &Target, work: impl FnOnce() -> T) -> (Samples, T) {
    let is_over = AtomicBool::new(false);
    let started = Instant::now();
    std::thread::scope(|scope| {
        let searches = scope.spawn(|| {
            block_on(async {
                let mut connection = Connection::open(search.address).await;
                let mut latencies = Vec::new();
                let mut due = tokio::time::Instant::now();
                while !is_over.load(Ordering::Relaxed) {
                    sleep_until(due).await;
                    connection.call(search).await;
                    latencies.push(due.elapsed());
                    due += SEARCH_EVERY;
                }
                latencies
            })
        });
        let worked = work();
        is_over.store(true, Ordering::Relaxed);
        (Samples::new(searches.join().unwrap(), started.elapsed()), worked)
    })
}

/// Rows per second, in durable transactions of a batch.
fn bare_inserts(time: Duration) -> f64 {
    let prepared = DataDirectory::new(Kind::Application);
    let tenant_id = prepared.registered.tenant.id;
    block_on(async {
        let store = Store::open(prepared.directory.path(), 1).await.unwrap();
        let rows = vec!["(?, ?, 'bench', ?, 0, ?, ?, ?)"; BATCH].join(", ");
        let text = format!(
            "INSERT INTO tasks (id, tenant_id, application, app_task_id, status, assignee_login_id, created_at, task) VALUES {rows}"
        );
        let mut inserted = 0_usize;
        let started = Instant::now();
        while started.elapsed() < time {
            let (text, first) = (text.clone(), inserted);
            let job = store.write(move |transaction| {
                Box::pin(async move {
                    let values = (first..first + BATCH).flat_map(|number| {
                        let id = format!("batch-{number}");
                        let task = json!({
                            "appTaskId": id, "title": TITLE, "assigneeLoginId": ASSIGNEE, "degree": 0, "quickDeal": true, "status": 0,
                        });
                        [
                            Value::from(format!("00000000-0000-7000-8000-{number:012}")),
                            tenant_id.into(),
                            id.into(),
                            ASSIGNEE.into(),
                            (number as u64).into(),
                            task.to_string().into(),
                        ]
                    });
                    sql(text, values).execute(transaction).await?;
                    Ok(())
                })
            });
            job.await.unwrap();
            inserted += BATCH;
        }
        let took = started.elapsed();
        store.close().await.unwrap();
        inserted as f64 / took.as_secs_f64()
    })
}
