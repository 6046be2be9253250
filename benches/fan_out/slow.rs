//! One source of twenty is sometimes slow: gain and cost of hedging.

use crate::{
    common::{
        interleave::{Slices, interleave},
        load::{Connection, Samples, Target, block_on},
        report::{Report, millis},
        server::Server,
    },
    peers::{self, SLOW_CALL, SLOW_SHARE, SOURCE_TOTAL, USUAL_CALL},
    site::{LONG_TIMEOUT, Site, Source},
};

const COUNT: usize = 20;
const CLIENTS: usize = 16;
/// Milliseconds; never reached.
const DEADLINE: u64 = 2_000;

pub(crate) fn run(slices: Slices, report: &mut Report) {
    writeln!(report, "\n## One source of twenty is sometimes slow\n");
    writeln!(
        report,
        "{COUNT} sources of {} ms; {SLOW_SHARE} % of the calls of one of them take {} ms. {CLIENTS} clients. Milliseconds.\n",
        USUAL_CALL.as_millis(),
        SLOW_CALL.as_millis()
    );
    writeln!(report, "| hedging | p50 | p99 | p99.9 | calls per search |\n|---|---|---|---|---|");
    let sources = Server::peer(&[peers::SOURCES]);
    let site = Site::start(&[]);
    let names = ["without", "with"];
    let targets = names.map(|module| {
        let names: Vec<_> = (0..COUNT)
            .map(|number| (format!("{module}-{number}"), format!("/twenty/{module}/{number}")))
            .collect();
        let source = |(id, path)| Source {
            id,
            address: sources.address,
            path,
            timeout: LONG_TIMEOUT,
            hedging: module == "with",
            mapped: false,
        };
        site.register(module, names.iter().map(|(id, path)| source((id, path))));
        site.search(module, DEADLINE, format!("\"total\":{}", COUNT * SOURCE_TOTAL))
    });
    let measured = interleave(&targets, CLIENTS, slices);
    for (name, samples) in names.into_iter().zip(&measured) {
        let calls = count_calls(&sources, name);
        writeln!(report, "| {name} | {} | {calls} |", describe(samples));
    }
}

fn describe(samples: &Samples) -> String {
    let [median, p99, p999] = [0.5, 0.99, 0.999].map(|share| millis(samples.quantile(share)));
    format!("{median} | {p99} | {p999}")
}

/// As counted by the sources.
fn count_calls(sources: &Server, module: &str) -> String {
    let target = Target {
        address: sources.address,
        method: "GET",
        path: format!("/calls/{module}"),
        token: None,
        body: None,
        expected: String::new(),
    };
    let answer = block_on(async { Connection::open(target.address).await.call(&target).await });
    String::from_utf8_lossy(&answer).into_owned()
}
