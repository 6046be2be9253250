//! Results of a run, for `--json`, `--save` and `compare`.

use serde::{Deserialize, Serialize};

pub(super) use super::recorder::Second;

use crate::json;

use super::recorder::{BenchOperation, OperationTally, Recorder, millis};

const FORMAT: &str = "trawl-bench/1";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Results {
    pub(super) format: String,
    pub(super) version: String,
    pub(super) command: String,
    /// End of the warm-up, RFC 3339.
    pub(super) begun_at: String,
    pub(super) machine: String,
    pub(super) settings: RunSettings,
    /// Time after the warm-up, until the end or a later last answer.
    pub(super) seconds: f64,
    /// Null in a closed loop.
    pub(super) arrivals: Option<Arrivals>,
    pub(super) write_arrivals: Option<Arrivals>,
    pub(super) operations: Vec<OperationResults>,
    /// Load generator's own delay in an open loop; part of the latency.
    pub(super) own_delay_ms: Option<Quantiles>,
    pub(super) timeline: Vec<Second>,
    pub(super) items: Option<GeneratedItems>,
    /// Reasons for exit code 1.
    pub(super) shortfalls: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunSettings {
    pub(super) server: String,
    pub(super) query_file: String,
    pub(super) queries: usize,
    pub(super) queries_checksum: String,
    pub(super) seed: Option<u64>,
    pub(super) module: Option<String>,
    pub(super) limit: Option<u16>,
    pub(super) sort: Option<String>,
    pub(super) pages: u32,
    /// Null in a closed loop.
    pub(super) rate: Option<f64>,
    pub(super) clients: Option<u32>,
    pub(super) max_in_flight: u32,
    pub(super) warm_up_seconds: f64,
    pub(super) duration_seconds: f64,
    pub(super) request_timeout_seconds: f64,
    pub(super) writes_per_second: Option<f64>,
    pub(super) write_module: Option<String>,
    pub(super) threads: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Arrivals {
    pub(super) due: u64,
    pub(super) begun_in_time: u64,
    /// Waited longer than a request may take; errors.
    pub(super) never_begun: u64,
    /// No task was free when due (`--max-in-flight`).
    pub(super) waited: u64,
}

impl Arrivals {
    /// Whether over 1 % had not begun by the end.
    pub(super) fn fell_behind(&self) -> bool {
        let late = self.due.saturating_sub(self.begun_in_time);
        late > 1 && late.saturating_mul(100) > self.due
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OperationResults {
    pub(super) operation: String,
    pub(super) succeeded: u64,
    pub(super) per_second: f64,
    pub(super) partial: u64,
    pub(super) errors: u64,
    pub(super) failures: Vec<FailureCount>,
    /// Latencies from the intended start; null without a success.
    pub(super) latency_ms: Option<Quantiles>,
    pub(super) service_ms: Option<Quantiles>,
    /// Nanoseconds (three digits), ascending, and their counts.
    pub(super) histogram: Vec<(u64, u64)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FailureCount {
    pub(super) kind: String,
    pub(super) count: u64,
    pub(super) message: String,
}

/// Milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Quantiles {
    pub(super) p50: f64,
    pub(super) p90: f64,
    pub(super) p99: f64,
    pub(super) p999: f64,
    pub(super) max: f64,
    pub(super) mean: f64,
}

impl Quantiles {
    pub(super) fn of(histogram: &hdrhistogram::Histogram<u64>) -> Option<Self> {
        let at = |share| millis(histogram.value_at_quantile(share));
        (!histogram.is_empty()).then(|| Self {
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: millis(histogram.max()),
            mean: (histogram.mean() / 1_000.0).round() / 1_000.0,
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GeneratedItems {
    pub(super) id_prefix: String,
    pub(super) sent: u64,
    /// Items that were not deleted.
    pub(super) left: u64,
}

impl Results {
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let results: Self = json::read(text.as_bytes())
            .map_err(|reason| format!("not the results of trawl bench: {reason}"))?;
        if results.format == FORMAT {
            Ok(results)
        } else {
            Err(format!("format: must be {FORMAT}, not {}", results.format))
        }
    }

    pub(super) fn of(&self, operation: BenchOperation) -> Option<&OperationResults> {
        self.operations.iter().find(|results| results.operation == operation.name())
    }

    pub(super) fn format() -> String {
        FORMAT.to_owned()
    }
}

impl OperationResults {
    pub(super) fn all(measured: &Recorder, seconds: f64, never_begun: [u64; 3]) -> Vec<Self> {
        let of = |operation: BenchOperation| {
            let tally = measured.of(operation);
            let never_begun = never_begun[operation as usize];
            (!tally.latency.is_empty() || tally.errors() + never_begun > 0)
                .then(|| Self::new(operation, tally, seconds, never_begun))
        };
        BenchOperation::ALL.into_iter().filter_map(of).collect()
    }

    #[expect(clippy::cast_precision_loss, reason = "a rate to look at")]
    fn new(operation: BenchOperation, tally: &OperationTally, seconds: f64, never_begun: u64) -> Self {
        let mut failures: Vec<FailureCount> = tally
            .failures
            .iter()
            .map(|(kind, failures)| FailureCount {
                kind: kind.clone().into_owned(),
                count: failures.count,
                message: failures.message.clone(),
            })
            .collect();
        if never_begun > 0 {
            failures.push(FailureCount {
                kind: "never begun".to_owned(),
                count: never_begun,
                message: "no place became free before the time was over".to_owned(),
            });
        }
        failures.sort_by_key(|failure| std::cmp::Reverse(failure.count));
        let succeeded = tally.latency.len();
        Self {
            operation: operation.name().to_owned(),
            succeeded,
            per_second: (succeeded as f64 / seconds.max(0.001) * 10.0).round() / 10.0,
            partial: tally.partial,
            errors: tally.errors() + never_begun,
            failures,
            latency_ms: Quantiles::of(&tally.latency),
            service_ms: Quantiles::of(&tally.service),
            histogram: tally
                .latency
                .iter_recorded()
                .map(|step| (step.value_iterated_to(), step.count_since_last_iteration()))
                .collect(),
        }
    }

    pub(super) fn requests(&self) -> u64 {
        self.succeeded + self.errors
    }
}
