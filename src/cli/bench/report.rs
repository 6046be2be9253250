//! The HTML report of a run or a comparison: one file that opens offline.

use minijinja::{Environment, value::Serde};
use serde::Serialize;

use super::{
    chart::Chart,
    compare::Comparison,
    output::{label, milliseconds, notes, summary},
    recorder::Operation,
    results::{OperationResults, Quantiles, Results, Second},
};

const TEMPLATE: &str = include_str!("report.html");

const LEAST_COVERED: f64 = 0.25;

#[derive(Serialize)]
struct ReportView<'a> {
    title: &'a str,
    runs: &'a [RunView<'a>],
    charts: &'a [Chart],
    changes: Vec<ChangeRow>,
    differences: &'a [String],
    slower: &'a [String],
}

#[derive(Serialize)]
struct RunView<'a> {
    name: &'a str,
    summary: String,
    facts: Vec<(&'a str, String)>,
    notes: Vec<String>,
    shortfalls: &'a [String],
    rows: Vec<TableRow>,
    failures: Vec<FailureRow<'a>>,
}

#[derive(Serialize)]
struct TableRow {
    name: String,
    cells: Vec<String>,
    is_part: bool,
}

#[derive(Serialize)]
struct FailureRow<'a> {
    operation: &'a str,
    kind: &'a str,
    count: u64,
    message: &'a str,
}

#[derive(Serialize)]
struct ChangeRow {
    name: String,
    before: String,
    after: String,
    change: String,
}

pub(super) fn render_run(results: &Results) -> Result<String, String> {
    let histogram =
        results.of(Operation::Search).map(|search| search.histogram.as_slice()).unwrap_or_default();
    let mut throughput = vec![("searches", rates(results, |second| second.searches))];
    for (operation, rates) in [
        (Operation::Page, rates(results, |second| second.pages)),
        (Operation::Write, rates(results, |second| second.writes)),
    ] {
        if results.of(operation).is_some() {
            throughput.push((plural(operation), rates));
        }
    }
    throughput.push(("errors", rates(results, |second| second.errors)));
    let latency = [
        ("p50", covered_seconds(results).map(|(second, _)| second.p50_ms).collect()),
        ("p99", covered_seconds(results).map(|(second, _)| second.p99_ms).collect()),
    ];
    let curves: Vec<(String, &[(u64, u64)])> = results
        .operations
        .iter()
        .map(|operation| (operation.operation.clone(), operation.histogram.as_slice()))
        .collect();
    let charts = [
        Chart::latency_curve(&curves),
        Chart::histogram(histogram),
        Chart::over_time("throughput", "Throughput over time", ["time", "in a second"], &throughput),
        Chart::over_time("latency", "Latency of searches over time", ["time", "ms"], &latency),
    ];
    let charts: Vec<Chart> = charts.into_iter().flatten().collect();
    render("trawl bench", &[RunView::of("", results)], &charts, None)
}

/// Seconds with the part that belongs to the run.
///
/// A mostly uncovered last second is dropped, since its few late answers are not throughput.
fn covered_seconds(results: &Results) -> impl Iterator<Item = (&Second, f64)> {
    let covered = |place: u32| (results.seconds - f64::from(place)).min(1.0);
    let seconds = (0..).zip(&results.timeline);
    seconds
        .map(move |(place, second)| (place, second, covered(place)))
        .filter(|(place, _, covered)| *place == 0 || *covered >= LEAST_COVERED)
        .map(|(_, second, covered)| (second, covered))
}

fn rates(results: &Results, count: fn(&Second) -> u64) -> Vec<Option<f64>> {
    #[expect(clippy::cast_precision_loss, reason = "drawn, not counted")]
    covered_seconds(results)
        .map(|(second, covered)| Some(count(second) as f64 / covered.max(0.001)))
        .collect()
}

pub(super) fn render_comparison(
    before: &Results,
    after: &Results,
    comparison: &Comparison,
) -> Result<String, String> {
    let curves: Vec<(String, &[(u64, u64)])> = [("before", before), ("after", after)]
        .into_iter()
        .filter_map(|(name, results)| {
            Some((name.to_owned(), results.of(Operation::Search)?.histogram.as_slice()))
        })
        .collect();
    let charts: Vec<Chart> = Chart::latency_curve(&curves).into_iter().collect();
    let runs = [RunView::of("Before", before), RunView::of("After", after)];
    render("trawl bench: two runs", &runs, &charts, Some(comparison))
}

fn render(
    title: &str,
    runs: &[RunView<'_>],
    charts: &[Chart],
    comparison: Option<&Comparison>,
) -> Result<String, String> {
    let mut environment = Environment::new();
    let wrong = |error: minijinja::Error| format!("the report cannot be created: {error}");
    // The name `.html` turns on escaping.
    environment.add_template("report.html", TEMPLATE).map_err(wrong)?;
    let view = ReportView {
        title,
        runs,
        charts,
        changes: comparison.map(changes).unwrap_or_default(),
        differences: comparison.map(|comparison| comparison.differences.as_slice()).unwrap_or_default(),
        slower: comparison.map(|comparison| comparison.slower.as_slice()).unwrap_or_default(),
    };
    environment.get_template("report.html").and_then(|template| template.render(Serde(&view))).map_err(wrong)
}

fn changes(comparison: &Comparison) -> Vec<ChangeRow> {
    let figure = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), milliseconds);
    let row = |row: &super::compare::ComparisonRow| ChangeRow {
        name: format!("{} {}", row.operation, label(row.measure)),
        before: figure(row.before),
        after: figure(row.after),
        change: row.change_percent.map(|change| format!("{change:+.1} %")).unwrap_or_default(),
    };
    comparison.rows.iter().map(row).collect()
}

impl<'a> RunView<'a> {
    fn of(name: &'a str, results: &'a Results) -> Self {
        let rows = results
            .operations
            .iter()
            .flat_map(|operation| [TableRow::of(operation), TableRow::part(operation)]);
        let failures = results.operations.iter().flat_map(|operation| {
            operation.failures.iter().map(|failure| FailureRow {
                operation: &operation.operation,
                kind: &failure.kind,
                count: failure.count,
                message: &failure.message,
            })
        });
        Self {
            name,
            summary: summary(&results.settings, results.seconds),
            facts: facts(results),
            notes: notes(results),
            shortfalls: &results.shortfalls,
            rows: rows.collect(),
            failures: failures.collect(),
        }
    }
}

impl TableRow {
    fn of(results: &OperationResults) -> Self {
        let mut cells = vec![results.succeeded.to_string(), format!("{:.1}", results.per_second)];
        cells.extend(quantiles(results.latency_ms));
        cells.extend([results.errors, results.partial].map(|count| count.to_string()));
        Self { name: results.operation.clone(), cells, is_part: false }
    }

    fn part(results: &OperationResults) -> Self {
        let mut cells = vec![String::new(); 2];
        cells.extend(quantiles(results.service_ms));
        cells.extend([String::new(), String::new()]);
        Self { name: "of it, after it was sent".to_owned(), cells, is_part: true }
    }
}

fn quantiles(quantiles: Option<Quantiles>) -> [String; 5] {
    quantiles.map_or_else(Default::default, |Quantiles { p50, p90, p99, p999, max, .. }| {
        [p50, p90, p99, p999, max].map(milliseconds)
    })
}

fn facts(results: &Results) -> Vec<(&'static str, String)> {
    let settings = &results.settings;
    let mut facts = vec![
        ("Command", results.command.clone()),
        ("Begun", results.begun_at.clone()),
        ("Server", settings.server.clone()),
        ("Queries", format!("{} of {}", settings.queries, settings.query_file)),
        (
            "Load made by",
            format!("trawl {}, {} threads; {}", results.version, settings.threads, results.machine),
        ),
    ];
    let optional = [
        ("Order of the queries", settings.seed.map(|seed| format!("by the seed {seed}"))),
        ("Module", settings.module.clone()),
        ("Sort", settings.sort.clone()),
        ("Items of a page", settings.limit.map(|limit| limit.to_string())),
        ("Pages of a search", (settings.pages > 1).then(|| settings.pages.to_string())),
        ("Most under way", settings.rate.map(|_| settings.max_in_flight.to_string())),
        ("Writes go to", settings.write_module.clone()),
    ];
    facts.extend(optional.into_iter().filter_map(|(name, value)| Some((name, value?))));
    facts.push(("Longest request", format!("{} s", settings.request_timeout_seconds)));
    facts
}

fn plural(operation: Operation) -> &'static str {
    match operation {
        Operation::Search => "searches",
        Operation::Page => "further pages",
        Operation::Write => "writes",
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
        assert_eq!(page.matches("<figure>").count(), 4);
        assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
        assert!(page.contains("&lt;script&gt;alert(1)") && page.contains("&lt;img src=x&gt;"));
        assert!(!page.contains("<script>alert") && !page.contains("<img"));
    }

    #[test]
    fn answers_after_end_are_not_throughput() {
        let mut results = results(4.0, 100.0, 0);
        let second = |searches| Second { searches, ..Second::default() };
        results.timeline = vec![second(100), second(50), second(3)];
        let rates = |seconds| {
            let results = Results { seconds, ..results.clone() };
            rates(&results, |second| second.searches).into_iter().flatten().collect::<Vec<_>>()
        };
        assert_eq!(rates(2.01), [100.0, 50.0]);
        assert_eq!(rates(2.5), [100.0, 50.0, 6.0]);
        assert_eq!(rates(0.5), [200.0]);
    }

    #[test]
    fn comparison_shows_both_runs() {
        let (before, after) = (results(4.0, 100.0, 0), results(8.0, 100.0, 0));
        let comparison = Comparison::of(&before, &after, Some(10.0));
        let page = render_comparison(&before, &after, &comparison).unwrap();
        assert_eq!(page.matches("<figure>").count(), 1);
        assert!(page.contains("+100.0 %") && page.contains("search p99Ms: 8.000, before 4.000"), "{page}");
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
