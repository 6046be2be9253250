//! An answer of the server; the rules of envelopes (book: reference/errors.md).

use reqwest::{
    RequestBuilder,
    header::{CONTENT_TYPE, HeaderMap},
};
use serde_json::Value;

#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) async fn read(response: reqwest::Response) -> Self {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await.unwrap();
        let body = serde_json::from_str(&text).unwrap_or_default();
        Self { status, headers, text, body }
    }

    /// Sends a request; none where the connection is cut.
    pub(crate) async fn receive(request: RequestBuilder) -> Option<Self> {
        let response = request.send().await.ok()?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await.ok()?;
        let body = serde_json::from_str(&text).unwrap_or_default();
        Some(Self { status, headers, text, body })
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Expects a success's envelope.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        self.check_envelope();
        assert_eq!((self.status, &self.body["code"]), (200, &Value::from(200)), "{}", self.text);
        assert!(self.body["message"].is_null(), "{}", self.text);
        self
    }

    /// Expects a failure whose message contains `named`.
    #[track_caller]
    pub(crate) fn fails(self, status: u16, named: &str) -> Self {
        assert!(self.body["date"].as_i64().is_some_and(|date| date > 1_600_000_000_000), "{}", self.text);
        self.check_failure(status, named)
    }

    #[track_caller]
    pub(crate) fn fails_rfc3339(self, status: u16, named: &str) -> Self {
        self.check_date();
        self.check_failure(status, named)
    }

    #[track_caller]
    pub(crate) fn fails_at(self, path: &str, status: u16, named: &str) -> Self {
        let is_dated = path == "/v1/badge" || path.starts_with("/v1/badge/");
        if is_dated { self.fails_rfc3339(status, named) } else { self.fails(status, named) }
    }

    #[track_caller]
    pub(crate) fn ok_rfc3339(self) -> Self {
        self.check_date();
        self.ok()
    }

    #[track_caller]
    fn check_date(&self) {
        let date = self.body["date"].as_str().and_then(|date| date.parse::<jiff::Timestamp>().ok());
        assert!(date.is_some_and(|date| date.as_second() > 1_600_000_000), "{}", self.text);
    }

    #[track_caller]
    fn check_failure(self, status: u16, named: &str) -> Self {
        self.check_envelope();
        assert_eq!(self.status, status, "{}", self.text);
        assert_eq!(self.body["code"], status, "{}", self.text);
        assert!(self.body["data"].is_null(), "{}", self.text);
        assert!(self.message().contains(named), "the message lacks {named:?}: {}", self.text);
        for leak in ["SELECT", "INSERT", "/tmp", ".rs:", "Error(", "panicked"] {
            assert!(!self.message().contains(leak), "the message leaks {leak:?}: {}", self.text);
        }
        if status == 401 {
            assert_eq!(self.header("www-authenticate"), "Bearer");
        }
        self
    }

    /// Expects a 502 or 504 that reports every source.
    #[track_caller]
    pub(crate) fn fails_without_sources(self, status: u16) -> Self {
        let answer = self.fails(status, "no source of the module answered");
        assert!(answer.body["sources"].is_array(), "{}", answer.text);
        answer
    }

    pub(crate) fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }

    pub(crate) fn data(&self) -> &Value {
        &self.body["data"]
    }

    #[track_caller]
    pub(crate) fn items(&self) -> &[Value] {
        self.data().as_array().unwrap_or_else(|| panic!("`data` is no list: {}", self.text))
    }

    #[track_caller]
    pub(crate) fn ids(&self) -> Vec<&str> {
        self.items().iter().map(|item| item["id"].as_str().unwrap()).collect()
    }

    /// Only this row failed, for this field; returns the message.
    #[track_caller]
    pub(crate) fn assert_only_failure(&self, id: &str, field: &str) -> &str {
        assert_eq!(self.ids(), [id], "{}", self.text);
        assert_eq!((self.total(), &self.body["count"]), (1, &Value::from(1)));
        let message = self.items()[0]["message"].as_str().unwrap();
        assert!(message.starts_with(field), "{message}");
        message
    }

    pub(crate) fn total(&self) -> u64 {
        self.body["total"].as_u64().unwrap()
    }

    pub(crate) fn cursor(&self) -> Option<String> {
        self.body["cursor"].as_str().map(str::to_owned)
    }

    #[track_caller]
    pub(crate) fn source(&self, id: &str) -> &Value {
        let sources = self.body["sources"].as_array().unwrap_or_else(|| panic!("no sources: {}", self.text));
        sources.iter().find(|source| source["id"] == id).unwrap_or_else(|| panic!("no {id}: {}", self.text))
    }

    #[track_caller]
    fn check_envelope(&self) {
        assert!(self.body.is_object(), "not an envelope: HTTP {} {}", self.status, self.text);
        assert!(!self.header("x-request-id").is_empty(), "no x-request-id: {:?}", self.headers);
        assert_eq!(self.headers[CONTENT_TYPE], "application/json;charset=UTF-8");
    }
}
