//! Comparison of two runs.

use serde::Serialize;

use super::{
    recorder::BenchOperation,
    results::{OperationResults, Quantiles, Results, RunSettings},
};

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Comparison {
    pub(super) before: String,
    pub(super) after: String,
    pub(super) differences: Vec<String>,
    pub(super) rows: Vec<ComparisonRow>,
    pub(super) slower: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ComparisonRow {
    pub(super) operation: String,
    pub(super) measure: &'static str,
    pub(super) before: Option<f64>,
    pub(super) after: Option<f64>,
    /// Null where a figure is missing or the earlier is 0.
    pub(super) change_percent: Option<f64>,
}

struct Measure {
    name: &'static str,
    of: fn(&OperationResults) -> Option<f64>,
    worse: WorseDirection,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WorseDirection {
    Higher,
    Lower,
    /// Shown, but too random to judge.
    Unjudged,
}

const MEASURES: [Measure; 6] = [
    Measure { name: "p50Ms", of: |results| quantile(results, |of| of.p50), worse: WorseDirection::Higher },
    Measure { name: "p90Ms", of: |results| quantile(results, |of| of.p90), worse: WorseDirection::Higher },
    Measure { name: "p99Ms", of: |results| quantile(results, |of| of.p99), worse: WorseDirection::Higher },
    Measure {
        name: "p999Ms",
        of: |results| quantile(results, |of| of.p999),
        worse: WorseDirection::Unjudged,
    },
    Measure { name: "maxMs", of: |results| quantile(results, |of| of.max), worse: WorseDirection::Unjudged },
    Measure { name: "perSecond", of: |results| Some(results.per_second), worse: WorseDirection::Lower },
];

fn quantile(results: &OperationResults, of: fn(&Quantiles) -> f64) -> Option<f64> {
    results.latency_ms.as_ref().map(of)
}

impl Comparison {
    /// `threshold` is the tolerated regression in percent.
    pub(super) fn of(before: &Results, after: &Results, threshold: Option<f64>) -> Self {
        let mut comparison = Self {
            before: before.begun_at.clone(),
            after: after.begun_at.clone(),
            differences: differences(&before.settings, &after.settings),
            rows: Vec::new(),
            slower: Vec::new(),
        };
        if threshold.is_some() && before.settings.queries_checksum != after.settings.queries_checksum {
            comparison.slower.push("the runs used different queries".to_owned());
        }
        for operation in BenchOperation::ALL {
            let runs = [before.of(operation), after.of(operation)];
            if runs != [None, None] {
                comparison.add(operation.name(), runs, threshold);
            }
        }
        comparison
    }

    fn add(&mut self, operation: &str, runs: [Option<&OperationResults>; 2], threshold: Option<f64>) {
        for measure in &MEASURES {
            let [before, after] = runs.map(|results| results.and_then(measure.of));
            let row = ComparisonRow::new(operation, measure.name, before, after);
            if let Some(threshold) = threshold {
                self.slower.extend(row.is_worse(measure.worse, threshold));
            }
            self.rows.push(row);
        }
        #[expect(clippy::cast_precision_loss, reason = "a share to look at")]
        let error_percent =
            |results: &OperationResults| results.errors as f64 * 100.0 / (results.requests() as f64).max(1.0);
        let [before, after] = runs.map(|results| results.map(error_percent));
        let row = ComparisonRow {
            change_percent: None,
            ..ComparisonRow::new(operation, "errorPercent", before, after)
        };
        // New errors are a regression at any threshold.
        if threshold.is_some() && after.unwrap_or_default() > before.unwrap_or_default() {
            let [before, after] = [before, after].map(|percent| figure(percent, 2));
            self.slower.push(format!("{operation}: {after} % of the requests failed, before {before} %"));
        }
        self.rows.push(row);
    }
}

impl ComparisonRow {
    fn new(operation: &str, measure: &'static str, before: Option<f64>, after: Option<f64>) -> Self {
        let change = before.zip(after).filter(|(before, _)| *before > 0.0);
        let change_percent = change.map(|(before, after)| ((after / before - 1.0) * 1_000.0).round() / 10.0);
        Self { operation: operation.to_owned(), measure, before, after, change_percent }
    }

    fn is_worse(&self, worse: WorseDirection, threshold: f64) -> Option<String> {
        if worse == WorseDirection::Unjudged || self.before.is_none() {
            return None;
        }
        let worsening = match (self.change_percent, worse) {
            (Some(change), WorseDirection::Lower) => -change,
            (Some(change), _) => change,
            (None, _) if self.after.is_none() => f64::INFINITY,
            (None, _) => return None,
        };
        (worsening > threshold).then(|| {
            let [before, after] = [self.before, self.after].map(|value| figure(value, 3));
            let change = self.change_percent.map(|change| format!(" ({change:+} %)")).unwrap_or_default();
            format!("{} {}: {after}, before {before}{change}", self.operation, self.measure)
        })
    }
}

fn figure(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "none".to_owned(), |value| format!("{value:.digits$}"))
}

/// Ignores where and how long the runs went.
fn differences(before: &RunSettings, after: &RunSettings) -> Vec<String> {
    let settings = |settings: &RunSettings| serde_json::to_value(settings).unwrap_or_default();
    let (before, after) = (settings(before), settings(after));
    let Some(names) = before.as_object() else { return Vec::new() };
    let may_differ = ["server", "queryFile", "durationSeconds"];
    names
        .keys()
        .filter(|name| !may_differ.contains(&name.as_str()) && before[*name] != after[*name])
        .map(|name| format!("{name}: {} before, {} after", before[name], after[name]))
        .collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    #[test]
    fn runs_of_different_queries_are_not_equal() {
        let (before, mut after) = (results(1.0, 10.0, 0), results(1.0, 10.0, 0));
        assert_eq!(Comparison::of(&before, &after, Some(10.0)).slower, [] as [String; 0]);
        after.settings.queries_checksum = "other".to_owned();
        assert_eq!(Comparison::of(&before, &after, Some(10.0)).slower.len(), 1);
        assert_eq!(Comparison::of(&before, &after, None).differences.len(), 1);
    }

    pub(in super::super) fn results(p99: f64, per_second: f64, errors: u64) -> Results {
        let latency = Quantiles { p50: 1.0, p90: 2.0, p99, p999: p99, max: p99 * 3.0, mean: 1.2 };
        let settings = serde_json::json!({
            "server": "http://h/", "queryFile": "q.txt", "queries": 3, "queriesChecksum": "0badcafe", "pages": 1, "rate": 100.0, "maxInFlight": 256,
            "warmUpSeconds": 5.0, "durationSeconds": 30.0, "requestTimeoutSeconds": 10.0, "threads": 2,
        });
        Results {
            format: Results::format(),
            version: "0".to_owned(),
            command: "trawl bench q.txt".to_owned(),
            begun_at: "2026-01-01T00:00:00Z".to_owned(),
            machine: "4 cores, linux x86_64".to_owned(),
            settings: serde_json::from_value(settings).unwrap(),
            seconds: 30.0,
            arrivals: None,
            write_arrivals: None,
            operations: vec![OperationResults {
                operation: "search".to_owned(),
                succeeded: 1_000,
                per_second,
                partial: 0,
                errors,
                failures: Vec::new(),
                latency_ms: Some(latency),
                service_ms: Some(latency),
                histogram: vec![(1_000_000, 900), (2_000_000, 90), (5_000_000, 10)],
            }],
            own_delay_ms: None,
            timeline: Vec::new(),
            items: None,
            shortfalls: Vec::new(),
        }
    }

    #[test]
    fn regressions_beyond_the_threshold_are_named() {
        let before = results(4.0, 100.0, 0);
        let slower = |after: &Results, threshold| Comparison::of(&before, after, threshold).slower;
        assert_eq!(slower(&results(4.3, 95.0, 0), Some(10.0)), Vec::<String>::new());
        assert_eq!(slower(&results(9.0, 50.0, 10), None), Vec::<String>::new(), "nothing is judged unasked");
        assert_eq!(
            slower(&results(5.0, 80.0, 1_000), Some(10.0)),
            [
                "search p99Ms: 5.000, before 4.000 (+25 %)",
                "search perSecond: 80.000, before 100.000 (-20 %)",
                "search: 50.00 % of the requests failed, before 0.00 %",
            ]
        );
        let mut none = results(4.0, 100.0, 0);
        none.operations.clear();
        assert_eq!(slower(&none, Some(10.0))[0], "search p50Ms: none, before 1.000");
        assert!(Comparison::of(&none, &before, Some(0.0)).slower.is_empty(), "what is new is not slower");
    }

    #[test]
    fn differing_settings_are_named() {
        let before = results(4.0, 100.0, 0);
        let mut after = before.clone();
        after.settings.rate = Some(200.0);
        after.settings.server = "http://other/".to_owned();
        let comparison = Comparison::of(&before, &after, None);
        assert_eq!(comparison.differences, ["rate: 100.0 before, 200.0 after"]);
        let p99 = comparison.rows.iter().find(|row| row.measure == "p99Ms").unwrap();
        assert_eq!((p99.before, p99.after, p99.change_percent), (Some(4.0), Some(4.0), Some(0.0)));
    }

    #[test]
    fn saved_results_are_read_again() {
        let results = results(4.0, 100.0, 2);
        let text = serde_json::to_string(&results).unwrap();
        assert_eq!(Results::read(&text), Ok(results));
        let other = text.replace("trawl-bench/1", "trawl-bench/9");
        assert!(Results::read(&other).unwrap_err().contains("trawl-bench/9"));
        assert!(Results::read("{}").unwrap_err().contains("not the results"));
    }
}
