//! One source of ten never answers; one client.

use std::time::Instant;

use serde_json::Value;

use crate::{
    common::{
        load::{Connection, block_on},
        report::Report,
        server::Server,
    },
    peers,
    site::Site,
};

/// Milliseconds.
const DEADLINE: u64 = 500;
const MODULE: &str = "hanging";

pub(crate) fn run(report: &mut Report) {
    writeln!(report, "\n## One source of ten hangs\n");
    writeln!(
        report,
        "Deadline {DEADLINE} ms; bar: answered by {} ms with the nine others complete.\n",
        DEADLINE + 10
    );
    writeln!(report, "| request | answered after, ms | ok | not ok | total |\n|---|---|---|---|---|");
    let sources = Server::peer(&[peers::SOURCES]);
    let site = Site::start();
    let good = (0..9).map(|number| (format!("good-{number}"), format!("/page/{number}/20")));
    let names: Vec<_> = good.chain([("hanging".to_owned(), "/hanging".to_owned())]).collect();
    site.register(MODULE, sources.address, &names);
    let target = site.search(MODULE, DEADLINE, "\"partial\":true".to_owned());
    block_on(async {
        let mut connection = Connection::open(target.address).await;
        for request in 1..=5 {
            let started = Instant::now();
            let answer = connection.call(&target).await;
            let took = started.elapsed().as_secs_f64() * 1_000.0;
            let answer: Value = serde_json::from_slice(&answer).unwrap();
            let sources = answer["sources"].as_array().unwrap();
            let ok = sources.iter().filter(|source| source["status"] == "ok").count();
            assert_eq!(ok, 9, "the others are complete: {answer}");
            writeln!(
                report,
                "| {request} | {took:.1} | {ok} | {} | {} |",
                sources.len() - ok,
                answer["total"]
            );
        }
    });
}
