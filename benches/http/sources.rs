//! What the coordinator adds to the external sources that it waits for.

use std::time::Instant;

use serde_json::Value;
use trawl::search::registry::{AuthForm, ModuleForm, SourceForm};

use crate::{
    Scale,
    data::{self, Registration},
    load::{Connection, NUMBER, Samples, Target, alternate, block_on},
    peers::{self, SOURCE_ITEMS, SOURCE_TOTAL},
    report,
    server::Server,
};

/// How many sources a module has.
const COUNTS: [usize; 3] = [1, 10, 50];
/// What a slow source takes, in milliseconds.
const DELAY: u64 = 20;
/// Clients while throughput is measured.
const CLIENTS: usize = 16;
/// The deadline while a source hangs, in milliseconds.
const DEADLINE: u64 = 500;

/// Prints the tables of external sources.
pub(crate) fn run(scale: &Scale) {
    let sources = Server::peer(&[peers::SOURCES]);
    let join = Server::peer(&[peers::JOIN, &sources.address.to_string()]);
    let prepared = data::prepare(0, registrations(&sources));
    let trawl = Server::trawl(prepared.directory.path());
    let token = trawl.token(&prepared);
    let targets = |count: usize, delay: u64| {
        let ours = Target {
            address: trawl.address,
            method: "POST",
            path: search_path(&module_code(count, delay), 2_000),
            token: Some(token.clone()),
            body: None,
            expected: format!("\"total\":{}", count * SOURCE_TOTAL),
        };
        let bare = Target {
            address: join.address,
            method: "GET",
            path: format!("/{count}/{delay}"),
            token: None,
            body: None,
            expected: format!("\"sources\":{count}}}"),
        };
        [ours, bare]
    };

    println!("\n## External sources of {DELAY} ms: what is added\n");
    println!(
        "trawl / a bare `join_all` of the same calls behind an axum handler, which reads the answers and does not \
         look into them. Milliseconds beyond {DELAY} ms, one client. Bars: ≤ 1.5 × both.\n"
    );
    println!("| sources | median | × | p99 | × | whole median, × |\n|---|---|---|---|---|---|");
    // A request takes at least the delay: longer turns, so that there are enough of them.
    let slow = Scale { slice: scale.slice * 4, ..*scale };
    for count in COUNTS {
        let [ours, bare] = alternate(&targets(count, DELAY), 1, &slow);
        println!("| {count} | {} |", added(&ours, &bare));
    }

    println!("\n## External sources of 0 ms: throughput\n");
    println!("{CLIENTS} clients. Milliseconds. Bar: ≥ 0.7 × a second.\n");
    println!("| sources | median | × | p99 | × | a second | × |\n|---|---|---|---|---|---|---|");
    for count in COUNTS {
        let [ours, bare] = alternate(&targets(count, 0), CLIENTS, scale);
        println!("| {count} | {} |", report::beside(&ours, &bare));
    }
    hanging(&trawl, &token);
}

fn added(ours: &Samples, bare: &Samples) -> String {
    #[allow(clippy::cast_precision_loss, reason = "a small number")]
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

/// One source of ten never answers.
fn hanging(trawl: &Server, token: &str) {
    println!("\n## One source of ten hangs\n");
    println!(
        "Deadline {DEADLINE} ms; bar: answered by {} ms with the nine others complete.\n",
        DEADLINE + 10
    );
    println!("| request | answered after, ms | ok | not ok | total |\n|---|---|---|---|---|");
    let target = Target {
        address: trawl.address,
        method: "POST",
        path: search_path(HANGING, DEADLINE),
        token: Some(token.to_owned()),
        body: None,
        expected: "\"partial\":true".to_owned(),
    };
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
            println!("| {request} | {took:.1} | {ok} | {} | {} |", sources.len() - ok, answer["total"]);
        }
    });
}

/// The keyword is another one each time, so that no answer is remembered.
fn search_path(module: &str, timeout: u64) -> String {
    format!(
        "/contents/search?moduleId={module}&keyword=contract{NUMBER}&limit={SOURCE_ITEMS}&timeout={timeout}"
    )
}

/// The module whose tenth source hangs.
const HANGING: &str = "hanging";

fn module_code(count: usize, delay: u64) -> String {
    format!("sources-{count}-{delay}")
}

/// Sources of both delays, and the modules that show as many of them as are asked for.
fn registrations(sources: &Server) -> Vec<Registration> {
    let most = COUNTS.into_iter().max().unwrap_or_default();
    let mut registrations = Vec::new();
    for delay in [DELAY, 0] {
        let ids: Vec<String> = (0..most).map(|number| format!("{number}-{delay}")).collect();
        for (number, id) in ids.iter().enumerate() {
            let count = number + 1;
            registrations.push((
                source(id, &format!("http://{}/{number}/{delay}", sources.address)),
                module(&module_code(count, delay), ids[..count].to_vec()),
            ));
        }
    }
    let nine = (0..9).map(|number| format!("{number}-{DELAY}"));
    let ids = nine.chain([HANGING.to_owned()]).collect();
    registrations
        .push((source(HANGING, &format!("http://{}/hanging", sources.address)), module(HANGING, ids)));
    registrations
}

fn source(id: &str, url: &str) -> SourceForm {
    SourceForm {
        id: Some(id.to_owned()),
        name: Some(id.to_owned()),
        url: Some(url.to_owned()),
        auth: Some(AuthForm { kind: Some("NONE".to_owned()), ..AuthForm::default() }),
        timeout_ms: Some(5_000),
        page_size: Some(i64::try_from(SOURCE_ITEMS).unwrap()),
        max_concurrency: Some(64),
        ..SourceForm::default()
    }
}

fn module(code: &str, sources: Vec<String>) -> ModuleForm {
    ModuleForm {
        name: Some(code.to_owned()),
        code: Some(code.to_owned()),
        kind: Some(100),
        sources: Some(sources),
        ..ModuleForm::default()
    }
}
