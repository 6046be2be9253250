//! Logs, metrics, and the spans that are exported.

mod export;
pub mod series;
pub mod trace;

use std::{
    io::IsTerminal,
    sync::{Mutex, OnceLock, PoisonError},
};

use metrics_exporter_prometheus::{BuildError, PrometheusBuilder, PrometheusHandle};
use tracing::Subscriber;
use tracing_subscriber::{
    EnvFilter, Layer, fmt, layer::SubscriberExt, registry::LookupSpan, util::SubscriberInitExt,
};

pub use self::export::exports;

use self::export::Export;
use crate::config::{self, Log, LogFormat};

/// Upper bounds of the histograms' buckets, in seconds.
const SECONDS: [f64; 14] =
    [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0];

/// Logging, and the export of spans where there is one.
#[derive(Debug)]
pub struct Telemetry {
    export: Option<Export>,
}

/// Starts logging to standard error, and the export of spans where the settings name an endpoint.
///
/// # Errors
/// A message for the operator when the filter cannot be read, or the export cannot be set up.
pub fn start(log: &Log, spans: &config::Telemetry) -> Result<Telemetry, String> {
    let filter = EnvFilter::try_new(&log.filter).map_err(|error| format!("log.filter: {error}"))?;
    let registry = tracing_subscriber::registry();
    let export = Export::start(spans)?;
    let started = match &export {
        None => registry.with(lines(log)).with(filter).try_init(),
        // Each has its own filter, so that neither changes what the other sees.
        Some(export) => registry.with(export.layer()).with(lines(log).with_filter(filter)).try_init(),
    };
    started.map_err(|error| error.to_string())?;
    Ok(Telemetry { export })
}

/// What writes log lines.
fn lines<S: Subscriber + for<'span> LookupSpan<'span>>(log: &Log) -> Box<dyn Layer<S> + Send + Sync> {
    let lines = fmt::layer().with_writer(std::io::stderr).with_ansi(std::io::stderr().is_terminal());
    match log.format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().boxed(),
    }
}

impl Telemetry {
    /// Sends the spans that are left, where they are exported: two seconds at the most.
    pub async fn stop(self) {
        if let Some(export) = self.export {
            export.stop().await;
        }
    }
}

/// Collects the metrics of this process; every call answers the handle of the first one.
pub fn collect_metrics() -> Result<PrometheusHandle, BuildError> {
    static HANDLE: Mutex<Option<PrometheusHandle>> = Mutex::new(None);
    // Held until the recorder is the global one: a handle of another recorder would show nothing.
    let mut handle = HANDLE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(handle) = handle.as_ref() {
        return Ok(handle.clone());
    }
    let recorder = PrometheusBuilder::new().set_buckets(&SECONDS)?.build_recorder();
    let new = handle.insert(recorder.handle()).clone();
    if metrics::set_global_recorder(recorder).is_err() {
        tracing::warn!("metrics are collected elsewhere already; those of this server will not show");
    }
    Ok(new)
}

/// Tells the bytes that are allocated at this moment.
type Allocated = fn() -> usize;

static ALLOCATED: OnceLock<Allocated> = OnceLock::new();

/// Has `trawl_allocated_bytes` be among the metrics, of a program whose allocator counts them.
pub fn tell_allocated(allocated: Allocated) {
    let _first = ALLOCATED.set(allocated);
}

/// Looks at what nobody tells of by itself.
pub fn look() {
    let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    metrics::gauge!("trawl_runtime_tasks").set(u32::try_from(tasks).unwrap_or(u32::MAX));
    if let Some(allocated) = ALLOCATED.get() {
        #[allow(clippy::cast_precision_loss, reason = "exact up to 2^53 bytes")]
        metrics::gauge!("trawl_allocated_bytes").set(allocated() as f64);
    }
}
