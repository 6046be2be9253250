//! Sign-in at an issuer with PKCE and nonce.
//!
//! (`OpenID` Connect Core §3.1, RFC 7636, RFC 9207.)

use std::{fmt, sync::Arc, time::Duration};

use aws_lc_rs::digest::{SHA256, digest};
use axum::http::{HeaderValue, Request, StatusCode, header::AUTHORIZATION};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use futures::{FutureExt, future::BoxFuture};
use oauth2::{
    AsyncHttpClient, AuthType, AuthorizationCode, ClientId, ClientSecret, EmptyExtraTokenFields,
    ExtraTokenFields, HttpRequest, HttpResponse, PkceCodeVerifier, RedirectUrl, RequestTokenError,
    StandardRevocableToken, StandardTokenResponse, TokenResponse, TokenUrl,
    basic::{BasicErrorResponse, BasicRevocationErrorResponse, BasicTokenType},
};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use trawl_connectors::{AddressRules, SourceError, exchange_document, read_json};
use url::Url;

use super::{Issuer, keyring::Endpoints, named};
use crate::{
    config,
    error::{Error, ErrorKind, Result},
    identity::scopes::Scopes,
};

const TIMEOUT: Duration = Duration::from_secs(10);

const AT_ONCE: usize = 32;

const BUSY_FOR: Duration = Duration::from_secs(5);

const MAX_BYTES: usize = 64 << 10;

const ID_BYTES: usize = 9;

/// A browser sign-in issuer of one tenant.
pub struct SignIn {
    id: String,
    trust: config::IssuerSettings,
    client: config::SignInSettings,
    issuer: Arc<Issuer>,
    rules: AddressRules,
    under_way: Semaphore,
}

/// Parameters of the authorization request.
#[derive(Clone, Copy, Debug)]
pub struct SignInRequest<'a> {
    /// Redirect URI.
    pub redirect_uri: &'a str,
    /// Returned with the answer.
    pub state: &'a str,
    /// Expected in the ID token.
    pub nonce: &'a str,
    /// RFC 7636.
    pub code_challenge: &'a str,
}

/// The answer, with the request's secrets.
#[derive(Debug)]
pub struct SignInAnswer<'a> {
    /// Authorization code.
    pub code: SecretString,
    /// Answer's `iss`, if present.
    pub issuer: Option<&'a str>,
    /// Redirect URI.
    pub redirect_uri: &'a str,
    /// Expected in the ID token.
    pub nonce: &'a str,
    /// PKCE verifier.
    pub code_verifier: SecretString,
}

impl SignIn {
    pub(super) fn new(
        trust: &config::IssuerSettings,
        issuer: Arc<Issuer>,
        rules: AddressRules,
    ) -> Option<Self> {
        let client = trust.sign_in.clone()?;
        let name = [trust.issuer.as_str(), &client.client_id, &trust.tenant].join("\n");
        let digest = digest(&SHA256, name.as_bytes());
        let id = BASE64_URL_SAFE_NO_PAD.encode(&digest.as_ref()[..ID_BYTES]);
        Some(Self { id, trust: trust.clone(), client, issuer, rules, under_way: Semaphore::new(AT_ONCE) })
    }

    /// Its stable id in this server's addresses.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The display name.
    pub fn name(&self) -> &str {
        &self.client.name
    }

    /// The code of its tenant.
    pub fn tenant(&self) -> &str {
        &self.trust.tenant
    }

    /// The maximum scopes of its people.
    pub fn scopes(&self) -> &Scopes {
        &self.trust.scopes
    }

    /// Whether the answer's `iss` may be this issuer's (RFC 9207).
    pub fn may_have_answered(&self, issuer: Option<&str>) -> bool {
        issuer.is_none_or(|issuer| issuer == self.trust.issuer)
    }

    /// The authorization address.
    ///
    /// # Errors
    /// 503 if unreachable, 502 if the description is unusable.
    pub async fn address(&self, request: SignInRequest<'_>) -> Result<Url> {
        let endpoints = self.issuer.keyring.endpoints().await?;
        let mut url = self.usable(endpoints.authorization_endpoint.as_deref(), "authorization_endpoint")?;
        url.query_pairs_mut().extend_pairs([
            ("response_type", "code"),
            ("client_id", &self.client.client_id),
            ("redirect_uri", request.redirect_uri),
            ("scope", &self.client.scope),
            ("state", request.state),
            ("nonce", request.nonce),
            ("code_challenge", request.code_challenge),
            ("code_challenge_method", "S256"),
        ]);
        Ok(url)
    }

    /// Redeems a code for a login account.
    ///
    /// # Errors
    /// 503 if overloaded or unreachable, 502 without an identity.
    pub async fn redeem(&self, answer: SignInAnswer<'_>) -> Result<String> {
        let busy = || Error::unavailable("too many people sign in by this issuer at once", BUSY_FOR);
        let _under_way = self.under_way.try_acquire().map_err(|_| busy())?;
        let late = || Err(self.away("the issuer did not answer in time"));
        tokio::time::timeout(TIMEOUT, self.use_code(answer)).await.unwrap_or_else(|_| late())
    }

    async fn use_code(&self, answer: SignInAnswer<'_>) -> Result<String> {
        let endpoints = self.issuer.keyring.endpoints().await?;
        let is_unsigned = answer.issuer.is_none() && endpoints.authorization_response_iss_parameter_supported;
        if is_unsigned || !self.may_have_answered(answer.issuer) {
            return Err(self.failed("the response's iss is missing or names another issuer"));
        }
        let nonce = answer.nonce;
        let IssuedTokens { id_token, access_token } = self.exchange(&endpoints, answer).await?;
        let (client_id, id_token) = (&self.client.client_id, id_token.expose_secret());
        let verified = self.issuer.verify_id_token(&self.trust, client_id, nonce, id_token).await;
        let claims = verified.map_err(|error| self.rejected("ID token", error))?;
        match named(&self.trust, &claims) {
            Some(login_id) => Ok(login_id),
            None => self.ask_userinfo(&endpoints, claims.get("sub"), &access_token).await,
        }
    }

    /// Looks for the login at the userinfo endpoint (`OpenID` Connect Core §5.3).
    async fn ask_userinfo(
        &self,
        endpoints: &Endpoints,
        subject: Option<&Value>,
        access_token: &SecretString,
    ) -> Result<String> {
        let Some(endpoint) = endpoints.userinfo_endpoint.as_deref() else {
            let reason =
                format!("its ID token has no claim {}, and it names no userinfo_endpoint", self.trust.claim);
            return Err(self.failed(&reason));
        };
        let url = self.usable(Some(endpoint), "userinfo_endpoint")?;
        let mut token = HeaderValue::try_from(format!("Bearer {}", access_token.expose_secret()))
            .map_err(|_| self.failed("its access token does not follow RFC 6750"))?;
        token.set_sensitive(true);
        let request = Request::get(url.as_str()).header(AUTHORIZATION, token).body(Vec::new());
        let request = request.map_err(Error::internal)?;
        let answer =
            exchange_document("the issuer's userinfo endpoint", request, &self.rules, MAX_BYTES).await;
        let answer = answer.map_err(|error| self.unanswered(&error))?;
        let claims = self.read_userinfo(&answer).await?;
        // The answer may be of another person (§5.3.2).
        if subject.is_none_or(|subject| claims.get("sub") != Some(subject)) {
            return Err(self.failed("its userinfo endpoint's sub is not that of the ID token"));
        }
        named(&self.trust, &claims).ok_or_else(|| {
            let claim = &self.trust.claim;
            self.failed(&format!("neither its ID token nor its userinfo endpoint has the claim {claim}"))
        })
    }

    /// Reads claims as plain JSON, or signed.
    async fn read_userinfo(&self, answer: &HttpResponse) -> Result<Map<String, Value>> {
        if answer.status() != StatusCode::OK {
            return Err(self.failed(&format!("its userinfo endpoint answered with {}", answer.status())));
        }
        if let Ok(claims) = read_json(answer.body()) {
            return Ok(claims);
        }
        let token = str::from_utf8(answer.body()).unwrap_or_default().trim();
        let verified = self.issuer.verify_userinfo(&self.trust, &self.client.client_id, token).await;
        verified
            .map_err(|error| self.rejected("userinfo, which is neither an object nor well signed,", error))
    }

    fn rejected(&self, what: &str, error: Error) -> Error {
        match error.kind {
            ErrorKind::Unauthorized => self.failed(&format!("its {what} was rejected: {}", error.message)),
            _ => error,
        }
    }

    async fn exchange(&self, endpoints: &Endpoints, answer: SignInAnswer<'_>) -> Result<IssuedTokens> {
        let token_url = self.usable(endpoints.token_endpoint.as_deref(), "token_endpoint")?;
        let redirect_uri = RedirectUrl::new(answer.redirect_uri.to_owned()).map_err(Error::internal)?;
        let in_body = self.client.client_secret.is_none() || endpoints.wants_secret_in_body();
        let mut client = CodeClient::new(ClientId::new(self.client.client_id.clone()))
            .set_token_uri(TokenUrl::from_url(token_url))
            .set_redirect_uri(redirect_uri)
            .set_auth_type(if in_body { AuthType::RequestBody } else { AuthType::BasicAuth });
        if let Some(secret) = &self.client.client_secret {
            client = client.set_client_secret(ClientSecret::new(secret.expose_secret().to_owned()));
        }
        let answered = client
            .exchange_code(AuthorizationCode::new(answer.code.expose_secret().to_owned()))
            .set_pkce_verifier(PkceCodeVerifier::new(answer.code_verifier.expose_secret().to_owned()))
            .request_async(&GuardedHttpClient(self.rules.clone()))
            .await;
        let answered = answered.map_err(|error| self.describe(&error))?;
        let id_token = answered.extra_fields().id_token.clone();
        let id_token = id_token.ok_or_else(|| self.failed("its answer holds no ID token"))?;
        Ok(IssuedTokens { id_token, access_token: answered.access_token().secret().as_str().into() })
    }

    fn usable(&self, address: Option<&str>, name: &str) -> Result<Url> {
        let url = address.and_then(|address| Url::parse(address).ok());
        let url = url.filter(|url| self.rules.check_url(url).is_ok());
        url.ok_or_else(|| self.failed(&format!("its {name} is missing or not allowed")))
    }

    fn describe(&self, error: &RequestTokenError<SourceError, BasicErrorResponse>) -> Error {
        match error {
            RequestTokenError::Request(error) => self.unanswered(error),
            // The issuer's error text is unbounded and untrusted.
            RequestTokenError::ServerResponse(answer) => {
                let code: String = answer.error().to_string().chars().take(50).collect();
                self.failed(&format!("its token endpoint refused with {code:?}"))
            }
            RequestTokenError::Parse(..) | RequestTokenError::Other(_) => {
                self.failed("its token endpoint's answer does not follow RFC 6749")
            }
        }
    }

    fn unanswered(&self, error: &SourceError) -> Error {
        match error {
            SourceError::Unavailable { .. } => self.away(&error.to_string()),
            _ => self.failed(&error.to_string()),
        }
    }

    fn away(&self, reason: &str) -> Error {
        drop(self.failed(reason));
        Error::unavailable("the issuer is unavailable at the moment", BUSY_FOR)
    }

    fn failed(&self, reason: &str) -> Error {
        tracing::warn!(issuer = self.trust.issuer, reason, "a sign-in by an issuer failed");
        Error::bad_gateway("the issuer did not confirm the sign-in")
    }
}

struct IssuedTokens {
    id_token: SecretString,
    access_token: SecretString,
}

struct GuardedHttpClient(AddressRules);

impl<'c> AsyncHttpClient<'c> for GuardedHttpClient {
    type Error = SourceError;
    type Future = BoxFuture<'c, std::result::Result<HttpResponse, SourceError>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        exchange_document("the issuer's token endpoint", request, &self.0, MAX_BYTES).boxed()
    }
}

#[derive(Default, Deserialize)]
struct Extra {
    id_token: Option<SecretString>,
}

impl ExtraTokenFields for Extra {}

impl fmt::Debug for Extra {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Extra").finish_non_exhaustive()
    }
}

impl Serialize for Extra {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        EmptyExtraTokenFields {}.serialize(serializer)
    }
}

type CodeClient = oauth2::Client<
    BasicErrorResponse,
    StandardTokenResponse<Extra, BasicTokenType>,
    oauth2::basic::BasicTokenIntrospectionResponse,
    StandardRevocableToken,
    BasicRevocationErrorResponse,
>;
