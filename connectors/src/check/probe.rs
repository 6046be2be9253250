//! One call, and the clause that its failure breaks.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use reqwest::header::{AUTHORIZATION, HeaderValue};
use secrecy::{ExposeSecret, SecretString};

use super::call::{CallCredentials, Parameters};
use super::clause::Clause;
use super::curl;
use super::report::Finding;
use crate::addresses::AddressRules;
use crate::client::{contract_request, finish_request};
use crate::credentials::{CredentialHeader, FixedCredentials, WRONG_BEARER};
use crate::error::SourceError;
use crate::redaction::redact;
use crate::settings::{Authentication, ClientCredentials, SettingsError, SourceSettings};
use crate::token::{Token, TokenCache};
use crate::transport::{Http, SOURCE, TransportError, read_body, read_content_type};

const CONNECTIONS: usize = 10;

pub(super) struct Probe {
    settings: SourceSettings,
    rules: AddressRules,
    http: Http,
    record: Mutex<Record>,
}

#[derive(Default)]
struct Record {
    times: Vec<Duration>,
    /// Secrets that a source may echo.
    secrets: Vec<SecretString>,
}

#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) curl: String,
    pub(super) took: Duration,
    /// Response, or the broken clause with evidence.
    pub(super) outcome: Result<Reply, (Clause, String)>,
}

#[derive(Clone, Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) content_type: Option<String>,
    /// Empty unless the status is 200.
    pub(super) body: Vec<u8>,
}

impl Probe {
    pub(super) fn new(settings: &SourceSettings, rules: &AddressRules) -> Result<Self, SettingsError> {
        settings.check_limits()?;
        let http = Http::new(SOURCE, &settings.url, rules, CONNECTIONS)?;
        let record = Mutex::new(Record::default());
        let secrets = match &settings.authentication {
            Authentication::OAuth2Client(client) => vec![client.client_secret.clone(), client.pair().into()],
            other => other.fixed().map(FixedCredentials::secrets).unwrap_or_default(),
        };
        lock(&record).secrets.extend(secrets);
        Ok(Self { settings: settings.clone(), rules: rules.clone(), http, record })
    }

    pub(super) fn authentication(&self) -> &Authentication {
        &self.settings.authentication
    }

    pub(super) async fn fetch_token(
        &self,
        credentials: &ClientCredentials,
    ) -> Result<Arc<Token>, SourceError> {
        let tokens = TokenCache::new(credentials.clone(), &self.rules)
            .map_err(|error| SourceError::Failed(error.to_string()))?;
        let token = tokens.get().await?;
        lock(&self.record).secrets.push(token.text.clone());
        Ok(token)
    }

    pub(super) async fn call(&self, parameters: Parameters<'_>, credentials: &CallCredentials) -> Exchange {
        let curl = curl::describe_search(&self.settings, parameters, credentials);
        let begun = Instant::now();
        let late = || {
            let seen = format!("no complete answer within {} ms", self.settings.timeout.as_millis());
            Err((Clause::InTime, seen))
        };
        let exchange = self.exchange(parameters, credentials);
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
        credentials: &CallCredentials,
    ) -> Result<Reply, (Clause, String)> {
        let fail = |clause, error: TransportError| (clause, error.into_source_error(SOURCE).to_string());
        let fixed = self.settings.authentication.fixed();
        let header = match credentials {
            CallCredentials::None => None,
            CallCredentials::Token(token) => Some(token.header.clone()),
            CallCredentials::Fixed => fixed.map(|fixed| fixed.header().clone()),
            CallCredentials::Wrong => Some(match fixed {
                Some(fixed) => CredentialHeader::new(fixed.header().name.clone(), fixed.wrong_value()),
                None => CredentialHeader::new(AUTHORIZATION, HeaderValue::from_static(WRONG_BEARER)),
            }),
        };
        let make = || {
            let request = contract_request(&self.http, self.settings.method, &parameters);
            finish_request(request, header.as_ref())
        };
        let response = self.http.send(make).await.map_err(|error| {
            let clause = match &error {
                TransportError::Timeout => Clause::InTime,
                TransportError::Redirect(_) => Clause::Redirect,
                _ => Clause::Http,
            };
            fail(clause, error)
        })?;
        let status = response.status();
        let content_type = read_content_type(&response);
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

    /// A cursor may bring secrets into the command line.
    pub(super) fn redact(&self, finding: &mut Finding) {
        for secret in lock(&self.record).secrets.iter().map(ExposeSecret::expose_secret) {
            finding.seen = redact(std::mem::take(&mut finding.seen), secret);
            finding.curl = finding.curl.take().map(|curl| redact(curl, secret));
        }
    }

    pub(super) fn into_times(self) -> Vec<Duration> {
        self.record.into_inner().unwrap_or_else(PoisonError::into_inner).times
    }
}

fn lock(record: &Mutex<Record>) -> std::sync::MutexGuard<'_, Record> {
    record.lock().unwrap_or_else(PoisonError::into_inner)
}
