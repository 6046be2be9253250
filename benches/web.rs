//! Latency of the search page in Chromium, and of its searches by HTTP.
//!
//! `cargo bench --bench web [-- quick] [-- demo|documents …]`

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a bench that cannot go on has nothing better to do"
)]
#![allow(clippy::panic, reason = "an answer that is wrong ends the bench")]
#![allow(clippy::cast_precision_loss, reason = "a figure needs no more than 52 bits")]

#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../tests/integration/util/browser.rs"]
mod browser;
#[allow(dead_code, reason = "other benches use more of it")]
mod common;
#[path = "http/corpus.rs"]
mod corpus;
#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../tests/integration/util/devtools.rs"]
mod devtools;
#[path = "web/page.rs"]
mod page;
#[path = "web/site.rs"]
mod site;
#[path = "http/texts.rs"]
mod texts;
#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../tests/integration/util/webdriver.rs"]
mod webdriver;
#[path = "web/words.rs"]
mod words;

use std::time::{Duration, Instant};

use self::{
    common::{
        load::{Connection, Samples, Target},
        report::{Report, millis},
    },
    page::{Goal, Page, Press},
    site::Site,
};

// The program's allocator, which fills the data directory here.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Clone, Copy, Debug)]
struct Scale {
    /// Documents of the filled index.
    documents: usize,
    /// Typed words, and as many others by HTTP.
    words: usize,
}

const FULL: Scale = Scale { documents: 1_000_000, words: 50 };

const QUICK: Scale = Scale { documents: 50_000, words: 10 };

/// Browsers with an empty cache.
const FIRST_LOADS: usize = 5;

const SHARES: [f64; 3] = [0.5, 0.9, 0.99];

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let scale = if has("quick") { QUICK } else { FULL };
    let all = !["demo", "documents"].iter().any(|section| has(section));

    let started = Instant::now();
    let measured = format!(
        "over {} words, typed in alternation with as many others requested by HTTP; the first {} warm up",
        scale.words,
        scale.words.div_ceil(10)
    );
    let begin = |name: &str| {
        let mut report = Report::begin(&format!("web/{name}"), &arguments, &measured);
        writeln!(report, "\nMilliseconds: median, p90 and p99.\n");
        writeln!(
            report,
            "| data | last key → first result painted | of it key → request | request → first event | \
             event → painted | whole search by HTTP | painted / HTTP, medians |\n|---|---|---|---|---|---|---|"
        );
        report
    };
    if all || has("demo") {
        let mut report = begin("demo");
        measure("demo", &blocking(Site::demo).await, scale, &mut report).await;
        report.finish();
    }
    if all || has("documents") {
        let mut report = begin("documents");
        let site = blocking(move || Site::with_documents(scale.documents)).await;
        measure(&format!("{} documents", scale.documents), &site, scale, &mut report).await;
        report.finish();
    }
    println!("The run took {:.0} s.", started.elapsed().as_secs_f64());
}

/// Preparation needs its own runtimes.
async fn blocking(make: impl FnOnce() -> Site + Send + 'static) -> Site {
    tokio::task::spawn_blocking(make).await.unwrap()
}

/// Types words and requests others by HTTP, in turn.
async fn measure(name: &str, site: &Site, scale: Scale, report: &mut Report) {
    let mut loads = Vec::new();
    for _ in 0..FIRST_LOADS {
        let page = Page::open(site).await;
        loads.push(page.load().await);
        page.close().await;
    }
    let page = Page::open(site).await;
    page.start_clock().await;
    let mut http = Connection::open(site.server.address).await;
    let mut presses: Vec<Press> = Vec::new();
    let mut looks: Vec<Press> = Vec::new();
    let mut asked: Vec<Duration> = Vec::new();
    let mut nothing = 0;
    let warm = scale.words.div_ceil(10);
    let words = words::spread(&site.texts, 2 * (warm + scale.words));
    for (number, pair) in words.chunks_exact(2).enumerate() {
        let press = page.type_word(&pair[0]).await;
        let target = question(site, &pair[1]);
        let began = Instant::now();
        http.call(&target).await;
        let took = began.elapsed();
        if number < warm {
            continue;
        }
        asked.push(took);
        match press {
            Some(press) => {
                presses.push(press);
                looks.push(page.look().await);
            }
            // Ideographs that no segmentation keeps together, or a stop word.
            None => nothing += 1,
        }
    }
    page.close().await;

    let http = Samples::new(asked.clone(), asked.iter().sum());
    let painted = quantiles(&presses, |press| Some(press.results.as_ref()?.painted? - press.pressed));
    writeln!(
        report,
        "| {name} ({} words, {nothing} more found nothing) | {} | {} | {} | {} | {} ({:.0} per second) | {:.2} |",
        presses.len(),
        shown(painted),
        shown(quantiles(&presses, |press| Some(press.results.as_ref()?.asked - press.pressed))),
        shown(quantiles(&presses, |press| press
            .results
            .as_ref()
            .and_then(|goal| Some(goal.answered? - goal.asked)))),
        shown(quantiles(&presses, |press| press
            .results
            .as_ref()
            .and_then(|goal| Some(goal.painted? - goal.answered?)))),
        shown(SHARES.map(|share| http.quantile(share))),
        http.rate(),
        painted[0] / http.quantile(SHARES[0]),
    );
    let outcome = |presses: &[Press], goal: fn(&Press) -> Option<&Goal>| {
        let painted = |press: &Press| Some(goal(press)?.painted? - press.pressed);
        format!(
            "{} ({} of {})",
            shown(quantiles(presses, painted)),
            presses.iter().filter_map(painted).count(),
            presses.len()
        )
    };
    loads.sort_by(|one, other| one.painted.total_cmp(&other.painted));
    let load = &loads[loads.len() / 2];
    writeln!(
        report,
        "\n| data | last key → suggestions painted | key → item painted beside the list | \
         first load: request → first text, median of {FIRST_LOADS} | its requests, with data | its kB, transferred |\n\
         |---|---|---|---|---|---|\n| {name} | {} | {} | {:.0} | {} | {:.1} |",
        outcome(&presses, |press| press.suggestions.as_ref()),
        outcome(&looks, |press| press.item.as_ref()),
        load.painted,
        load.requests,
        load.bytes as f64 / 1_000.0,
    );
}

/// The search of all modules as one answer, without events.
fn question(site: &Site, word: &str) -> Target {
    let query =
        serde_html_form::to_string([("keyword", word), ("limit", "5"), ("highlight", "true")]).unwrap();
    Target {
        address: site.server.address,
        method: "POST",
        path: format!("/contents/search/all?{query}"),
        token: Some(site.token.clone()),
        body: None,
        expected: r#""partial":false"#.to_owned(),
    }
}

/// Quantiles of a part, over the presses that have it, in milliseconds.
fn quantiles(presses: &[Press], part: impl Fn(&Press) -> Option<f64>) -> [f64; 3] {
    let times = presses.iter().filter_map(part);
    let samples = Samples::new(
        times.map(|time| Duration::from_secs_f64(time.max(0.0) / 1_000.0)).collect(),
        Duration::ZERO,
    );
    SHARES.map(|share| samples.quantile(share))
}

fn shown(values: [f64; 3]) -> String {
    values.map(millis).join(" / ")
}
