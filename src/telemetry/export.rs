//! Exports spans of requests and source calls by OTLP.
//!
//! A bounded queue drops further spans, so that requests never wait for the collector.

use std::{
    fmt, mem,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use axum::{
    body::Bytes,
    http::{HeaderMap, Request, Response, header},
};
use opentelemetry::{KeyValue, trace::TracerProvider};
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{Protocol, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    trace::{BatchConfigBuilder, BatchSpanProcessor, Sampler, SdkTracerProvider, SpanData, SpanExporter},
};
use reqwest::{blocking::Client, redirect};
use tracing::{Metadata, level_filters::LevelFilter};
use tracing_subscriber::{Layer, Registry, filter::filter_fn};

use crate::config;

const QUEUE_SPANS: usize = 4_096;
const BATCH_SPANS: usize = 512;
const SEND_INTERVAL: Duration = Duration::from_secs(2);
/// Includes retries.
const SEND_TIMEOUT: Duration = Duration::from_secs(5);
/// Delays shutdown.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);
const WARN_INTERVAL: Duration = Duration::from_mins(1);

const EXPORTED: [&str; 2] = ["request", "source"];

static EXPORTS: AtomicBool = AtomicBool::new(false);

/// Whether spans are exported.
pub fn exports() -> bool {
    EXPORTS.load(Ordering::Relaxed)
}

#[derive(Debug)]
pub(super) struct Export {
    provider: SdkTracerProvider,
}

impl Export {
    pub(super) fn start(settings: &config::TelemetrySettings) -> Result<Option<Self>, String> {
        let Some(url) = settings.traces_url()? else { return Ok(None) };
        let exporter = opentelemetry_otlp::SpanExporter::builder()
            .with_http()
            .with_http_client(CollectorClient::new(settings)?)
            .with_endpoint(url)
            .with_protocol(Protocol::HttpBinary)
            .with_timeout(SEND_TIMEOUT)
            .build()
            .map_err(|error| format!("telemetry: {error}"))?;
        let batches = BatchConfigBuilder::default()
            .with_max_queue_size(QUEUE_SPANS)
            .with_max_export_batch_size(BATCH_SPANS)
            .with_scheduled_delay(SEND_INTERVAL)
            .build();
        let exporter = WarningExporter { exporter, lost: Mutex::default() };
        let resource = Resource::builder_empty()
            .with_service_name(settings.service_name.clone())
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .build();
        // No trace has holes: its origin decides.
        let sampler = Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(settings.sample_ratio)));
        let provider = SdkTracerProvider::builder()
            .with_span_processor(BatchSpanProcessor::builder(exporter).with_batch_config(batches).build())
            .with_resource(resource)
            .with_sampler(sampler)
            .build();
        Ok(Some(Self { provider }))
    }

    /// Our own spans at any log level. Events may hold private data.
    pub(super) fn layer(&self) -> impl Layer<Registry> + Send + Sync + use<> {
        EXPORTS.store(true, Ordering::Relaxed);
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer(env!("CARGO_PKG_NAME")))
            .with_context_activation(false)
            .with_tracked_inactivity(false)
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_filter(filter_fn(is_exported).with_max_level_hint(LevelFilter::DEBUG))
    }

    pub(super) async fn stop(self) {
        let flush = tokio::task::spawn_blocking(move || self.provider.shutdown_with_timeout(FLUSH_TIMEOUT));
        if !matches!(flush.await, Ok(Ok(()))) {
            tracing::warn!("the last spans may not have reached the collector");
        }
    }
}

fn is_exported(metadata: &Metadata<'_>) -> bool {
    metadata.is_span()
        && metadata.target().starts_with(env!("CARGO_PKG_NAME"))
        && EXPORTED.contains(&metadata.name())
}

/// Sends the configured headers alone; the exporter would add those of `OTEL_…`.
struct CollectorClient {
    client: Client,
    headers: HeaderMap,
}

impl CollectorClient {
    /// reqwest's blocking client needs its own thread.
    fn new(settings: &config::TelemetrySettings) -> Result<Self, String> {
        let headers = settings.header_map()?;
        let make =
            || Client::builder().redirect(redirect::Policy::none()).no_proxy().timeout(SEND_TIMEOUT).build();
        let client = thread::spawn(make)
            .join()
            .map_err(|_panic| "telemetry: the HTTP client could not start".to_owned())?;
        let client = client.map_err(|error| format!("telemetry: {error}"))?;
        Ok(Self { client, headers })
    }
}

impl fmt::Debug for CollectorClient {
    /// Hides the headers, which are secret.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CollectorClient").finish_non_exhaustive()
    }
}

#[async_trait::async_trait]
impl HttpClient for CollectorClient {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (mut parts, body) = request.into_parts();
        let given = mem::take(&mut parts.headers);
        let own = [header::CONTENT_TYPE, header::CONTENT_ENCODING, header::USER_AGENT];
        let own = own.into_iter().filter_map(|name| given.get(&name).cloned().map(|value| (name, value)));
        parts.headers.extend(own);
        parts.headers.extend(self.headers.clone());
        self.client.send_bytes(Request::from_parts(parts, body)).await
    }
}

#[derive(Debug)]
struct WarningExporter<E> {
    exporter: E,
    lost: Mutex<LostSpans>,
}

#[derive(Debug, Default)]
struct LostSpans {
    spans: usize,
    warned: Option<Instant>,
}

impl LostSpans {
    fn count(&mut self, spans: usize, now: Instant) -> Option<usize> {
        self.spans += spans;
        let is_due = self.warned.is_none_or(|warned| now.saturating_duration_since(warned) >= WARN_INTERVAL);
        is_due.then(|| {
            self.warned = Some(now);
            std::mem::take(&mut self.spans)
        })
    }
}

impl<E: SpanExporter> SpanExporter for WarningExporter<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        let result = self.exporter.export(batch).await;
        if let Err(error) = &result {
            let due = self.lost.lock().unwrap_or_else(PoisonError::into_inner).count(spans, Instant::now());
            if let Some(spans) = due {
                tracing::warn!(%error, spans, "cannot export spans to the collector");
            }
        }
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_warned_of_at_most_once_a_minute() {
        let mut lost = LostSpans::default();
        let start = Instant::now();
        assert_eq!(lost.count(5, start), Some(5));
        assert_eq!(lost.count(3, start), None);
        assert_eq!(lost.count(4, start + WARN_INTERVAL / 2), None);
        assert_eq!(lost.count(1, start + WARN_INTERVAL), Some(8));
        assert_eq!(lost.count(1, start + WARN_INTERVAL), None);
    }
}
