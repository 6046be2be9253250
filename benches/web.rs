//! How soon a person sees the first result after a key: the search page in a headless Chromium, beside the same question by HTTP
//! alone in the same run.
//!
//! The server is a process of its own. README.md says how to read it.
//!
//! `cargo bench --bench web [-- quick] [-- demo|documents …]`

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a bench that cannot go on has nothing better to do"
)]
#![allow(clippy::panic, reason = "an answer that is wrong ends the bench")]
#![allow(clippy::cast_precision_loss, reason = "a figure needs no more than 52 bits")]

#[path = "../tests/integration/util/browser.rs"]
mod browser;
#[path = "web/common.rs"]
mod common;
#[path = "http/data.rs"]
mod data;
#[path = "web/page.rs"]
mod page;
#[path = "web/site.rs"]
mod site;
#[path = "http/texts.rs"]
mod texts;
#[path = "web/words.rs"]
mod words;

use std::time::{Duration, Instant};

use self::{
    common::{
        load::{Connection, Samples, Target},
        report::{self, millis},
    },
    page::{Page, Press},
    site::Site,
};

// The same allocator as the program's, which fills the data directory here.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
struct Scale {
    /// Documents of the filled index.
    documents: usize,
    /// Words that are typed, and as many others that are asked for by HTTP.
    words: usize,
}

const FULL: Scale = Scale { documents: 1_000_000, words: 50 };

const QUICK: Scale = Scale { documents: 50_000, words: 10 };

/// Shares of the presses that took no longer than what stands in the table.
const SHARES: [f64; 3] = [0.5, 0.9, 0.99];

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let scale = if has("quick") { QUICK } else { FULL };
    let all = !["demo", "documents"].iter().any(|section| has(section));

    let started = Instant::now();
    let measured = format!(
        "over {} words of the data, typed in turn with as many others asked for by HTTP; the first {} warm up",
        scale.words,
        scale.words.div_ceil(10)
    );
    report::head("web", "From a key to the first result", &arguments, &measured);
    println!("Milliseconds: the median, what nine of ten did not exceed, and 99 of 100.\n");
    println!(
        "| data | from the last key to the first result painted | of it the pause | question to first event | event to \
         painted | the whole question by HTTP | painted after the pause / HTTP, medians |\n|---|---|---|---|---|---|---|"
    );
    if all || has("demo") {
        measure("the demo's", &blocking(Site::demo).await, scale).await;
    }
    if all || has("documents") {
        let site = blocking(move || Site::of_documents(scale.documents)).await;
        measure(&format!("{} documents", scale.documents), &site, scale).await;
    }
    println!("\nThe run took {:.0} s.", started.elapsed().as_secs_f64());
}

/// What prepares a site has runtimes of its own.
async fn blocking(make: impl FnOnce() -> Site + Send + 'static) -> Site {
    tokio::task::spawn_blocking(make).await.unwrap()
}

/// Types words and asks for others by HTTP, in turn; prints the row.
async fn measure(name: &str, site: &Site, scale: Scale) {
    let page = Page::open(site).await;
    let mut http = Connection::open(site.server.address).await;
    let mut presses: Vec<Press> = Vec::new();
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
            Some(press) => presses.push(press),
            // Two ideographs that no segmentation keeps together, or a word that stands everywhere.
            None => nothing += 1,
        }
    }
    page.close().await;

    let of = |part: fn(&Press) -> f64| -> Vec<Duration> {
        presses.iter().map(|press| Duration::from_secs_f64(part(press).max(0.0) / 1_000.0)).collect()
    };
    let http = Samples::new(asked.clone(), asked.iter().sum());
    let painted = quantiles(of(|press| press.painted - press.asked));
    println!(
        "| {name} ({} words, {nothing} more found nothing) | {} | {} | {} | {} | {} ({:.0} a second) | {:.2} |",
        presses.len(),
        shown(quantiles(of(|press| press.painted - press.pressed))),
        shown(quantiles(of(|press| press.asked - press.pressed))),
        shown(quantiles(of(|press| press.answered - press.asked))),
        shown(quantiles(of(|press| press.painted - press.answered))),
        shown(SHARES.map(|share| http.quantile(share))),
        http.rate(),
        painted[0] / http.quantile(SHARES[0]),
    );
}

/// What the page asks, as one answer.
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

fn quantiles(times: Vec<Duration>) -> [f64; 3] {
    let samples = Samples::new(times, Duration::ZERO);
    SHARES.map(|share| samples.quantile(share))
}

fn shown(values: [f64; 3]) -> String {
    values.map(millis).join(" / ")
}
