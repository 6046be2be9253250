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
use crate::answer::BYTE_ORDER_MARK;
use crate::credentials::SourceCredential;
use crate::document::read_oauth2_response;
use crate::error::SourceError;
use crate::identity::{Assertion, KnownPerson, SourceIdentity};
use crate::nesting::read_json;
use crate::settings::{ClientCredentials, Grant, SettingsError};
use crate::text::{LineBreaks, clean, quote};
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
pub(crate) enum FetchFailure {
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
        let status = response.status();
        let answer = read_oauth2_response(TOKEN_ENDPOINT, response, MAX_TOKEN_BODY_BYTES).await;
        let answer = answer.map_err(FetchFailure::Final)?;
        read_token(status, answer.body(), self.credentials.grant, requested_at)
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

/// The token of an answer, or why there is none.
pub(crate) fn read_token(
    status: StatusCode,
    body: &[u8],
    grant: Grant,
    requested_at: Instant,
) -> Result<Token, FetchFailure> {
    let body = body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(body);
    let (fields, is_form) = read_fields(body);
    let answer = serde_json::from_value::<EndpointAnswer>(fields.clone()).ok();
    let answer = answer.filter(|_| status.is_success()).map(|answer| EndpointAnswer { is_form, ..answer });
    match (answer, refusal_code(&fields)) {
        // Some servers refuse with HTTP 200.
        (Some(answer), Some(code)) if answer.is_empty() => Err(describe_code(&code, grant)),
        (Some(answer), _) => answer.into_token(status, requested_at).map_err(FetchFailure::Final),
        (None, Some(code)) => Err(describe_code(&code, grant)),
        (None, None) => {
            let text = "the token endpoint's answer does not follow RFC 6749: check the token URL";
            Err(FetchFailure::Final(SourceError::Invalid(text.to_owned())))
        }
    }
}

/// JSON, or a form as some servers send it, and whether it is a form.
fn read_fields(body: &[u8]) -> (Value, bool) {
    if body.trim_ascii_start().starts_with(b"<") {
        return (Value::Null, false);
    }
    if let Ok(fields) = read_json(body) {
        return (fields, false);
    }
    let fields = form_urlencoded::parse(body).map(|(name, value)| (name.into_owned(), value.into()));
    (Value::Object(fields.collect()), true)
}

/// Returns `error` of RFC 6749 §5.2, or its `code` in an object.
///
/// `WeCom` and Lark send a number.
///
/// The description is not read: it may name the client or the person.
fn refusal_code(fields: &Value) -> Option<String> {
    let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let of_error = match &fields["error"] {
        Value::Object(error) => ["code", "status", "type"].iter().find_map(|name| text(error.get(*name)?)),
        Value::Null => None,
        error => text(error),
    };
    let numbers =
        ["errcode", "code"].iter().filter_map(|name| fields[*name].as_i64().map(|code| (name, code)));
    let mut numbers = numbers.filter(|(_, code)| !matches!(code, 0 | 200));
    of_error.or_else(|| numbers.next().map(|(name, code)| format!("{name} {code}")))
}

fn describe_code(code: &str, grant: Grant) -> FetchFailure {
    let (shown, advice) = match code {
        // The numbers are those of WeCom.
        "slow_down" | "temporarily_unavailable" | "server_error" | "errcode -1" | "errcode 45009" => {
            let reason = format!("the token endpoint is busy ({code})");
            return FetchFailure::Final(SourceError::unavailable(reason));
        }
        "invalid_client" => (code, "check the client id and secret".to_owned()),
        "invalid_scope" => (code, "check the scope".to_owned()),
        // Entra sends it for unknown clients, too.
        "unauthorized_client" => (code, format!("check the client id; {}", grant.not_allowed())),
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
        _ if code.starts_with("errcode ") || code.starts_with("code ") => {
            (code, "check the client id and secret".to_owned())
        }
        _ => (OWN_ERROR, "check the client, the scope and the audience".to_owned()),
    };
    let error = SourceError::Unauthorized(format!("the token endpoint refused with {shown}: {advice}"));
    match code {
        "invalid_client" | "invalid_request" => FetchFailure::Client(error),
        _ => FetchFailure::Final(error),
    }
}

const OWN_ERROR: &str = "an error of its own";

/// RFC 6749 §5.1, read leniently.
#[derive(Deserialize)]
struct EndpointAnswer {
    access_token: SecretString,
    #[serde(default)]
    token_type: Value,
    #[serde(default)]
    expires_in: Value,
    #[serde(default, deserialize_with = "read_scope")]
    scope: Option<String>,
    #[serde(skip)]
    is_form: bool,
}

/// Types whose tokens cannot be sent as `Authorization: Bearer` (RFC 6749 §7.1, RFC 9449, RFC 8693).
const OTHER_TYPES: [&str; 5] = ["mac", "hawk", "dpop", "pop", "n_a"];

/// Seconds of a number or a text; a negative or unreadable life is none.
fn read_life(stated: &Value) -> Option<Duration> {
    let seconds = match stated {
        Value::Number(seconds) => seconds.as_f64(),
        Value::String(seconds) => seconds.trim().parse().ok(),
        _ => None,
    };
    seconds
        .filter(|seconds| *seconds >= 0.0)
        .map(|seconds| Duration::try_from_secs_f64(seconds.min(MAX_LIFE.as_secs_f64())).unwrap_or(MAX_LIFE))
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
    fn is_empty(&self) -> bool {
        self.access_token.expose_secret().trim().is_empty()
    }

    fn into_token(self, status: StatusCode, requested_at: Instant) -> Result<Token, SourceError> {
        let invalid = |text: &str| SourceError::Invalid(format!("the token endpoint's token {text}"));
        let note = self.note(status);
        if let Value::String(kind) = &self.token_type
            && OTHER_TYPES.contains(&kind.trim().to_ascii_lowercase().as_str())
        {
            return Err(invalid("is not a bearer token"));
        }
        let life = read_life(&self.expires_in);
        if self.is_empty() {
            return Err(invalid("is empty"));
        }
        let text = self.access_token;
        let value = HeaderValue::try_from(format!("Bearer {}", text.expose_secret()))
            .map_err(|_| invalid("cannot be sent in a header"))?;
        let credential = SourceCredential::header(AUTHORIZATION, value);
        let fresh_until = requested_at + usable_life(life);
        Ok(Token { credential, text, scope: self.scope, note, fresh_until })
    }

    /// Notes violations that do no harm.
    fn note(&self, status: StatusCode) -> Option<String> {
        let mut notes = Vec::new();
        if status != StatusCode::OK {
            notes.push(format!("it is HTTP {}, not 200", status.as_u16()));
        }
        if self.is_form {
            notes.push("it is a form, not JSON".to_owned());
        }
        match &self.token_type {
            Value::Null => {}
            Value::String(kind) if kind.eq_ignore_ascii_case("bearer") => {}
            Value::String(kind) => notes.push(format!("`token_type` is {}, not Bearer", quote(kind, 40))),
            _ => notes.push("`token_type` is not text".to_owned()),
        }
        let is_whole = match &self.expires_in {
            Value::Null => true,
            Value::Number(seconds) => {
                seconds.is_u64() || seconds.as_f64().is_some_and(|life| life.fract() == 0.0)
            }
            Value::String(seconds) => seconds.trim().parse::<u64>().is_ok(),
            _ => false,
        };
        if !is_whole || read_life(&self.expires_in).is_none() && !self.expires_in.is_null() {
            notes.push("`expires_in` is not a number of whole seconds".to_owned());
        }
        (!notes.is_empty()).then(|| format!("the token endpoint's answer: {}", notes.join(", ")))
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
    fn life_is_read_from_any_number() {
        let life = |stated: Value| read_life(&stated).map(|life| life.as_millis());
        assert_eq!(life(json!(3_599.9)), Some(3_599_900));
        assert_eq!(life(json!(" 60 ")), Some(60_000));
        assert_eq!(life(json!(1e300)), Some(24 * 3_600_000));
        for stated in [json!(-1), json!("soon"), json!("NaN"), json!(null), json!([60])] {
            assert_eq!(life(stated.clone()), None, "{stated}");
        }
    }

    #[test]
    fn stated_scope_is_kept_and_token_is_hidden() {
        let read = |scope: Value| {
            let answer = json!({"access_token": "tok-123", "scope": scope});
            let answer = serde_json::from_value::<EndpointAnswer>(answer).unwrap();
            answer.into_token(StatusCode::OK, Instant::now()).unwrap()
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
