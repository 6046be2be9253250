//! The options of `trawl bench`.

use std::{path::PathBuf, time::Duration};

use clap::ValueEnum;

use super::plan::{parse_duration, parse_rate};
use crate::cli::client::ServerOptions;

/// What `--help` says below the options.
const HELP: &str = "\
A query file holds one query a line: a keyword as people type it, or a JSON object with the parameters of
/contents/search (keyword, moduleId, sort, limit, from, to, author, source, timeout). - is standard input.

Open loop (--rate): searches begin by the clock, whatever the server does, and latency counts from the intended start.
What finds no place among --max-in-flight waits, and its waiting counts. Use it to learn how fast a server answers.
Further pages (--pages) are asked for as soon as the page before was read, and count from there.
Closed loop (--clients, the default with one client): each client sends its next search when the last one was answered.
Use it to learn how many searches a second a server gives.

Errors are answers other than 2xx, codes of the envelope other than 200, broken connections, and requests without an
answer in time. They are no part of the percentiles. Partial answers are successes, counted on their own.

Exit code: 0 done, 1 there were errors, the rate was not kept, or made-up items are left, 2 wrong usage.

  trawl bench queries.txt --module article --rate 200 --duration 60s --report report.html
  trawl bench queries.txt --module article --clients 16 --save after.json
  trawl bench compare before.json after.json --fail-if-slower 10";

/// Measure how fast a running server answers
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_long_help = HELP,
    after_help = "--help explains query files, open and closed loops, and errors"
)]
pub struct Options {
    #[command(subcommand)]
    pub(super) action: Option<Action>,
    #[command(flatten)]
    pub(super) run: RunOptions,
}

/// What else can be done with runs.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Action {
    /// Compare two runs that were kept with --save
    ///
    /// Exits with 0, with 1 if --fail-if-slower finds a difference, and with 2 where a file cannot be read.
    Compare(CompareOptions),
}

/// Which runs are compared, and how.
#[derive(Debug, clap::Args)]
pub(super) struct CompareOptions {
    /// The earlier run
    pub(super) before: PathBuf,
    /// The later run
    pub(super) after: PathBuf,
    /// Exit with 1 where p50, p90 or p99 is higher, or the throughput lower, by more than this, or errors are new
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub(super) fail_if_slower: Option<f64>,
    /// Print the comparison as one JSON object
    #[arg(long)]
    pub(super) json: bool,
    /// Also write a page with both runs' curves, which can be opened offline
    #[arg(long, value_name = "FILE")]
    pub(super) report: Option<PathBuf>,
}

/// What a run does.
#[derive(Debug, clap::Args)]
pub(super) struct RunOptions {
    /// File of queries, one a line; - is standard input
    #[arg(value_name = "QUERIES")]
    pub(super) queries: Option<PathBuf>,
    #[command(flatten)]
    pub(super) server: ServerOptions,
    /// Module to search where a query names none, by its id or code
    #[arg(long, value_name = "CODE")]
    pub(super) module: Option<String>,
    /// Items of a page where a query does not say
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(super) limit: Option<u16>,
    /// Order where a query names none
    #[arg(long, value_enum)]
    pub(super) sort: Option<Sort>,
    /// The most pages of a search; further ones are asked for with the answer's cursor
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) pages: u32,
    /// Open loop: searches that begin in a second
    #[arg(long, value_name = "PER_SECOND", conflicts_with = "clients", value_parser = parse_rate)]
    pub(super) rate: Option<f64>,
    /// Closed loop: clients that each send one search after the other [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) clients: Option<u32>,
    /// How long is measured
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_positive_duration)]
    pub(super) duration: Duration,
    /// How long the load is on before that
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_duration)]
    pub(super) warm_up: Duration,
    /// Send the queries in the order that this number gives, instead of the file's; the same for the same number
    #[arg(long, value_name = "NUMBER")]
    pub(super) seed: Option<u64>,
    /// Open loop: the most searches (and of writes) under way at a time
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) max_in_flight: u32,
    /// How long one request may take
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_positive_duration)]
    pub(super) request_timeout: Duration,
    /// Besides, put in so many made-up items a second; they are deleted at the end
    #[arg(long, value_name = "PER_SECOND", requires = "write_module", value_parser = parse_rate)]
    pub(super) writes_per_second: Option<f64>,
    /// Module that they go into
    #[arg(long, value_name = "CODE", requires = "writes_per_second")]
    pub(super) write_module: Option<String>,
    /// Threads that make the load
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(super) threads: u8,
    /// Print the results as one JSON object
    #[arg(long)]
    pub(super) json: bool,
    /// Keep the results in a file, to compare them later
    #[arg(long, value_name = "FILE")]
    pub(super) save: Option<PathBuf>,
    /// Write a page with curves, which can be opened offline
    #[arg(long, value_name = "FILE")]
    pub(super) report: Option<PathBuf>,
}

/// The orders that a search can have.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Sort {
    Time,
    Relevance,
}

impl Sort {
    /// As the parameter `sort`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Relevance => "relevance",
        }
    }
}

fn parse_positive_duration(text: &str) -> Result<Duration, String> {
    let duration = parse_duration(text)?;
    if duration < Duration::from_millis(1) {
        return Err("must be a millisecond at least".to_owned());
    }
    Ok(duration)
}

fn parse_percent(text: &str) -> Result<f64, String> {
    let percent: Result<f64, _> = text.trim_end_matches('%').parse();
    percent
        .ok()
        .filter(|percent| (0.0..=10_000.0).contains(percent))
        .ok_or_else(|| "must be a percentage".to_owned())
}
