//! Options of `trawl bench`.

use std::{path::PathBuf, time::Duration};

use crate::cli::client::ServerOptions;

const HELP: &str = "\
A query file holds one query a line: a keyword, or a JSON object with the parameters of /contents/search (keyword,
moduleId, sort, limit, from, to, author, source, timeout). - is standard input.

Open loop (--rate) measures latency: searches start by the clock, and latency counts from the intended start, with the
time that a search waits for one of --max-in-flight. Further pages (--pages) start when the page before is read.
Closed loop (--clients, the default with one client) measures throughput: each client sends its next search after the
last answer.

Errors are statuses other than 2xx, codes other than 200, broken connections and timeouts; percentiles exclude them.
Partial answers are successes with a count of their own.

Exit code: 0 done, 1 errors, the rate was not kept, or written items are left, 2 wrong usage.

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
pub(in crate::cli) struct BenchOptions {
    #[command(subcommand)]
    pub(super) action: Option<BenchCommand>,
    #[command(flatten)]
    pub(super) run: RunOptions,
}

#[derive(Debug, clap::Subcommand)]
pub(super) enum BenchCommand {
    /// Compare two runs saved with --save
    ///
    /// Exit code: 0 done, 1 --fail-if-slower found a regression, 2 a file cannot be read.
    Compare(CompareOptions),
}

#[derive(Debug, clap::Args)]
pub(super) struct CompareOptions {
    /// Earlier run
    pub(super) before: PathBuf,
    /// Later run
    pub(super) after: PathBuf,
    /// Exit with 1 on new errors, or if percentiles or throughput worsened by more than this
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub(super) fail_if_slower: Option<f64>,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
    /// Also write an HTML page with both runs' curves
    #[arg(long, value_name = "FILE")]
    pub(super) report: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(super) struct RunOptions {
    /// File of queries, one a line; - is standard input
    #[arg(value_name = "QUERIES")]
    pub(super) queries: Option<PathBuf>,
    #[command(flatten)]
    pub(super) server: ServerOptions,
    /// Default module, by id or code
    #[arg(long, value_name = "CODE")]
    pub(super) module: Option<String>,
    /// Default items per page
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(super) limit: Option<u16>,
    /// Default order
    #[arg(long, value_parser = ["time", "relevance"])]
    pub(super) sort: Option<String>,
    /// Most pages per search, by the answers' cursors
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) pages: u32,
    /// Open loop: searches per second
    #[arg(long, value_name = "PER_SECOND", conflicts_with = "clients", value_parser = parse_rate)]
    pub(super) rate: Option<f64>,
    /// Closed loop: clients, each with one search at a time [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) clients: Option<u32>,
    /// Measured time
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_positive_duration)]
    pub(super) duration: Duration,
    /// Load before the measured time
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_duration)]
    pub(super) warm_up: Duration,
    /// Shuffle the queries by this seed
    #[arg(long, value_name = "NUMBER")]
    pub(super) seed: Option<u64>,
    /// Open loop: most searches in flight, and most writes
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) max_in_flight: u32,
    /// Timeout of a request
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_positive_duration)]
    pub(super) request_timeout: Duration,
    /// Also write this many items per second; deleted at the end
    #[arg(long, value_name = "PER_SECOND", requires = "write_module", value_parser = parse_rate)]
    pub(super) writes_per_second: Option<f64>,
    /// Module of the written items
    #[arg(long, value_name = "CODE", requires = "writes_per_second")]
    pub(super) write_module: Option<String>,
    /// Threads of the load generator
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(super) threads: u8,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
    /// Save the results for a comparison
    #[arg(long, value_name = "FILE")]
    pub(super) save: Option<PathBuf>,
    /// Write an HTML page with curves
    #[arg(long, value_name = "FILE")]
    pub(super) report: Option<PathBuf>,
}

impl RunOptions {
    /// Clients of a closed loop; none of an open one.
    pub(super) fn closed_loop_clients(&self) -> Option<u32> {
        self.rate.is_none().then(|| self.clients.unwrap_or(1))
    }
}

/// `30s`, `500ms`, `2m`, `1h 30m`.
fn parse_duration(text: &str) -> Result<Duration, String> {
    let duration: jiff::SignedDuration =
        text.parse().map_err(|_| "must be a duration such as 30s, 500ms or 2m".to_owned())?;
    Duration::try_from(duration).map_err(|_| "must not be negative".to_owned())
}

fn parse_rate(text: &str) -> Result<f64, String> {
    let rate: Result<f64, _> = text.parse();
    rate.ok()
        .filter(|rate| *rate >= 0.001 && *rate <= 1_000_000.0)
        .ok_or_else(|| "must be 0.001 to 1000000 requests a second".to_owned())
}

fn parse_positive_duration(text: &str) -> Result<Duration, String> {
    let duration = parse_duration(text)?;
    if duration < Duration::from_millis(1) {
        return Err("must be at least 1ms".to_owned());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_rates_are_parsed() {
        assert_eq!(parse_duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_duration("1m 30s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_duration("0s"), Ok(Duration::ZERO));
        assert!(parse_duration("30").unwrap_err().contains("30s"));
        assert_eq!(parse_duration("-1s").unwrap_err(), "must not be negative");
        assert_eq!([parse_rate("0.5"), parse_rate("200")], [Ok(0.5), Ok(200.0)]);
        for wrong in ["0", "-1", "NaN", "inf", "x", "1e9"] {
            assert!(parse_rate(wrong).is_err(), "{wrong}");
        }
    }
}
