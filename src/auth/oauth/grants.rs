//! Token endpoint grants.
//!
//! RFC 6749 §4.1.3 and §4.4, RFC 8693. Failures follow RFC 6749 §5.2 instead of the envelope.

mod code;
mod exchange;

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::authorization::codes::CodeUse;
use crate::{
    auth::{
        AuthState,
        applications::{self, Application, ClientError},
        directory::{Person, PersonDirectory},
        secrets::SecretCheckFor,
        sessions::{self, SignedIn},
        tokens::{Subject, UserClaims},
    },
    error::Error,
    identity::{frozen::FROZEN, scopes::Scopes},
    store::Store,
};

const CLIENT_CREDENTIALS: &str = "client_credentials";
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN_TYPE: &str = "urn:ietf:params:oauth:token-type:access_token";
const AUTHORIZATION_CODE: &str = "authorization_code";

/// The form of a token request; repeated fields are refused.
#[derive(Clone, Debug, Default, Deserialize, utoipa::ToSchema)]
pub struct TokenRequest {
    /// `client_credentials`, `authorization_code` or `urn:ietf:params:oauth:grant-type:token-exchange`.
    #[schema(value_type = String)]
    pub grant_type: Option<String>,
    /// Requested scopes, space-separated; all by default.
    pub scope: Option<String>,
    /// The client, unless it authenticates by HTTP Basic.
    pub client_id: Option<String>,
    /// The client's secret, unless it authenticates by HTTP Basic or can keep none.
    #[schema(value_type = Option<String>)]
    pub client_secret: Option<SecretString>,
    /// Token exchange: the person.
    pub subject_token: Option<String>,
    /// Token exchange: `urn:trawl:params:oauth:token-type:login-id` or `urn:trawl:params:oauth:token-type:user-id`.
    pub subject_token_type: Option<String>,
    /// Token exchange: the wanted type; only access tokens.
    pub requested_token_type: Option<String>,
    /// Authorization code: the code.
    #[schema(value_type = Option<String>)]
    pub code: Option<SecretString>,
    /// Authorization code: its redirect URI.
    pub redirect_uri: Option<String>,
    /// Authorization code: the PKCE verifier (RFC 7636).
    #[schema(value_type = Option<String>)]
    pub code_verifier: Option<SecretString>,
    /// Token exchange: the person's device; unbinding revokes the token.
    pub device_id: Option<String>,
}

/// A client's credentials, not yet verified.
#[derive(Debug)]
pub struct ClientAuthentication {
    /// Client id.
    pub client_id: String,
    /// Its secret; public clients have none (RFC 6749 §2.1).
    pub client_secret: Option<SecretString>,
}

/// A token response (RFC 6749 §5.1, RFC 8693 §2.2.1).
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct TokenAnswer {
    /// Token.
    pub access_token: String,
    /// Issued type, for token exchange only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issued_token_type: Option<&'static str>,
    /// Always `Bearer`.
    pub token_type: &'static str,
    /// Lifetime in seconds.
    pub expires_in: u32,
    /// Granted scopes.
    pub scope: String,
}

/// Why no token was issued.
#[derive(Debug)]
pub enum GrantError {
    /// The request is malformed.
    InvalidRequest(String),
    /// Unknown client or wrong secret.
    InvalidClient,
    /// The client may not request this.
    UnauthorizedClient(String),
    /// The grant type is unsupported.
    UnsupportedGrantType,
    /// The authorization code is invalid, used or expired.
    InvalidGrant(&'static str),
    /// The scope is unknown or not allowed to the client.
    InvalidScope(String),
    /// Another failure.
    Failed(Error),
}

impl<E: Into<Error>> From<E> for GrantError {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl GrantError {
    /// The error of a refused client.
    pub fn from_client(error: ClientError) -> Self {
        match error {
            ClientError::Unknown => Self::InvalidClient,
            ClientError::Frozen => Self::UnauthorizedClient(FROZEN.to_owned()),
            ClientError::Failed(error) => Self::Failed(error),
        }
    }
}

/// The parts the token endpoint needs.
#[derive(Clone, Copy)]
pub struct Grants<'a> {
    /// State of the routes.
    pub auth: &'a AuthState,
    /// The turn that a check of the client's secret takes.
    pub asks: SecretCheckFor,
}

/// A code to redeem for a session.
#[derive(Debug)]
pub struct Redemption {
    /// Application of the pages.
    pub client_id: String,
    /// Code.
    pub code: SecretString,
    /// Redirect URI.
    pub redirect_uri: String,
    /// PKCE verifier (RFC 7636).
    pub code_verifier: SecretString,
}

struct GrantedToken {
    subject: Subject,
    issued_token_type: Option<&'static str>,
    jti: String,
}

impl Grants<'_> {
    /// Issues the requested token.
    pub async fn issue(
        self,
        client: ClientAuthentication,
        request: &TokenRequest,
    ) -> Result<TokenAnswer, GrantError> {
        let application = self.authenticate(client).await?;
        // Only this server redeems the codes of the pages.
        if sessions::application::is(&application) {
            let refusal = "this application is the server's own and gets no tokens";
            return Err(GrantError::UnauthorizedClient(refusal.to_owned()));
        }
        let grant_type = request.grant_type.as_deref();
        if application.login.is_public
            && grant_type.is_some_and(|grant_type| grant_type != AUTHORIZATION_CODE)
        {
            let only = format!("a client without a secret may use only {AUTHORIZATION_CODE}");
            return Err(GrantError::UnauthorizedClient(only));
        }
        let wanted = match grant_type {
            Some(CLIENT_CREDENTIALS) => application_token(application, request)?,
            Some(TOKEN_EXCHANGE) => {
                exchange::user_token(
                    &self.auth.store,
                    self.auth.authenticator.directory(),
                    application,
                    request,
                )
                .await?
            }
            Some(AUTHORIZATION_CODE) => code::user_token(self, application, request).await?,
            Some(_) => return Err(GrantError::UnsupportedGrantType),
            None => return Err(missing("grant_type")),
        };
        let tokens = self.auth.authenticator.tokens();
        let scope = wanted.subject.scopes.to_string();
        Ok(TokenAnswer {
            access_token: tokens.issue_as(wanted.subject, wanted.jti).await?,
            issued_token_type: wanted.issued_token_type,
            token_type: "Bearer",
            expires_in: tokens.lifetime_seconds(),
            scope,
        })
    }

    /// Redeems a code of a built-in public application; issues no token.
    pub async fn redeem(self, redemption: Redemption) -> Result<SignedIn, GrantError> {
        let Redemption { client_id, code, redirect_uri, code_verifier } = redemption;
        let client = ClientAuthentication { client_id, client_secret: None };
        let application = self.authenticate(client).await?;
        let code_use = CodeUse {
            code: code.expose_secret(),
            client_id: &application.client_id,
            redirect_uri: &redirect_uri,
            code_verifier: code_verifier.expose_secret(),
        };
        code::signed_in(self, &application, code_use).await
    }

    async fn authenticate(self, client: ClientAuthentication) -> Result<Application, GrantError> {
        let ClientAuthentication { client_id, client_secret } = client;
        let application = applications::authenticate(self.auth, self.asks, &client_id, client_secret).await;
        application.map_err(GrantError::from_client)
    }
}

fn new_jti() -> String {
    Uuid::new_v4().to_string()
}

fn missing(field: &str) -> GrantError {
    GrantError::InvalidRequest(format!("{field} is missing"))
}

fn application_token(application: Application, request: &TokenRequest) -> Result<GrantedToken, GrantError> {
    let scopes = granted_scopes(request, &application.scopes)?;
    let subject = Subject {
        client_id: application.client_id,
        epoch: application.epoch,
        tenant_id: application.tenant_id,
        user: None,
        scopes,
    };
    Ok(GrantedToken { subject, issued_token_type: None, jti: new_jti() })
}

async fn subject_of(
    store: &Store,
    directory: &dyn PersonDirectory,
    application: Application,
    person: Person,
    device_id: Option<&str>,
    scopes: Scopes,
) -> Result<Subject, GrantError> {
    let tenant_id = application.tenant_id;
    let device = match device_id {
        None => None,
        Some(device_id) => {
            let binding =
                directory.find_binding(store.reader(), tenant_id, &person.user_id, device_id).await?;
            let unbound = "device_id: no such device is bound to this user; bind it first";
            Some(binding.ok_or_else(|| GrantError::InvalidRequest(unbound.to_owned()))?)
        }
    };
    Ok(Subject {
        client_id: application.client_id,
        epoch: application.epoch,
        tenant_id,
        user: Some((person.user_id, UserClaims { epoch: person.epoch, device })),
        scopes,
    })
}

fn granted_scopes(request: &TokenRequest, possible: &Scopes) -> Result<Scopes, GrantError> {
    let Some(asked) = request.scope.as_deref().filter(|scope| !scope.trim().is_empty()) else {
        return Ok(possible.clone());
    };
    let asked = Scopes::parse(asked).map_err(GrantError::InvalidScope)?;
    match asked.first_outside(possible) {
        Some(scope) => Err(GrantError::InvalidScope(format!("this token may not carry {scope}"))),
        None => Ok(asked),
    }
}
