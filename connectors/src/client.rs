//! Client of one source. Each search becomes an [`Answer`] or a [`SourceError`] in time.
//!
//! A search takes a permit and credentials, sends one request, and parses the bounded body. A 401 renews a token of a token endpoint once.

mod refusal;

use std::fmt;
use std::sync::Arc;

use reqwest::{Response, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::{Semaphore, SemaphorePermit};

use self::refusal::read_refusal;
use crate::addresses::AddressRules;
use crate::answer::{Answer, parse_page};
use crate::content_type::CONTRACT_TYPE;
use crate::credentials::SourceCredential;
use crate::error::SourceError;
use crate::identity::{IdentifiedPerson, KnownPerson};
use crate::mapping::{MappedQuestion, MappingError, ReadAnswer};
use crate::redaction::redact_answer;
use crate::request::{ContractParameters, SearchRequest};
use crate::settings::{Authentication, SettingsError, SourceSettings};
use crate::token::TokenCache;
use crate::trace::TraceContext;
use crate::transport::{
    Http, ResponseBody, SOURCE, TransportError, read_content_type, read_pause, receive_body,
};

/// Larger bodies are parsed off the runtime's threads, which other searches need.
pub(crate) const PARSED_IN_PLACE_BYTES: usize = 32 * 1024;

/// Question of one call.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Keyword.
    pub keyword: &'a str,
    /// Maximum items of the page.
    pub limit: usize,
    /// Cursor of the previous page; `None` for the first page.
    pub cursor: Option<&'a str>,
    /// Synchronised id of the person who asks; `None` for an application.
    pub person: Option<&'a str>,
}

/// Request of a question, and what its answer is read with.
pub(crate) struct PreparedSearch {
    pub(crate) request: SearchRequest,
    /// The question to a mapped source.
    pub(crate) mapped: Option<MappedQuestion>,
}

/// Client of one external source. Clones share connections, token and permits.
#[derive(Clone)]
pub struct SourceClient {
    state: Arc<ClientState>,
}

struct ClientState {
    settings: SourceSettings,
    http: Http,
    credentials: CredentialSource,
    permits: Semaphore,
}

/// Credentials as the calls need them.
enum CredentialSource {
    /// The credential, if any, and the secrets to redact.
    Fixed(Option<SourceCredential>, Vec<SecretString>),
    Tokens(TokenCache),
}

impl SourceClient {
    /// Calls only what `rules` allow.
    ///
    /// # Errors
    /// Settings that can never work; no HTTP client on this machine.
    pub fn new(settings: SourceSettings, rules: &AddressRules) -> Result<Self, SettingsError> {
        settings.check()?;
        let http = Http::new(SOURCE, &settings.url, rules, settings.max_concurrency)?;
        let credentials = match &settings.authentication {
            Authentication::OAuth2Client(client) => {
                CredentialSource::Tokens(TokenCache::new(client.clone(), settings.identity.as_ref(), rules)?)
            }
            other => {
                let fixed = other.fixed();
                let (credential, secrets) =
                    fixed.map(|fixed| (fixed.credential.clone(), fixed.secrets.clone())).unzip();
                CredentialSource::Fixed(credential, secrets.unwrap_or_default())
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
        let identified = identify(&self.settings, question.person).await?;
        let person = identified.as_ref().map(|identified| &identified.person);
        let assertion = identified.as_ref().and_then(|identified| identified.assertion.as_ref());
        let prepared = prepare(&self.settings, ContractParameters::from(*question), person).await?;
        let asserted = assertion.map(|assertion| &assertion.credential);
        let request = &prepared.request;
        let (response, mut secrets, token_note) = match &self.credentials {
            CredentialSource::Fixed(credential, secrets) => {
                (self.call(request, trace, [credential.as_ref(), asserted]).await, secrets.clone(), None)
            }
            CredentialSource::Tokens(tokens) => {
                let mut token = tokens.get(person).await?;
                let mut response = self.call(request, trace, [Some(&token.credential), asserted]).await;
                if response.as_ref().is_ok_and(|response| response.status() == StatusCode::UNAUTHORIZED) {
                    token = tokens.renew(person, &token).await?;
                    response = self.call(request, trace, [Some(&token.credential), asserted]).await;
                }
                (response, vec![token.text.clone()], token.note.clone())
            }
        };
        secrets.extend(assertion.map(|assertion| assertion.text.clone()));
        let mut answer = match response {
            Ok(response) => self.read(question, &prepared, response, &secrets).await,
            Err(error) => Err(error),
        };
        if let Ok(answer) = &mut answer {
            answer.notes.extend(token_note);
        }
        secrets.iter().map(ExposeSecret::expose_secret).fold(answer, |answer, secret| {
            answer.map(|answer| answer.redacted(secret)).map_err(|error| error.redacted(secret))
        })
    }

    async fn warm(&self) -> Result<(), SourceError> {
        let _permit = self.take_permit().await?;
        let token;
        let credential = match &self.credentials {
            CredentialSource::Fixed(credential, _) => credential.as_ref(),
            CredentialSource::Tokens(tokens) if self.settings.identity.is_none() => {
                token = tokens.get(None).await?;
                Some(&token.credential)
            }
            CredentialSource::Tokens(_) => None,
        };
        let request = SearchRequest::head(&self.settings.url);
        match self.http.send(|| Ok(request.with(credential))).await {
            Ok(_) | Err(TransportError::Redirect(_)) => Ok(()),
            Err(error) => Err(error.into_source_error(SOURCE)),
        }
    }

    async fn take_permit(&self) -> Result<SemaphorePermit<'_>, SourceError> {
        self.permits.acquire().await.map_err(|_| SourceError::unavailable("the source is closed"))
    }

    async fn call(
        &self,
        request: &SearchRequest,
        trace: Option<&TraceContext>,
        credentials: [Option<&SourceCredential>; 2],
    ) -> Result<Response, SourceError> {
        let make = || {
            let mut request = request.with(credentials.into_iter().flatten());
            if let Some(trace) = trace {
                trace.write(request.headers_mut());
            }
            Ok(request)
        };
        self.http.send(make).await.map_err(|error| error.into_source_error(SOURCE))
    }

    async fn read(
        &self,
        question: &Question<'_>,
        prepared: &PreparedSearch,
        response: Response,
        secrets: &[SecretString],
    ) -> Result<Answer, SourceError> {
        let is_personal = self.settings.identity.is_some();
        let status = response.status();
        if status == StatusCode::NO_CONTENT && question.cursor.is_some() {
            let notes = vec!["HTTP 204 ends its pages".to_owned()];
            return Ok(Answer { notes, ..Answer::default() });
        }
        let loses_query = loses_query(&prepared.request, &response);
        if !is_page(status, &self.settings) {
            return Err(read_refusal(response, question, is_personal, loses_query).await);
        }
        if loses_query {
            let reason = "the source answered behind a redirect that loses the query";
            return Err(SourceError::Invalid(reason.to_owned()));
        }
        let bound = self.settings.max_body_bytes;
        if let (Some(mapped), Some(mapped_question)) = (&self.settings.mapping, &prepared.mapped) {
            let headers = response.headers().clone();
            let body =
                receive_body(response, bound).await.map_err(|error| error.into_source_error(SOURCE))?;
            let content = if let Some(content) = body.if_small(PARSED_IN_PLACE_BYTES.min(bound)) {
                redact_answer(content.into_owned(), secrets)
            } else {
                let secrets = secrets.to_vec();
                on_thread(move || Ok(redact_answer(inflate(body, bound)?, &secrets))).await?
            };
            // Operators see messages, and a person's rows are no concern of theirs.
            let hidden = |error: MappingError| if is_personal { error.without_values() } else { error };
            let read = mapped.read(mapped_question, &headers, &content, secrets).await;
            let ReadAnswer { envelope, incomplete, faults } = read.map_err(hidden)?;
            let (limit, had_cursor) = (question.limit, question.cursor.is_some());
            let is_small = envelope.len() <= PARSED_IN_PLACE_BYTES;
            let parse = move || parse_page(envelope.as_bytes(), Some(CONTRACT_TYPE), limit, had_cursor);
            let mut answer = if is_small { parse() } else { on_thread(parse).await }?;
            if !mapped.states_total() {
                answer = answer.without_note_of_total();
            }
            let notes = faults.iter().filter_map(|fault| fault.note(is_personal));
            answer.notes.splice(..0, notes);
            answer.incomplete = incomplete;
            refuse_repeated_cursor(&mut answer, question);
            return Ok(answer);
        }
        let content_type = read_content_type(&response);
        let wait = read_pause(StatusCode::TOO_MANY_REQUESTS, response.headers()).wait;
        let body = receive_body(response, bound).await.map_err(|error| error.into_source_error(SOURCE))?;
        let (limit, had_cursor) = (question.limit, question.cursor.is_some());
        let parse = move |content: &[u8]| parse_page(content, content_type.as_deref(), limit, had_cursor);
        let mut answer = match body.if_small(PARSED_IN_PLACE_BYTES.min(bound)) {
            Some(content) => parse(&content),
            None => on_thread(move || parse(&inflate(body, bound)?)).await,
        }
        .map_err(|error| error.waiting(wait))?;
        refuse_repeated_cursor(&mut answer, question);
        Ok(answer)
    }
}

impl<'q> From<Question<'q>> for ContractParameters<'q> {
    fn from(Question { keyword, limit, cursor, .. }: Question<'q>) -> Self {
        Self { keyword: Some(keyword), limit: Some(limit), cursor, escapes_keyword: false }
    }
}

/// The person of a call, if the source learns of people.
///
/// # Errors
/// See [`SourceIdentity::identify`](crate::SourceIdentity).
pub(crate) async fn identify(
    settings: &SourceSettings,
    user_id: Option<&str>,
) -> Result<Option<IdentifiedPerson>, SourceError> {
    match &settings.identity {
        Some(identity) => identity.identify(&settings.url, user_id).await.map(Some),
        None => Ok(None),
    }
}

/// # Errors
/// A filter of the mapping fails.
pub(crate) async fn prepare(
    settings: &SourceSettings,
    parameters: ContractParameters<'_>,
    person: Option<&KnownPerson>,
) -> Result<PreparedSearch, MappingError> {
    let SourceSettings { url, method, mapping, .. } = settings;
    Ok(match mapping {
        None => {
            let request = SearchRequest::for_contract(url, *method, parameters);
            PreparedSearch { request, mapped: None }
        }
        Some(mapping) => {
            let (request, question) = mapping.build(url, *method, parameters, person).await?;
            PreparedSearch { request, mapped: Some(question) }
        }
    })
}

/// Systems that know no contract may answer with any success that has a body.
pub(crate) fn is_page(status: StatusCode, settings: &SourceSettings) -> bool {
    status == StatusCode::OK
        || settings.mapping.is_some() && status.is_success() && status != StatusCode::NO_CONTENT
}

/// Whether a redirect led to an address without the parameters.
pub(crate) fn loses_query(request: &SearchRequest, response: &Response) -> bool {
    request.url.query().is_some() && response.url().query().is_none()
}

fn inflate(body: ResponseBody, bound: usize) -> Result<Vec<u8>, SourceError> {
    body.inflate(bound).map_err(|error| error.into_source_error(SOURCE))
}

async fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SourceError> + Send + 'static,
) -> Result<T, SourceError> {
    let broke = |_| SourceError::Failed("reading the source's answer failed unexpectedly".to_owned());
    tokio::task::spawn_blocking(work).await.map_err(broke).flatten()
}

/// Ends the paging at a cursor that repeats itself.
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
    use crate::settings::Method;

    #[tokio::test]
    async fn wait_for_a_permit_counts_against_the_timeout() {
        let settings = SourceSettings {
            url: "https://nowhere.invalid:9/".parse().unwrap(),
            method: Method::Get,
            mapping: None,
            authentication: Authentication::None,
            identity: None,
            timeout: Duration::from_millis(20),
            max_concurrency: 1,
            max_body_bytes: 1024,
        };
        let client = SourceClient::new(settings, &AddressRules::default()).unwrap();
        let _held = client.state.permits.acquire().await.unwrap();

        let outcome =
            client.search(&Question { keyword: "budget", limit: 10, cursor: None, person: None }).await;

        assert_eq!(outcome, Err(SourceError::Timeout));
    }
}
