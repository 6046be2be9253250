//! A collector of spans by OTLP over http/protobuf.

use std::sync::{Arc, Mutex};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, Uri},
    response::{IntoResponse, Response},
};
use opentelemetry_proto::tonic::{
    collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse},
    common::v1::{AnyValue, KeyValue, any_value::Value},
    trace::v1::Span,
};
use prost::Message;
use tokio::net::TcpListener;

#[derive(Clone, Debug)]
pub(crate) struct Export {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

pub(crate) struct Collector {
    pub(crate) endpoint: String,
    exports: Arc<Mutex<Vec<Export>>>,
}

impl Collector {
    pub(crate) async fn start() -> Self {
        let exports = Arc::<Mutex<Vec<Export>>>::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(take).with_state(Arc::clone(&exports));
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { endpoint, exports }
    }

    pub(crate) fn exports(&self) -> Vec<Export> {
        self.exports.lock().unwrap().clone()
    }

    pub(crate) fn spans(&self) -> Vec<(String, Span)> {
        let requests = self.exports().into_iter().flat_map(|export| {
            assert_eq!(export.path, "/v1/traces");
            ExportTraceServiceRequest::decode(export.body).unwrap().resource_spans
        });
        let of_resource = requests.flat_map(|resource| {
            let service = text(&resource.resource.as_ref().unwrap().attributes, "service.name");
            let spans = resource.scope_spans.into_iter().flat_map(|scope| scope.spans);
            spans.map(move |span| (service.clone(), span)).collect::<Vec<_>>()
        });
        of_resource.collect()
    }
}

async fn take(
    State(exports): State<Arc<Mutex<Vec<Export>>>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    exports.lock().unwrap().push(Export { path: uri.path().to_owned(), headers, body });
    ExportTraceServiceResponse::default().encode_to_vec().into_response()
}

pub(crate) fn text(attributes: &[KeyValue], name: &str) -> String {
    let attribute = attributes.iter().find(|attribute| attribute.key == name);
    match attribute.and_then(|attribute| attribute.value.as_ref()) {
        Some(AnyValue { value: Some(Value::StringValue(text)) }) => text.clone(),
        Some(AnyValue { value: Some(Value::IntValue(number)) }) => number.to_string(),
        None => String::new(),
        other => panic!("{name}: {other:?}"),
    }
}
