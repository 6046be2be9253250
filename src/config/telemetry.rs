//! Export of spans.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize};
use url::Url;

use super::is_plain_address;

/// Export of spans by OTLP; disabled without an endpoint.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TelemetrySettings {
    /// Collector's address, such as `http://127.0.0.1:4318`; spans go to `v1/traces` below it, as http/protobuf.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// Secret headers, as in `OTEL_EXPORTER_OTLP_HEADERS`: `name=value,name=value`, a comma in a value as `%2C`.
    #[serde(
        default,
        deserialize_with = "secret",
        serialize_with = "super::masked",
        skip_serializing_if = "Option::is_none"
    )]
    pub headers: Option<SecretString>,
    /// Service name in traces.
    pub service_name: String,
    /// Share of the traces begun here; callers decide for theirs.
    pub sample_ratio: f64,
}

impl Default for TelemetrySettings {
    fn default() -> Self {
        Self { endpoint: None, headers: None, service_name: "trawl".to_owned(), sample_ratio: 1.0 }
    }
}

impl TelemetrySettings {
    pub(super) fn check(&self) -> Result<(), String> {
        self.traces_url()?;
        self.header_map()?;
        if self.service_name.trim().is_empty() {
            return Err("telemetry.service_name: must not be blank".to_owned());
        }
        if !(0.0..=1.0).contains(&self.sample_ratio) {
            return Err("telemetry.sample_ratio: must be 0 to 1".to_owned());
        }
        Ok(())
    }

    /// None without an endpoint.
    pub(crate) fn traces_url(&self) -> Result<Option<Url>, String> {
        let Some(endpoint) = self.endpoint.as_deref().filter(|endpoint| !endpoint.is_empty()) else {
            return Ok(None);
        };
        let url = Url::parse(endpoint).ok().filter(|url| {
            // Secrets belong in the headers, which are masked.
            let is_bare = url.username().is_empty() && url.password().is_none();
            is_bare && is_plain_address(url)
        });
        let mut url = url.ok_or(
            "telemetry.endpoint: must be an http or https address without user name and query, such as \
             http://127.0.0.1:4318",
        )?;
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(["v1", "traces"]);
        }
        Ok(Some(url))
    }

    /// Marked as sensitive; a failure names the position alone.
    pub(crate) fn header_map(&self) -> Result<HeaderMap, String> {
        let text = self.headers.as_ref().map_or("", ExposeSecret::expose_secret);
        let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
        pairs.zip(1..).map(|(pair, place)| read_header(pair).ok_or_else(|| wrong_header(place))).collect()
    }
}

fn read_header(pair: &str) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = pair.split_once('=')?;
    let value: Vec<u8> = percent_decode_str(value.trim()).collect();
    let mut value = HeaderValue::from_bytes(&value).ok()?;
    value.set_sensitive(true);
    Some((name.trim().parse().ok()?, value))
}

fn wrong_header(place: usize) -> String {
    format!("telemetry.headers: must be name=value,name=value; number {place} is wrong")
}

/// Reads a secret; its error never repeats a wrong value.
fn secret<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SecretString>, D::Error> {
    match serde_json::Value::deserialize(deserializer)? {
        serde_json::Value::Null => Ok(None),
        serde_json::Value::String(text) => Ok(Some(text.into())),
        _ => Err(serde::de::Error::custom("must be a string")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(endpoint: &str, headers: &str) -> TelemetrySettings {
        TelemetrySettings {
            endpoint: Some(endpoint.to_owned()),
            headers: Some(headers.into()),
            ..TelemetrySettings::default()
        }
    }

    #[test]
    fn spans_go_to_v1_traces_below_the_endpoint() {
        let url = |endpoint: &str| with(endpoint, "").traces_url().unwrap().map(String::from);
        assert_eq!(url("http://127.0.0.1:4318").as_deref(), Some("http://127.0.0.1:4318/v1/traces"));
        assert_eq!(url("https://host/otlp/").as_deref(), Some("https://host/otlp/v1/traces"));
        assert_eq!(url(""), None);
        assert_eq!(TelemetrySettings::default().traces_url(), Ok(None));
        for wrong in ["127.0.0.1:4318", "grpc://host", "http://a:b@host", "http://host?key=x", "http://"] {
            let refusal = with(wrong, "").check().unwrap_err();
            assert!(refusal.starts_with("telemetry.endpoint"), "{wrong}: {refusal}");
        }
    }

    #[test]
    fn headers_are_read_as_the_standard_variable_is() {
        let headers = with("", " Authorization=Basic%20YTpi==, x-key = a%2Cb ,").header_map().unwrap();
        assert_eq!(headers.len(), 2);
        assert_eq!([&headers["authorization"], &headers["x-key"]], ["Basic YTpi==", "a,b"]);
        assert!(headers.values().all(HeaderValue::is_sensitive));
        assert!(TelemetrySettings::default().header_map().unwrap().is_empty());
    }

    #[test]
    fn refusal_never_shows_a_header() {
        for headers in ["a=b,hidden", "a=b,hid den=1", "a=b,c=%0Ahidden", "a=b,=hidden"] {
            let telemetry = with("http://host", headers);
            let refusal = telemetry.check().unwrap_err();
            assert_eq!(refusal, wrong_header(2), "{headers}");
            assert!(!format!("{telemetry:?}").contains("hid"), "{telemetry:?}");
        }
        let read = serde_json::from_str::<TelemetrySettings>(
            r#"{"headers": {"key": "hidden"}, "service_name": "x", "sample_ratio": 1}"#,
        );
        assert!(!read.unwrap_err().to_string().contains("hidden"));
    }
}
