//! Logs and metrics.

pub mod series;

use std::{
    io::IsTerminal,
    sync::{Mutex, PoisonError},
};

use metrics_exporter_prometheus::{BuildError, PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::EnvFilter;

use crate::config::{Log, LogFormat};

/// Upper bounds of the histograms' buckets, in seconds.
const SECONDS: [f64; 14] =
    [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0];

/// Starts logging to standard error.
///
/// # Errors
/// A message for the operator when the filter cannot be read.
pub fn start_logging(log: &Log) -> Result<(), String> {
    let filter = EnvFilter::try_new(&log.filter).map_err(|error| format!("log.filter: {error}"))?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    let started = match log.format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
    started.map_err(|error| error.to_string())
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
