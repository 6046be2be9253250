//! `OAUTH2_CLIENT`: one cached token per source, and one fetch for all waiting searches (decisions 7.3).
//!
//! A task of its own drives each fetch. A token is used until shortly before its end.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use oauth2::basic::{
    BasicErrorResponse, BasicErrorResponseType, BasicRevocationErrorResponse,
    BasicTokenIntrospectionResponse, BasicTokenType,
};
use oauth2::{
    AccessToken, AsyncHttpClient, AuthType, ClientId, ClientSecret, EndpointNotSet, HttpRequest,
    HttpResponse, RefreshToken, RequestTokenError, Scope, StandardRevocableToken, TokenResponse, TokenUrl,
};
use reqwest::StatusCode;
use reqwest::header::{AUTHORIZATION, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use tokio::time::Instant;

use crate::addresses::AddressRules;
use crate::credentials::SourceCredential;
use crate::document::read_oauth2_response;
use crate::error::SourceError;
use crate::lenient_json::Integer;
use crate::settings::{ClientCredentials, SettingsError};
use crate::text::{Lines, clean};
use crate::transport::{Http, TOKEN_ENDPOINT};

/// It may exceed a search's limit, so that a slow endpoint serves the next search.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);
/// Life of a token that states none. The source's 401 ends a shorter one.
const UNSTATED_LIFE: Duration = Duration::from_mins(5);
const MAX_LIFE: Duration = Duration::from_hours(24);
const MAX_TOKEN_BODY_BYTES: usize = 64 * 1024;
const MAX_SCOPE_BYTES: usize = 1024;

pub(crate) struct Token {
    pub(crate) credential: SourceCredential,
    /// For redaction.
    pub(crate) text: SecretString,
    /// RFC 6749 requires it if it differs from the requested scope.
    pub(crate) scope: Option<String>,
    fresh_until: Instant,
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Token")
            .field("scope", &self.scope)
            .field("fresh_until", &self.fresh_until)
            .finish_non_exhaustive()
    }
}

type TokenFetch = Shared<BoxFuture<'static, Result<Arc<Token>, SourceError>>>;

pub(crate) struct TokenCache {
    fetcher: Arc<TokenFetcher>,
    latest: Mutex<Option<TokenFetch>>,
}

impl TokenCache {
    pub(crate) fn new(credentials: ClientCredentials, rules: &AddressRules) -> Result<Self, SettingsError> {
        let http = Http::new(TOKEN_ENDPOINT, &credentials.token_url, rules, 1)?;
        let fetcher = TokenFetcher { http, credentials, secret_in_body: AtomicBool::new(false) };
        Ok(Self { fetcher: Arc::new(fetcher), latest: Mutex::new(None) })
    }

    pub(crate) async fn get(&self) -> Result<Arc<Token>, SourceError> {
        self.join(None).await
    }

    pub(crate) async fn renew(&self, refused: &Arc<Token>) -> Result<Arc<Token>, SourceError> {
        self.join(Some(refused)).await
    }

    fn join(&self, refused: Option<&Arc<Token>>) -> TokenFetch {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(fetch) = latest.as_ref() {
            let good = match fetch.peek() {
                None => true,
                Some(Ok(token)) => {
                    Instant::now() < token.fresh_until
                        && refused.is_none_or(|refused| !Arc::ptr_eq(refused, token))
                }
                Some(Err(_)) => false,
            };
            if good {
                return fetch.clone();
            }
        }
        let fetch = start_fetch(Arc::clone(&self.fetcher));
        *latest = Some(fetch.clone());
        fetch
    }
}

fn start_fetch(fetcher: Arc<TokenFetcher>) -> TokenFetch {
    let bounded = async move {
        let late = Err(SourceError::Timeout);
        let outcome = tokio::time::timeout(FETCH_TIMEOUT, fetcher.fetch()).await.unwrap_or(late);
        let credentials = &fetcher.credentials;
        let without_secret = |error: SourceError| {
            error.redacted(credentials.client_secret.expose_secret()).redacted(&credentials.pair())
        };
        outcome.map_err(without_secret)
    };
    let fetch = AssertUnwindSafe(bounded)
        .catch_unwind()
        .map(|outcome| {
            let broke = |_| SourceError::Failed("fetching a token failed unexpectedly".to_owned());
            outcome.map_err(broke).flatten().map(Arc::new)
        })
        .boxed()
        .shared();
    tokio::spawn(fetch.clone());
    fetch
}

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

struct TokenFetcher {
    http: Http,
    credentials: ClientCredentials,
    /// The endpoint wants `client_secret_post`.
    secret_in_body: AtomicBool,
}

impl TokenFetcher {
    /// Tries basic authentication, then the secret in the body; what worked last goes first.
    async fn fetch(&self) -> Result<Token, SourceError> {
        let body_first = self.secret_in_body.load(Ordering::Relaxed);
        let refusal = match self.request(body_first).await {
            Ok(token) => return Ok(token),
            Err(FetchFailure::Final(error)) => return Err(error),
            Err(FetchFailure::Client(error)) => error,
        };
        match self.request(!body_first).await {
            Ok(token) => {
                self.secret_in_body.store(!body_first, Ordering::Relaxed);
                Ok(token)
            }
            Err(FetchFailure::Client(_)) => Err(refusal),
            // The secret's place was right, so this is the real error.
            Err(FetchFailure::Final(error)) => Err(error),
        }
    }

    async fn request(&self, secret_in_body: bool) -> Result<Token, FetchFailure> {
        let credentials = &self.credentials;
        let auth_type = if secret_in_body { AuthType::RequestBody } else { AuthType::BasicAuth };
        let client = TokenClient::new(ClientId::new(credentials.client_id.clone()))
            .set_client_secret(ClientSecret::new(credentials.client_secret.expose_secret().to_owned()))
            .set_auth_type(auth_type)
            .set_token_uri(TokenUrl::from_url(credentials.token_url.clone()));
        let mut request = client.exchange_client_credentials();
        if let Some(scope) = &credentials.scope {
            request = request.add_scope(Scope::new(scope.clone()));
        }
        if let Some(audience) = &credentials.audience {
            request = request.add_extra_param("audience", audience);
        }
        let requested_at = Instant::now();
        let answer = request.request_async(self).await.map_err(describe_failure)?;
        answer.into_token(requested_at).map_err(FetchFailure::Final)
    }

    async fn exchange(&self, request: HttpRequest) -> Result<HttpResponse, SourceError> {
        let make = || Ok(reqwest::Request::try_from(request.clone())?);
        let sent = self.http.send(make).await;
        let response = sent.map_err(|error| error.into_source_error(TOKEN_ENDPOINT))?;
        // Servers differ in the body for an unknown client.
        if response.status() == StatusCode::UNAUTHORIZED {
            let text = "the token endpoint refused the client with HTTP 401: check the client id and secret";
            return Err(SourceError::Unauthorized(text.to_owned()));
        }
        read_oauth2_response(TOKEN_ENDPOINT, response, MAX_TOKEN_BODY_BYTES).await
    }
}

impl<'c> AsyncHttpClient<'c> for TokenFetcher {
    type Error = SourceError;
    type Future = BoxFuture<'c, Result<HttpResponse, SourceError>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        self.exchange(request).boxed()
    }
}

fn describe_failure(error: RequestTokenError<SourceError, BasicErrorResponse>) -> FetchFailure {
    match error {
        RequestTokenError::Request(error @ SourceError::Unauthorized(_)) => FetchFailure::Client(error),
        RequestTokenError::Request(error) => FetchFailure::Final(error),
        RequestTokenError::ServerResponse(answer) => describe_code(answer.error()),
        RequestTokenError::Parse(..) | RequestTokenError::Other(_) => {
            FetchFailure::Final(SourceError::Invalid(
                "the token endpoint's answer does not follow RFC 6749: check the token URL".to_owned(),
            ))
        }
    }
}

/// Hides the endpoint's own description, which may name the client.
fn describe_code(code: &BasicErrorResponseType) -> FetchFailure {
    let (code, advice) = match code {
        BasicErrorResponseType::InvalidClient => ("invalid_client", "check the client id and secret"),
        BasicErrorResponseType::InvalidRequest => ("invalid_request", "check the scope and audience"),
        BasicErrorResponseType::InvalidScope => ("invalid_scope", "check the scope"),
        BasicErrorResponseType::UnauthorizedClient => {
            ("unauthorized_client", "this client may not use the client credentials grant")
        }
        BasicErrorResponseType::UnsupportedGrantType => {
            ("unsupported_grant_type", "it does not offer the client credentials grant")
        }
        // RFC 8707 §2.
        BasicErrorResponseType::Extension(code) if code == "invalid_target" => {
            ("invalid_target", "check the audience")
        }
        _ => ("an error of its own", "check the client, the scope and the audience"),
    };
    let error = SourceError::Unauthorized(format!("the token endpoint refused with {code}: {advice}"));
    match code {
        // Some servers look for the client id in the body only.
        "invalid_client" | "invalid_request" => FetchFailure::Client(error),
        _ => FetchFailure::Final(error),
    }
}

type TokenClient<HasTokenUrl = EndpointNotSet> = oauth2::Client<
    BasicErrorResponse,
    TokenEndpointResponse,
    BasicTokenIntrospectionResponse,
    StandardRevocableToken,
    BasicRevocationErrorResponse,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    HasTokenUrl,
>;

/// More lenient than `oauth2`'s: `expires_in` as text, no `token_type`.
#[derive(Debug, Deserialize, Serialize)]
struct TokenEndpointResponse {
    access_token: AccessToken,
    #[serde(default = "bearer")]
    token_type: BasicTokenType,
    #[serde(default, deserialize_with = "read_seconds")]
    expires_in: Option<u64>,
    #[serde(default, deserialize_with = "read_scope")]
    scope: Option<String>,
}

fn bearer() -> BasicTokenType {
    BasicTokenType::Bearer
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
    Ok(Some(clean(scope, MAX_SCOPE_BYTES, Lines::One)))
}

impl TokenEndpointResponse {
    fn into_token(self, requested_at: Instant) -> Result<Token, SourceError> {
        let invalid = |text: &str| SourceError::Invalid(format!("the token endpoint's token {text}"));
        if !self.token_type.as_ref().eq_ignore_ascii_case("bearer") {
            return Err(invalid("is not a bearer token"));
        }
        let text = self.access_token.into_secret();
        if text.is_empty() {
            return Err(invalid("is empty"));
        }
        let value = HeaderValue::try_from(format!("Bearer {text}"))
            .map_err(|_| invalid("cannot be sent in a header"))?;
        let credential = SourceCredential::header(AUTHORIZATION, value);
        let fresh_until = requested_at + usable_life(self.expires_in.map(Duration::from_secs));
        Ok(Token { credential, text: text.into(), scope: self.scope, fresh_until })
    }
}

impl TokenResponse for TokenEndpointResponse {
    type TokenType = BasicTokenType;

    fn access_token(&self) -> &AccessToken {
        &self.access_token
    }

    fn token_type(&self) -> &BasicTokenType {
        &self.token_type
    }

    fn expires_in(&self) -> Option<Duration> {
        self.expires_in.map(Duration::from_secs)
    }

    fn refresh_token(&self) -> Option<&RefreshToken> {
        None
    }

    fn scopes(&self) -> Option<&Vec<Scope>> {
        None
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
            serde_json::from_value::<TokenEndpointResponse>(answer)
                .unwrap()
                .into_token(Instant::now())
                .unwrap()
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
