//! HTML report of a run or comparison, one file that opens offline.

use minijinja::{Environment, value::Serde};
use serde::Serialize;

use super::{
    chart::{Chart, Histogram},
    compare::Comparison,
    output::{label, milliseconds, notes, summary},
    recorder::BenchOperation,
    results::{Results, Second},
};

const TEMPLATE: &str = include_str!("report.html");

#[derive(Serialize)]
struct ReportView<'a> {
    title: &'a str,
    runs: Vec<RunView<'a>>,
    charts: Vec<Chart>,
    comparison: Option<&'a Comparison>,
}

#[derive(Serialize)]
struct RunView<'a> {
    name: &'a str,
    summary: String,
    notes: Vec<String>,
    results: &'a Results,
}

pub(super) fn render_run(results: &Results) -> Result<String, String> {
    let seconds = whole_seconds(results);
    #[expect(clippy::cast_precision_loss, reason = "drawn, not counted")]
    let counts =
        |of: fn(&Second) -> u64| seconds.iter().map(|second| Some(of(second) as f64)).collect::<Vec<_>>();
    let mut throughput = vec![("searches", counts(|second| second.searches))];
    if results.of(BenchOperation::Page).is_some() {
        throughput.push(("further pages", counts(|second| second.pages)));
    }
    if results.of(BenchOperation::Write).is_some() {
        throughput.push(("writes", counts(|second| second.writes)));
    }
    throughput.push(("errors", counts(|second| second.errors)));
    let latency = [
        ("p50", seconds.iter().map(|second| second.p50_ms).collect()),
        ("p99", seconds.iter().map(|second| second.p99_ms).collect()),
    ];
    let curves: Vec<(&str, &Histogram)> = results
        .operations
        .iter()
        .map(|operation| (operation.operation.as_str(), operation.histogram.as_slice()))
        .collect();
    let charts = [
        Chart::latency_curve(&curves),
        Chart::over_time("Throughput over time", "in a second", &throughput),
        Chart::over_time("Latency of searches over time", "ms", &latency),
    ];
    render(&ReportView {
        title: "trawl bench",
        runs: vec![RunView::of("", results)],
        charts: charts.into_iter().flatten().collect(),
        comparison: None,
    })
}

/// Leaves out the unfinished last second, which would show too few answers.
fn whole_seconds(results: &Results) -> &[Second] {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "never negative")]
    let whole = (results.seconds as usize).max(1);
    &results.timeline[..whole.min(results.timeline.len())]
}

pub(super) fn render_comparison<'a>(
    before: &'a Results,
    after: &'a Results,
    comparison: &Comparison,
) -> Result<String, String> {
    let curve =
        |name, results: &'a Results| Some((name, results.of(BenchOperation::Search)?.histogram.as_slice()));
    let curves: Vec<(&str, &Histogram)> =
        [curve("before", before), curve("after", after)].into_iter().flatten().collect();
    render(&ReportView {
        title: "trawl bench: two runs",
        runs: vec![RunView::of("Before", before), RunView::of("After", after)],
        charts: Chart::latency_curve(&curves).into_iter().collect(),
        comparison: Some(comparison),
    })
}

fn render(view: &ReportView<'_>) -> Result<String, String> {
    let mut environment = Environment::new();
    environment.add_filter("milliseconds", milliseconds);
    environment.add_filter("label", |measure: &str| label(measure).to_owned());
    environment.add_filter("signed", |value: f64| format!("{value:+.1}"));
    // The name `.html` turns on escaping.
    let rendered = environment.render_named_str("report.html", TEMPLATE, Serde(view));
    rendered.map_err(|error| format!("the report cannot be created: {error}"))
}

impl<'a> RunView<'a> {
    fn of(name: &'a str, results: &'a Results) -> Self {
        Self { name, summary: summary(&results.settings, results.seconds), notes: notes(results), results }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::bench::{compare::tests::results, results::FailureCount};

    #[test]
    fn report_is_complete_and_escapes_foreign_text() {
        let mut results = results(4.0, 100.0, 1);
        results.timeline =
            vec![Second { searches: 100, p50_ms: Some(1.0), p99_ms: Some(4.0), ..Second::default() }; 3];
        results.command = "trawl bench '<script>alert(1)</script>.txt'".to_owned();
        results.operations[0].failures.push(FailureCount {
            kind: "HTTP 500".to_owned(),
            count: 1,
            message: "<img src=x>".to_owned(),
        });
        let page = render_run(&results).unwrap();
        assert_eq!(page.matches("<figure>").count(), 3);
        assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
        assert!(page.contains("&lt;script&gt;alert(1)") && page.contains("&lt;img src=x&gt;"));
        assert!(!page.contains("<script>alert") && !page.contains("<img"));
    }

    #[test]
    fn answers_after_end_are_not_throughput() {
        let mut results = results(4.0, 100.0, 0);
        results.timeline = vec![Second::default(); 3];
        for (seconds, whole) in [(2.01, 2), (3.0, 3), (0.5, 1)] {
            results.seconds = seconds;
            assert_eq!(whole_seconds(&results).len(), whole);
        }
    }

    #[test]
    fn empty_run_has_report_without_charts() {
        let mut results = results(4.0, 100.0, 0);
        results.operations.clear();
        results.shortfalls.push("no search was measured".to_owned());
        let page = render_run(&results).unwrap();
        assert!(!page.contains("<svg") && page.contains("no search was measured"));
    }
}
