//! The token endpoint's rules: client credentials (RFC 6749 §4.4) and token exchange for people (RFC 8693,
//! decisions 3.4 a). Failures are those of RFC 6749 §5.2, not the service's envelope (decisions 2.1).

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::{
    applications::{self, Application},
    caller::Authenticator,
    directory::{self, Person, SubjectKind},
    scopes::{Scope, Scopes},
    secrets::SecretChecker,
    tokens::{Subject, UserClaims},
};
use crate::{error::Error, store::Store};

const CLIENT_CREDENTIALS: &str = "client_credentials";
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN_TYPE: &str = "urn:ietf:params:oauth:token-type:access_token";
const LOGIN_ID_TYPE: &str = "urn:trawl:params:oauth:token-type:login-id";
const USER_ID_TYPE: &str = "urn:trawl:params:oauth:token-type:user-id";

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
    /// The device that the person uses, which is bound to him: the token dies when it is unbound (decisions 9.7).
    pub device_id: Option<String>,
}

/// A client that has said who it is, and not yet proved it.
#[derive(Debug)]
pub struct ClientCredentials {
    /// The client id.
    pub client_id: String,
    /// The secret it gave.
    pub client_secret: SecretString,
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

/// Issues the token that the request asks for.
pub async fn issue(
    store: &Store,
    authenticator: &Authenticator,
    checker: &SecretChecker,
    client: ClientCredentials,
    request: &TokenRequest,
) -> Result<TokenAnswer, GrantError> {
    let application = applications::find(store.reader(), &client.client_id).await?;
    let hash = application.as_ref().map(|application| application.secret_hash.clone());
    let proved = checker.check(client.client_secret, hash).await?;
    let application = application.filter(|_| proved).ok_or(GrantError::InvalidClient)?;

    let (subject, issued_token_type) = match request.grant_type.as_deref() {
        Some(CLIENT_CREDENTIALS) => (application_subject(application, request)?, None),
        Some(TOKEN_EXCHANGE) => (user_subject(store, application, request).await?, Some(ACCESS_TOKEN_TYPE)),
        Some(_) => return Err(GrantError::UnsupportedGrantType),
        None => return Err(GrantError::InvalidRequest("grant_type is missing".to_owned())),
    };
    let tokens = authenticator.tokens();
    let scope = subject.scopes.to_string();
    Ok(TokenAnswer {
        access_token: tokens.issue(subject)?,
        issued_token_type,
        token_type: "Bearer",
        expires_in: tokens.lifetime_seconds(),
        scope,
    })
}

fn application_subject(application: Application, request: &TokenRequest) -> Result<Subject, GrantError> {
    let scopes = granted_scopes(request, &application.scopes)?;
    Ok(Subject {
        client_id: application.client_id,
        epoch: application.epoch,
        tenant_id: application.tenant_id,
        user: None,
        scopes,
    })
}

async fn user_subject(
    store: &Store,
    application: Application,
    request: &TokenRequest,
) -> Result<Subject, GrantError> {
    if !application.scopes.allow(Scope::ActAsUser) {
        let scope = Scope::ActAsUser;
        return Err(GrantError::UnauthorizedClient(format!("token exchange needs the scope {scope}")));
    }
    let missing = |field: &str| GrantError::InvalidRequest(format!("{field} is missing"));
    let kind = match request.subject_token_type.as_deref() {
        Some(LOGIN_ID_TYPE) => SubjectKind::LoginId,
        Some(USER_ID_TYPE) => SubjectKind::UserId,
        Some(_) => {
            let expected = format!("subject_token_type must be {LOGIN_ID_TYPE} or {USER_ID_TYPE}");
            return Err(GrantError::InvalidRequest(expected));
        }
        None => return Err(missing("subject_token_type")),
    };
    if request.requested_token_type.as_deref().is_some_and(|wanted| wanted != ACCESS_TOKEN_TYPE) {
        return Err(GrantError::InvalidRequest(format!("requested_token_type must be {ACCESS_TOKEN_TYPE}")));
    }
    let subject = request.subject_token.as_deref().ok_or_else(|| missing("subject_token"))?;
    let scopes = granted_scopes(request, &application.scopes.for_user())?;
    // Only people of the application's own tenant (decisions 3.4 a).
    let person =
        directory::find_person(store.reader(), application.tenant_id, kind, subject).await?.ok_or_else(
            || GrantError::InvalidRequest("subject_token names no user who may sign in".to_owned()),
        )?;
    subject_of(store, application, person, request.device_id.as_deref(), scopes).await
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
