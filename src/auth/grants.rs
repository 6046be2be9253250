//! The token endpoint's rules: client credentials (RFC 6749 §4.4), token exchange for people (RFC 8693, decisions 3.4 a) and
//! the authorization codes of people who signed in themselves (RFC 6749 §4.1.3, decisions 3.4 b). Failures are those of
//! RFC 6749 §5.2, not the service's envelope (decisions 2.1).

mod code;
mod exchange;

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    applications::{self, Application, ClientError},
    authorization::codes::{Codes, Use},
    caller::Authenticator,
    directory::{self, Person},
    scopes::Scopes,
    secrets::SecretChecker,
    sessions::{self, SignedIn},
    tokens::{Subject, UserClaims},
};
use crate::{error::Error, store::Store};

const CLIENT_CREDENTIALS: &str = "client_credentials";
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN_TYPE: &str = "urn:ietf:params:oauth:token-type:access_token";
const AUTHORIZATION_CODE: &str = "authorization_code";

/// The form of a token request, all grants together; a field that is sent twice is refused by its decoder.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct TokenRequest {
    /// Which grant.
    pub grant_type: Option<String>,
    /// The scopes asked for, space-separated; without it, all that may be had.
    pub scope: Option<String>,
    /// `client_secret_post`.
    pub client_id: Option<String>,
    /// `client_secret_post`.
    pub client_secret: Option<SecretString>,
    /// Token exchange: whom the token is for.
    pub subject_token: Option<String>,
    /// Token exchange: how `subject_token` names him.
    pub subject_token_type: Option<String>,
    /// Token exchange: the wanted type; only access tokens are issued.
    pub requested_token_type: Option<String>,
    /// Authorization code: the code that the person came back with.
    pub code: Option<SecretString>,
    /// Authorization code: where he came back to.
    pub redirect_uri: Option<String>,
    /// Authorization code: what the challenge was made of (RFC 7636).
    pub code_verifier: Option<SecretString>,
    /// Token exchange: the device that the person uses, which is bound to him: the token dies when it is unbound (decisions 9.7).
    pub device_id: Option<String>,
}

/// A client that has said who it is, and not yet proved it.
#[derive(Debug)]
pub struct ClientCredentials {
    /// The client id.
    pub client_id: String,
    /// The secret it gave; one that can keep none gives none (RFC 6749 §2.1).
    pub client_secret: Option<SecretString>,
}

/// A successful answer (RFC 6749 §5.1, RFC 8693 §2.2.1).
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct TokenAnswer {
    /// The token.
    pub access_token: String,
    /// Only for token exchange: what was issued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issued_token_type: Option<&'static str>,
    /// Always `Bearer`.
    pub token_type: &'static str,
    /// Seconds that it is valid.
    pub expires_in: u32,
    /// The scopes it carries.
    pub scope: String,
}

/// Why no token was issued.
#[derive(Debug)]
pub enum GrantError {
    /// The request is not one of the documented forms.
    InvalidRequest(String),
    /// The client is not known or its secret is wrong.
    InvalidClient,
    /// The client may not ask for this.
    UnauthorizedClient(String),
    /// The grant type is another one.
    UnsupportedGrantType,
    /// The authorization code is not good, or not good any more.
    InvalidGrant(&'static str),
    /// The scope is unknown or not the client's.
    InvalidScope(String),
    /// Something else failed: the store, for instance.
    Failed(Error),
}

impl<E: Into<Error>> From<E> for GrantError {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl GrantError {
    /// The failure of a client that was not let in.
    pub fn of_client(error: ClientError) -> Self {
        match error {
            ClientError::Unknown => Self::InvalidClient,
            ClientError::Frozen => Self::UnauthorizedClient("tenant is frozen".to_owned()),
            ClientError::Failed(error) => Self::Failed(error),
        }
    }
}

/// What the token endpoint works with.
#[derive(Clone, Copy)]
pub struct Grants<'a> {
    /// The database.
    pub store: &'a Store,
    /// Issues tokens, and forgets whose were taken back.
    pub authenticator: &'a Authenticator,
    /// Checks the secrets of clients.
    pub checker: &'a SecretChecker,
    /// The codes of people who signed in lately.
    pub codes: &'a Codes,
}

/// A code that this server takes back itself, for a session.
#[derive(Debug)]
pub struct Redemption {
    /// The application of the pages.
    pub client_id: String,
    /// The code that the person came back with.
    pub code: SecretString,
    /// Where he came back to.
    pub redirect_uri: String,
    /// What the challenge was made of (RFC 7636).
    pub code_verifier: SecretString,
}

/// A token that is to be issued.
struct Wanted {
    subject: Subject,
    issued_token_type: Option<&'static str>,
    /// Its id.
    jti: String,
}

impl Grants<'_> {
    /// Issues the token that the request asks for.
    pub async fn issue(
        self,
        client: ClientCredentials,
        request: &TokenRequest,
    ) -> Result<TokenAnswer, GrantError> {
        let application = self.authenticate(client).await?;
        // What comes of its codes are sessions, which nobody else begins.
        if sessions::application::is(&application) {
            let refusal = "this application is the server's own: it gets no tokens";
            return Err(GrantError::UnauthorizedClient(refusal.to_owned()));
        }
        let grant_type = request.grant_type.as_deref();
        if application.login.is_public
            && grant_type.is_some_and(|grant_type| grant_type != AUTHORIZATION_CODE)
        {
            let only = format!("a client without a secret may use {AUTHORIZATION_CODE} and nothing else");
            return Err(GrantError::UnauthorizedClient(only));
        }
        let wanted = match grant_type {
            Some(CLIENT_CREDENTIALS) => application_token(application, request)?,
            Some(TOKEN_EXCHANGE) => exchange::user_token(self.store, application, request).await?,
            Some(AUTHORIZATION_CODE) => code::user_token(self, application, request).await?,
            Some(_) => return Err(GrantError::UnsupportedGrantType),
            None => return Err(missing("grant_type")),
        };
        let tokens = self.authenticator.tokens();
        let scope = wanted.subject.scopes.to_string();
        Ok(TokenAnswer {
            access_token: tokens.issue_as(wanted.subject, wanted.jti)?,
            issued_token_type: wanted.issued_token_type,
            token_type: "Bearer",
            expires_in: tokens.lifetime_seconds(),
            scope,
        })
    }

    /// Whom a code is of that a public application of our own got: no token is issued for it.
    pub async fn redeem(self, redemption: Redemption) -> Result<SignedIn, GrantError> {
        let Redemption { client_id, code, redirect_uri, code_verifier } = redemption;
        let client = ClientCredentials { client_id, client_secret: None };
        let application = self.authenticate(client).await?;
        let code_use = Use {
            code: code.expose_secret(),
            client_id: &application.client_id,
            redirect_uri: &redirect_uri,
            code_verifier: code_verifier.expose_secret(),
        };
        code::signed_in(self, &application, code_use).await
    }

    /// The application that the client is, once it has proved it. Whatever is wrong takes the same time.
    async fn authenticate(self, client: ClientCredentials) -> Result<Application, GrantError> {
        let ClientCredentials { client_id, client_secret } = client;
        let usage = self.authenticator.usage();
        let application =
            applications::authenticate(self.store, usage, self.checker, &client_id, client_secret).await;
        application.map_err(GrantError::of_client)
    }
}

fn new_jti() -> String {
    Uuid::new_v4().to_string()
}

fn missing(field: &str) -> GrantError {
    GrantError::InvalidRequest(format!("{field} is missing"))
}

fn application_token(application: Application, request: &TokenRequest) -> Result<Wanted, GrantError> {
    let scopes = granted_scopes(request, &application.scopes)?;
    let subject = Subject {
        client_id: application.client_id,
        epoch: application.epoch,
        tenant_id: application.tenant_id,
        user: None,
        scopes,
    };
    Ok(Wanted { subject, issued_token_type: None, jti: new_jti() })
}

/// Whom a user token is for, once it is known who he is.
async fn subject_of(
    store: &Store,
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
                directory::find_binding(store.reader(), tenant_id, &person.user_id, device_id).await?;
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
