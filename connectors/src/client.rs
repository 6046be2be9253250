//! One source's client: it holds what must be shared between searches (connections, token, permits) and makes
//! of each search one answer or one error.

use std::fmt;
use std::sync::Arc;

use reqwest::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Request, RequestBuilder, Response, StatusCode};
use secrecy::ExposeSecret;
use serde::Serialize;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::addresses::AddressRules;
use crate::answer::{Answer, parse_page};
use crate::error::{SourceError, refuses_the_call};
use crate::settings::{Authentication, Method, SettingsError, SourceSettings};
use crate::token::{Token, Tokens};
use crate::trace::TraceContext;
use crate::transport::{Body, Http, SOURCE, TransportError, read_retry_after, receive_body};

/// Bodies larger than this are inflated and parsed off the runtime's threads: other searches need those, and the other
/// sources of the same search wait for the one that reads.
const PARSED_IN_PLACE_BYTES: usize = 32 * 1024;

/// What a source is asked: the parameters of the contract.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Question<'a> {
    /// What to search for.
    pub keyword: &'a str,
    /// How many items a page may hold.
    pub limit: usize,
    /// The cursor of the page before; `None` for the first page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<&'a str>,
}

/// The client of one external source. Clones share its connections, its token and its permits.
#[derive(Clone)]
pub struct SourceClient {
    shared: Arc<Shared>,
}

struct Shared {
    settings: SourceSettings,
    http: Http,
    tokens: Option<Tokens>,
    permits: Semaphore,
}

impl SourceClient {
    /// A client for the source with these settings, which calls only what `rules` allow. Nothing is called yet.
    ///
    /// # Errors
    /// Settings that can never work, and an HTTP client that cannot be set up here.
    pub fn new(settings: SourceSettings, rules: &AddressRules) -> Result<Self, SettingsError> {
        settings.check_limits()?;
        let http = Http::new(SOURCE, &settings.url, rules, settings.max_concurrency)?;
        let tokens = match &settings.authentication {
            Authentication::None => None,
            Authentication::OAuth2Client(credentials) => Some(Tokens::new(credentials.clone(), rules)?),
        };
        let permits = Semaphore::new(settings.max_concurrency.min(Semaphore::MAX_PERMITS));
        Ok(Self { shared: Arc::new(Shared { settings, http, tokens, permits }) })
    }

    /// Asks the source for one page.
    ///
    /// The settings' timeout covers everything: the permit, the token, the request and the body. Dropping the
    /// future ends the request. It must run on a tokio runtime.
    ///
    /// # Errors
    /// See [`SourceError`]. A page whose rows are usable is an answer, even where the source broke the contract
    /// ([`Answer::broken`]).
    pub async fn search(&self, question: &Question<'_>) -> Result<Answer, SourceError> {
        self.search_within(question, None).await
    }

    /// The same as part of this trace: the source is told of it, and its token endpoint is not.
    ///
    /// # Errors
    /// Those of [`SourceClient::search`].
    pub async fn search_within(
        &self,
        question: &Question<'_>,
        trace: Option<&TraceContext>,
    ) -> Result<Answer, SourceError> {
        self.in_time(self.shared.search(question, trace)).await
    }

    /// Whether one more search would be sent at once, rather than wait for one that is under way.
    pub fn has_room(&self) -> bool {
        self.shared.permits.available_permits() > 0
    }

    /// Fetches the token and opens a connection, so that a search a moment later finds both. The source is asked by
    /// HEAD; whatever it answers is good, as only a search tells whether it keeps the contract.
    ///
    /// The settings' timeout covers everything. It must run on a tokio runtime.
    ///
    /// # Errors
    /// No token, or no answer at all; see [`SourceError`].
    pub async fn warm(&self) -> Result<(), SourceError> {
        self.in_time(self.shared.warm()).await
    }

    async fn in_time<T>(&self, call: impl Future<Output = Result<T, SourceError>>) -> Result<T, SourceError> {
        let timeout = self.shared.settings.timeout;
        tokio::time::timeout(timeout, call).await.unwrap_or(Err(SourceError::Timeout))
    }
}

impl fmt::Debug for SourceClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SourceClient")
            .field("settings", &self.shared.settings)
            .finish_non_exhaustive()
    }
}

impl Shared {
    async fn search(
        &self,
        question: &Question<'_>,
        trace: Option<&TraceContext>,
    ) -> Result<Answer, SourceError> {
        let _permit = self.take_permit().await?;
        let Some(tokens) = &self.tokens else {
            let response = self.ask(question, trace, None).await?;
            return self.read(question, response).await;
        };
        let mut token = tokens.get().await?;
        let mut asked = self.ask(question, trace, Some(&token)).await;
        if asked.as_ref().is_ok_and(|response| response.status() == StatusCode::UNAUTHORIZED) {
            token = tokens.renew(&token).await?;
            asked = self.ask(question, trace, Some(&token)).await;
        }
        let answer = match asked {
            Ok(response) => self.read(question, response).await,
            Err(error) => Err(error),
        };
        let secret = token.text.expose_secret();
        answer.map(|answer| answer.without(secret)).map_err(|error| error.without(secret))
    }

    async fn warm(&self) -> Result<(), SourceError> {
        let _permit = self.take_permit().await?;
        let token = match &self.tokens {
            Some(tokens) => Some(tokens.get().await?),
            None => None,
        };
        match self.send(|| self.http.request(reqwest::Method::HEAD), token.as_deref()).await {
            Ok(_) | Err(TransportError::Redirect(_)) => Ok(()),
            Err(error) => Err(error.about(SOURCE)),
        }
    }

    async fn take_permit(&self) -> Result<SemaphorePermit<'_>, SourceError> {
        self.permits.acquire().await.map_err(|_| SourceError::unavailable("the source is closed"))
    }

    async fn ask(
        &self,
        question: &Question<'_>,
        trace: Option<&TraceContext>,
        token: Option<&Token>,
    ) -> Result<Response, SourceError> {
        let make = || {
            let request = contract_request(&self.http, self.settings.method, question);
            match trace {
                Some(trace) => trace.mark(request),
                None => request,
            }
        };
        self.send(make, token).await.map_err(|error| error.about(SOURCE))
    }

    async fn send(
        &self,
        make: impl Fn() -> RequestBuilder,
        token: Option<&Token>,
    ) -> Result<Response, TransportError> {
        self.http.send(|| complete(make(), token.map(|token| &token.header))).await
    }

    async fn read(&self, question: &Question<'_>, response: Response) -> Result<Answer, SourceError> {
        if response.status() != StatusCode::OK {
            let error = SOURCE.describe_status(response.status(), read_retry_after(&response));
            return Err(match error {
                SourceError::Failed(said)
                    if question.cursor.is_some() && refuses_the_call(response.status().as_u16().into()) =>
                {
                    SourceError::CursorRefused(said)
                }
                error => error,
            });
        }
        let content_type = response.headers().get(CONTENT_TYPE);
        let content_type = content_type.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        let bound = self.settings.max_body_bytes;
        let body = receive_body(response, bound).await.map_err(|error| error.about(SOURCE))?;
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

/// A call of the contract: its parameters in the query, or in the body.
pub(crate) fn contract_request(http: &Http, method: Method, parameters: &impl Serialize) -> RequestBuilder {
    match method {
        Method::Get => http.request(reqwest::Method::GET).query(parameters),
        Method::Post => {
            let request = http.request(reqwest::Method::POST);
            // Set first: `json` keeps a content type that is there, and the contract's names its charset.
            request.header(CONTENT_TYPE, "application/json;charset=UTF-8").json(parameters)
        }
    }
}

/// The request with the headers that every call to a source has.
pub(crate) fn complete(
    request: RequestBuilder,
    authorization: Option<&HeaderValue>,
) -> Result<Request, TransportError> {
    const JSON: HeaderValue = HeaderValue::from_static("application/json");
    const GZIP: HeaderValue = HeaderValue::from_static("gzip");
    let mut request = request.header(ACCEPT, JSON).header(ACCEPT_ENCODING, GZIP);
    if let Some(authorization) = authorization {
        request = request.header(AUTHORIZATION, authorization);
    }
    Ok(request.build()?)
}

async fn inflate_and_parse(
    body: Body,
    bound: usize,
    parse: impl FnOnce(&[u8]) -> Result<Answer, SourceError> + Send + 'static,
) -> Result<Answer, SourceError> {
    let reading = tokio::task::spawn_blocking(move || {
        let content = body.inflate(bound).map_err(|error| error.about(SOURCE))?;
        parse(&content)
    });
    let broke = |_| SourceError::Failed("reading the source's answer failed unexpectedly".to_owned());
    reading.await.map_err(broke).flatten()
}

/// A page that names itself as the next one would be asked for without end: it is the last (decisions 6.4).
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
    async fn waiting_for_a_permit_counts_against_the_timeout() {
        // Nothing listens on port 9 of nowhere: with a permit the search would end otherwise.
        let settings = SourceSettings {
            url: "https://nowhere.invalid:9/".parse().unwrap(),
            method: Method::Get,
            authentication: Authentication::None,
            timeout: Duration::from_millis(20),
            max_concurrency: 1,
            max_body_bytes: 1024,
        };
        let client = SourceClient::new(settings, &AddressRules::default()).unwrap();
        let _held = client.shared.permits.acquire().await.unwrap();

        let outcome = client.search(&Question { keyword: "budget", limit: 10, cursor: None }).await;

        assert_eq!(outcome, Err(SourceError::Timeout));
    }
}
