//! One source of twenty takes much longer at times: what second calls of it (hedging) are worth, and what they cost.

use crate::{
    common::{
        load::{Connection, Samples, Target, block_on},
        report,
        server::Server,
        turns::{Turns, alternate},
    },
    peers::{self, SLOW_CALL, SLOW_SHARE, SOURCE_TOTAL, USUAL_CALL},
    site::{LONG_TIMEOUT, Site, Source},
};

/// Sources of a module.
const COUNT: usize = 20;
const CLIENTS: usize = 16;
/// The deadline, in milliseconds; nothing comes near it.
const DEADLINE: u64 = 2_000;

/// Prints the table.
pub(crate) fn run(turns: Turns) {
    println!("\n## One source of twenty is slow at times\n");
    println!(
        "{COUNT} sources of {} ms; {SLOW_SHARE} % of the calls of one of them take {} ms. {CLIENTS} clients. Milliseconds.\n",
        USUAL_CALL.as_millis(),
        SLOW_CALL.as_millis()
    );
    println!("| hedging | p50 | p99 | p99.9 | calls for each search |\n|---|---|---|---|---|");
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
        };
        site.register(module, names.iter().map(|(id, path)| source((id, path))));
        site.search(module, DEADLINE, format!("\"total\":{}", COUNT * SOURCE_TOTAL))
    });
    let measured = alternate(&targets, CLIENTS, turns);
    for (name, samples) in names.into_iter().zip(&measured) {
        let calls = count_calls(&sources, name);
        println!("| {name} | {} | {calls} |", describe(samples));
    }
}

fn describe(samples: &Samples) -> String {
    let [median, p99, p999] = [0.5, 0.99, 0.999].map(|share| report::millis(samples.quantile(share)));
    format!("{median} | {p99} | {p999}")
}

/// How many calls each search of a module caused, as the sources counted them.
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
