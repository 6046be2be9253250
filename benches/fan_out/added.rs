//! What the coordinator adds to sources that all answer, beside a bare `join_all` of the same calls.

use crate::{
    common::{
        load::{Samples, Target},
        report,
        server::Server,
        turns::{self, Turns, alternate},
    },
    peers::{self, SOURCE_TOTAL},
    site::{LONG_TIMEOUT, Site, Source},
};

/// How many sources a module has.
const COUNTS: [usize; 4] = [1, 10, 50, 200];
/// What a slow source takes, in milliseconds.
const DELAY: u64 = 20;
/// Clients while throughput is measured.
const CLIENTS: usize = 16;
/// The deadline, in milliseconds; nothing comes near it.
const DEADLINE: u64 = 2_000;

/// Prints the table of sources that take their time.
pub(crate) fn run_slow(turns: Turns) {
    println!("\n## External sources of {DELAY} ms: what is added\n");
    println!(
        "trawl / a bare `join_all` of the same calls behind an axum handler, which reads the answers and does not \
         look into them. Milliseconds beyond {DELAY} ms, one client. Bars: ≤ 1.5 × both.\n"
    );
    println!("| sources | median | × | p99 | × | whole median, × |\n|---|---|---|---|---|---|");
    let both = Both::start(DELAY);
    for count in COUNTS {
        let [ours, bare] = alternate(&both.targets(count), 1, turns);
        println!("| {count} | {} |", describe_added(&ours, &bare));
    }
}

/// Prints the table of sources that answer at once.
pub(crate) fn run_throughput(turns: Turns) {
    println!("\n## External sources of 0 ms: throughput\n");
    println!("{CLIENTS} clients. Milliseconds. Bar: ≥ 0.7 × a second.\n");
    println!("| sources | median | × | p99 | × | a second | × |\n|---|---|---|---|---|---|---|");
    let both = Both::start(0);
    for count in COUNTS {
        let [ours, bare] = alternate(&both.targets(count), CLIENTS, turns);
        println!("| {count} | {} |", turns::beside(&ours, &bare));
    }
}

/// trawl and the bare peer over the same sources.
struct Both {
    site: Site,
    join: Server,
    delay: u64,
    _sources: Server,
}

impl Both {
    fn start(delay: u64) -> Self {
        let sources = Server::peer(&[peers::SOURCES]);
        let join = Server::peer(&[peers::JOIN, &sources.address.to_string()]);
        let site = Site::start(&[]);
        for count in COUNTS {
            let names: Vec<_> = (0..count)
                .map(|number| (format!("{number}-of-{count}"), format!("/page/{number}/{delay}")))
                .collect();
            let source = |(id, path)| Source {
                id,
                address: sources.address,
                path,
                timeout: LONG_TIMEOUT,
                hedging: false,
            };
            site.register(&module(count), names.iter().map(|(id, path)| source((id, path))));
        }
        Self { site, join, delay, _sources: sources }
    }

    fn targets(&self, count: usize) -> [Target; 2] {
        let expected = format!("\"total\":{}", count * SOURCE_TOTAL);
        let bare = Target {
            address: self.join.address,
            method: "GET",
            path: format!("/{count}/{}", self.delay),
            token: None,
            body: None,
            expected: format!("\"sources\":{count}}}"),
        };
        [self.site.search(&module(count), DEADLINE, expected), bare]
    }
}

fn module(count: usize) -> String {
    format!("sources-{count}")
}

fn describe_added(ours: &Samples, bare: &Samples) -> String {
    let delay = DELAY as f64;
    let [median, bare_median] = [ours, bare].map(|samples| samples.quantile(0.5) - delay);
    let [p99, bare_p99] = [ours, bare].map(|samples| samples.quantile(0.99) - delay);
    format!(
        "{} / {} | {:.2} | {} / {} | {:.2} | {:.3}",
        report::millis(median),
        report::millis(bare_median),
        median / bare_median,
        report::millis(p99),
        report::millis(bare_p99),
        p99 / bare_p99,
        ours.quantile(0.5) / bare.quantile(0.5),
    )
}
