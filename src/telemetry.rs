//! Logs, metrics and exported spans.

mod export;
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
use trawl_search::panics;

pub use self::export::exports;

use self::export::Export;
use crate::config::{self, Log, LogFormat};

/// Upper bounds of histogram buckets, in seconds.
const SECONDS: [f64; 14] =
    [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0];

/// Logging and, where configured, export of spans.
#[derive(Debug)]
pub struct Telemetry {
    export: Option<Export>,
}

/// Starts logging to standard error, and the export of spans.
///
/// # Errors
/// A message that names the setting.
pub fn start(log: &Log, spans: &config::TelemetrySettings) -> Result<Telemetry, String> {
    panics::note_places();
    let filter = EnvFilter::try_new(&log.filter)
        .map_err(|_| "log.filter: must be a filter such as info or trawl=debug,warn".to_owned())?;
    let registry = tracing_subscriber::registry();
    let export = Export::start(spans)?;
    let started = match &export {
        None => registry.with(log_lines(log)).with(filter).try_init(),
        // The log level must not change what is exported.
        Some(export) => registry.with(export.layer()).with(log_lines(log).with_filter(filter)).try_init(),
    };
    started.map_err(|error| error.to_string())?;
    Ok(Telemetry { export })
}

fn log_lines<S: Subscriber + for<'span> LookupSpan<'span>>(log: &Log) -> Box<dyn Layer<S> + Send + Sync> {
    let lines = fmt::layer().with_writer(std::io::stderr).with_ansi(std::io::stderr().is_terminal());
    match log.format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().boxed(),
    }
}

impl Telemetry {
    /// Flushes spans, for up to two seconds.
    pub async fn stop(self) {
        if let Some(export) = self.export {
            export.stop().await;
        }
    }
}

/// Installs the recorder of this process once and returns its handle.
pub fn collect_metrics() -> Result<PrometheusHandle, BuildError> {
    static HANDLE: Mutex<Option<PrometheusHandle>> = Mutex::new(None);
    // Held until installed: another recorder's handle would show nothing.
    let mut handle = HANDLE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(handle) = handle.as_ref() {
        return Ok(handle.clone());
    }
    let recorder = PrometheusBuilder::new().set_buckets(&SECONDS)?.build_recorder();
    let new = handle.insert(recorder.handle()).clone();
    if metrics::set_global_recorder(recorder).is_err() {
        tracing::warn!("another metrics recorder is installed; this server's metrics will not show");
    }
    Ok(new)
}

static ALLOCATED: OnceLock<fn() -> usize> = OnceLock::new();

/// Adds `trawl_allocated_bytes` to the metrics.
pub fn report_allocated(allocated: fn() -> usize) {
    let _first = ALLOCATED.set(allocated);
}

/// Updates gauges that no event updates.
pub fn update_gauges() {
    let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    metrics::gauge!("trawl_runtime_tasks").set(u32::try_from(tasks).unwrap_or(u32::MAX));
    if let Some(allocated) = ALLOCATED.get() {
        #[allow(clippy::cast_precision_loss, reason = "exact up to 2^53 bytes")]
        metrics::gauge!("trawl_allocated_bytes").set(allocated() as f64);
    }
}
