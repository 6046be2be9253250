//! Small documents of systems that are no sources, over the same guarded connections: an issuer's keys, for instance, or what it
//! answers to a client.

use oauth2::{HttpRequest, HttpResponse};
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

/// Sends a request of the crate `oauth2` to where `rules` allow, and answers what that can tell apart (HTTP 200 and 400), with at
/// most `most_bytes` of a body. `name` is what the messages of failures call the system. A connection that breaks before the answer
/// has the request sent once more. It takes as long as it takes, and must run on a tokio runtime.
///
/// # Errors
/// See [`SourceError`].
pub async fn exchange_document(
    name: &'static str,
    request: HttpRequest,
    rules: &AddressRules,
    most_bytes: usize,
) -> Result<HttpResponse, SourceError> {
    let endpoint = Endpoint { name, setting: "the address" };
    let url = Url::parse(&request.uri().to_string());
    let url = url.map_err(|_| SourceError::Forbidden(format!("{name} has no address")))?;
    let http =
        Http::new(endpoint, &url, rules, 0).map_err(|error| SourceError::Forbidden(error.to_string()))?;
    let make = || Ok(reqwest::Request::try_from(request.clone())?);
    let response = http.send(make).await.map_err(|error| error.about(endpoint))?;
    let status = response.status();
    if !matches!(status, StatusCode::OK | StatusCode::BAD_REQUEST) {
        return Err(endpoint.describe_status(status, read_retry_after(&response)));
    }
    let headers = response.headers().clone();
    let body = read_body(response, most_bytes).await.map_err(|error| error.about(endpoint))?;
    let mut answer = HttpResponse::new(body);
    (*answer.status_mut(), *answer.headers_mut()) = (status, headers);
    Ok(answer)
}
