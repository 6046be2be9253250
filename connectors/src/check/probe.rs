//! One call, and the clause that its failure breaks.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use secrecy::{ExposeSecret, SecretString};

use super::call::{CallAssertion, CallCredentials};
use super::clause::ContractClause;
use super::curl;
use super::report::Finding;
use crate::addresses::AddressRules;
use crate::answer::parse_answer;
use crate::client::{PreparedSearch, identify, is_page, loses_query, prepare};
use crate::content_type::CONTRACT_TYPE;
use crate::credentials::{SourceCredential, WRONG_BEARER};
use crate::error::SourceError;
use crate::identity::{Assertion, IdentifiedPerson, SignedAssertion};
use crate::mapping::{FieldFault, MappedCalls, MappingError, ReadAnswer};
use crate::redaction::{redact, redact_answer};
use crate::request::{ContractParameters, DEFAULT_LIMIT};
use crate::settings::{Authentication, ClientCredentials, Method, SettingsError, SourceSettings};
use crate::token::{Token, TokenCache};
use crate::transport::{Http, SOURCE, TransportError, read_body, read_content_type, read_pause};

const CONNECTIONS: usize = 10;
/// Nobody's id and login.
const NOBODY: &str = "trawl-check-nobody";
const OTHER_AUDIENCE: &str = "https://another-source.invalid";
const EXPIRED_SECONDS: i64 = 24 * 3600;
/// Repetitions of a call that a source with a rate limit refused.
const MAX_REPETITIONS: usize = 3;
/// Longest wait that a rate limit may ask for.
const MAX_PAUSE: Duration = Duration::from_secs(20);

pub(super) struct Probe {
    settings: SourceSettings,
    /// Synchronised id of the person of the check.
    person: Option<String>,
    rules: AddressRules,
    http: Http,
    record: Mutex<ProbeRecord>,
}

#[derive(Default)]
struct ProbeRecord {
    times: Vec<Duration>,
    /// Waits that rate limits asked for.
    waits: usize,
    /// Secrets that a source may echo.
    secrets: Vec<SecretString>,
}

#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) curl: String,
    pub(super) took: Duration,
    /// The answer before a mapping read it.
    pub(super) received: Option<Received>,
    /// Wait that a rate limit asks for.
    pub(super) pause: Option<Duration>,
    /// Response, or the broken clause with evidence.
    pub(super) outcome: Result<Reply, (ContractClause, String)>,
}

#[derive(Clone, Debug)]
pub(super) struct Received {
    pub(super) status: u16,
    pub(super) content_type: Option<String>,
    /// The body; truncated on failure.
    pub(super) body: Vec<u8>,
}

/// An answer in the contract's form.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) content_type: Option<String>,
    pub(super) body: Vec<u8>,
    /// Why rows are missing, as a mapping reads it.
    pub(super) incomplete: Option<String>,
    /// Faults that a mapping met.
    pub(super) faults: Vec<FieldFault>,
}

impl Probe {
    pub(super) fn new(
        settings: &SourceSettings,
        person: Option<&str>,
        rules: &AddressRules,
    ) -> Result<Self, SettingsError> {
        settings.check()?;
        if settings.identity.is_some() && person.is_none() {
            return Err(SettingsError::NoPerson);
        }
        let http = Http::new(SOURCE, &settings.url, rules, CONNECTIONS)?;
        let record = Mutex::new(ProbeRecord::default());
        let secrets = match &settings.authentication {
            Authentication::OAuth2Client(client) => vec![client.client_secret.clone(), client.pair().into()],
            other => other.fixed().map(|fixed| fixed.secrets.clone()).unwrap_or_default(),
        };
        lock(&record).secrets.extend(secrets);
        let person = person.map(str::to_owned);
        Ok(Self { settings: settings.clone(), person, rules: rules.clone(), http, record })
    }

    pub(super) fn authentication(&self) -> &Authentication {
        &self.settings.authentication
    }

    pub(super) fn is_mapped(&self) -> bool {
        self.settings.mapping.is_some()
    }

    /// Whether the end of the pages is told by an empty one alone.
    pub(super) fn ends_by_an_empty_page(&self) -> bool {
        self.settings.mapping.as_ref().is_some_and(MappedCalls::ends_by_an_empty_page)
    }

    pub(super) fn sends_queries(&self) -> bool {
        !self.is_mapped() && self.settings.method == Method::Get
    }

    pub(super) fn takes_assertions(&self) -> bool {
        self.settings.identity.as_ref().is_some_and(|identity| identity.header.is_some())
    }

    /// Returns the credentials as registered.
    ///
    /// # Errors
    /// No token.
    pub(super) async fn credentials(&self) -> Result<CallCredentials, SourceError> {
        Ok(match &self.settings.authentication {
            Authentication::None => CallCredentials::None,
            Authentication::OAuth2Client(client) => CallCredentials::Token(self.fetch_token(client).await?),
            Authentication::ApiKey(_) | Authentication::Basic(_) | Authentication::Bearer(_) => {
                CallCredentials::Fixed
            }
        })
    }

    pub(super) async fn fetch_token(
        &self,
        credentials: &ClientCredentials,
    ) -> Result<Arc<Token>, SourceError> {
        let tokens = TokenCache::new(credentials.clone(), self.settings.identity.as_ref(), &self.rules)
            .map_err(|error| SourceError::Failed(error.to_string()))?;
        let identified = identify(&self.settings, self.person.as_deref()).await?;
        let token = tokens.get(identified.as_ref().map(|identified| &identified.person)).await?;
        lock(&self.record).secrets.push(token.text.clone());
        Ok(token)
    }

    pub(super) async fn call(
        &self,
        parameters: ContractParameters<'_>,
        credentials: &CallCredentials,
    ) -> Exchange {
        self.call_with(parameters, credentials, CallAssertion::Proper).await
    }

    /// Keeps to the rate limit that a source tells.
    pub(super) async fn call_with(
        &self,
        parameters: ContractParameters<'_>,
        credentials: &CallCredentials,
        assertion: CallAssertion,
    ) -> Exchange {
        let mut repetitions = 0;
        loop {
            let exchange = self.call_once(parameters, credentials, assertion).await;
            match exchange.pause {
                Some(pause) if repetitions < MAX_REPETITIONS && pause <= MAX_PAUSE => {
                    lock(&self.record).waits += 1;
                    tokio::time::sleep(pause).await;
                    repetitions += 1;
                }
                _ => return exchange,
            }
        }
    }

    pub(super) async fn call_once(
        &self,
        parameters: ContractParameters<'_>,
        credentials: &CallCredentials,
        assertion: CallAssertion,
    ) -> Exchange {
        let unsent = |outcome| Exchange {
            curl: String::new(),
            took: Duration::ZERO,
            received: None,
            pause: None,
            outcome: Err(outcome),
        };
        let identified = match self.identify(assertion).await {
            Ok(identified) => identified,
            Err(error) => return unsent((ContractClause::IdentityRequired, error.to_string())),
        };
        let person = identified.as_ref().map(|identified| &identified.person);
        let assertion = identified.as_ref().and_then(|identified| identified.assertion.as_ref());
        lock(&self.record).secrets.extend(assertion.map(|assertion| assertion.text.clone()));
        let assertion = assertion.map(|assertion| &assertion.credential);
        let prepared = match prepare(&self.settings, parameters, person).await {
            Ok(prepared) => prepared,
            Err(error) => return unsent(mapping_fault(&error)),
        };
        let authentication = &self.settings.authentication;
        let curl = curl::describe_search(&prepared.request, authentication, credentials, assertion);
        let begun = Instant::now();
        let late = || {
            let seen = format!("no complete answer within {} ms", self.settings.timeout.as_millis());
            Err((ContractClause::InTime, seen))
        };
        let exchange = self.exchange(&prepared, credentials, assertion);
        let received = tokio::time::timeout(self.settings.timeout, exchange).await.unwrap_or_else(|_| late());
        let took = begun.elapsed();
        let (received, pause, outcome) = match received {
            Ok((received, headers)) => {
                let reply = self.map(&prepared, &received, &headers).await;
                let pause = rate_limit(&received, &headers, reply.as_ref().ok());
                (Some(received), pause, reply)
            }
            Err(fault) => (None, None, Err(fault)),
        };
        if outcome.as_ref().is_ok_and(|reply| reply.status == 200) {
            lock(&self.record).times.push(took);
        }
        Exchange { curl, took, received, pause, outcome }
    }

    /// # Errors
    /// The person does not stand; no key is at hand.
    async fn identify(&self, assertion: CallAssertion) -> Result<Option<IdentifiedPerson>, SourceError> {
        let identified = identify(&self.settings, self.person.as_deref()).await?;
        let (Some(mut identified), Some(identity)) = (identified, &self.settings.identity) else {
            return Ok(None);
        };
        let Some(header) = identity.header.as_ref().filter(|_| assertion != CallAssertion::Proper) else {
            return Ok(Some(identified));
        };
        let audience = identity.audience(&self.settings.url);
        let mut person = identified.person.clone();
        if assertion == CallAssertion::Nobody {
            (person.user_id, person.login_id) = (NOBODY.to_owned(), NOBODY.to_owned());
            person.departments.clear();
        }
        let mut claims = Assertion::new(&person, &identity.claims, &audience);
        match assertion {
            CallAssertion::Misdirected => claims.audience = OTHER_AUDIENCE,
            CallAssertion::Expired => claims.life = -EXPIRED_SECONDS,
            _ => {}
        }
        let mut text = identity.issuer.sign(&claims).await?;
        if assertion == CallAssertion::Forged {
            text = with_other_signature(text.expose_secret());
        }
        let signed = SignedAssertion { credential: header.credential(&text)?, text };
        identified.assertion = (assertion != CallAssertion::Missing).then_some(signed);
        Ok(Some(identified))
    }

    async fn exchange(
        &self,
        prepared: &PreparedSearch,
        credentials: &CallCredentials,
        assertion: Option<&SourceCredential>,
    ) -> Result<(Received, HeaderMap), (ContractClause, String)> {
        let fail = |clause, error: TransportError| (clause, error.into_source_error(SOURCE).to_string());
        let fixed = self.settings.authentication.fixed();
        let credential = match credentials {
            CallCredentials::None => None,
            CallCredentials::Token(token) => Some(token.credential.clone()),
            CallCredentials::Fixed => fixed.map(|fixed| fixed.credential.clone()),
            CallCredentials::Wrong => Some(match fixed {
                Some(fixed) => fixed.credential.with_value(fixed.wrong_value),
                None => SourceCredential::header(AUTHORIZATION, HeaderValue::from_static(WRONG_BEARER)),
            }),
        };
        let make = || Ok(prepared.request.with(credential.iter().chain(assertion)));
        let response = self.http.send(make).await.map_err(|error| {
            let clause = match &error {
                TransportError::Timeout => ContractClause::InTime,
                TransportError::Redirect(_) => ContractClause::Redirect,
                _ => ContractClause::Http,
            };
            fail(clause, error)
        })?;
        let status = response.status();
        if (status.is_client_error() || status.is_success()) && loses_query(&prepared.request, &response) {
            let seen = format!("HTTP {} behind a redirect that loses the query", status.as_u16());
            return Err((ContractClause::Redirect, seen));
        }
        let content_type = read_content_type(&response);
        let headers = response.headers().clone();
        let body = match status {
            status if is_page(status, &self.settings) => {
                read_body(response, self.settings.max_body_bytes).await
            }
            _ => Ok(read_body(response, self.settings.max_body_bytes).await.unwrap_or_default()),
        };
        let body = body.map_err(|error| {
            let clause = match &error {
                TransportError::Timeout => ContractClause::InTime,
                TransportError::TooLarge(_) => ContractClause::Size,
                TransportError::Encoding(_) | TransportError::Undecodable => ContractClause::ContentEncoding,
                _ => ContractClause::Complete,
            };
            fail(clause, error)
        })?;
        Ok((Received { status: status.as_u16(), content_type, body }, headers))
    }

    async fn map(
        &self,
        prepared: &PreparedSearch,
        received: &Received,
        headers: &HeaderMap,
    ) -> Result<Reply, (ContractClause, String)> {
        let Received { status, content_type, body } = received.clone();
        match (&self.settings.mapping, &prepared.mapped) {
            (Some(mapping), Some(question))
                if StatusCode::from_u16(status).is_ok_and(|status| is_page(status, &self.settings)) =>
            {
                let secrets = self.secrets();
                let body = redact_answer(body, &secrets);
                let read = mapping.read(question, headers, &body, &secrets).await;
                let ReadAnswer { envelope, incomplete, faults } =
                    read.map_err(|error| mapping_fault(&error))?;
                let content_type = Some(CONTRACT_TYPE.to_owned());
                let status = StatusCode::OK.as_u16();
                Ok(Reply { status, content_type, body: envelope.into_bytes(), incomplete, faults })
            }
            _ => Ok(Reply { status, content_type, body, incomplete: None, faults: Vec::new() }),
        }
    }

    /// A cursor may bring secrets into the command line.
    pub(super) fn redact(&self, finding: &mut Finding) {
        [&mut finding.seen].into_iter().chain(&mut finding.curl).for_each(|text| self.redact_text(text));
    }

    pub(super) fn redact_text(&self, text: &mut String) {
        for secret in lock(&self.record).secrets.iter().map(ExposeSecret::expose_secret) {
            *text = redact(std::mem::take(text), secret);
        }
    }

    /// Those that a source may echo.
    pub(super) fn secrets(&self) -> Vec<SecretString> {
        lock(&self.record).secrets.clone()
    }

    pub(super) fn waits(&self) -> usize {
        lock(&self.record).waits
    }

    pub(super) fn into_times(self) -> Vec<Duration> {
        self.record.into_inner().unwrap_or_else(PoisonError::into_inner).times
    }
}

/// Returns the wait that a rate limit asks for.
///
/// A source that is out of service (HTTP 503) sets no rate limit.
fn rate_limit(received: &Received, headers: &HeaderMap, reply: Option<&Reply>) -> Option<Duration> {
    let says_busy = |reply: &Reply| {
        reply.status == StatusCode::OK.as_u16()
            && matches!(parse_answer(&reply.body, None, DEFAULT_LIMIT), Err(SourceError::Unavailable { .. }))
    };
    let status = match reply {
        Some(reply) if says_busy(reply) => StatusCode::TOO_MANY_REQUESTS,
        _ => StatusCode::from_u16(received.status).ok()?,
    };
    read_pause(status, headers).wait.filter(|_| status != StatusCode::SERVICE_UNAVAILABLE)
}

/// Claims that another key would have signed.
fn with_other_signature(assertion: &str) -> SecretString {
    let (claims, signature) = assertion.rsplit_once('.').unwrap_or((assertion, ""));
    let turned = signature.chars().rev().collect::<String>();
    format!("{claims}.{turned}").into()
}

fn mapping_fault(error: &MappingError) -> (ContractClause, String) {
    let clause = if error.field == "answer" { ContractClause::Json } else { ContractClause::Envelope };
    (clause, format!("the mapping does not fit: {error}"))
}

fn lock(record: &Mutex<ProbeRecord>) -> std::sync::MutexGuard<'_, ProbeRecord> {
    record.lock().unwrap_or_else(PoisonError::into_inner)
}
