//! Ten sources, of which six fail in six ways: every answer leaves by its deadline all the same.

use std::time::{Duration, Instant};

use futures::future::join_all;

use crate::{
    common::{
        load::{Connection, Samples, Target, block_on},
        report,
        server::Server,
    },
    peers,
    site::{LONG_TIMEOUT, Site, Source},
};

/// The deadline, in milliseconds.
const DEADLINE: u64 = 500;
/// How much later an answer may be, in milliseconds.
const LEEWAY: u64 = 10;
const CLIENTS: u32 = 64;
/// The longest that a call of a source may take where it is to be suspended for taking longer, in milliseconds.
const SHORT_TIMEOUT: u64 = 300;
const MODULE: &str = "chaos";

/// The sources but the one that closes its connections, by their paths.
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

/// Prints the table; each client sends so many requests.
pub(crate) fn run(requests: usize) {
    println!("\n## Ten sources, of which six fail\n");
    println!(
        "One hangs, one answers 500, one sends garbage, one drips a byte a second, one closes its connections, one flaps; four \
         are good and take 20 ms. {CLIENTS} clients, deadline {DEADLINE} ms; bar: none answered after {} ms. Milliseconds.\n",
        DEADLINE + LEEWAY
    );
    println!("| failing sources | requests | p50 | p99 | most | later than {} ms |", DEADLINE + LEEWAY);
    println!("|---|---|---|---|---|---|");
    // Failures count for nothing: each search asks all, and waits for two of them until its deadline.
    run_with("are asked by each search", &suspension("4294967295", "1", "1"), LONG_TIMEOUT, requests);
    // The first failure counts, and soon they are asked again.
    run_with("rest for 5 to 20 ms at a time", &suspension("1", "5", "20"), SHORT_TIMEOUT, requests);
}

/// The settings of every cause: the failures that lead to a suspension, its least and its greatest length.
fn suspension(failures: &str, least: &str, most: &str) -> Vec<(String, String)> {
    let rules = [("FAILURES", failures), ("LEAST_MS", least), ("MOST_MS", most)];
    ["UNAVAILABLE", "UNAUTHORIZED", "INVALID", "ERROR", "TIMEOUT"]
        .iter()
        .flat_map(|cause| {
            rules.map(|(rule, value)| (format!("SUSPENSION__{cause}__{rule}"), value.to_owned()))
        })
        .collect()
}

fn run_with(name: &str, settings: &[(String, String)], timeout: u64, requests: usize) {
    let sources = Server::peer(&[peers::SOURCES]);
    let closing = Server::peer(&[peers::CLOSING]);
    let settings: Vec<_> = settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let site = Site::start(&settings);
    let ids: Vec<_> = (0..SOURCES.len()).map(|number| format!("source-{number}")).collect();
    let others = ids.iter().zip(SOURCES).map(|(id, path)| (id.as_str(), sources.address, path));
    let all = others.chain([("closing", closing.address, "/")]);
    site.register(
        MODULE,
        all.map(|(id, address, path)| Source { id, address, path, timeout, hedging: false }),
    );
    let target = site.search(MODULE, DEADLINE, "\"partial\":true".to_owned());

    let started = Instant::now();
    let latencies = block_on(join_all((0..CLIENTS).map(|client| ask(&target, client, requests))));
    let latencies: Vec<Duration> = latencies.into_iter().flatten().collect();
    let bar = Duration::from_millis(DEADLINE + LEEWAY);
    let late = latencies.iter().filter(|latency| **latency > bar).count();
    let samples = Samples::new(latencies, started.elapsed());
    let [median, p99, most] = [0.5, 0.99, 1.0].map(|share| report::millis(samples.quantile(share)));
    let count = requests * usize::try_from(CLIENTS).unwrap();
    println!("| {name} | {count} | {median} | {p99} | {most} | {late} |");
}

/// The requests of one client. The clients begin one after another, so that their deadlines are not all the same.
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
