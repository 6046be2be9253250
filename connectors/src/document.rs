//! Small documents of other systems, such as an issuer's keys.

use oauth2::{HttpRequest, HttpResponse};
use reqwest::header::{ACCEPT, HeaderValue};
use reqwest::{Method, Response, StatusCode};
use url::Url;

use crate::addresses::AddressRules;
use crate::error::SourceError;
use crate::transport::{Endpoint, Http, read_body};

/// Fetches at most `max_bytes`, without a time limit, on a tokio runtime. `name` is for messages.
///
/// # Errors
/// See [`SourceError`].
pub async fn fetch_document(
    name: &'static str,
    url: &Url,
    rules: &AddressRules,
    max_bytes: usize,
) -> Result<Vec<u8>, SourceError> {
    let endpoint = Endpoint { name, setting: "the address" };
    let http =
        Http::new(endpoint, url, rules, 0).map_err(|error| SourceError::Forbidden(error.to_string()))?;
    let json = HeaderValue::from_static("application/json");
    let make = || Ok(http.request(Method::GET).header(ACCEPT, json.clone()).build()?);
    let response = http.send(make).await.map_err(|error| error.into_source_error(endpoint))?;
    if response.status() != StatusCode::OK {
        return Err(endpoint.describe_status(response.status(), response.headers()));
    }
    read_body(response, max_bytes).await.map_err(|error| error.into_source_error(endpoint))
}

/// Sends a request of the crate `oauth2`; returns HTTP 200 (any success) or 400.
///
/// A broken connection is tried once more. There is no time limit. It must run on a tokio runtime.
///
/// # Errors
/// See [`SourceError`].
pub async fn exchange_document(
    name: &'static str,
    request: HttpRequest,
    rules: &AddressRules,
    max_bytes: usize,
) -> Result<HttpResponse, SourceError> {
    let endpoint = Endpoint { name, setting: "the address" };
    let url = Url::parse(&request.uri().to_string());
    let url = url.map_err(|_| SourceError::Forbidden(format!("{name} has no address")))?;
    let http =
        Http::new(endpoint, &url, rules, 0).map_err(|error| SourceError::Forbidden(error.to_string()))?;
    let make = || Ok(reqwest::Request::try_from(request.clone())?);
    let response = http.send(make).await.map_err(|error| error.into_source_error(endpoint))?;
    read_oauth2_response(endpoint, response, max_bytes).await
}

pub(crate) async fn read_oauth2_response(
    endpoint: Endpoint,
    response: Response,
    max_bytes: usize,
) -> Result<HttpResponse, SourceError> {
    let status = response.status();
    if !(status.is_success() || status == StatusCode::BAD_REQUEST) {
        return Err(endpoint.describe_status(status, response.headers()));
    }
    let headers = response.headers().clone();
    let body = read_body(response, max_bytes).await.map_err(|error| error.into_source_error(endpoint))?;
    let mut answer = HttpResponse::new(body);
    // Servers that create tokens answer with HTTP 201.
    let status = if status.is_success() { StatusCode::OK } else { status };
    (*answer.status_mut(), *answer.headers_mut()) = (status, headers);
    Ok(answer)
}
