//! Progress bar, tables and JSON.

use std::{
    io::{self, IsTerminal as _, Write as _},
    time::Duration,
};

use anstyle::{AnsiColor, Effects, Style};
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use super::{
    compare::Comparison,
    options::RunOptions,
    recorder::BenchOperation,
    results::{OperationResults, Quantiles, Results, RunSettings},
};

const FAINT: Style = Style::new().effects(Effects::DIMMED);
const BAD: Style = AnsiColor::Red.on_default().effects(Effects::BOLD);
const BAR: &str = "{wide_bar} {msg}, {eta} left";

pub(super) struct ProgressDisplay(ProgressBar);

impl ProgressDisplay {
    pub(super) fn new(options: &RunOptions) -> Self {
        let target = if io::stderr().is_terminal() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let length = (options.warm_up + options.duration).as_millis();
        let bar = ProgressBar::with_draw_target(Some(u64::try_from(length).unwrap_or(u64::MAX)), target);
        if let Ok(style) = ProgressStyle::with_template(BAR) {
            bar.set_style(style);
        }
        Self(bar)
    }

    pub(super) fn show(&self, elapsed: Duration, requests: u64, errors: u64) {
        self.0.set_position(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX));
        self.0.set_message(match requests {
            0 => "warming up".to_owned(),
            _ => format!("{} requests, {} errors", HumanCount(requests), HumanCount(errors)),
        });
    }

    pub(super) fn say(&self, words: &'static str) {
        self.0.set_message(words);
    }

    pub(super) fn end(&self) {
        self.0.finish_and_clear();
    }
}

pub(super) fn print_json(value: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_string(value)?;
    writeln!(io::stdout(), "{text}")
}

pub(super) fn print_results(results: &Results) -> io::Result<()> {
    write_results(results, &mut anstream::stdout().lock())
}

fn write_results(results: &Results, out: &mut impl io::Write) -> io::Result<()> {
    writeln!(out, "{}\n", summary(&results.settings, results.seconds))?;
    writeln!(
        out,
        "{FAINT}{:10}{:>12}{:>12}{:>10}{:>10}{:>10}{:>10}{:>10}{:>9}{:>9}{FAINT:#}",
        "",
        "succeeded",
        "per second",
        "p50 ms",
        "p90 ms",
        "p99 ms",
        "p99.9 ms",
        "max ms",
        "errors",
        "partial"
    )?;
    for operation in &results.operations {
        write_operation(operation, out)?;
    }
    for operation in &results.operations {
        for failure in &operation.failures {
            let (count, kind, message) = (HumanCount(failure.count), &failure.kind, &failure.message);
            writeln!(out, "{BAD}{count} × {kind}{BAD:#} ({}): {message}", operation.operation)?;
        }
    }
    let notes = notes(results);
    if !notes.is_empty() {
        writeln!(out)?;
    }
    notes.iter().try_for_each(|note| writeln!(out, "{note}"))
}

fn write_operation(results: &OperationResults, out: &mut impl io::Write) -> io::Result<()> {
    let errors = if results.errors > 0 { BAD } else { Style::new() };
    writeln!(
        out,
        "{:10}{:>12}{:>12.1}{}{errors}{:>9}{errors:#}{:>9}",
        results.operation,
        HumanCount(results.succeeded).to_string(),
        results.per_second,
        quantiles(results.latency_ms),
        HumanCount(results.errors).to_string(),
        HumanCount(results.partial).to_string(),
    )?;
    writeln!(out, "{FAINT}{:34}{}{FAINT:#}", "  of it, after it was sent", quantiles(results.service_ms))
}

fn quantiles(quantiles: Option<Quantiles>) -> String {
    let values = match quantiles {
        Some(Quantiles { p50, p90, p99, p999, max, .. }) => [p50, p90, p99, p999, max].map(milliseconds),
        None => Default::default(),
    };
    values.map(|value| format!("{value:>10}")).concat()
}

pub(super) fn milliseconds(value: f64) -> String {
    match value {
        ..10.0 => format!("{value:.3}"),
        ..1_000.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

pub(super) fn summary(settings: &RunSettings, seconds: f64) -> String {
    let pace = match (settings.rate, settings.clients) {
        (Some(rate), _) => format!("open loop, {rate} searches begin in a second"),
        (None, Some(1)) => "closed loop, 1 client".to_owned(),
        (None, clients) => format!("closed loop, {} clients", clients.unwrap_or_default()),
    };
    let writes = settings.writes_per_second.map(|rate| format!(", beside {rate} writes")).unwrap_or_default();
    let queries = if settings.queries == 1 { "query" } else { "queries" };
    format!(
        "{} · {} {queries} · {pace}{writes} · {seconds:.1} s after {} s of warm-up",
        settings.server, settings.queries, settings.warm_up_seconds
    )
}

pub(super) fn notes(results: &Results) -> Vec<String> {
    let mut notes = Vec::new();
    for (arrivals, name) in [(results.arrivals, "searches"), (results.write_arrivals, "writes")] {
        if let Some(arrivals) = arrivals.filter(|arrivals| arrivals.waited > 0) {
            notes.push(format!(
                "{} of {} {name} found all {} places taken and waited for one; that is part of their latency.",
                HumanCount(arrivals.waited),
                HumanCount(arrivals.due),
                results.settings.max_in_flight
            ));
        }
    }
    if let Some(delay) = results.own_delay_ms {
        notes.push(format!(
            "The load generator itself began requests {} ms late at the median, {} ms at p99; that is part of their latency.",
            milliseconds(delay.p50),
            milliseconds(delay.p99)
        ));
        let service = results.of(BenchOperation::Search).and_then(|search| search.service_ms);
        if service.is_some_and(|service| delay.p99 > service.p99) {
            notes.push(
                "The load generator is overloaded: its own delay exceeds the server's latency.".to_owned(),
            );
        }
    }
    if let Some(items) = results.items.as_ref().filter(|items| items.left == 0) {
        notes.push(format!("{} written items were deleted.", HumanCount(items.sent)));
    }
    notes
}

pub(super) fn print_comparison(comparison: &Comparison) -> io::Result<()> {
    write_comparison(comparison, &mut anstream::stdout().lock())
}

fn write_comparison(comparison: &Comparison, out: &mut impl io::Write) -> io::Result<()> {
    for difference in &comparison.differences {
        writeln!(out, "the runs differ in {difference}")?;
    }
    if !comparison.differences.is_empty() {
        writeln!(out)?;
    }
    writeln!(out, "{FAINT}{:22}{:>14}{:>14}{:>10}{FAINT:#}", "", "before", "after", "change")?;
    for row in &comparison.rows {
        let change = row.change_percent.map(|change| format!("{change:+.1} %")).unwrap_or_default();
        let [before, after] =
            [row.before, row.after].map(|value| value.map(milliseconds).unwrap_or_default());
        let name = format!("{} {}", row.operation, label(row.measure));
        writeln!(out, "{name:22}{before:>14}{after:>14}{change:>10}")?;
    }
    Ok(())
}

pub(super) fn label(measure: &str) -> &str {
    match measure {
        "p50Ms" => "p50 ms",
        "p90Ms" => "p90 ms",
        "p99Ms" => "p99 ms",
        "p999Ms" => "p99.9 ms",
        "maxMs" => "max ms",
        "perSecond" => "per second",
        "errorPercent" => "errors %",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::bench::{compare::tests::results, results::FailureCount};

    fn plain(write: impl Fn(&mut anstream::StripStream<Vec<u8>>) -> io::Result<()>) -> String {
        let mut out = anstream::StripStream::new(Vec::new());
        write(&mut out).unwrap();
        String::from_utf8(out.into_inner()).unwrap()
    }

    #[test]
    fn results_are_a_table_with_failures() {
        let mut results = results(4.0, 33.3, 7);
        results.operations[0].failures.push(FailureCount {
            kind: "HTTP 503".to_owned(),
            count: 7,
            message: "busy".to_owned(),
        });
        results.arrivals =
            Some(super::super::results::Arrivals { due: 3_000, waited: 5, ..Default::default() });
        let delay = Quantiles { p50: 0.02, p99: 4.5, ..results.operations[0].service_ms.unwrap() };
        results.own_delay_ms = Some(delay);
        let text = plain(|out| write_results(&results, out));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "http://h/ · 3 queries · open loop, 100 searches begin in a second · 30.0 s after 5 s of warm-up"
        );
        assert_eq!(
            lines[3],
            "search           1,000        33.3     1.000     2.000     4.000     4.000      12.0        7        0"
        );
        assert_eq!(lines[2].len(), lines[3].len());
        assert_eq!(lines[5], "7 × HTTP 503 (search): busy");
        assert!(lines[7].starts_with("5 of 3,000 searches found all 256 places taken"), "{text}");
        assert!(lines[8].contains("0.020 ms late at the median, 4.500 ms at p99"), "{text}");
        assert!(lines[9].starts_with("The load generator is overloaded"), "{text}");
    }

    #[test]
    fn comparison_is_aligned() {
        let mut after = results(5.0, 1_234.0, 0);
        after.settings.pages = 2;
        let comparison = Comparison::of(&results(4.0, 100.0, 0), &after, None);
        let text = plain(|out| write_comparison(&comparison, out));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "the runs differ in pages: 1 before, 2 after");
        assert_eq!(lines[5], "search p99 ms                  4.000         5.000   +25.0 %");
        assert_eq!(lines[8], "search per second              100.0          1234 +1134.0 %");
    }
}
