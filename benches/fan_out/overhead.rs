//! Overhead on sources that all answer, beside a bare `join_all`.

use crate::{
    common::{
        interleave::{self, Slices, interleave},
        load::{Samples, Target},
        report::{Report, millis},
        server::Server,
    },
    peers::{self, SOURCE_TOTAL},
    site::Site,
};

const COUNTS: [usize; 4] = [1, 10, 50, 200];
/// Milliseconds that a slow source takes.
const DELAY: u64 = 20;
/// Concurrent clients that measure throughput.
const CLIENTS: usize = 16;
/// Milliseconds; never reached.
const DEADLINE: u64 = 2_000;

pub(crate) fn run_slow(slices: Slices, report: &mut Report) {
    writeln!(report, "\n## Overhead on sources of {DELAY} ms\n");
    writeln!(
        report,
        "trawl / a bare `join_all` of the same calls behind an axum handler, which does not parse the answers. Milliseconds \
         beyond {DELAY} ms, one client. Bars: ≤ 1.5 × both, ≤ 1.3 × of 200 sources.\n"
    );
    writeln!(report, "| sources | median | × | p99 | × | whole median, × |\n|---|---|---|---|---|---|");
    let both = Servers::start(DELAY);
    for count in COUNTS {
        let [ours, bare] = interleave(&both.targets(count), 1, slices);
        writeln!(report, "| {count} | {} |", overhead_cells(&ours, &bare));
    }
}

pub(crate) fn run_throughput(slices: Slices, report: &mut Report) {
    writeln!(report, "\n## Throughput with sources of 0 ms\n");
    writeln!(report, "{CLIENTS} clients. Milliseconds. Bar: ≥ 0.8 × per second.\n");
    writeln!(report, "| sources | median | × | p99, × | per second | × |\n|---|---|---|---|---|---|");
    let both = Servers::start(0);
    for count in COUNTS {
        let [ours, bare] = interleave(&both.targets(count), CLIENTS, slices);
        writeln!(report, "| {count} | {} |", interleave::compared(&ours, &bare));
    }
}

struct Servers {
    site: Site,
    join: Server,
    delay: u64,
    _sources: Server,
}

impl Servers {
    fn start(delay: u64) -> Self {
        let sources = Server::peer(&[peers::SOURCES]);
        let join = Server::peer(&[peers::JOIN, &sources.address.to_string()]);
        let site = Site::start();
        for count in COUNTS {
            let names: Vec<_> = (0..count)
                .map(|number| (format!("{number}-of-{count}"), format!("/page/{number}/{delay}")))
                .collect();
            site.register(&module(count), sources.address, &names);
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

fn overhead_cells(ours: &Samples, bare: &Samples) -> String {
    let delay = DELAY as f64;
    let [median, bare_median] = [ours, bare].map(|samples| samples.quantile(0.5) - delay);
    let [p99, bare_p99] = [ours, bare].map(|samples| samples.quantile(0.99) - delay);
    format!(
        "{} / {} | {:.2} | {} / {} | {:.2} | {:.3}",
        millis(median),
        millis(bare_median),
        median / bare_median,
        millis(p99),
        millis(bare_p99),
        p99 / bare_p99,
        ours.quantile(0.5) / bare.quantile(0.5),
    )
}
