//! What a run came to, as `--json` prints it, `--save` keeps it, and `compare` and the report read it again.

use serde::{Deserialize, Serialize};

use super::recorder::{Measured, Operation, Tally, millis};

/// The form of this file's types; one of another form is not read.
const FORMAT: &str = "trawl-bench/1";

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Results {
    /// [`FORMAT`].
    pub(super) format: String,
    /// The version of the load generator.
    pub(super) version: String,
    /// The command as it was given, without what is secret.
    pub(super) command: String,
    /// When the measured part began, RFC 3339.
    pub(super) begun_at: String,
    /// Which machine made the load: cores and system. The server may be on another one.
    pub(super) machine: String,
    /// What was asked for.
    pub(super) settings: Settings,
    /// From the beginning of the measured part to its end, or to the last answer where that came later.
    pub(super) seconds: f64,
    /// How far requests began as they were meant to; null in a closed loop.
    pub(super) arrivals: Option<Arrivals>,
    /// The same of the writes; null without writes.
    pub(super) write_arrivals: Option<Arrivals>,
    /// Each operation that took part.
    pub(super) operations: Vec<OperationResults>,
    /// The load generator's own delay in an open loop, milliseconds: how much later than intended requests began although
    /// a place was free. It is part of their latency.
    pub(super) own_delay_ms: Option<Quantiles>,
    /// Each second.
    pub(super) timeline: Vec<Second>,
    /// The made-up items; null without writes.
    pub(super) items: Option<MadeUpItems>,
    /// In which ways the run fell short, as sentences; none is exit code 0.
    pub(super) shortfalls: Vec<String>,
}

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Settings {
    /// The server's address.
    pub(super) server: String,
    /// Where the queries are from, and how many they are.
    pub(super) query_file: String,
    pub(super) queries: usize,
    /// A checksum of them, whatever their order: runs of other questions do not compare.
    pub(super) queries_checksum: String,
    /// Their order, where it is not the file's.
    pub(super) seed: Option<u64>,
    /// What queries take that do not say it themselves.
    pub(super) module: Option<String>,
    pub(super) limit: Option<u16>,
    pub(super) sort: Option<String>,
    /// The most pages of a search.
    pub(super) pages: u32,
    /// Searches a second of an open loop; null in a closed one.
    pub(super) rate: Option<f64>,
    /// Clients of a closed loop; null in an open one.
    pub(super) clients: Option<u32>,
    /// The most searches under way in an open loop.
    pub(super) max_in_flight: u32,
    pub(super) warm_up_seconds: f64,
    pub(super) duration_seconds: f64,
    pub(super) request_timeout_seconds: f64,
    pub(super) writes_per_second: Option<f64>,
    pub(super) write_module: Option<String>,
    /// Threads that made the load.
    pub(super) threads: usize,
}

/// How far the requests of a schedule began as they were meant to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Arrivals {
    /// Requests that were due.
    pub(super) due: u64,
    /// Those that began before the end.
    pub(super) begun_in_time: u64,
    /// Those that never began: at the end they had waited longer than a request may take. They are errors.
    pub(super) never_begun: u64,
    /// Those for which no place was free when they were due (`--max-in-flight`).
    pub(super) waited: u64,
}

impl Arrivals {
    /// Whether the rate was not kept: more than one in a hundred had not begun by the end.
    pub(super) fn fell_behind(&self) -> bool {
        let late = self.due.saturating_sub(self.begun_in_time);
        late > 1 && late.saturating_mul(100) > self.due
    }
}

/// What was measured of one operation. Latencies are those of successes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OperationResults {
    /// `search`, `page` (a further one), `write`.
    pub(super) operation: String,
    /// Successes.
    pub(super) succeeded: u64,
    /// Successes a second.
    pub(super) per_second: f64,
    /// Successes that were partial.
    pub(super) partial: u64,
    /// Errors, and by kind.
    pub(super) errors: u64,
    pub(super) failures: Vec<FailureCount>,
    /// From the intended start on; null without a success.
    pub(super) latency_ms: Option<Quantiles>,
    /// From the real start on.
    pub(super) service_ms: Option<Quantiles>,
    /// The latencies: nanoseconds (to three digits), ascending, and how often each.
    pub(super) histogram: Vec<(u64, u64)>,
}

/// Errors of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FailureCount {
    /// `HTTP 503`, `code 430001`, `timeout`, `connect`, ….
    pub(super) kind: String,
    pub(super) count: u64,
    /// The words of the first.
    pub(super) message: String,
}

/// Milliseconds that a share of the requests did not exceed.
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
    /// Those of a histogram of nanoseconds; none of an empty one.
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

/// What came to its end in one second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Second {
    pub(super) searches: u64,
    pub(super) pages: u64,
    pub(super) writes: u64,
    pub(super) errors: u64,
    /// Latency of the searches; null where there are none.
    pub(super) p50_ms: Option<f64>,
    pub(super) p99_ms: Option<f64>,
}

/// The items that the run made up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MadeUpItems {
    /// Their ids are this and a number.
    pub(super) id_prefix: String,
    /// How many were sent.
    pub(super) sent: u64,
    /// How many of these could not be deleted at the end.
    pub(super) left: u64,
}

impl Results {
    /// Reads what `--save` wrote.
    ///
    /// # Errors
    /// A sentence that does not name the file.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let results: Self = serde_json::from_str(text)
            .map_err(|error| format!("not the results of a run of trawl bench: {error}"))?;
        if results.format == FORMAT {
            Ok(results)
        } else {
            Err(format!("the results have the form {:?}; this version reads {FORMAT:?}", results.format))
        }
    }

    /// The results of an operation, if it took part.
    pub(super) fn of(&self, operation: Operation) -> Option<&OperationResults> {
        self.operations.iter().find(|results| results.operation == operation.name())
    }

    /// The form that this version writes.
    pub(super) fn format() -> String {
        FORMAT.to_owned()
    }
}

impl OperationResults {
    /// Each operation that took part.
    pub(super) fn all(measured: &Measured, seconds: f64, never_begun: [u64; 3]) -> Vec<Self> {
        let of = |operation: Operation| {
            let tally = measured.of(operation);
            let never_begun = never_begun[operation as usize];
            (!tally.latency.is_empty() || tally.errors() + never_begun > 0)
                .then(|| Self::new(operation, tally, seconds, never_begun))
        };
        Operation::ALL.into_iter().filter_map(of).collect()
    }

    #[expect(clippy::cast_precision_loss, reason = "a rate to look at")]
    fn new(operation: Operation, tally: &Tally, seconds: f64, never_begun: u64) -> Self {
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

    /// Requests that came to an end, in whichever way.
    pub(super) fn requests(&self) -> u64 {
        self.succeeded + self.errors
    }
}
