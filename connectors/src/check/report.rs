use std::time::Duration;

use serde::Serialize;

/// Result of a check.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CheckReport)]
pub struct Report {
    /// Source's address.
    pub url: String,
    /// `GET` or `POST`.
    pub method: &'static str,
    /// Whether no clause failed.
    pub passed: bool,
    /// All, in a fixed order.
    pub clauses: Vec<Finding>,
    /// Latency of the answered calls.
    pub latency_ms: LatencyPercentiles,
}

/// Verdict on one clause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Finding {
    /// Clause's stable name.
    pub id: &'static str,
    /// Clause as a sentence.
    pub title: &'static str,
    /// Verdict.
    pub verdict: ClauseVerdict,
    /// Evidence, or why there is none. Safe to print: cleaned, cut, without tokens.
    pub seen: String,
    /// Required behaviour.
    pub expected: &'static str,
    /// Deciding call as a command line; `$TOKEN` stands for the token.
    pub curl: Option<String>,
    /// Whether the clause is about something that this source does not have.
    #[serde(skip)]
    pub is_beside_the_point: bool,
}

impl Report {
    /// Number of clauses that are undecided, and could be decided.
    pub fn open(&self) -> usize {
        let is_open =
            |finding: &&Finding| finding.verdict == ClauseVerdict::Unknown && !finding.is_beside_the_point;
        self.clauses.iter().filter(is_open).count()
    }
}

/// Verdict on a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ClauseVerdict {
    /// Kept in every call.
    Pass,
    /// Broken.
    Fail,
    /// Undecided.
    Unknown,
}

/// Percentiles in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, utoipa::ToSchema)]
pub struct LatencyPercentiles {
    /// Median.
    pub p50: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
}

/// Final verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Decided {
    /// Index in [`Report::clauses`].
    pub index: usize,
    /// Number of clauses.
    pub count: usize,
    /// Element of [`Report::clauses`].
    #[serde(flatten)]
    pub finding: Finding,
}

impl LatencyPercentiles {
    pub(super) fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let rank = |percent: usize| {
            let place = (times.len() * percent).div_ceil(100).checked_sub(1)?;
            times.get(place).map(|time| (time.as_secs_f64() * 10_000.0).round() / 10.0)
        };
        Self { p50: rank(50), p90: rank(90), p99: rank(99) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_nearest_rank() {
        let times = (1..=10).rev().map(Duration::from_millis).collect();
        assert_eq!(
            LatencyPercentiles::of(times),
            LatencyPercentiles { p50: Some(5.0), p90: Some(9.0), p99: Some(10.0) }
        );
        assert_eq!(
            LatencyPercentiles::of(vec![Duration::from_micros(1260)]),
            LatencyPercentiles { p50: Some(1.3), p90: Some(1.3), p99: Some(1.3) }
        );
        assert_eq!(LatencyPercentiles::of(Vec::new()), LatencyPercentiles::default());
    }
}
