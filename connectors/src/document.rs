//! Small documents of systems that are no sources, over the same guarded connections: an issuer's keys, for instance.

use reqwest::header::{ACCEPT, HeaderValue};
use reqwest::{Method, StatusCode};
use url::Url;

use crate::addresses::AddressRules;
use crate::error::SourceError;
use crate::transport::{Endpoint, Http, read_body, read_retry_after};

/// Fetches a document of at most `most_bytes` from where `rules` allow. `name` is what the messages of failures call the
/// system. It takes as long as it takes, and must run on a tokio runtime.
///
/// # Errors
/// See [`SourceError`].
pub async fn fetch_document(
    name: &'static str,
    url: &Url,
    rules: &AddressRules,
    most_bytes: usize,
) -> Result<Vec<u8>, SourceError> {
    let endpoint = Endpoint { name, setting: "the address" };
    let http =
        Http::new(endpoint, url, rules, 0).map_err(|error| SourceError::Forbidden(error.to_string()))?;
    let json = HeaderValue::from_static("application/json");
    let make = || Ok(http.request(Method::GET).header(ACCEPT, json.clone()).build()?);
    let response = http.send(make).await.map_err(|error| error.about(endpoint))?;
    if response.status() != StatusCode::OK {
        return Err(endpoint.describe_status(response.status(), read_retry_after(&response)));
    }
    read_body(response, most_bytes).await.map_err(|error| error.about(endpoint))
}
