//! Client of one source. Each search becomes an [`Answer`] or a [`SourceError`] in time.
//!
//! A search takes a permit and credentials, sends one request, and parses the bounded body. A 401 renews a token of a token endpoint once.

use std::fmt;
use std::sync::Arc;

use reqwest::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HeaderValue};
use reqwest::{Request, RequestBuilder, Response, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::addresses::AddressRules;
use crate::answer::{Answer, parse_page};
use crate::credentials::{CredentialHeader, FixedCredentials};
use crate::error::{SourceError, refuses_the_call};
use crate::settings::{Authentication, Method, SettingsError, SourceSettings};
use crate::token::TokenCache;
use crate::trace::TraceContext;
use crate::transport::{
    Body, Http, SOURCE, TransportError, read_content_type, read_retry_after, receive_body,
};

/// Larger bodies are parsed off the runtime's threads, which other searches need.
const PARSED_IN_PLACE_BYTES: usize = 32 * 1024;

/// Parameters of the contract.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Question<'a> {
    /// Keyword.
    pub keyword: &'a str,
    /// Maximum items of the page.
    pub limit: usize,
    /// Of the previous page; `None` for the first page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<&'a str>,
}

/// Client of one external source. Clones share connections, token and permits.
#[derive(Clone)]
pub struct SourceClient {
    state: Arc<ClientState>,
}

struct ClientState {
    settings: SourceSettings,
    http: Http,
    credentials: Credentials,
    permits: Semaphore,
}

/// Credentials as the calls need them.
enum Credentials {
    /// The header, if any, and the secrets to redact.
    Fixed(Option<CredentialHeader>, Vec<SecretString>),
    Tokens(TokenCache),
}

impl SourceClient {
    /// Calls only what `rules` allow.
    ///
    /// # Errors
    /// Settings that can never work; no HTTP client on this machine.
    pub fn new(settings: SourceSettings, rules: &AddressRules) -> Result<Self, SettingsError> {
        settings.check_limits()?;
        let http = Http::new(SOURCE, &settings.url, rules, settings.max_concurrency)?;
        let credentials = match &settings.authentication {
            Authentication::OAuth2Client(client) => {
                Credentials::Tokens(TokenCache::new(client.clone(), rules)?)
            }
            other => {
                let fixed = other.fixed();
                let secrets = fixed.map(FixedCredentials::secrets).unwrap_or_default();
                Credentials::Fixed(fixed.map(|fixed| fixed.header().clone()), secrets)
            }
        };
        let permits = Semaphore::new(settings.max_concurrency.min(Semaphore::MAX_PERMITS));
        Ok(Self { state: Arc::new(ClientState { settings, http, credentials, permits }) })
    }

    /// Requests one page, on a tokio runtime.
    ///
    /// The timeout includes permit, token, request and body. Dropping the future ends the request.
    ///
    /// # Errors
    /// See [`SourceError`]. A page with usable rows is an answer, even if it is [`Answer::broken`].
    pub async fn search(&self, question: &Question<'_>) -> Result<Answer, SourceError> {
        self.search_within(question, None).await
    }

    /// Searches within a trace, which the token endpoint does not receive.
    ///
    /// # Errors
    /// See [`SourceClient::search`].
    pub async fn search_within(
        &self,
        question: &Question<'_>,
        trace: Option<&TraceContext>,
    ) -> Result<Answer, SourceError> {
        self.within_timeout(self.state.search(question, trace)).await
    }

    /// Whether a permit is free.
    pub fn has_room(&self) -> bool {
        self.state.permits.available_permits() > 0
    }

    /// Fetches a token and opens a connection, by HEAD. Any response will do.
    ///
    /// # Errors
    /// No token or no response within the timeout; see [`SourceError`].
    pub async fn warm(&self) -> Result<(), SourceError> {
        self.within_timeout(self.state.warm()).await
    }

    async fn within_timeout<T>(
        &self,
        call: impl Future<Output = Result<T, SourceError>>,
    ) -> Result<T, SourceError> {
        let timeout = self.state.settings.timeout;
        tokio::time::timeout(timeout, call).await.unwrap_or(Err(SourceError::Timeout))
    }
}

impl fmt::Debug for SourceClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SourceClient").field("settings", &self.state.settings).finish_non_exhaustive()
    }
}

impl ClientState {
    async fn search(
        &self,
        question: &Question<'_>,
        trace: Option<&TraceContext>,
    ) -> Result<Answer, SourceError> {
        let _permit = self.take_permit().await?;
        match &self.credentials {
            Credentials::Fixed(header, secrets) => {
                let response = self.call(question, trace, header.as_ref()).await;
                self.read_redacted(question, response, secrets).await
            }
            Credentials::Tokens(tokens) => {
                let mut token = tokens.get().await?;
                let mut response = self.call(question, trace, Some(&token.header)).await;
                if response.as_ref().is_ok_and(|response| response.status() == StatusCode::UNAUTHORIZED) {
                    token = tokens.renew(&token).await?;
                    response = self.call(question, trace, Some(&token.header)).await;
                }
                self.read_redacted(question, response, std::slice::from_ref(&token.text)).await
            }
        }
    }

    async fn read_redacted(
        &self,
        question: &Question<'_>,
        response: Result<Response, SourceError>,
        secrets: &[SecretString],
    ) -> Result<Answer, SourceError> {
        let answer = match response {
            Ok(response) => self.read(question, response).await,
            Err(error) => Err(error),
        };
        secrets.iter().map(ExposeSecret::expose_secret).fold(answer, |answer, secret| {
            answer.map(|answer| answer.redacted(secret)).map_err(|error| error.redacted(secret))
        })
    }

    async fn warm(&self) -> Result<(), SourceError> {
        let _permit = self.take_permit().await?;
        let token;
        let header = match &self.credentials {
            Credentials::Fixed(header, _) => header.as_ref(),
            Credentials::Tokens(tokens) => {
                token = tokens.get().await?;
                Some(&token.header)
            }
        };
        match self.send(|| self.http.request(reqwest::Method::HEAD), header).await {
            Ok(_) | Err(TransportError::Redirect(_)) => Ok(()),
            Err(error) => Err(error.into_source_error(SOURCE)),
        }
    }

    async fn take_permit(&self) -> Result<SemaphorePermit<'_>, SourceError> {
        self.permits.acquire().await.map_err(|_| SourceError::unavailable("the source is closed"))
    }

    async fn call(
        &self,
        question: &Question<'_>,
        trace: Option<&TraceContext>,
        credentials: Option<&CredentialHeader>,
    ) -> Result<Response, SourceError> {
        let make = || {
            let request = contract_request(&self.http, self.settings.method, question);
            match trace {
                Some(trace) => trace.mark(request),
                None => request,
            }
        };
        self.send(make, credentials).await.map_err(|error| error.into_source_error(SOURCE))
    }

    async fn send(
        &self,
        make: impl Fn() -> RequestBuilder,
        credentials: Option<&CredentialHeader>,
    ) -> Result<Response, TransportError> {
        self.http.send(|| finish_request(make(), credentials)).await
    }

    async fn read(&self, question: &Question<'_>, response: Response) -> Result<Answer, SourceError> {
        if response.status() != StatusCode::OK {
            let error = SOURCE.describe_status(response.status(), read_retry_after(&response));
            return Err(match error {
                SourceError::Failed(text)
                    if question.cursor.is_some() && refuses_the_call(response.status().as_u16().into()) =>
                {
                    SourceError::CursorRefused(text)
                }
                error => error,
            });
        }
        let content_type = read_content_type(&response);
        let bound = self.settings.max_body_bytes;
        let body = receive_body(response, bound).await.map_err(|error| error.into_source_error(SOURCE))?;
        let (limit, had_cursor) = (question.limit, question.cursor.is_some());
        let parse = move |content: &[u8]| parse_page(content, content_type.as_deref(), limit, had_cursor);
        let mut answer = match body.if_small(PARSED_IN_PLACE_BYTES.min(bound)) {
            Some(content) => parse(&content),
            None => inflate_and_parse(body, bound, parse).await,
        }?;
        refuse_repeated_cursor(&mut answer, question);
        Ok(answer)
    }
}

pub(crate) fn contract_request(http: &Http, method: Method, parameters: &impl Serialize) -> RequestBuilder {
    match method {
        Method::Get => http.request(reqwest::Method::GET).query(parameters),
        Method::Post => {
            let request = http.request(reqwest::Method::POST);
            // `json` keeps an existing content type.
            request.header(CONTENT_TYPE, "application/json;charset=UTF-8").json(parameters)
        }
    }
}

pub(crate) fn finish_request(
    request: RequestBuilder,
    credentials: Option<&CredentialHeader>,
) -> Result<Request, TransportError> {
    const JSON: HeaderValue = HeaderValue::from_static("application/json");
    const GZIP: HeaderValue = HeaderValue::from_static("gzip");
    let mut request = request.header(ACCEPT, JSON).header(ACCEPT_ENCODING, GZIP);
    if let Some(CredentialHeader { name, value }) = credentials {
        request = request.header(name, value);
    }
    Ok(request.build()?)
}

async fn inflate_and_parse(
    body: Body,
    bound: usize,
    parse: impl FnOnce(&[u8]) -> Result<Answer, SourceError> + Send + 'static,
) -> Result<Answer, SourceError> {
    let reading = tokio::task::spawn_blocking(move || {
        let content = body.inflate(bound).map_err(|error| error.into_source_error(SOURCE))?;
        parse(&content)
    });
    let broke = |_| SourceError::Failed("reading the source's answer failed unexpectedly".to_owned());
    reading.await.map_err(broke).flatten()
}

/// Ends the paging at a cursor that repeats itself (decisions 6.4).
fn refuse_repeated_cursor(answer: &mut Answer, question: &Question<'_>) {
    if answer.cursor.is_some() && answer.cursor.as_deref() == question.cursor {
        answer.cursor = None;
        let earlier = answer.broken.take().map(|text| text + "; ").unwrap_or_default();
        answer.broken = Some(earlier + "`cursor` repeats the one that was asked for");
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn wait_for_a_permit_counts_against_the_timeout() {
        let settings = SourceSettings {
            url: "https://nowhere.invalid:9/".parse().unwrap(),
            method: Method::Get,
            authentication: Authentication::None,
            timeout: Duration::from_millis(20),
            max_concurrency: 1,
            max_body_bytes: 1024,
        };
        let client = SourceClient::new(settings, &AddressRules::default()).unwrap();
        let _held = client.state.permits.acquire().await.unwrap();

        let outcome = client.search(&Question { keyword: "budget", limit: 10, cursor: None }).await;

        assert_eq!(outcome, Err(SourceError::Timeout));
    }
}
