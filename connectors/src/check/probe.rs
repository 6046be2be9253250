//! One call of a check: what is sent, as `curl` too, and what comes back, with the clause that a failure breaks.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;

use super::Finding;
use super::clause::Clause;
use super::curl;
use crate::addresses::AddressRules;
use crate::blot::blot;
use crate::client::{complete, contract_request};
use crate::error::SourceError;
use crate::settings::{Authentication, ClientCredentials, SettingsError, SourceSettings};
use crate::token::{Token, Tokens};
use crate::transport::{Http, SOURCE, TransportError, read_body};

/// Connections kept: as many as the check has calls at once.
const CONNECTIONS: usize = 10;
/// A token that no server issued.
pub(super) const WRONG_AUTHORIZATION: &str = "Bearer trawl-check-wrong-token";

/// Calls the source for a check.
pub(super) struct Probe {
    settings: SourceSettings,
    rules: AddressRules,
    http: Http,
    record: Mutex<Record>,
}

#[derive(Default)]
struct Record {
    /// How long each call took that was answered with HTTP 200.
    times: Vec<Duration>,
    /// What no report may hold, though a source may echo it.
    secrets: Vec<SecretString>,
}

/// The parameters of a call; what is `None` is not sent.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Parameters<'p> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) keyword: Option<&'p str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) limit: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cursor: Option<&'p str>,
}

/// As whom the source is called.
#[derive(Clone)]
pub(super) enum Identity {
    /// Without credentials.
    Nobody,
    /// With a token of the token endpoint.
    Holder(Arc<Token>),
    /// With a token that no server issued.
    Impostor,
}

/// One call.
#[derive(Debug)]
pub(super) struct Exchange {
    /// The command line that repeats it.
    pub(super) curl: String,
    /// How long it took.
    pub(super) took: Duration,
    /// What came back; else the clause that is broken, and how.
    pub(super) outcome: Result<Reply, (Clause, String)>,
}

/// An HTTP response that arrived whole.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) content_type: Option<String>,
    /// Empty where the status is not 200: nothing in it would be used.
    pub(super) body: Vec<u8>,
}

impl Probe {
    /// # Errors
    /// Settings that can never work.
    pub(super) fn new(settings: &SourceSettings, rules: &AddressRules) -> Result<Self, SettingsError> {
        settings.check_limits()?;
        let http = Http::new(SOURCE, &settings.url, rules, CONNECTIONS)?;
        let record = Mutex::new(Record::default());
        if let Authentication::OAuth2Client(credentials) = &settings.authentication {
            lock(&record).secrets.extend([credentials.client_secret.clone(), credentials.pair().into()]);
        }
        Ok(Self { settings: settings.clone(), rules: rules.clone(), http, record })
    }

    /// The credentials that the source is registered with.
    pub(super) fn credentials(&self) -> Option<&ClientCredentials> {
        match &self.settings.authentication {
            Authentication::None => None,
            Authentication::OAuth2Client(credentials) => Some(credentials),
        }
    }

    /// A new token for `credentials`.
    pub(super) async fn fetch_token(
        &self,
        credentials: &ClientCredentials,
    ) -> Result<Arc<Token>, SourceError> {
        let tokens = Tokens::new(credentials.clone(), &self.rules)
            .map_err(|error| SourceError::Failed(error.to_string()))?;
        let token = tokens.get().await?;
        lock(&self.record).secrets.push(token.text.clone());
        Ok(token)
    }

    /// Makes one call, which ends by the settings' timeout.
    pub(super) async fn call(&self, parameters: Parameters<'_>, identity: &Identity) -> Exchange {
        let curl = curl::describe_search(&self.settings, parameters, identity);
        let begun = Instant::now();
        let late = || {
            let seen = format!("no whole answer within {} ms", self.settings.timeout.as_millis());
            Err((Clause::InTime, seen))
        };
        let exchange = self.exchange(parameters, identity);
        let outcome = tokio::time::timeout(self.settings.timeout, exchange).await.unwrap_or_else(|_| late());
        let took = begun.elapsed();
        if outcome.as_ref().is_ok_and(|reply| reply.status == 200) {
            lock(&self.record).times.push(took);
        }
        Exchange { curl, took, outcome }
    }

    async fn exchange(
        &self,
        parameters: Parameters<'_>,
        identity: &Identity,
    ) -> Result<Reply, (Clause, String)> {
        let fail = |clause, error: TransportError| (clause, error.about(SOURCE).to_string());
        let impostor = HeaderValue::from_static(WRONG_AUTHORIZATION);
        let authorization = match identity {
            Identity::Nobody => None,
            Identity::Holder(token) => Some(&token.header),
            Identity::Impostor => Some(&impostor),
        };
        let make =
            || complete(contract_request(&self.http, self.settings.method, &parameters), authorization);
        let response = self.http.send(make).await.map_err(|error| {
            let clause = match &error {
                TransportError::Timeout => Clause::InTime,
                TransportError::Redirect(_) => Clause::Redirect,
                _ => Clause::Http,
            };
            fail(clause, error)
        })?;
        let status = response.status();
        let content_type = response.headers().get(CONTENT_TYPE);
        let content_type = content_type.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        let body = match status {
            StatusCode::OK => read_body(response, self.settings.max_body_bytes).await,
            _ => Ok(Vec::new()),
        };
        let body = body.map_err(|error| {
            let clause = match &error {
                TransportError::Timeout => Clause::InTime,
                TransportError::TooLarge(_) => Clause::Size,
                TransportError::Encoding(_) | TransportError::Undecodable => Clause::ContentEncoding,
                _ => Clause::Complete,
            };
            fail(clause, error)
        })?;
        Ok(Reply { status: status.as_u16(), content_type, body })
    }

    /// Blots tokens and secrets out of what a source wrote; a cursor stands in the command line too.
    pub(super) fn blot(&self, findings: &mut [Finding]) {
        let record = lock(&self.record);
        for secret in record.secrets.iter().map(ExposeSecret::expose_secret) {
            for finding in &mut *findings {
                finding.seen = blot(std::mem::take(&mut finding.seen), secret);
                finding.curl = finding.curl.take().map(|curl| blot(curl, secret));
            }
        }
    }

    /// How long the answered calls took.
    pub(super) fn into_times(self) -> Vec<Duration> {
        self.record.into_inner().unwrap_or_else(PoisonError::into_inner).times
    }
}

fn lock(record: &Mutex<Record>) -> std::sync::MutexGuard<'_, Record> {
    record.lock().unwrap_or_else(PoisonError::into_inner)
}
