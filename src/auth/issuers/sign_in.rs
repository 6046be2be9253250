//! Signing in at an issuer: authorization code with PKCE and a nonce, as a client that the issuer knows (`OpenID` Connect Core
//! §3.1, RFC 7636, RFC 9207).

use std::{fmt, sync::Arc, time::Duration};

use aws_lc_rs::digest::{SHA256, digest};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use futures::{FutureExt, future::BoxFuture};
use oauth2::{
    AsyncHttpClient, AuthType, AuthorizationCode, ClientId, ClientSecret, EmptyExtraTokenFields,
    ExtraTokenFields, HttpRequest, HttpResponse, PkceCodeVerifier, RedirectUrl, RequestTokenError,
    StandardRevocableToken, StandardTokenResponse, TokenUrl,
    basic::{BasicErrorResponse, BasicRevocationErrorResponse, BasicTokenType},
};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use trawl_connectors::{AddressRules, SourceError, exchange_document};
use url::Url;

use super::{Issuer, keyring::Endpoints};
use crate::{
    auth::scopes::Scopes,
    config,
    error::{Error, Kind, Result},
};

/// How long using a code may take, the issuer's keys included.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Codes that are used at one issuer at once.
const AT_ONCE: usize = 32;

/// When to come back where more are.
const BUSY_FOR: Duration = Duration::from_secs(5);

/// The largest answer of a token endpoint, in bytes.
const MOST_BYTES: usize = 64 << 10;

/// The bytes of an id.
const ID_BYTES: usize = 9;

/// An issuer by which people of one tenant sign in to the pages.
pub struct SignIn {
    id: String,
    trust: config::Issuer,
    client: config::SignIn,
    issuer: Arc<Issuer>,
    rules: AddressRules,
    under_way: Semaphore,
}

/// What a browser is sent to the issuer with.
#[derive(Clone, Copy, Debug)]
pub struct SignInRequest<'a> {
    /// Where it is to be sent back to.
    pub redirect_uri: &'a str,
    /// Given back with the answer.
    pub state: &'a str,
    /// Stands in the ID token.
    pub nonce: &'a str,
    /// RFC 7636.
    pub code_challenge: &'a str,
}

/// What it comes back with, and what it was sent with.
#[derive(Debug)]
pub struct SignInAnswer<'a> {
    /// What the sign-in is worth.
    pub code: SecretString,
    /// Whose answer it is, where it says so.
    pub issuer: Option<&'a str>,
    /// Where the browser was sent back to.
    pub redirect_uri: &'a str,
    /// What has to stand in the ID token.
    pub nonce: &'a str,
    /// What the challenge was made of.
    pub code_verifier: SecretString,
}

impl SignIn {
    pub(super) fn new(trust: &config::Issuer, issuer: Arc<Issuer>, rules: AddressRules) -> Option<Self> {
        let client = trust.sign_in.clone()?;
        let name = [trust.issuer.as_str(), &client.client_id, &trust.tenant].join("\n");
        let digest = digest(&SHA256, name.as_bytes());
        let id = BASE64_URL_SAFE_NO_PAD.encode(&digest.as_ref()[..ID_BYTES]);
        Some(Self { id, trust: trust.clone(), client, issuer, rules, under_way: Semaphore::new(AT_ONCE) })
    }

    /// What it is called in addresses of this server: the same at every start.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What people call it.
    pub fn name(&self) -> &str {
        &self.client.name
    }

    /// The code of the tenant whose people it knows.
    pub fn tenant(&self) -> &str {
        &self.trust.tenant
    }

    /// What they may do at the most.
    pub fn scopes(&self) -> &Scopes {
        &self.trust.scopes
    }

    /// Whether an answer that says so much of whose it is may be this issuer's (RFC 9207).
    pub fn may_have_answered(&self, issuer: Option<&str>) -> bool {
        issuer.is_none_or(|issuer| issuer == self.trust.issuer)
    }

    /// Where a browser is sent to.
    ///
    /// # Errors
    /// 503 where the issuer cannot be asked where that is, 502 where it says nothing of use.
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

    /// The login account of whom a code is of.
    ///
    /// # Errors
    /// 503 where too many come at once or the issuer is away, 502 where it does not say who it is.
    pub async fn redeem(&self, answer: SignInAnswer<'_>) -> Result<String> {
        let busy = || Error::unavailable("too many sign in by this issuer at once", BUSY_FOR);
        let _under_way = self.under_way.try_acquire().map_err(|_| busy())?;
        let late = || Err(self.away("the issuer did not answer in time"));
        tokio::time::timeout(TIMEOUT, self.use_code(answer)).await.unwrap_or_else(|_| late())
    }

    async fn use_code(&self, answer: SignInAnswer<'_>) -> Result<String> {
        let endpoints = self.issuer.keyring.endpoints().await?;
        let is_unsigned = answer.issuer.is_none() && endpoints.authorization_response_iss_parameter_supported;
        if is_unsigned || !self.may_have_answered(answer.issuer) {
            return Err(self.failed("what came back does not say that it is of the issuer"));
        }
        let nonce = answer.nonce;
        let token = self.exchange(&endpoints, answer).await?;
        let client_id = &self.client.client_id;
        let verified =
            self.issuer.verify_id_token(&self.trust, client_id, nonce, token.expose_secret()).await;
        verified.map_err(|error| match error.kind {
            // It is not the person's fault.
            Kind::Unauthorized => self.failed(&format!("its ID token was not taken: {}", error.message)),
            _ => error,
        })
    }

    /// The ID token that the issuer gives for a code.
    async fn exchange(&self, endpoints: &Endpoints, answer: SignInAnswer<'_>) -> Result<SecretString> {
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
            .request_async(&Guarded(self.rules.clone()))
            .await;
        let answered = answered.map_err(|error| self.describe(&error))?;
        answered.extra_fields().id_token.clone().ok_or_else(|| self.failed("its answer holds no ID token"))
    }

    /// An address of the issuer's that may be used.
    fn usable(&self, address: Option<&str>, name: &str) -> Result<Url> {
        let url = address.and_then(|address| Url::parse(address).ok());
        let url = url.filter(|url| self.rules.check_url(url).is_ok());
        url.ok_or_else(|| self.failed(&format!("its {name} is missing, or may not be called")))
    }

    fn describe(&self, error: &RequestTokenError<SourceError, BasicErrorResponse>) -> Error {
        match error {
            RequestTokenError::Request(error @ SourceError::Unavailable { .. }) => {
                self.away(&error.to_string())
            }
            RequestTokenError::Request(error) => self.failed(&error.to_string()),
            // Its description may be of any length, and hold anything.
            RequestTokenError::ServerResponse(answer) => {
                let code: String = answer.error().to_string().chars().take(50).collect();
                self.failed(&format!("its token endpoint refused with {code:?}"))
            }
            RequestTokenError::Parse(..) | RequestTokenError::Other(_) => {
                self.failed("its token endpoint's answer is not the one of RFC 6749")
            }
        }
    }

    /// 503; the log has the reason.
    fn away(&self, reason: &str) -> Error {
        drop(self.failed(reason));
        Error::unavailable("the issuer cannot be asked at the moment", BUSY_FOR)
    }

    /// 502; the log has the reason.
    fn failed(&self, reason: &str) -> Error {
        tracing::warn!(issuer = self.trust.issuer, reason, "someone could not sign in by an issuer");
        Error::bad_gateway("the issuer does not say who signs in")
    }
}

/// What sends requests where these rules allow.
struct Guarded(AddressRules);

impl<'c> AsyncHttpClient<'c> for Guarded {
    type Error = SourceError;
    type Future = BoxFuture<'c, std::result::Result<HttpResponse, SourceError>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        exchange_document("the issuer's token endpoint", request, &self.0, MOST_BYTES).boxed()
    }
}

/// What a token endpoint answers besides (`OpenID` Connect Core §3.1.3.3).
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

/// The crate asks for it; nothing writes it anywhere.
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
