//! One source's client: it holds what must be shared between searches (connections, token, permits) and makes
//! of each search one answer or one error.

use std::fmt;
use std::sync::Arc;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use reqwest::{RequestBuilder, Response, StatusCode};
use secrecy::ExposeSecret;
use serde::Serialize;
use tokio::sync::Semaphore;

use crate::addresses::AddressRules;
use crate::answer::{Answer, parse_answer};
use crate::error::SourceError;
use crate::settings::{Authentication, Method, SettingsError, SourceSettings};
use crate::token::{Token, Tokens};
use crate::transport::{SOURCE, broke_before_answer, build_http_client, read_retry_after};

/// Bodies larger than this are parsed off the runtime's threads, which other searches need.
const PARSED_IN_PLACE_BYTES: usize = 128 * 1024;

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
    http: reqwest::Client,
    tokens: Option<Tokens>,
    permits: Semaphore,
}

impl SourceClient {
    /// A client for the source with these settings, which calls only what `rules` allow. Nothing is called yet.
    ///
    /// # Errors
    /// Settings that can never work, and an HTTP client that cannot be set up here.
    pub fn new(settings: SourceSettings, rules: &AddressRules) -> Result<Self, SettingsError> {
        settings.check(rules)?;
        let http = build_http_client(settings.max_concurrency)?;
        let tokens = match &settings.authentication {
            Authentication::None => None,
            Authentication::OAuth2Client(credentials) => Some(Tokens::new(http.clone(), credentials.clone())),
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
        let timeout = self.shared.settings.timeout;
        tokio::time::timeout(timeout, self.shared.search(question)).await.unwrap_or(Err(SourceError::Timeout))
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
    async fn search(&self, question: &Question<'_>) -> Result<Answer, SourceError> {
        let _permit =
            self.permits.acquire().await.map_err(|_| SourceError::unavailable("the source is closed"))?;
        let Some(tokens) = &self.tokens else {
            let response = self.send(question, None).await?;
            return self.read(question, response).await;
        };
        let mut token = tokens.get().await?;
        let mut response = self.send(question, Some(&token)).await?;
        if response.status() == StatusCode::UNAUTHORIZED {
            token = tokens.renew(&token).await?;
            response = self.send(question, Some(&token)).await?;
        }
        let answer = self.read(question, response).await;
        answer.map_err(|error| error.without(token.text.expose_secret()))
    }

    /// Sends the request; once more, as a search changes nothing, when a connection broke that may have been kept
    /// from an earlier one.
    async fn send(&self, question: &Question<'_>, token: Option<&Token>) -> Result<Response, SourceError> {
        let mut outcome = self.request(question, token).send().await;
        if outcome.as_ref().is_err_and(broke_before_answer) {
            outcome = self.request(question, token).send().await;
        }
        outcome.map_err(|error| SOURCE.describe_failure(&error))
    }

    fn request(&self, question: &Question<'_>, token: Option<&Token>) -> RequestBuilder {
        let url = self.settings.url.clone();
        let mut request = match self.settings.method {
            Method::Get => self.http.get(url).query(question),
            Method::Post => {
                // Set first: `json` keeps a content type that is there, and the contract's names its charset.
                self.http.post(url).header(CONTENT_TYPE, "application/json;charset=UTF-8").json(question)
            }
        };
        request = request.header(ACCEPT, "application/json");
        if let Some(token) = token {
            request = request.header(AUTHORIZATION, token.header.clone());
        }
        request
    }

    async fn read(&self, question: &Question<'_>, response: Response) -> Result<Answer, SourceError> {
        if response.status() != StatusCode::OK {
            return Err(SOURCE.describe_status(response.status(), read_retry_after(&response)));
        }
        let content_type = response.headers().get(CONTENT_TYPE);
        let content_type = content_type.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        let body = SOURCE.read_body(response, self.settings.max_body_bytes).await?;
        let mut answer = parse(body, content_type, question.limit).await?;
        refuse_repeated_cursor(&mut answer, question);
        Ok(answer)
    }
}

async fn parse(body: Vec<u8>, content_type: Option<String>, limit: usize) -> Result<Answer, SourceError> {
    if body.len() <= PARSED_IN_PLACE_BYTES {
        return parse_answer(&body, content_type.as_deref(), limit);
    }
    let parsing = tokio::task::spawn_blocking(move || parse_answer(&body, content_type.as_deref(), limit));
    let broke = |_| SourceError::Failed("reading the source's answer failed unexpectedly".to_owned());
    parsing.await.map_err(broke).flatten()
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
