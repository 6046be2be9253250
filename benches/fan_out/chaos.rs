//! Six of ten sources fail in six ways; answers must arrive by the deadline.

use std::time::{Duration, Instant};

use futures::future::join_all;

use crate::{
    common::{
        load::{Connection, Samples, Target, block_on},
        report::{Report, millis},
        server::Server,
    },
    peers,
    site::{LONG_TIMEOUT, Site, Source},
};

/// Milliseconds.
const DEADLINE: u64 = 500;
/// Allowed lateness in milliseconds.
const LEEWAY: u64 = 10;
const CLIENTS: u32 = 64;
/// Timeout of a source that must be suspended for it, in milliseconds.
const SHORT_TIMEOUT: u64 = 300;
const MODULE: &str = "chaos";

/// Without the source that closes its connections.
const SOURCES: [&str; 9] = [
    "/hanging",
    "/failing",
    "/garbage",
    "/dripping",
    "/flapping",
    "/page/0/20",
    "/page/1/20",
    "/page/2/20",
    "/page/3/20",
];
const GOOD: usize = 4;

/// `requests` is per client.
pub(crate) fn run(requests: usize, report: &mut Report) {
    writeln!(report, "\n## Ten sources, of which six fail\n");
    writeln!(
        report,
        "One hangs, one answers 500, one sends garbage, one drips a byte a second, one closes its connections, one flaps. Four \
         are good and take 20 ms. {CLIENTS} clients, deadline {DEADLINE} ms; bar: none answered after {} ms. Milliseconds.\n",
        DEADLINE + LEEWAY
    );
    writeln!(
        report,
        "| failing sources | requests | p50 | p99 | max | later than {} ms |",
        DEADLINE + LEEWAY
    );
    writeln!(report, "|---|---|---|---|---|---|");
    // Failures never suspend: each search calls all sources, and two of them hang until its deadline.
    run_with("called by each search", &suspension("4294967295", "1", "1"), LONG_TIMEOUT, requests, report);
    // The first failure suspends, for milliseconds.
    run_with(
        "suspended for 5 to 20 ms at a time",
        &suspension("1", "5", "20"),
        SHORT_TIMEOUT,
        requests,
        report,
    );
}

/// For every cause: failures until a suspension, its shortest and longest duration.
fn suspension(failures: &str, least: &str, most: &str) -> Vec<(String, String)> {
    let rules = [("FAILURES", failures), ("LEAST_MS", least), ("MOST_MS", most)];
    ["UNAVAILABLE", "UNAUTHORIZED", "INVALID", "ERROR", "TIMEOUT"]
        .iter()
        .flat_map(|cause| {
            rules.map(|(rule, value)| (format!("SUSPENSION__{cause}__{rule}"), value.to_owned()))
        })
        .collect()
}

fn run_with(name: &str, settings: &[(String, String)], timeout: u64, requests: usize, report: &mut Report) {
    let sources = Server::peer(&[peers::SOURCES]);
    let closing = Server::peer(&[peers::CLOSING]);
    let settings: Vec<_> = settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let site = Site::start(&settings);
    let ids: Vec<_> = (0..SOURCES.len()).map(|number| format!("source-{number}")).collect();
    let others = ids.iter().zip(SOURCES).map(|(id, path)| (id.as_str(), sources.address, path));
    let all = others.chain([("closing", closing.address, "/")]);
    site.register(
        MODULE,
        all.map(|(id, address, path)| Source { id, address, path, timeout, hedging: false, mapped: false }),
    );
    let target = site.search(MODULE, DEADLINE, "\"partial\":true".to_owned());

    let started = Instant::now();
    let latencies = block_on(join_all((0..CLIENTS).map(|client| ask(&target, client, requests))));
    let latencies: Vec<Duration> = latencies.into_iter().flatten().collect();
    let bar = Duration::from_millis(DEADLINE + LEEWAY);
    let late = latencies.iter().filter(|latency| **latency > bar).count();
    let samples = Samples::new(latencies, started.elapsed());
    let [median, p99, most] = [0.5, 0.99, 1.0].map(|share| millis(samples.quantile(share)));
    let count = requests * usize::try_from(CLIENTS).unwrap();
    writeln!(report, "| {name} | {count} | {median} | {p99} | {most} | {late} |");
}

/// Clients start spread over a deadline.
async fn ask(target: &Target, client: u32, requests: usize) -> Vec<Duration> {
    let mut connection = Connection::open(target.address).await;
    tokio::time::sleep(Duration::from_millis(DEADLINE) * client / CLIENTS).await;
    let mut latencies = Vec::with_capacity(requests);
    for _ in 0..requests {
        let started = Instant::now();
        let answer = connection.call(target).await;
        latencies.push(started.elapsed());
        let answer = std::str::from_utf8(&answer).unwrap();
        let ok = answer.matches("\"status\":\"ok\"").count();
        assert!(ok >= GOOD, "the good ones are complete: {answer}");
    }
    latencies
}
