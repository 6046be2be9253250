//! `OAUTH2_CLIENT`: one token per source, fetched once however many searches wait for it (decisions 7.3).

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
use reqwest::header::HeaderValue;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use tokio::time::Instant;

use crate::addresses::AddressRules;
use crate::error::SourceError;
use crate::loose::Integer;
use crate::settings::{ClientCredentials, SettingsError};
use crate::text::{Lines, clean};
use crate::transport::{Http, TOKEN_ENDPOINT, TransportError, read_body, read_retry_after};

/// How long one fetch may take. It is not bound to the searches that wait, so that a token endpoint slower than
/// a search serves the next one.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a token is kept whose life is not stated; a shorter one is noticed by the source's 401.
const UNSTATED_LIFE: Duration = Duration::from_mins(5);
/// The longest that any token is kept.
const LONGEST_LIFE: Duration = Duration::from_hours(24);
/// The largest answer taken from a token endpoint.
const MAX_TOKEN_BODY_BYTES: usize = 64 * 1024;
/// How much of a token's scope is kept.
const MAX_SCOPE_BYTES: usize = 1024;

/// A token as the source is shown it.
pub(crate) struct Token {
    /// The value of `Authorization`, marked sensitive.
    pub(crate) header: HeaderValue,
    /// The token alone, to blot it out of what the source says.
    pub(crate) text: SecretString,
    /// The scope that the token endpoint stated, if any: RFC 6749 wants it where it is not the one asked for.
    pub(crate) scope: Option<String>,
    fresh_until: Instant,
}

/// Shows everything but the token itself.
impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Token")
            .field("scope", &self.scope)
            .field("fresh_until", &self.fresh_until)
            .finish_non_exhaustive()
    }
}

type Fetch = Shared<BoxFuture<'static, Result<Arc<Token>, SourceError>>>;

/// The tokens of one source: the current one, or the fetch that is under way.
pub(crate) struct Tokens {
    fetcher: Arc<Fetcher>,
    latest: Mutex<Option<Fetch>>,
}

impl Tokens {
    /// Nothing is called yet, and nothing but what `rules` allow.
    ///
    /// # Errors
    /// A token URL that may not be called, and an HTTP client that cannot be set up here.
    pub(crate) fn new(credentials: ClientCredentials, rules: &AddressRules) -> Result<Self, SettingsError> {
        // One fetch at a time.
        let http = Http::new(TOKEN_ENDPOINT, &credentials.token_url, rules, 1)?;
        let fetcher = Fetcher { http, credentials, secret_in_body: AtomicBool::new(false) };
        Ok(Self { fetcher: Arc::new(fetcher), latest: Mutex::new(None) })
    }

    /// The current token, or the next one.
    pub(crate) async fn get(&self) -> Result<Arc<Token>, SourceError> {
        self.join(None).await
    }

    /// A token other than `refused`, which the source answered with 401.
    pub(crate) async fn renew(&self, refused: &Arc<Token>) -> Result<Arc<Token>, SourceError> {
        self.join(Some(refused)).await
    }

    /// The latest fetch while it is under way or its token is good, else a new one. A fetch is driven by a task
    /// of its own: no waiting search that is cancelled takes it away from the others.
    fn join(&self, refused: Option<&Arc<Token>>) -> Fetch {
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

fn start_fetch(fetcher: Arc<Fetcher>) -> Fetch {
    let bounded = async move {
        // As those are told whose own time was over before: whoever waits at the end of it meets no other failure.
        let late = Err(SourceError::Timeout);
        let outcome = tokio::time::timeout(FETCH_TIMEOUT, fetcher.fetch()).await.unwrap_or(late);
        let credentials = &fetcher.credentials;
        let without_secret = |error: SourceError| {
            error.without(credentials.client_secret.expose_secret()).without(&credentials.pair())
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

/// How long a token with this life is used: until 30 s, or a tenth of its life, before its end.
fn usable_life(stated: Option<Duration>) -> Duration {
    let life = stated.unwrap_or(UNSTATED_LIFE).min(LONGEST_LIFE);
    life.saturating_sub((life / 10).min(Duration::from_secs(30)))
}

/// A refusal of the client itself may be one of how it presents its secret; others are final.
enum Refusal {
    Client(SourceError),
    Final(SourceError),
}

struct Fetcher {
    http: Http,
    credentials: ClientCredentials,
    /// This endpoint wants the secret in the request's body (`client_secret_post`).
    secret_in_body: AtomicBool,
}

impl Fetcher {
    /// One token: with basic authentication first, as every server must support it, then with the secret in the
    /// body; what worked last time goes first.
    async fn fetch(&self) -> Result<Token, SourceError> {
        let body_first = self.secret_in_body.load(Ordering::Relaxed);
        let refusal = match self.request(body_first).await {
            Ok(token) => return Ok(token),
            Err(Refusal::Final(error)) => return Err(error),
            Err(Refusal::Client(error)) => error,
        };
        match self.request(!body_first).await {
            Ok(token) => {
                self.secret_in_body.store(!body_first, Ordering::Relaxed);
                Ok(token)
            }
            Err(Refusal::Client(_)) => Err(refusal),
            // The client was known this way, so this is what is wrong.
            Err(Refusal::Final(error)) => Err(error),
        }
    }

    async fn request(&self, secret_in_body: bool) -> Result<Token, Refusal> {
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
        let asked_at = Instant::now();
        let answer = request.request_async(self).await.map_err(describe_refusal)?;
        answer.into_token(asked_at).map_err(Refusal::Final)
    }

    /// One HTTP exchange for the oauth2 crate, which is given what it can tell apart (200 and 400) and spared
    /// the rest.
    async fn exchange(&self, request: HttpRequest) -> Result<HttpResponse, SourceError> {
        let describe = |error: TransportError| error.about(TOKEN_ENDPOINT);
        let make = || Ok(reqwest::Request::try_from(request.clone())?);
        let response = self.http.send(make).await.map_err(describe)?;
        let status = response.status();
        // Whatever its body says: servers differ in the code of an unknown client.
        if status == StatusCode::UNAUTHORIZED {
            let text = "the token endpoint refused the client with HTTP 401: check the client id and secret";
            return Err(SourceError::Unauthorized(text.to_owned()));
        }
        if !matches!(status, StatusCode::OK | StatusCode::BAD_REQUEST) {
            return Err(TOKEN_ENDPOINT.describe_status(status, read_retry_after(&response)));
        }
        let headers = response.headers().clone();
        let body = read_body(response, MAX_TOKEN_BODY_BYTES).await.map_err(describe)?;
        let mut answer = HttpResponse::new(body);
        (*answer.status_mut(), *answer.headers_mut()) = (status, headers);
        Ok(answer)
    }
}

impl<'c> AsyncHttpClient<'c> for Fetcher {
    type Error = SourceError;
    type Future = BoxFuture<'c, Result<HttpResponse, SourceError>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        self.exchange(request).boxed()
    }
}

fn describe_refusal(error: RequestTokenError<SourceError, BasicErrorResponse>) -> Refusal {
    match error {
        RequestTokenError::Request(error @ SourceError::Unauthorized(_)) => Refusal::Client(error),
        RequestTokenError::Request(error) => Refusal::Final(error),
        RequestTokenError::ServerResponse(answer) => describe_code(answer.error()),
        RequestTokenError::Parse(..) | RequestTokenError::Other(_) => Refusal::Final(SourceError::Invalid(
            "the token endpoint's answer is not the one of RFC 6749: check the token URL".to_owned(),
        )),
    }
}

/// What the operator can look at. The endpoint's own description is not shown: it may name the client.
fn describe_code(code: &BasicErrorResponseType) -> Refusal {
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
        // Some servers answer so when they look for the client's id in the body only.
        "invalid_client" | "invalid_request" => Refusal::Client(error),
        _ => Refusal::Final(error),
    }
}

type TokenClient<HasTokenUrl = EndpointNotSet> = oauth2::Client<
    BasicErrorResponse,
    TokenAnswer,
    BasicTokenIntrospectionResponse,
    StandardRevocableToken,
    BasicRevocationErrorResponse,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    HasTokenUrl,
>;

/// The token endpoint's answer, looser than the crate's own: `expires_in` may be text (as some servers send it)
/// and `token_type` may be missing.
#[derive(Debug, Deserialize, Serialize)]
struct TokenAnswer {
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

/// Scopes separated by spaces; some servers send a list. What is neither is not worth a failure.
fn read_scope<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let scope = match Value::deserialize(deserializer)? {
        Value::String(scope) => scope,
        Value::Array(scopes) => scopes.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
        _ => return Ok(None),
    };
    Ok(Some(clean(scope, MAX_SCOPE_BYTES, Lines::One)))
}

impl TokenAnswer {
    fn into_token(self, asked_at: Instant) -> Result<Token, SourceError> {
        let invalid = |text: &str| SourceError::Invalid(format!("the token endpoint's token {text}"));
        if !self.token_type.as_ref().eq_ignore_ascii_case("bearer") {
            return Err(invalid("is not a bearer token"));
        }
        let text = self.access_token.into_secret();
        if text.is_empty() {
            return Err(invalid("is empty"));
        }
        let mut header = HeaderValue::try_from(format!("Bearer {text}"))
            .map_err(|_| invalid("cannot be sent in a header"))?;
        header.set_sensitive(true);
        let fresh_until = asked_at + usable_life(self.expires_in.map(Duration::from_secs));
        Ok(Token { header, text: text.into(), scope: self.scope, fresh_until })
    }
}

impl TokenResponse for TokenAnswer {
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
    fn a_token_is_used_until_shortly_before_its_end() {
        let life = |seconds| usable_life(Some(Duration::from_secs(seconds))).as_secs();
        assert_eq!([life(3600), life(300), life(60), life(0)], [3570, 270, 54, 0]);
        assert_eq!(life(u64::MAX), 24 * 3600 - 30);
        assert_eq!(usable_life(None).as_secs(), 270);
    }

    #[test]
    fn a_stated_scope_is_kept_and_the_token_is_not_shown() {
        let read = |scope: Value| {
            let answer = json!({"access_token": "tok-123", "scope": scope});
            serde_json::from_value::<TokenAnswer>(answer).unwrap().into_token(Instant::now()).unwrap()
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
