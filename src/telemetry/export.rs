//! Sends the spans of requests and of calls of sources to a collector, by OTLP.
//!
//! A thread of its own sends them, from a bounded queue: what finds no room is lost without a word, and nobody waits for a
//! collector.

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

/// Spans that wait to be sent.
const QUEUE: usize = 4_096;
/// Spans that are sent together.
const BATCH: usize = 512;
/// Between two batches where there are fewer.
const SEND_EVERY: Duration = Duration::from_secs(2);
/// How long sending a batch may take, tries and all.
const SEND_WITHIN: Duration = Duration::from_secs(5);
/// How long the last batch holds the end of the server up.
const FLUSH_WITHIN: Duration = Duration::from_secs(2);
/// Between two warnings that spans are lost.
const WARN_EVERY: Duration = Duration::from_mins(1);

/// The spans that are exported.
const EXPORTED: [&str; 2] = ["request", "source"];

static EXPORTS: AtomicBool = AtomicBool::new(false);

/// Whether spans are exported.
pub fn exports() -> bool {
    EXPORTS.load(Ordering::Relaxed)
}

/// The export of spans under way.
#[derive(Debug)]
pub(super) struct Export {
    provider: SdkTracerProvider,
}

impl Export {
    /// Starts what sends spans; `None` where no endpoint is set.
    ///
    /// # Errors
    /// A message for the operator when the settings are not usable.
    pub(super) fn start(settings: &config::Telemetry) -> Result<Option<Self>, String> {
        let Some(url) = settings.traces_url()? else { return Ok(None) };
        let exporter = opentelemetry_otlp::SpanExporter::builder()
            .with_http()
            .with_http_client(Collector::new(settings)?)
            .with_endpoint(url)
            .with_protocol(Protocol::HttpBinary)
            .with_timeout(SEND_WITHIN)
            .build()
            .map_err(|error| format!("telemetry: {error}"))?;
        let batches = BatchConfigBuilder::default()
            .with_max_queue_size(QUEUE)
            .with_max_export_batch_size(BATCH)
            .with_scheduled_delay(SEND_EVERY)
            .build();
        let exporter = Reporting { exporter, losses: Mutex::default() };
        let resource = Resource::builder_empty()
            .with_service_name(settings.service_name.clone())
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .build();
        // Who began a trace decides whether it is exported, so that no trace has holes.
        let sampler = Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(settings.sample_ratio)));
        let provider = SdkTracerProvider::builder()
            .with_span_processor(BatchSpanProcessor::builder(exporter).with_batch_config(batches).build())
            .with_resource(resource)
            .with_sampler(sampler)
            .build();
        Ok(Some(Self { provider }))
    }

    /// What hands spans over to be sent: those of ours alone, whatever is logged, and no events, which may hold more than
    /// is anybody's business.
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

    /// Sends what is left, within a moment.
    pub(super) async fn stop(self) {
        let flush = tokio::task::spawn_blocking(move || self.provider.shutdown_with_timeout(FLUSH_WITHIN));
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

/// The collector's client, which sends the settings' headers there and nowhere else, and no others: the exporter would add
/// those of `OTEL_…` variables.
struct Collector {
    client: Client,
    headers: HeaderMap,
}

impl Collector {
    /// Its client is made on a thread of its own: it is one that blocks.
    fn new(settings: &config::Telemetry) -> Result<Self, String> {
        let headers = settings.header_map()?;
        let make =
            || Client::builder().redirect(redirect::Policy::none()).no_proxy().timeout(SEND_WITHIN).build();
        let client = thread::spawn(make).join().map_err(|_panic| "telemetry: the client broke".to_owned())?;
        let client = client.map_err(|error| format!("telemetry: {error}"))?;
        Ok(Self { client, headers })
    }
}

impl fmt::Debug for Collector {
    /// The headers are secret.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Collector").finish_non_exhaustive()
    }
}

#[async_trait::async_trait]
impl HttpClient for Collector {
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

/// An exporter that says now and then that it cannot send.
#[derive(Debug)]
struct Reporting<E> {
    exporter: E,
    losses: Mutex<Losses>,
}

/// Spans that were lost, and when that was last said.
#[derive(Debug, Default)]
struct Losses {
    spans: usize,
    said: Option<Instant>,
}

impl Losses {
    /// How many losses are to be told of now, after these.
    fn count(&mut self, spans: usize, now: Instant) -> Option<usize> {
        self.spans += spans;
        let is_due = self.said.is_none_or(|said| now.saturating_duration_since(said) >= WARN_EVERY);
        is_due.then(|| {
            self.said = Some(now);
            std::mem::take(&mut self.spans)
        })
    }
}

impl<E: SpanExporter> SpanExporter for Reporting<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        let result = self.exporter.export(batch).await;
        if let Err(error) = &result {
            let lost =
                self.losses.lock().unwrap_or_else(PoisonError::into_inner).count(spans, Instant::now());
            if let Some(spans) = lost {
                tracing::warn!(%error, spans, "spans do not reach the collector");
            }
        }
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn shutdown(&self) -> OTelSdkResult {
        self.exporter.shutdown()
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
    fn losses_are_told_of_at_once_and_then_once_in_a_while() {
        let mut losses = Losses::default();
        let start = Instant::now();
        assert_eq!(losses.count(5, start), Some(5));
        assert_eq!(losses.count(3, start), None);
        assert_eq!(losses.count(4, start + WARN_EVERY / 2), None);
        assert_eq!(losses.count(1, start + WARN_EVERY), Some(8));
        assert_eq!(losses.count(1, start + WARN_EVERY), None);
    }
}
