//! Requests of a token endpoint (RFC 6749, RFC 7523, RFC 8693).

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Method, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use tokio::time::Instant;
use url::form_urlencoded;

use super::Token;
use crate::addresses::AddressRules;
use crate::credentials::SourceCredential;
use crate::document::read_oauth2_response;
use crate::error::SourceError;
use crate::identity::{Assertion, KnownPerson, SourceIdentity};
use crate::lenient_json::Integer;
use crate::nesting::read_json;
use crate::settings::{ClientCredentials, Grant, SettingsError};
use crate::text::{LineBreaks, clean};
use crate::transport::{Http, TOKEN_ENDPOINT};

/// Life of a token that states none. The source's 401 ends a shorter one.
const UNSTATED_LIFE: Duration = Duration::from_mins(5);
const MAX_LIFE: Duration = Duration::from_hours(24);
const MAX_TOKEN_BODY_BYTES: usize = 64 * 1024;
const MAX_SCOPE_BYTES: usize = 1024;

/// Use of a token ends 30 s, or a tenth of its life, before its end.
fn usable_life(stated: Option<Duration>) -> Duration {
    let life = stated.unwrap_or(UNSTATED_LIFE).min(MAX_LIFE);
    life.saturating_sub((life / 10).min(Duration::from_secs(30)))
}

/// Refused clients may need to send the secret the other way.
enum FetchFailure {
    Client(SourceError),
    Final(SourceError),
}

pub(super) struct TokenEndpoint {
    http: Http,
    credentials: ClientCredentials,
    /// Identity that a grant of people needs.
    identity: Option<SourceIdentity>,
    /// The endpoint wants `client_secret_post`.
    secret_in_body: AtomicBool,
}

impl TokenEndpoint {
    pub(super) fn new(
        credentials: ClientCredentials,
        identity: Option<&SourceIdentity>,
        rules: &AddressRules,
    ) -> Result<Self, SettingsError> {
        let http = Http::new(TOKEN_ENDPOINT, &credentials.token_url, rules, 1)?;
        let identity = identity.filter(|_| credentials.grant.is_of_people()).cloned();
        Ok(Self { http, credentials, identity, secret_in_body: AtomicBool::new(false) })
    }

    pub(super) fn grants_people(&self) -> bool {
        self.identity.is_some()
    }

    /// Errors hold neither the client's secret nor the assertion.
    pub(super) async fn fetch(&self, person: Option<&KnownPerson>) -> Result<Token, SourceError> {
        let assertion = match (&self.identity, person) {
            (Some(SourceIdentity { issuer, claims, .. }), Some(person)) => {
                let audience = claims.audience.as_deref().unwrap_or(self.credentials.token_url.as_str());
                Some(issuer.sign(&Assertion::new(person, claims, audience)).await?)
            }
            (Some(_), None) => return Err(SourceError::no_person()),
            (None, _) => None,
        };
        let credentials = &self.credentials;
        self.fetch_by(assertion.as_ref()).await.map_err(|error| {
            let error = error.redacted(credentials.client_secret.expose_secret());
            let error = error.redacted(&credentials.pair());
            assertion.iter().fold(error, |error, assertion| error.redacted(assertion.expose_secret()))
        })
    }

    /// Tries basic authentication, then the secret in the body; what worked last goes first.
    async fn fetch_by(&self, assertion: Option<&SecretString>) -> Result<Token, SourceError> {
        let body_first = self.secret_in_body.load(Ordering::Relaxed);
        let refusal = match self.request(assertion, body_first).await {
            Ok(token) => return Ok(token),
            Err(FetchFailure::Final(error)) => return Err(error),
            Err(FetchFailure::Client(error)) => error,
        };
        match self.request(assertion, !body_first).await {
            Ok(token) => {
                self.secret_in_body.store(!body_first, Ordering::Relaxed);
                Ok(token)
            }
            Err(FetchFailure::Client(_)) => Err(refusal),
            // The secret's place was right, so this is the real error.
            Err(FetchFailure::Final(error)) => Err(error),
        }
    }

    async fn request(
        &self,
        assertion: Option<&SecretString>,
        secret_in_body: bool,
    ) -> Result<Token, FetchFailure> {
        const FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded");
        const JSON: HeaderValue = HeaderValue::from_static("application/json");
        let mut fields = self.fields(assertion.map_or("", ExposeSecret::expose_secret));
        let mut basic = None;
        if secret_in_body {
            fields.push(("client_id", &self.credentials.client_id));
            fields.push(("client_secret", self.credentials.client_secret.expose_secret()));
        } else {
            basic = Some(format!("Basic {}", BASE64_STANDARD.encode(self.credentials.pair())));
        }
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let make = || {
            let request = self.http.request(Method::POST).header(ACCEPT, JSON).header(CONTENT_TYPE, FORM);
            let request = basic.iter().fold(request, |request, basic| request.header(AUTHORIZATION, basic));
            Ok(request.body(body.clone()).build()?)
        };
        let requested_at = Instant::now();
        let sent = self.http.send(make).await;
        let response = sent.map_err(|error| FetchFailure::Final(error.into_source_error(TOKEN_ENDPOINT)))?;
        // Servers differ in the body for an unknown client.
        if response.status() == StatusCode::UNAUTHORIZED {
            let text = "the token endpoint refused the client with HTTP 401: check the client id and secret";
            return Err(FetchFailure::Client(SourceError::Unauthorized(text.to_owned())));
        }
        let answer = read_oauth2_response(TOKEN_ENDPOINT, response, MAX_TOKEN_BODY_BYTES).await;
        let answer = answer.map_err(FetchFailure::Final)?;
        if answer.status() == StatusCode::OK {
            let answer: EndpointAnswer = read(answer.body()).map_err(FetchFailure::Final)?;
            return answer.into_token(requested_at).map_err(FetchFailure::Final);
        }
        let TokenRefusal { error } = read(answer.body()).map_err(FetchFailure::Final)?;
        Err(describe_code(&error, self.credentials.grant))
    }

    fn fields<'f>(&'f self, assertion: &'f str) -> Vec<(&'static str, &'f str)> {
        let grant = self.credentials.grant;
        let mut fields = vec![("grant_type", grant.grant_type())];
        match grant {
            Grant::ClientCredentials => {}
            Grant::JwtBearer => fields.push(("assertion", assertion)),
            Grant::TokenExchange => {
                fields.push(("subject_token", assertion));
                fields.push(("subject_token_type", "urn:ietf:params:oauth:token-type:jwt"));
            }
        }
        let wanted = [("scope", &self.credentials.scope), ("audience", &self.credentials.audience)];
        fields.extend(wanted.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?))));
        fields
    }
}

fn read<'b, T: Deserialize<'b>>(body: &'b [u8]) -> Result<T, SourceError> {
    read_json(body).map_err(|_| {
        let text = "the token endpoint's answer does not follow RFC 6749: check the token URL";
        SourceError::Invalid(text.to_owned())
    })
}

/// RFC 6749 §5.2. Its description is not read: it may name the client or the person.
#[derive(Deserialize)]
struct TokenRefusal {
    error: String,
}

fn describe_code(code: &str, grant: Grant) -> FetchFailure {
    let (shown, advice) = match code {
        "invalid_client" => (code, "check the client id and secret".to_owned()),
        "invalid_scope" => (code, "check the scope".to_owned()),
        "unauthorized_client" => (code, grant.not_allowed()),
        "unsupported_grant_type" => (code, grant.not_offered()),
        // RFC 8707 §2.
        "invalid_target" => (code, "check the audience".to_owned()),
        _ if grant.is_of_people() => {
            let shown = if matches!(code, "invalid_grant" | "invalid_request") { code } else { OWN_ERROR };
            let text = format!("the token endpoint gave no token for this person ({shown})");
            let refusal = SourceError::PersonRefused(text);
            // Some servers look for the client id in the body only.
            return if code == "invalid_request" {
                FetchFailure::Client(refusal)
            } else {
                FetchFailure::Final(refusal)
            };
        }
        "invalid_request" => (code, "check the scope and audience".to_owned()),
        _ => (OWN_ERROR, "check the client, the scope and the audience".to_owned()),
    };
    let error = SourceError::Unauthorized(format!("the token endpoint refused with {shown}: {advice}"));
    match code {
        "invalid_client" | "invalid_request" => FetchFailure::Client(error),
        _ => FetchFailure::Final(error),
    }
}

const OWN_ERROR: &str = "an error of its own";

/// RFC 6749 §5.1, read leniently: `expires_in` may be text, `token_type` may be absent.
#[derive(Deserialize)]
struct EndpointAnswer {
    access_token: SecretString,
    token_type: Option<String>,
    #[serde(default, deserialize_with = "read_seconds")]
    expires_in: Option<u64>,
    #[serde(default, deserialize_with = "read_scope")]
    scope: Option<String>,
}

fn read_seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let value = serde_json_borrow::Value::deserialize(deserializer)?;
    Ok(Integer::read(&value).and_then(|seconds| u64::try_from(seconds.value()).ok()))
}

fn read_scope<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let scope = match Value::deserialize(deserializer)? {
        Value::String(scope) => scope,
        Value::Array(scopes) => scopes.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
        _ => return Ok(None),
    };
    Ok(Some(clean(scope, MAX_SCOPE_BYTES, LineBreaks::One)))
}

impl EndpointAnswer {
    fn into_token(self, requested_at: Instant) -> Result<Token, SourceError> {
        let invalid = |text: &str| SourceError::Invalid(format!("the token endpoint's token {text}"));
        if self.token_type.is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) {
            return Err(invalid("is not a bearer token"));
        }
        let text = self.access_token;
        if text.expose_secret().is_empty() {
            return Err(invalid("is empty"));
        }
        let value = HeaderValue::try_from(format!("Bearer {}", text.expose_secret()))
            .map_err(|_| invalid("cannot be sent in a header"))?;
        let credential = SourceCredential::header(AUTHORIZATION, value);
        let fresh_until = requested_at + usable_life(self.expires_in.map(Duration::from_secs));
        Ok(Token { credential, text, scope: self.scope, fresh_until })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn token_is_used_until_shortly_before_its_end() {
        let life = |seconds| usable_life(Some(Duration::from_secs(seconds))).as_secs();
        assert_eq!([life(3600), life(300), life(60), life(0)], [3570, 270, 54, 0]);
        assert_eq!(life(u64::MAX), 24 * 3600 - 30);
        assert_eq!(usable_life(None).as_secs(), 270);
    }

    #[test]
    fn stated_scope_is_kept_and_token_is_hidden() {
        let read = |scope: Value| {
            let answer = json!({"access_token": "tok-123", "scope": scope});
            serde_json::from_value::<EndpointAnswer>(answer).unwrap().into_token(Instant::now()).unwrap()
        };
        assert_eq!(read(json!("search read")).scope.as_deref(), Some("search read"));
        assert_eq!(read(json!(["search", "read"])).scope.as_deref(), Some("search read"));
        assert_eq!(read(json!("a\u{1b}b".repeat(2_000))).scope.map(|scope| scope.len()), Some(1_024));
        assert_eq!(read(json!(null)).scope, None);
        assert_eq!(read(json!(7)).scope, None);
        let shown = format!("{:?}", read(json!("search")));
        assert!(shown.contains("search") && !shown.contains("tok-123"), "{shown}");
    }
}
